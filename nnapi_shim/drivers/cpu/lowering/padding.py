"""PAD PAD_V2 MIRROR_PAD as steps: the input is copied inside, and each border written once."""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied, filled, strides
from nnapi_shim.drivers.cpu.program.record import Alias, At, Step
from nnapi_shim.hal.quantization import ELEMENT_BYTES, STRUCT_CODES
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.padding import REFLECT, paddings


def lower_pad(op: BoundOperation) -> list[Step | Alias]:
    """Pads with the stored value of 0."""
    zero = bytes([op.output.zero_point & 255]) * ELEMENT_BYTES[op.output.type]
    return _padded(op, zero)


def lower_pad_v2(op: BoundOperation) -> list[Step | Alias]:
    """Pads with pad_value; for quantized tensors with its low 8 bits."""
    if op.variant in ("qu8", "qs8"):
        return _padded(op, bytes([op.pad_value & 255]))
    return _padded(op, pack("<" + STRUCT_CODES[op.output.type], op.pad_value))


def lower_mirror_pad(op: BoundOperation) -> list[Step | Alias]:
    """Copies the input, then the borders of each axis, innermost first, within the output, which is
    then complete along the inner axes.
    """
    if not any(op.paddings):
        return [Alias(op.input, op.output)]
    size = ELEMENT_BYTES[op.output.type]
    pairs, sizes = list(paddings(op)), op.input.dimensions
    steps = strides(op.output.dimensions, size)
    inside = sum(before * step for (before, _), step in zip(pairs, steps, strict=True))
    axes = map(Axis, sizes, strides(sizes, size), steps)
    result: list[Step | Alias] = [copied(op.input, At(op.output, inside), axes, size)]
    skipped = 0 if op.mode == REFLECT else 1
    for axis in reversed(range(len(sizes))):
        (before, after), step = pairs[axis], steps[axis]
        inside -= before * step
        last = before + sizes[axis] - 1
        for count, first, source in (
            (before, 0, 2 * before - skipped),
            (after, last + 1, last - 1 + skipped),
        ):
            border = [
                *map(Axis, sizes[:axis], steps, steps),
                Axis(count, -step, step),
                *map(Axis, op.output.dimensions[axis + 1 :], steps[axis + 1 :], steps[axis + 1 :]),
            ]
            if count:
                offsets = inside + source * step, inside + first * step
                from_, to = (At(op.output, offset) for offset in offsets)
                result.append(copied(from_, to, border, size))
    return result


def _padded(op: BoundOperation, value: bytes) -> list[Step | Alias]:
    if not any(op.paddings):
        return [Alias(op.input, op.output)]
    return padded(op.input, op.output, list(paddings(op)), value)


def padded(
    source: BoundOperand, target: Any, pairs: Sequence[tuple[int, int]], value: bytes
) -> list[Step | Alias]:
    """Steps that pad a tensor with `value`. pairs: elements (before, after) per axis; negative
    numbers crop.
    """
    sizes = source.dimensions
    outer = [before + n + after for n, (before, after) in zip(sizes, pairs, strict=True)]
    input_steps, steps = strides(sizes, len(value)), strides(outer, len(value))
    # The kept part of the input is at [first, end) along each axis of the output.
    firsts = [min(max(before, 0), n) for n, (before, _) in zip(outer, pairs, strict=True)]
    ends = [
        max(first, min(before + n, limit))
        for first, n, limit, (before, _) in zip(firsts, sizes, outer, pairs, strict=True)
    ]
    kept = [end - first for first, end in zip(firsts, ends, strict=True)]
    skipped = [first - before for first, (before, _) in zip(firsts, pairs, strict=True)]
    inside = sum(first * step for first, step in zip(firsts, steps, strict=True))
    start = sum(n * step for n, step in zip(skipped, input_steps, strict=True))
    axes = map(Axis, kept, input_steps, steps)
    result: list[Step | Alias] = [copied(At(source, start), At(target, inside), axes, len(value))]
    for axis in reversed(range(len(sizes))):
        inside -= firsts[axis] * steps[axis]
        for first, end in ((0, firsts[axis]), (ends[axis], outer[axis])):
            region = (*kept[:axis], end - first, *outer[axis + 1 :])
            border = At(target, inside + first * steps[axis])
            result += filled(border, region, steps, value)
    return result
