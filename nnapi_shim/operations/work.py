"""Formulas for the arithmetic operations of an operation, which declarations refer to in `work`."""

from math import prod

from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Callable, Mapping, Protocol
from nnapi_shim.operations.declare import Work


class Sized(Protocol):
    """An operation whose operands have known dimensions. All methods raise KeyError for those that
    only a run tells.

    named: role -> operand; only the names matter here.
    """

    @property
    def named(self) -> Mapping[str, Any]:
        """The operands by their roles."""

    @property
    def outputs(self) -> int:
        """Number of elements of all outputs."""

    def of(self, role: str) -> Dimensions:
        """Dimensions of the operand with this role; () if it is omitted."""

    def size(self, role: str) -> int:
        """Elements of the operand with this role; 0 if it is omitted."""

    def value(self, role: str, default: int) -> int:
        """The value of a scalar constant."""


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
