"""SELECT, ARGMAX, ARGMIN and TOPK_V2."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import axis_exists, axis_in_range
from nnapi_shim.operations.signatures import rows

LEVELS = {"f16": 3, "f32": 3, "i32": 3, "qu8": 3, "qs8": 4}
"""Variants of what they choose from, and their first levels."""

MOST = 1 << 31
"""Maximum number of elements that INT32 can index."""


def same_dimensions(op: BoundOperation) -> None:
    """All three inputs have the same dimensions; nothing is broadcast."""
    shapes = [operand.dimensions for operand in (op.condition, op.input1, op.input2)]
    if len(set(shapes)) > 1:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise op_failed(
            f"condition, input1 and input2 have dimensions {listed}; they must agree",
            "select.dimensions",
        )


def without_axis(op: BoundOperation) -> list[Dimensions]:
    """The axis is left out; [1] if nothing is left."""
    dimensions = op.input.dimensions
    axis = axis_in_range(op.axis, len(dimensions))
    return [dimensions[:axis] + dimensions[axis + 1 :] or (1,)]


def has_indexes(size: int) -> None:
    """INT32 can index a dimension of `input`."""
    if size > MOST:
        raise op_failed(
            f"input has a dimension of {size}; indexes are INT32: at most {MOST}",
            "selection.too-many-indexes",
        )


def axis_has_indexes(op: BoundOperation) -> None:
    """The dimension `axis` has at most 2^31 elements."""
    dimensions = op.input.dimensions
    has_indexes(dimensions[axis_in_range(op.axis, len(dimensions))])


def last_has_indexes(op: BoundOperation) -> None:
    """The last dimension has at most 2^31 elements."""
    has_indexes(op.input.dimensions[-1])


def k_elements_exist(op: BoundOperation) -> None:
    """A row has k elements, and k is at least 1."""
    length = op.input.dimensions[-1]
    if not 1 <= op.k <= length:
        raise op_failed(
            f"k is {op.k}; allowed are 1 to {length}, the last dimension of input", "topk-v2.k"
        )


def of_the_input(op: BoundOperation) -> list[tuple[float, int]]:
    """`values` has the parameters of the input, `indices` has none."""
    return [(op.input.scale, op.input.zero_point), (0.0, 0)]


SELECT = Operation(
    OperationType.SELECT,
    doc="output = condition ? input1 : input2, element by element.",
    columns="input1 input2 -> output",
    types=rows("T T T", **LEVELS),
    forms=[form("condition:TENSOR_BOOL8 input1 input2")],
    checks=[same_dimensions],
    shape=lambda op: [op.input1.dimensions],
    elementwise=True,
    work=0,
)


def extreme(type: OperationType, doc: str) -> Operation:
    """ARGMAX or ARGMIN."""
    return Operation(
        type,
        doc=doc,
        columns="input -> output",
        types=rows("T TENSOR_INT32", **LEVELS),
        forms=[form("input axis:INT32")],
        checks=[axis_exists, axis_has_indexes],
        legacy=True,
        infinite_scales=True,
        shape=without_axis,
        work=(1, "input"),
    )


ARGMAX = extreme(OperationType.ARGMAX, "output = index of the first largest element along `axis`.")
ARGMIN = extreme(OperationType.ARGMIN, "output = index of the first smallest element along `axis`.")

TOPK_V2 = Operation(
    OperationType.TOPK_V2,
    doc="values, indices = the k largest elements of each row, in descending order; of equal ones "
    "the later first.",
    columns="input -> values indices",
    types=rows("T T TENSOR_INT32", **LEVELS),
    forms=[form("input k:INT32")],
    checks=[k_elements_exist, last_has_indexes],
    infinite_scales=True,
    shape=lambda op: [(*op.input.dimensions[:-1], op.k)] * 2,
    quantization=of_the_input,
    work=(1, "input"),
)
