"""Constants whose values a lowering looks at to choose kernels."""

from nnapi_shim.hal.types import Dimensions


class ConstantBytes:
    """The `value` of constant operands of bytes: their address at compilation."""

    def __init__(self, address: int) -> None:
        self.address = address

    def reshape(self, dimensions: Dimensions) -> "ConstantBytes":
        """The `value` of the same elements with other dimensions."""
        return self
