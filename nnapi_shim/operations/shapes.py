"""Shape arithmetic shared by several operations, on known dimensions."""

from _thread import _local

from nnapi_shim import log
from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import PaddingCode
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperation

strict = _local()
"""`strict.is_on` is True on a thread that refuses doubtful values (runtime/lint.py)."""


def require_scheme(op: BoundOperation) -> None:
    """Warn of a padding scheme that does not exist; refuse it on a strict thread.

    The reference runtime computes every scheme but SAME as VALID.
    """
    if op.padding is None or op.padding in _SCHEMES:
        return
    name = op.match.operation.type.name
    message = f"padding is {op.padding}; allowed are 1 (SAME) and 2 (VALID)"
    if getattr(strict, "is_on", False):
        raise bad_data(message, "operation.padding-scheme")
    log.warning_once(
        ("padding scheme", name, op.padding), f"{name}: {message}; it is computed as VALID"
    )


_SCHEMES = (PaddingCode.SAME, PaddingCode.VALID)


def broadcast(*shapes: Dimensions) -> Dimensions:
    """The broadcast of two shapes, aligned at the end; sizes 0 and 1 give 0."""
    rank = max(map(len, shapes))
    result = []
    for column in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        sizes = {size for size in column if size != 1}
        if len(sizes) > 1:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise op_failed(
                f"dimensions {listed} do not match; aligned at the end, sizes must be equal or 1",
                "operation.broadcast",
            )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


class Span(NamedTuple):
    """A window that slides along one spatial axis.

    `head` and `tail` are the padding before and after, in elements; `output` is the number of
    window positions.
    """

    head: int
    tail: int
    output: int


def span(
    size: int, extent: int, stride: int, padding: int | None, head: int | None, tail: int | None
) -> Span:
    """Resolve a padding scheme (`padding`) or explicit padding along one axis.

    extent: elements that the window covers, (filter - 1) * dilation + 1. A scheme other than SAME
    behaves like VALID (semantics.md 3 and 5.9).
    """
    if padding is None:
        assert head is not None
        assert tail is not None
    elif padding == PaddingCode.SAME:
        needed = (-(-size // stride) - 1) * stride + extent
        total = max(0, needed - size)
        head, tail = total // 2, total - total // 2
    else:
        head = tail = 0
    fits = size - extent + head + tail
    return Span(head, tail, fits // stride + 1 if fits >= 0 else 0)


class Window(NamedTuple):
    """A two-dimensional window over an image: NHWC sizes and one Span per axis."""

    batch: int
    in_height: int
    in_width: int
    in_depth: int
    filter_height: int
    filter_width: int
    vertical: Span
    horizontal: Span


def nhwc(dimensions: Dimensions, nchw: bool) -> Dimensions:
    """Dimensions of an image in NHWC order, from the layout of the flag."""
    if nchw:
        batch, depth, height, width = dimensions
        return (batch, height, width, depth)
    return dimensions


def in_layout(image: Dimensions, nchw: bool) -> Dimensions:
    """NHWC dimensions converted to the layout of the flag."""
    if nchw:
        batch, height, width, depth = image
        return (batch, depth, height, width)
    return image


def window(op: BoundOperation, filter_height: int, filter_width: int) -> Window:
    """The validated window of a convolution or a pooling operation.

    Explicit paddings are at least 0 and smaller than the window; strides, dilations and filter
    sizes are at least 1 (semantics.md 5.9); raises OP_FAILED otherwise.
    """
    dilation_width = getattr(op, "dilation_width", 1)
    dilation_height = getattr(op, "dilation_height", 1)
    for name, value in (
        ("stride_width", op.stride_width),
        ("stride_height", op.stride_height),
        ("dilation_width", dilation_width),
        ("dilation_height", dilation_height),
        ("filter width", filter_width),
        ("filter height", filter_height),
    ):
        if value < 1:
            # A pooling operation is given the sizes of its filter; a convolution has a `filter`.
            if hasattr(op, "filter_width"):
                name = name.replace(" ", "_")
            raise op_failed(f"{name} is {value}; it must be at least 1", "operation.window.size")
    extent_height = (filter_height - 1) * dilation_height + 1
    extent_width = (filter_width - 1) * dilation_width + 1
    if op.padding is None:
        for name, extent in (
            ("pad_left", extent_width),
            ("pad_right", extent_width),
            ("pad_top", extent_height),
            ("pad_bottom", extent_height),
        ):
            if not 0 <= getattr(op, name) < extent:
                raise op_failed(
                    f"{name} is {getattr(op, name)}; allowed are 0 to {extent - 1}, less than the "
                    "window covers",
                    "operation.window.padding",
                )
    require_scheme(op)
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    vertical = span(height, extent_height, op.stride_height, op.padding, op.pad_top, op.pad_bottom)
    horizontal = span(width, extent_width, op.stride_width, op.padding, op.pad_left, op.pad_right)
    if vertical.output < 1 or horizontal.output < 1:
        raise op_failed(
            f"the window of {extent_height} x {extent_width} does not fit into the padded image of "
            f"{height} x {width}",
            "operation.window.too-large",
        )
    return Window(batch, height, width, depth, filter_height, filter_width, vertical, horizontal)


def reshaped(dimensions: Dimensions, target: Sequence[int]) -> Dimensions:
    """Target dimensions with a single -1 replaced by the remaining factor.

    Raises OP_FAILED if the element counts differ, there is a second -1, or both a -1 and a 0
    (the reference runtime divides by zero).
    """
    count = 1
    for size in dimensions:
        count *= size
    known, unknown = 1, None
    for position, size in enumerate(target):
        if size == -1:
            if unknown is not None:
                raise op_failed(
                    f"shape {list(target)} has more than one -1", "reshape.shape.second-unknown"
                )
            unknown = position
        elif size < 0:
            raise op_failed(
                f"shape {list(target)} has a negative size other than one -1",
                "reshape.shape.negative",
            )
        else:
            known *= size
    result = list(target)
    if unknown is not None:
        if known == 0:
            raise op_failed(
                f"shape {list(target)} has both -1 and 0", "reshape.shape.unknown-beside-zero"
            )
        result[unknown] = count // known
        known *= result[unknown]
    if known != count:
        raise op_failed(
            f"shape {list(target)} has {known} elements; the input {list(dimensions)} has {count}",
            "reshape.shape.element-count",
        )
    return tuple(result)
