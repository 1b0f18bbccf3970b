"""Descriptors of matrix products and convolutions: what lowering needs of an operation, read once.

Helpers of a lowering take a descriptor in place of the operation.
"""

from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.shapes import Window


class ProductDescriptor(NamedTuple):
    """A matrix product.

    variant: the row of the declaration, such as f32 or qu8. quantized: operands are 8-bit integers.
    input, output: operands, whose types and scales quantized products read. bias: None for none.
    activation: None if the operation has none.
    """

    variant: str
    quantized: bool
    input: Any = None
    output: Any = None
    bias: Any = None
    activation: int | None = None


class ConvolutionDescriptor(NamedTuple):
    """A convolution with a filter [_, height, width, _]; the product of its windows and filter."""

    product: ProductDescriptor
    filter: BoundOperand
    nchw: bool
    window: Window
    stride_height: int
    stride_width: int
    dilation_height: int
    dilation_width: int

    @property
    def is_dense_3x3(self) -> bool:
        """Whether it reads 3x3 neighbours of every pixel."""
        return (
            self.window.filter_height == self.window.filter_width == 3
            and self.stride_height == self.stride_width == 1
            and self.dilation_height == self.dilation_width == 1
        )


def is_quantized(op: BoundOperation) -> bool:
    """Whether the operands are 8-bit integers; otherwise they are float32 or float16."""
    return op.variant.startswith("q")


def described_product(op: BoundOperation) -> ProductDescriptor:
    """The descriptor of an operation with input, bias, output and a fused activation."""
    return ProductDescriptor(
        op.variant, is_quantized(op), op.input, op.output, op.bias, op.activation
    )


def described_convolution(op: BoundOperation, window: Window) -> ConvolutionDescriptor:
    """The descriptor of CONV_2D, DEPTHWISE_CONV_2D or GROUPED_CONV_2D."""
    return ConvolutionDescriptor(
        described_product(op),
        op.filter,
        op.nchw,
        window,
        op.stride_height,
        op.stride_width,
        op.dilation_height,
        op.dilation_width,
    )
