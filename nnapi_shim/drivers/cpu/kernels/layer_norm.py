"""Layer normalization: MEAN, SUB, MUL, MEAN, ADD, SQRT, DIV, MUL and ADD of rows in one kernel.

Each operation is rounded separately and clamped to the finite range of float32, as the separate
kernels do. Where the sum of squares is finite, no result exceeds that range, and the clamps are
left out.
"""

from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late_after
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import clamp, square_root
from nnapi_shim.drivers.cpu.codegen.simd import F32, LoopPosition, sum_of, vector_loop
from nnapi_shim.drivers.cpu.codegen.vector import DOUBLE
from nnapi_shim.drivers.cpu.lowering.reduction import LAYER_NORM
from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel


def _sum_of_squares(bounded: Any) -> Any:
    """The sum of the squares of x - mean, in the order of sum_of."""

    @emits(types.float64(types.int64, types.int64, types.float32))
    def sum_of_squares(builder: Any, x: Any, count: Any, mean: Any) -> Any:
        def body(position: LoopPosition, total: Any) -> Any:
            centered = bounded(position.load(x) - position.broadcast(mean))
            square = position.select(bounded(centered * centered), 0.0)
            return builder.fadd(total, builder.fpext(square.value, total.type))

        return vector_loop(builder, count, body, (DOUBLE, 0.0, builder.fadd), chains=2)

    return sum_of_squares


def _normalize(bounded: Any) -> Any:
    """y: float32[count] = (x - mean) / deviation * gain + bias."""
    longs, floats = [types.int64] * 3, [types.float32] * 2

    @emits(types.void(*longs, *floats, types.int64, types.int64))
    def normalize(
        builder: Any, x: Any, y: Any, count: Any, mean: Any, deviation: Any, gain: Any, bias: Any
    ) -> None:
        def body(position: LoopPosition) -> None:
            centered = bounded(position.load(x) - position.broadcast(mean))
            unit = bounded(centered / position.broadcast(deviation))
            scaled = bounded(unit * position.load(gain))
            position.store(y, bounded(scaled + position.load(bias)))

        vector_loop(builder, count, body)

    return normalize


def _unbounded(x: F32) -> F32:
    return x


def _clamped(x: F32) -> F32:
    return x.clamped(-FLOAT32_MAX, FLOAT32_MAX)


sum_of_squares, sum_of_squares_clamped = _sum_of_squares(_unbounded), _sum_of_squares(_clamped)
normalize, normalize_clamped = _normalize(_unbounded), _normalize(_clamped)
HIGHEST = np.float32(FLOAT32_MAX)


@kernel(LAYER_NORM)
def layer_norm_f32(a, tile, deadline):
    """input, output: float32[rows, length]; a tile is tile_rows rows."""
    length = a.length
    count, work = np.float32(length), 0
    for row in range(tile * a.tile_rows, min((tile + 1) * a.tile_rows, a.rows)):
        is_late, work = late_after(work + length, deadline)
        if is_late:
            return DEADLINE
        x, y = a.input + row * length * 4, a.output + row * length * 4
        mean = np.float32(sum_of(x, length)) / count
        squares = np.float32(sum_of_squares(x, length, mean))
        if squares <= HIGHEST:
            deviation = square_root(clamp(squares / count + a.least, -HIGHEST, HIGHEST))
            normalize(x, y, length, mean, deviation, a.gain, a.bias)
        else:
            squares = np.float32(sum_of_squares_clamped(x, length, mean))
            deviation = square_root(clamp(squares / count + a.least, -HIGHEST, HIGHEST))
            normalize_clamped(x, y, length, mean, deviation, a.gain, a.bias)
    return 0
