"""Work of an operation: arithmetic operations, as its declaration counts them, and bytes.

Bytes count each tensor that is read or written once, even if the device accesses it several times.
Counts that depend on data are None.
"""

from collections.abc import Callable, Mapping
from math import prod

from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions, is_known
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import Work

Shapes = Mapping[int, Dimensions]
"""Index of an operand -> its dimensions in a run, if the model leaves them unknown."""


class Sized:
    """An operation with the dimensions of its operands in a run."""

    def __init__(self, view: OperationView, shapes: Shapes) -> None:
        self.view = view
        self.named = view.named
        self._shapes = shapes

    def dimensions(self, operand: OperandView) -> Dimensions:
        """The dimensions of an operand. Raises KeyError if they are unknown."""
        if is_known(operand.type, operand.dimensions):
            return operand.dimensions
        return self._shapes[operand.index]

    def of(self, role: str) -> Dimensions:
        """Dimensions of the operand with this role; () if it is omitted."""
        operand = self.named.get(role)
        return () if operand is None or operand.is_omitted else self.dimensions(operand)

    def size(self, role: str) -> int:
        """Elements of the operand with this role; 0 if it is omitted."""
        operand = self.named.get(role)
        return 0 if operand is None or operand.is_omitted else prod(self.dimensions(operand))

    @property
    def outputs(self) -> int:
        """Number of elements of all outputs."""
        return sum(prod(self.dimensions(operand)) for operand in self.view.outputs)

    def value(self, role: str, default: int) -> int:
        """The value of a scalar constant."""
        operand = self.named.get(role)
        constant = None if operand is None else operand.value
        return default if constant is None else int(constant)


Count = Callable[[Sized], int | None]


def convolution(op: Sized) -> int:
    """A multiplication and an addition per filter element, and a bias. Filter [depth_out, height,
    width, depth of a group].
    """
    return 2 * op.outputs * prod(op.of("filter")[1:]) + op.outputs


def depthwise(op: Sized) -> int:
    """As `convolution`, with a filter [1, height, width, depth_out]."""
    return 2 * op.outputs * prod(op.of("filter")[1:3]) + op.outputs


def transposed(op: Sized) -> int:
    """Each input element is multiplied with the whole filter of its channel."""
    filter = op.of("filter")
    return 2 * op.size("input") * filter[0] * filter[1] * filter[2] + op.outputs


def fully_connected(op: Sized) -> int:
    """Each output is the dot product of a row of weights and an input, plus a bias."""
    return 2 * op.outputs * op.of("weights")[1] + op.outputs


def matrices(op: Sized) -> int:
    """Each output is the dot product of a row of one matrix and a column of the other."""
    lhs = op.of("lhs")
    return 2 * op.outputs * (lhs[-2] if op.value("adj_x", 0) else lhs[-1])


def window(op: Sized) -> int | None:
    """One operation per element of the window for each output."""
    width, height = op.value("filter_width", 0), op.value("filter_height", 0)
    return op.outputs * width * height if width and height else None


def squares_of_window(op: Sized) -> int | None:
    """As `window`, with a square per element."""
    count = window(op)
    return None if count is None else 2 * count


def recurrent(op: Sized) -> int:
    """Each row of the input is multiplied with all weights once."""
    rows = prod(op.of("input")[:-1])
    weights = sum(op.size(role) for role in op.named if "weights" in role)
    return 2 * rows * weights


def channel_window(op: Sized) -> int:
    """A sum of squares over a window of channels, and a power, for each output."""
    return op.outputs * (2 * (2 * op.value("radius", 0) + 1) + 4)


def samples(op: Sized) -> int | None:
    """A bilinear interpolation per sample; None if the boxes determine the number of samples."""
    count = op.value("height_sampling_ratio", 0) * op.value("width_sampling_ratio", 0)
    return op.outputs * count * 8 if count else None


def projection(op: Sized) -> int:
    """Each hash function is applied to each row of the input."""
    return 2 * op.size("hash") * op.size("input")


FORMULAS: dict[str, Count] = {
    count.__name__: count
    for count in (
        *(convolution, depthwise, transposed, fully_connected, matrices, window),
        *(squares_of_window, recurrent, channel_window, samples, projection),
    )
}
"""Name -> formula; declarations refer to them in `work`."""


def counted(work: Work, op: Sized) -> int | None:
    """The arithmetic operations of an operation whose declaration has this `work`."""
    if work is None:
        return None
    if isinstance(work, str):
        return FORMULAS[work](op)
    if work == 0:
        return 0
    if isinstance(work, int):
        return work * op.outputs
    times, role = work
    return times * op.size(role)


def flops(view: OperationView, shapes: Shapes) -> int | None:
    """Arithmetic operations of a run; None if they depend on data or dimensions are unknown."""
    if not isinstance(view.type, OperationType):
        return None
    try:
        return counted(operation(view.type).work, Sized(view, shapes))
    except (KeyError, IndexError):
        return None


def is_integer(view: OperationView) -> bool:
    """Whether the arithmetic of an operation is that of quantized numbers."""
    return bool(view.inputs) and view.inputs[0].type in QUANTIZED_RANGE


def moved_bytes(view: OperationView, shapes: Shapes) -> int | None:
    """Bytes that an operation reads and writes; None if dimensions are unknown, for extension
    operations and for control flow.
    """
    if not isinstance(view.type, OperationType):
        return None
    declaration = operation(view.type)
    if not declaration.types:
        return None
    op = Sized(view, shapes)
    table = op.named.get(declaration.looks_up)
    read = {operand.index: operand for operand in view.inputs if not operand.is_omitted}
    try:
        written = sum(_bytes(op, operand) for operand in view.outputs)
        read_bytes = sum(
            min(written, _bytes(op, operand)) if operand is table else _bytes(op, operand)
            for operand in read.values()
            if operand.type not in SCALARS
        )
    except KeyError:
        return None
    return written + read_bytes


def _bytes(op: Sized, operand: OperandView) -> int:
    return ELEMENT_BYTES[operand.type] * prod(op.dimensions(operand))
