"""TRANSPOSE, REVERSE, CHANNEL_SHUFFLE, SPACE/DEPTH/BATCH operations as steps.

The operations split the axes of the input and permute the parts.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied, moved, strides
from nnapi_shim.drivers.cpu.program.record import Alias, Buffer, Step
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.shapes import nhwc


def lower_transpose(op: BoundOperation) -> list[Step | Alias]:
    """Permutes the axes."""
    return _moved(op, op.input.dimensions, op.perm or (1, 0))


def lower_reverse(op: BoundOperation) -> list[Step | Alias]:
    """A copy with a negative input stride along the axis."""
    (axis,) = op.axis
    axes = _in_order(op.input.dimensions, range(len(op.input.dimensions)), _size(op))
    size, step, _ = axes[axis]
    axes[axis] = axes[axis]._replace(input=-step)
    return moved(op.input, op.output, axes, (size - 1) * step)


def lower_channel_shuffle(op: BoundOperation) -> list[Step | Alias]:
    """[.., groups, group size, ..] -> [.., group size, groups, ..]."""
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    outer, inner = prod(dimensions[:axis]), prod(dimensions[axis + 1 :])
    groups = op.num_groups, dimensions[axis] // op.num_groups
    return _moved(op, (outer, *groups, inner), (0, 2, 1, 3))


def lower_depth_to_space(op: BoundOperation) -> list[Step | Alias]:
    """Splits the depth into block rows, block columns and depth."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    block = op.block_size
    parts = block, block, depth // block**2
    if op.nchw:
        return _moved(op, (batch, *parts, height, width), (0, 3, 4, 1, 5, 2))
    return _moved(op, (batch, height, width, *parts), (0, 1, 3, 2, 4, 5))


def lower_space_to_depth(op: BoundOperation) -> list[Step | Alias]:
    """Splits height and width into blocks and positions in a block."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    block = op.block_size
    blocks = height // block, block, width // block, block
    if op.nchw:
        return _moved(op, (batch, depth, *blocks), (0, 3, 5, 1, 2, 4))
    return _moved(op, (batch, *blocks, depth), (0, 1, 3, 2, 4, 5))


def lower_batch_to_space_nd(op: BoundOperation) -> list[Step | Alias]:
    """Splits the batch into block rows, block columns and batch."""
    batch, *image = op.input.dimensions
    down, across = op.block_shape
    parts = down, across, batch // (down * across)
    if op.nchw:
        return _moved(op, (*parts, *image), (2, 3, 4, 0, 5, 1))
    return _moved(op, (*parts, *image), (2, 3, 0, 4, 1, 5))


def lower_space_to_batch_nd(op: BoundOperation) -> list[Step | Alias]:
    """Pads the image in memory, then splits height and width into blocks."""
    # Imported here: most users of this module need neither.
    from nnapi_shim.drivers.cpu.lowering.padding import padded
    from nnapi_shim.operations.rearrange import padded_image

    batch, _, _, depth = nhwc(op.input.dimensions, op.nchw)
    source, steps = op.input, []
    if any(op.paddings):
        pairs = [tuple(op.paddings[:2]), tuple(op.paddings[2:])]
        pairs = [(0, 0), (0, 0), *pairs] if op.nchw else [(0, 0), *pairs, (0, 0)]
        source = Buffer(byte_size(op.output))
        zero = bytes([op.output.zero_point & 255]) * _size(op)
        steps = padded(op.input, source, pairs, zero)
    sizes = zip(padded_image(op), op.block_shape, strict=True)
    blocks = [n for size, block in sizes for n in (size // block, block)]
    if op.nchw:
        dimensions, order = (batch, depth, *blocks), (3, 5, 0, 1, 2, 4)
    else:
        dimensions, order = (batch, *blocks, depth), (2, 4, 0, 1, 3, 5)
    axes = _in_order(dimensions, order, _size(op))
    return [*steps, copied(source, op.output, axes, _size(op))]


def _size(op: BoundOperation) -> int:
    return ELEMENT_BYTES[op.input.type]


def _moved(
    op: BoundOperation, dimensions: Sequence[int], order: Sequence[int]
) -> list[Step | Alias]:
    """Copy the input, viewed with these dimensions, with permuted axes."""
    return moved(op.input, op.output, _in_order(dimensions, order, _size(op)))


def _in_order(dimensions: Sequence[int], order: Sequence[int], size: int) -> list[Axis]:
    """The axes of a copy that permutes dimensions of elements of `size` bytes."""
    steps = strides(dimensions, size)
    sizes = [dimensions[axis] for axis in order]
    return [
        Axis(length, steps[axis], step)
        for axis, length, step in zip(order, sizes, strides(sizes, size), strict=True)
    ]


def transpose(
    source: Any, target: Any, like: BoundOperand, count: int, rows: int, columns: int
) -> Step:
    """[count, rows, columns] -> [count, columns, rows]; `like` has the element type."""
    axes = _in_order((count, rows, columns), (0, 2, 1), ELEMENT_BYTES[like.type])
    return copied(source, target, axes, ELEMENT_BYTES[like.type])
