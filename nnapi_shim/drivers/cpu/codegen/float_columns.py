"""One step of an LSTM whose gates lie side by side: a product of one row, and the gates from it.

Weights are packed by columns, one for each gate of each unit. A panel is some vectors of columns:
their biases, then their weights for each number of the row. All vectors are whole: what they read
and write beyond the last unit is no result.
"""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.exponential import logistic_of, tanh_of
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.simd import F32
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, long, vector

LANES = TILING.lanes
PANEL = 8 if ISA.tier.registers >= 32 else 4
"""Vectors of a panel; the last one has the rest."""
PANEL_COLUMNS = PANEL * LANES
VECTOR = vector(FLOAT, LANES)


@emits(types.void(*[types.int64] * 7))
def row_times_columns(
    builder: Any, x: Any, depth: Any, h: Any, depth_h: Any, weights: Any, columns: Any, output: Any
) -> None:
    """output: float32[whole vectors of columns] = bias + x * weights + h * further weights."""
    vectors = builder.sdiv(builder.add(columns, long(LANES - 1)), long(LANES))
    whole = builder.sdiv(vectors, long(PANEL))
    rows = builder.add(builder.add(depth, depth_h), long(1))
    panel_bytes = builder.mul(rows, long(4 * PANEL_COLUMNS))
    with builder.each(whole) as number:
        panel = builder.add(weights, builder.mul(number, panel_bytes))
        target = builder.add(output, builder.mul(number, long(4 * PANEL_COLUMNS)))
        _panel(builder, x, depth, h, depth_h, panel, PANEL, target)
    panel = builder.add(weights, builder.mul(whole, panel_bytes))
    target = builder.add(output, builder.mul(whole, long(4 * PANEL_COLUMNS)))
    rest = builder.sub(vectors, builder.mul(whole, long(PANEL)))
    for count in range(1, PANEL):
        with builder.if_then(builder.icmp_signed("==", rest, long(count))):
            _panel(builder, x, depth, h, depth_h, panel, count, target)


def _panel(
    builder: Any, x: Any, depth: Any, h: Any, depth_h: Any, panel: Any, vectors: int, output: Any
) -> None:
    """The sums of a panel of so many vectors."""

    def place(start: Any, number: int) -> Any:
        return builder.add(start, long(4 * LANES * number))

    row_bytes = 4 * LANES * vectors
    sums = [
        builder.variable(VECTOR, builder.load_from(place(panel, number), VECTOR, 4))
        for number in range(vectors)
    ]
    first = builder.add(panel, long(row_bytes))
    for row, count in ((x, depth), (h, depth_h)):
        with builder.each(count) as k:
            factor = builder.load_from(builder.add(row, builder.mul(k, long(4))), FLOAT, 4)
            factors = builder.splat(factor, LANES)
            at = builder.add(first, builder.mul(k, long(row_bytes)))
            for number, total in enumerate(sums):
                own = builder.load_from(place(at, number), VECTOR, 4)
                added = ISA.multiply_add(builder, factors, own, builder.load(total))
                builder.store(added, total)
        first = builder.add(first, builder.mul(count, long(row_bytes)))
    for number, total in enumerate(sums):
        builder.store_to(builder.load(total), place(output, number), 4)


@emits(types.void(*[types.int64] * 4, types.float32))
def update_cell(builder: Any, gates: Any, cells: Any, h: Any, units: Any, clip: Any) -> None:
    """cells, h: float32[whole vectors of units], in place: the states after a step. gates: float32
    [4, units], sums; clip: of the cell state.
    """
    most = builder.splat(clip, LANES)
    least = builder.fneg(most)
    vectors = builder.sdiv(builder.add(units, long(LANES - 1)), long(LANES))
    gate_bytes = builder.mul(units, long(4))
    with builder.each(vectors, 4 * LANES) as at:
        source, sums = builder.add(gates, at), []
        for _ in range(4):
            sums.append(F32(builder, builder.load_from(source, VECTOR, 4)))
            source = builder.add(source, gate_bytes)
        into, forget, out = (logistic_of(sums[gate]) for gate in (0, 1, 3))
        state_at = builder.add(cells, at)
        state = forget * F32(builder, builder.load_from(state_at, VECTOR, 4))
        state = F32(builder, builder.clamp((state + into * tanh_of(sums[2])).value, least, most))
        builder.store_to(state.value, state_at, 4)
        builder.store_to((out * tanh_of(state)).value, builder.add(h, at), 4)
