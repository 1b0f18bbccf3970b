"""SLICE STRIDED_SLICE SPLIT as steps: copies from a part of the input."""

from nnapi_shim.drivers.cpu.lowering.strided import Axis, moved, strides
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.slicing import Range, ranges, slice_sizes


def lower_slice(op: BoundOperation) -> list[Step | Alias]:
    """Copies `size` elements per axis, from `begin`."""
    (sizes,) = slice_sizes(op)
    slices = [Range(first, length, 1) for first, length in zip(op.begin, sizes, strict=True)]
    return _slice(op, op.output, slices)


def lower_strided_slice(op: BoundOperation) -> list[Step | Alias]:
    """Copies every stride-th element of a range per axis; a dropped axis has one element."""
    return _slice(op, op.output, ranges(op))


def lower_split(op: BoundOperation) -> list[Step | Alias]:
    """Copies a range along the axis per output."""
    slices = [Range(0, size, 1) for size in op.input.dimensions]
    length = op.input.dimensions[op.axis] // op.num_splits
    steps = []
    for number, output in enumerate(op.outputs):
        slices[op.axis] = Range(number * length, length, 1)
        steps += _slice(op, output, slices)
    return steps


def _slice(op: BoundOperation, target: BoundOperand, slices: list[Range]) -> list[Step | Alias]:
    size = ELEMENT_BYTES[op.input.type]
    steps = strides(op.input.dimensions, size)
    lengths = [length for _, length, _ in slices]
    axes = [
        Axis(length, stride * step, output_step)
        for (_, length, stride), step, output_step in zip(
            slices, steps, strides(lengths, size), strict=True
        )
    ]
    offset = sum(start * step for (start, _, _), step in zip(slices, steps, strict=True))
    return moved(op.input, target, axes, offset)
