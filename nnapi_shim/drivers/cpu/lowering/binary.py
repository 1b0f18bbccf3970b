"""ADD SUB MUL DIV as steps.

The output is viewed as [size0, size1, size2, length] with as few dimensions as the broadcasting
leaves: neighbours that both inputs step through alike are merged. Along `length` each input either
moves with the output or stands still.
"""

from math import prod
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Step, record
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32

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
}
"""How a binary kernel walks: step<dim>_<input> is how far an input moves, in elements. A tile is
`part` elements of one row of `length`, or `rows` whole rows."""

PLAIN = record(**WALK_FIELDS)
FLOAT = record(**WALK_FIELDS, low=FLOAT32, high=FLOAT32)
QUANTIZED_FIELDS = {
    **WALK_FIELDS,
    "zero0": FLOAT32,
    "zero1": FLOAT32,
    "low": FLOAT32,
    "high": FLOAT32,
    "zero_point": INT64,
}
"""low, high: bounds of the result, less its zero point."""
SUM = record(
    **QUANTIZED_FIELDS, coarse0=FLOAT32, coarse1=FLOAT32, fine0=FLOAT32, fine1=FLOAT32
)
PRODUCT = record(**QUANTIZED_FIELDS, scale=FLOAT32)


def lower_add(op: BoundOperation) -> list[Step]:
    """Quantized: each input times its scale over the output's."""
    return [_sum(op, "add", +1)]


def lower_sub(op: BoundOperation) -> list[Step]:
    """Quantized: the sum with a negative second scale."""
    return [_sum(op, "sub", -1)]


def lower_mul(op: BoundOperation) -> list[Step]:
    """Quantized: the product of the integers times the scale of the product over the output's."""
    if not op.variant.startswith("q"):
        return [_plain(op, "mul")]
    scale = float32(op.input0.scale * op.input1.scale) / op.output.scale
    return [_step(op, PRODUCT, "mul", **_quantized(op), scale=scale)]


def lower_div(op: BoundOperation) -> list[Step]:
    """Not quantized: the declaration refuses that."""
    return [_plain(op, "div")]


def _sum(op: BoundOperation, name: str, sign: int) -> Step:
    if not op.variant.startswith("q"):
        return _plain(op, name)
    coarse0, fine0 = _split(op.input0.scale / op.output.scale)
    coarse1, fine1 = _split(sign * op.input1.scale / op.output.scale)
    return _step(
        op,
        SUM,
        "add",
        **_quantized(op),
        coarse0=coarse0,
        coarse1=coarse1,
        fine0=fine0,
        fine1=fine1,
    )


def _split(scale: float) -> tuple[float, float]:
    """A scale as the sum of 15 bits, whose product with a quantized number is exact in float32,
    and the rest: large terms that cancel each other leave no error behind.
    """
    spread = float32(scale) * (2**9 + 1)
    coarse = float32(spread - float32(spread - float32(scale)))
    return coarse, scale - coarse


def _plain(op: BoundOperation, name: str) -> Step:
    if op.variant != "i32":
        low, high = float_bounds(op.activation)
        return _step(op, FLOAT, name, low=low, high=high)
    if op.activation != FuseCode.NONE:
        raise op_failed(f"activation is {op.activation}; TENSOR_INT32 takes NONE alone")
    return _step(op, PLAIN, name)


def _quantized(op: BoundOperation) -> dict[str, Any]:
    low, high = quantized_bounds(op.activation, op.output)
    zero_point = op.output.zero_point
    return {
        "zero0": op.input0.zero_point,
        "zero1": op.input1.zero_point,
        "low": low - zero_point,
        "high": high - zero_point,
        "zero_point": zero_point,
    }


def _step(op: BoundOperation, layout: Any, name: str, **fields: Any) -> Step:
    axes = walk(op.input0.dimensions, op.input1.dimensions)
    shape = op.output.dimensions
    in_place = next((n for n in ("input0", "input1") if getattr(op, n).dimensions == shape), "")
    length = axes[3].size
    outer = prod(axis.size for axis in axes[:3])
    part = min(length, TILE)
    rows = max(1, TILE // length)
    tiles = outer * -(-length // part) if rows == 1 else -(-outer // rows)
    return Step(
        layout,
        f"{name}_{op.variant}",
        tiles=tiles,
        in_place=in_place,
        input0=op.input0,
        input1=op.input1,
        output=op.output,
        length=length,
        part=part,
        rows=rows,
        **{f"size{dim}": axes[dim].size for dim in (0, 1, 2)},
        **{f"step{dim}_{i}": axes[dim].steps[i] for i in (0, 1) for dim in (0, 1, 2, 3)},
        **fields,
    )


class Axis(NamedTuple):
    """`size` steps, each of which moves input i by steps[i] elements."""

    size: int
    steps: tuple[int, int]


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
    return [Axis(1, (0, 0))] * (4 - len(axes)) + axes[::-1]
