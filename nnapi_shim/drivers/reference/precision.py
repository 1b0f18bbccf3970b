"""How a device computes with float16, as profiles of phones describe it (docs/testing.md)."""

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Model, Operation
from nnapi_shim.hints import NamedTuple


class Precision(NamedTuple):
    """Habits of a device with float16; half.py applies them.

    sums: the type of sums of products, "float32" or "float16". rounding: "nearest", halves to even,
    or "zero". overflow: "infinity", or "saturate": the largest number instead. subnormals: "keep",
    or "flush": zero instead. all_floats: whether the model is relaxed, and float32 is stored as
    float16, too. operations: the operations of the main graph that compute so, by number; None for
    all.
    """

    sums: str = "float32"
    rounding: str = "nearest"
    overflow: str = "infinity"
    subnormals: str = "keep"
    all_floats: bool = False
    operations: frozenset[int] | None = None

    def of_model(
        self, model: Model, operations: frozenset[int] | None = None
    ) -> "Precision | None":
        """The precision of a model; None if it holds no float16."""
        relaxed = model.relax_computation_float32_to_float16
        graphs = (model.main, *model.referenced)
        halves = (OperandType.TENSOR_FLOAT16, OperandType.FLOAT16)
        if not relaxed and not any(it.type in halves for g in graphs for it in g.operands):
            return None
        return self._replace(all_floats=relaxed, operations=operations)

    def stores(self, type: OperandType) -> bool:
        """Whether an operand of this type is stored as float16."""
        if type is OperandType.TENSOR_FLOAT16:
            return True
        return self.all_floats and type is OperandType.TENSOR_FLOAT32

    def computes(self, item: Operation, depth: int) -> bool:
        """Whether an operation computes so. depth: number of enclosing graphs."""
        return depth > 0 or self.operations is None or item.number in self.operations
