"""ADD SUB MUL DIV as steps.

The output is viewed as [size0, size1, size2, length] with as few dimensions as the broadcasting
leaves: neighbours that both inputs step through alike are merged. Along `length` each input either
moves with the output or stands still. A short row that repeats (a value per channel, and few
channels) is repeated in memory first, as often as fills a part that is worth a loop.
"""

from math import frexp, ldexp, prod
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.joining import copy_rows
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Buffer, Record, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32

SHORT = 32
"""Elements of a row that is repeated in memory; longer ones are worth a loop as they are."""

REPEATED = 1 << 12
"""Elements that it is repeated to, at most."""

WALK_FIELDS = {
    "input0": ADDRESS,
    "input1": ADDRESS,
    "output": ADDRESS,
    "size0": INT64,
    "size1": INT64,
    "size2": INT64,
    "length": INT64,
    "part": INT64,
    "rows": INT64,
    **{f"step{dim}_{input}": INT64 for input in (0, 1) for dim in (0, 1, 2, 3)},
    "part_step_0": INT64,
    "part_step_1": INT64,
}
"""How a binary kernel walks: step<dim>_<input> is how far an input moves per index, in elements. A
tile is `rows` whole rows, or a `part` of one, from which part_step leads to the next."""

PLAIN = record(**WALK_FIELDS)
FLOAT = record(**WALK_FIELDS, low=FLOAT32, high=FLOAT32)
QUANTIZED_FIELDS = {**WALK_FIELDS, "low": FLOAT32, "high": FLOAT32, "zero_point": INT64}
"""low, high: bounds of the result, less its zero point."""
SUM = record(**QUANTIZED_FIELDS, scale0=FLOAT32, scale1=FLOAT32, offset=FLOAT32)
LARGE_SUM = record(
    **QUANTIZED_FIELDS,
    zero0=FLOAT32, coarse0=FLOAT32, fine0=FLOAT32,
    zero1=FLOAT32, coarse1=FLOAT32, fine1=FLOAT32,
)  # fmt: skip
PRODUCT = record(**QUANTIZED_FIELDS, zero0=FLOAT32, zero1=FLOAT32, scale=FLOAT32)

LARGE = 2**8
"""Scales, over the output's, from which float32 does not keep a sum of quantized numbers apart from
its neighbours well enough when most of it cancels."""


def lower_add(op: BoundOperation) -> list[Step]:
    """Quantized: each input times its scale over the output's."""
    return _sum(op, "add", +1)


def lower_sub(op: BoundOperation) -> list[Step]:
    """Quantized: the sum with a negative second scale."""
    return _sum(op, "sub", -1)


def lower_mul(op: BoundOperation) -> list[Step]:
    """Quantized: the product of the integers times the scale of the product over the output's."""
    if not op.variant.startswith("q"):
        return _plain(op, "mul")
    scale = float32(op.input0.scale * op.input1.scale) / op.output.scale
    zeros = {"zero0": op.input0.zero_point, "zero1": op.input1.zero_point}
    return _steps(op, PRODUCT, "mul", **_quantized(op), **zeros, scale=scale)


def lower_div(op: BoundOperation) -> list[Step]:
    """Not quantized: the declaration refuses that."""
    return _plain(op, "div")


def _sum(op: BoundOperation, name: str, sign: int) -> list[Step]:
    if not op.variant.startswith("q"):
        return _plain(op, name)
    zero0, zero1 = op.input0.zero_point, op.input1.zero_point
    scale0 = op.input0.scale / op.output.scale
    scale1 = sign * op.input1.scale / op.output.scale
    if max(scale0, abs(scale1)) < LARGE:
        offset = -(zero0 * scale0 + zero1 * scale1)
        scales = {"scale0": scale0, "scale1": scale1, "offset": offset}
        return _steps(op, SUM, "add", **_quantized(op), **scales)
    coarse0, fine0 = _split(scale0)
    coarse1, fine1 = _split(scale1)
    return _steps(
        op,
        LARGE_SUM,
        "add_large",
        **_quantized(op),
        zero0=zero0,
        coarse0=coarse0,
        fine0=fine0,
        zero1=zero1,
        coarse1=coarse1,
        fine1=fine1,
    )


def _split(scale: float) -> tuple[float, float]:
    """A scale as the sum of 15 bits, whose product with a quantized number is exact in float32,
    and the rest: large terms that cancel each other leave no error behind.
    """
    mantissa, exponent = frexp(scale)
    coarse = ldexp(round(mantissa * 2**15), exponent - 15)
    return coarse, scale - coarse


def _plain(op: BoundOperation, name: str) -> list[Step]:
    if op.variant == "i32":  # which takes no activation
        return _steps(op, PLAIN, name)
    low, high = float_bounds(op.activation)
    return _steps(op, FLOAT, name, low=low, high=high)


def _quantized(op: BoundOperation) -> dict[str, Any]:
    low, high = quantized_bounds(op.activation, op.output)
    zero_point = op.output.zero_point
    return {
        "low": low - zero_point,
        "high": high - zero_point,
        "zero_point": zero_point,
    }


def _steps(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    shape = op.output.dimensions
    in_place = next((n for n in ("input0", "input1") if getattr(op, n).dimensions == shape), "")
    axes = walk(op.input0.dimensions, op.input1.dimensions)
    inputs: list[Any] = [op.input0, op.input1]
    steps = []
    part = min(axes[3].size, TILE)
    part_steps = [part * step for step in axes[3].steps]
    for i in (0, 1):
        if _is_short_row(axes, i):
            short, times = axes[3].size, axes[2].size
            axes = [*[NOWHERE] * 3, Axis(times * short, (1, 1))]
            part = short * min(times, REPEATED // short)
            part_steps[i], part_steps[1 - i] = 0, part
            row_bytes = short * ELEMENT_BYTES[op.output.type]
            source, inputs[i] = inputs[i], Buffer(part // short * row_bytes)
            steps.append(copy_rows(source, inputs[i], part // short, row_bytes, 0, row_bytes))
    rows = max(1, TILE // axes[3].size) if part == axes[3].size else 1
    fields |= {f"size{dim}": axes[dim].size for dim in (0, 1, 2)}
    fields |= {f"step{dim}_{i}": axes[dim].steps[i] for i in (0, 1) for dim in (0, 1, 2, 3)}
    step = Step(
        layout,
        f"{name}_{op.variant}",
        tiles=-(-prod(axis.size for axis in axes[:3]) // rows) * -(-axes[3].size // part),
        in_place=in_place,
        input0=inputs[0],
        input1=inputs[1],
        output=op.output,
        length=axes[3].size,
        part=part,
        rows=rows,
        part_step_0=part_steps[0],
        part_step_1=part_steps[1],
        **fields,
    )
    return [*steps, step]


class Axis(NamedTuple):
    """`size` steps, each of which moves input i by steps[i] elements."""

    size: int
    steps: tuple[int, int]


NOWHERE = Axis(1, (0, 0))


def walk(shape0: Dimensions, shape1: Dimensions) -> list[Axis]:
    """Four axes, outermost first, that lead through two shapes broadcast against each other."""
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
    return [NOWHERE] * (4 - len(axes)) + axes[::-1]


def _is_short_row(axes: list[Axis], i: int) -> bool:
    """Whether all of input i is one short row that repeats along the other input."""
    return (
        axes[1].size == 1
        and axes[2].size > 1
        and axes[2].steps[i] == 0
        and axes[3].size <= SHORT
        and axes[3].steps == (1, 1)
    )
