"""Iteration over two tensors that are broadcast against each other.

The output is viewed as [outer..., size, length] with as few dimensions as possible: adjacent axes
with compatible strides in both inputs are merged. Along `length`, the stride of an input is 1 or 0.
A short row that repeats (a value per channel, with few channels) is first repeated in memory, to
get long inner loops.
"""

from math import prod
from struct import pack

from nnapi_shim.drivers.cpu.lowering.elements import TILE, WHOLE
from nnapi_shim.drivers.cpu.lowering.tiling import round_up, tile_of
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    INT64,
    Buffer,
    Record,
    Space,
    Step,
    record,
)
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand

SHORT = 32
"""Elements of a row, at most, that is repeated in memory."""

REPEATED = 1 << 12
"""Elements of the repeated row, at most."""

WALK_FIELDS = {
    "input0": ADDRESS,
    "input1": ADDRESS,
    "output": ADDRESS,
    "outer": ADDRESS,
    "outer_count": INT64,
    "all_rows": INT64,
    "size": INT64,
    "step_0": INT64,
    "step_1": INT64,
    "length": INT64,
    "moves_0": INT64,
    "moves_1": INT64,
    "part": INT64,
    "rows": INT64,
    "part_step_0": INT64,
    "part_step_1": INT64,
}
"""The iteration space of inputs 0 and 1; all sizes and strides are in elements.

length, moves_<input>: size of the innermost axis, and an input's stride along it, 1 or 0.
size, step_<input>: size of the next axis, and an input's stride along it.
outer, outer_count: int64[outer_count, 3], the other axes, innermost first: size, step_0, step_1.
all_rows: rows of `length` elements in the output.
A tile is `rows` whole rows, or a `part` of a row; part_step_<input> is the stride between parts."""

PLAIN = record(Space.PAIRS, **WALK_FIELDS)


class Axis(NamedTuple):
    """An axis of `size` indexes; steps[i] is the stride of input i in elements."""

    size: int
    steps: tuple[int, int]


NOWHERE = Axis(1, (0, 0))


def walk(shape0: Dimensions, shape1: Dimensions) -> list[Axis]:
    """The merged axes of two broadcast shapes, at least two, outermost first."""
    rank = max(len(shape0), len(shape1))
    padded0, padded1 = ((1,) * (rank - len(s)) + s for s in (shape0, shape1))
    axes: list[Axis] = []  # innermost first
    moved0 = moved1 = 1
    for size0, size1 in zip(reversed(padded0), reversed(padded1), strict=True):
        size = max(size0, size1)
        steps = (moved0 if size0 > 1 else 0, moved1 if size1 > 1 else 0)
        moved0, moved1 = moved0 * size0, moved1 * size1
        if size == 1:
            continue
        if axes and steps == tuple(axes[-1].size * step for step in axes[-1].steps):
            axes[-1] = Axis(axes[-1].size * size, axes[-1].steps)
        else:
            axes.append(Axis(size, steps))
    axes = axes or [Axis(1, (1, 1))]
    return [NOWHERE] * (2 - len(axes)) + axes[::-1]


def pairwise(
    layout: Record,
    kernel: str,
    input0: BoundOperand,
    input1: BoundOperand,
    output: BoundOperand,
    sources: Sequence[Any] = (),
    **fields: Any,
) -> list[Step]:
    """The steps of a binary kernel with broadcasting. layout: WALK_FIELDS and `fields`.

    sources: memory of the inputs, if not the operands themselves.
    """
    operands = (input0, input1)
    element_bytes = ELEMENT_BYTES[input0.type]
    in_place = ""
    if element_bytes == ELEMENT_BYTES[output.type]:
        whole = [i for i in (0, 1) if operands[i].dimensions == output.dimensions]
        in_place = f"input{whole[0]}" if whole else ""
    axes = walk(input0.dimensions, input1.dimensions)
    inputs: list[Any] = list(sources or operands)
    steps = []
    tile = TILE if element_bytes > 1 else TILE // 4  # byte kernels take longer per element
    tile = round_up(tile_of(tile, prod(axis.size for axis in axes)), WHOLE)
    part = min(axes[-1].size, tile)
    part_steps = [part * step for step in axes[-1].steps]
    for i in (0, 1):
        if _is_short_row(axes, i):
            short, times = axes[-1].size, axes[-2].size
            axes = [NOWHERE, Axis(times * short, (1, 1))]
            part = short * min(times, REPEATED // short)
            part_steps[i], part_steps[1 - i] = 0, part
            row_bytes = short * element_bytes
            source, inputs[i] = inputs[i], Buffer(part // short * row_bytes)
            from nnapi_shim.drivers.cpu.lowering.joining import copy_rows

            steps.append(copy_rows(source, inputs[i], part // short, row_bytes, 0, row_bytes))
    *outer, around, inner = axes
    all_rows = prod(axis.size for axis in axes[:-1])
    rows = max(1, tile // inner.size) if part == inner.size else 1
    step = Step(
        layout,
        kernel,
        tiles=-(-all_rows // rows) * -(-inner.size // part),
        in_place=in_place,
        input0=inputs[0],
        input1=inputs[1],
        output=output,
        outer=b"".join(pack("<3q", axis.size, *axis.steps) for axis in outer[::-1]) or None,
        outer_count=len(outer),
        all_rows=all_rows,
        size=around.size,
        step_0=around.steps[0],
        step_1=around.steps[1],
        length=inner.size,
        moves_0=inner.steps[0],
        moves_1=inner.steps[1],
        part=part,
        rows=rows,
        part_step_0=part_steps[0],
        part_step_1=part_steps[1],
        **fields,
    )
    return [*steps, step]


def is_one_by_one(fields: dict[str, Any]) -> bool:
    """Whether a step has no broadcasting: element n of the output depends on elements n of both
    inputs.
    """
    moves, parts = (
        [fields[f"{name}_{number}"] for number in (0, 1)] for name in ("moves", "part_step")
    )
    return fields["all_rows"] == 1 and moves == [1, 1] and parts == [fields["part"]] * 2


def _is_short_row(axes: list[Axis], i: int) -> bool:
    """Whether input i is one short row that repeats along the other input."""
    return (
        len(axes) == 2
        and axes[0].size > 1
        and axes[0].steps[i] == 0
        and axes[1].size <= SHORT
        and axes[1].steps == (1, 1)
    )
