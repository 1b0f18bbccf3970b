"""RNN, step by step, and SVDF; ../lowering/rnn.py describes the steps before."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, part
from nnapi_shim.drivers.cpu.codegen.numeric import add_any_order, copy_bytes
from nnapi_shim.drivers.cpu.codegen.recurrent import (
    INFINITY,
    activate,
    add,
    multiply,
    prepare,
)
from nnapi_shim.drivers.cpu.lowering.rnn import RECURRENCE, SVDF
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

ZERO = np.float32(0)
read, write = READ["f32"], WRITE["f32"]


@kernel(RECURRENCE)
def rnn(a, tile, deadline):
    """output: float32 rows; a tile is tile_batches batches, all of their steps.

    A tile's scratch: the state and the next state, float32 [tile_batches, units] each.
    """
    units, row_bytes = a.units, a.units * 4
    first = tile * a.tile_batches
    rows = min(a.tile_batches, a.batches - first)
    state = a.scratch + tile * a.tile_batches * 2 * row_bytes
    following = state + rows * row_bytes
    copy_bytes(state, a.state_in + first * row_bytes, rows * row_bytes)
    work = 0
    for step in range(a.steps):
        is_late, work = late_after(work + rows * units * (units + 16), deadline, 16 * LONG)
        if is_late:
            return DEADLINE
        time = a.steps - 1 - step if a.backward else step
        weights, table, bound = a.recurrent, a.table, INFINITY
        prepare(state, units, a.weight_bytes, a.digits, a.capacity)
        if multiply(
            state, following, rows, units, units, weights, table, a.tile_rows, bound,
            a.weight_bytes, a.digits, a.capacity, deadline,
        ):  # fmt: skip
            return DEADLINE
        for row in range(rows):
            x = following + row * row_bytes
            at = time * a.step_rows + (first + row) * a.batch_rows
            add(x, a.products + at * row_bytes, units)
            if a.aux_products != 0:
                add(x, a.aux_products + at * row_bytes, units)
            activate(x, units, a.activation)
            copy_bytes(a.output + at * a.output_stride, x, row_bytes)
        state, following = following, state
    if a.state_out != 0:
        copy_bytes(a.state_out + first * row_bytes, state, rows * row_bytes)
    return 0


@kernel(SVDF)
def svdf(a, tile, deadline):
    """state_in, state_out: float32[batches, filters, memory], weights_time: [filters, memory].

    features: float32[batches, filters], bias: [filters / rank] or none, output:
    [batches, filters / rank]. A tile is tile_batches batches. The order of sums along the memory
    depends on the tier.
    """
    filters, last, rank = a.filters, a.memory - 1, a.rank
    units, filter_bytes = filters // rank, a.memory * 4
    for batch in range(*part(a.batches, a.tile_batches, tile)):
        features, output = a.features + batch * filters * 4, a.output + batch * units * 4
        x = a.state_in + batch * filters * filter_bytes
        y = a.state_out + batch * filters * filter_bytes
        if filters * a.memory >= LONG and late(deadline):
            return DEADLINE
        w = a.weights_time
        for unit in range(units):
            total = read(a.bias, unit) if a.bias != 0 else ZERO
            for filter in range(unit * rank, (unit + 1) * rank):
                feature = read(features, filter)
                product = feature * read(w, last)
                for m in range(last):
                    product = add_any_order(product, read(x, m) * read(w, m))
                total += product
                for m in range(1, last):
                    write(y, m - 1, read(x, m))
                if last > 0:
                    write(y, last - 1, feature)
                write(y, last, ZERO)
                x, y, w = x + filter_bytes, y + filter_bytes, w + filter_bytes
            write(output, unit, total)
        activate(output, units, a.activation)
    return 0
