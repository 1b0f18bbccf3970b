"""L2_NORMALIZATION and INSTANCE_NORMALIZATION; local_response.py has LOCAL_RESPONSE_NORMALIZATION.

input, output: [outer, length, inner], normalized along `length`; see lowering/normalization.py.
Sums of floats along it are float64, in an order that depends on the tier, never on the number of
threads; the rest is float32, rounded to the stored type at the end. Bytes are normalized in fixed
point, rounded where the reference does (semantics.md 8.1).
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, STRETCH, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    inverse_root,
    long_product,
    rounded_twice,
    short_product,
)
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    add_any_order_f64,
    copy_bytes,
    multiply32,
    multiply_add,
)
from nnapi_shim.drivers.cpu.lowering.normalization import (
    INSTANCE,
    INSTANCE_SCRATCH,
    L2,
    L2_BYTES,
    L2_BYTES_SCRATCH,
    L2_SCRATCH,
    LANES,
)
from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined, kernel

SMALLEST_NORM = 1e-6
LARGEST_SUM = np.float64(FLOAT32_MAX)
"""Sums are infinite beyond it: the reference keeps them in float32."""
LOWEST_STEP, LARGEST_STEP, UNIT = np.int32(-128), np.int32(127), np.int32(128)
FOURTEEN = np.int32(14)
ZERO = np.float32(0)
SIZE = 4
"""Bytes of a float."""

read, read_u8 = READ["f32"], READ["u8"]
read_f32, write_f32 = READ_BACK["f32"], WRITE["f32"]
read_i32, write_i32 = READ_BACK["i32"], WRITE["i32"]
read_f64, write_f64 = READ_BACK["f64"], WRITE["f64"]
write_b8 = WRITE["b8"]


@helper
def lanes_of(block, blocks, inner):
    """(outer index, first lane, number of lanes) of a block."""
    lane = block % blocks * LANES
    return block // blocks, lane, min(LANES, inner - lane)


# L2_NORMALIZATION


@helper
def l2_factor(total):
    """1 / norm; total: the sum of the squares. NaN stays NaN."""
    norm = np.sqrt(total) if total <= LARGEST_SUM else total * np.inf
    return np.float32(1 / (SMALLEST_NORM if norm < SMALLEST_NORM else norm))


@kernel(L2)
def l2_normalization_f32(a, tile, deadline):
    """A tile is tile_blocks rows."""
    length = a.length
    for row in range(*part(a.outer, a.tile_blocks, tile)):
        x, y = a.input + row * length * SIZE, a.output + row * length * SIZE
        total = 0.0
        for i in range(length):
            value = np.float64(read(x, i))
            total = add_any_order_f64(total, value * value)
        factor = l2_factor(total)
        if length > LONG and late(deadline):
            return DEADLINE
        for i in range(length):
            write_f32(y, i, read(x, i) * factor)
    return 0


@kernel(L2)
def l2_normalization_lanes_f32(a, tile, deadline):
    """A tile is tile_blocks blocks of lanes. scratch: float64 sums, float32 factors."""
    length, inner = a.length, a.inner
    pitch = inner * SIZE
    sums = a.scratch + tile * L2_SCRATCH
    factors = sums + 8 * LANES
    blocks = (inner + LANES - 1) // LANES
    for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
        at, lane, count = lanes_of(block, blocks, inner)
        start = (at * length * inner + lane) * SIZE
        x, y = a.input + start, a.output + start
        for c in range(count):
            write_f64(sums, c, 0.0)
        for i in range(length):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                value = np.float64(read(x + i * pitch, c))
                write_f64(sums, c, read_f64(sums, c) + value * value)
        for c in range(count):
            write_f32(factors, c, l2_factor(read_f64(sums, c)))
        for i in range(length):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                write_f32(y + i * pitch, c, read(x + i * pitch, c) * read_f32(factors, c))
    return 0


@helper
def centred_byte(x, i, flip, zero):
    """A stored number minus its zero point; zero is the negated zero point."""
    return add32(np.int32(np.uint8(read_u8(x, i) ^ flip)), zero)


@helper
def store_byte(y, i, steps, zero_point):
    """Add the zero point of the output, and store."""
    write_b8(y, i, add32(min(max(steps, LOWEST_STEP), LARGEST_STEP), zero_point))


@helper
def rounding_by(bits):
    """Values for ROUNDING (lowering/fixed_point.py) of a product to be divided by 2^bits."""
    nudge = 1 + (1 << bits if bits > 0 else 0)
    return np.int32(nudge), np.int32(-2 if bits > 0 else 0), np.int32(bits + 1)


@kernel(L2_BYTES)
def l2_normalization_b8(a, tile, deadline):
    """A tile is tile_blocks rows. Sums wrap."""
    length, flip, zero, zero_point = a.length, np.uint8(a.flip), np.int32(a.zero), a.zero_point
    zero_point = np.int32(zero_point)
    for row in range(*part(a.outer, a.tile_blocks, tile)):
        x, y = a.input + row * length, a.output + row * length
        total = np.int32(0)
        for i in range(length):
            value = centred_byte(x, i, flip, zero)
            total = add32(total, multiply32(value, value))
        mantissa, down = inverse_root(np.int64(total))
        up = min(7, max(7 - down, 0)) if a.late else 7
        down = max(down - 7, 0) if a.late else down
        high = np.int32((mantissa + (1 << 15)) >> 16)
        low, factor = np.int32(mantissa - (np.int64(high) << 16)), np.int32(1 << up)
        nudge, away, down = rounding_by(down)
        if length > LONG and late(deadline):
            return DEADLINE
        for i in range(length):
            value = multiply32(centred_byte(x, i, flip, zero), factor)
            product = short_product(value, high, low, FOURTEEN)
            store_byte(y, i, rounded_twice(product, nudge, away, down), zero_point)
    return 0


@kernel(L2_BYTES)
def l2_normalization_lanes_b8(a, tile, deadline):
    """A tile is tile_blocks blocks of lanes. scratch: int32 sums, then multipliers; roundings."""
    length, inner, flip, zero = a.length, a.inner, np.uint8(a.flip), np.int32(a.zero)
    zero_point = np.int32(a.zero_point)
    sums = a.scratch + tile * L2_BYTES_SCRATCH
    nudges, aways, downs = sums + 4 * LANES, sums + 8 * LANES, sums + 12 * LANES
    blocks = (inner + LANES - 1) // LANES
    for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
        at, lane, count = lanes_of(block, blocks, inner)
        start = at * length * inner + lane
        x, y = a.input + start, a.output + start
        for c in range(count):
            write_i32(sums, c, 0)
        for i in range(length):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                value = centred_byte(x + i * inner, c, flip, zero)
                total = add32(np.int32(read_i32(sums, c)), multiply32(value, value))
                write_i32(sums, c, np.int64(total))
        for c in range(count):
            mantissa, down = inverse_root(read_i32(sums, c))
            nudge, away, down = rounding_by(down)
            write_i32(sums, c, mantissa)
            write_i32(nudges, c, np.int64(nudge))
            write_i32(aways, c, np.int64(away))
            write_i32(downs, c, np.int64(down))
        for i in range(length):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                value = multiply32(centred_byte(x + i * inner, c, flip, zero), UNIT)
                product = long_product(value, np.int32(read_i32(sums, c)))
                nudge, away = np.int32(read_i32(nudges, c)), np.int32(read_i32(aways, c))
                steps = rounded_twice(product, nudge, away, np.int32(read_i32(downs, c)))
                store_byte(y + i * inner, c, steps, zero_point)
    return 0


# INSTANCE_NORMALIZATION


@helper
def statistics(origin, total, squares, count, gamma, epsilon):
    """(mean, its rounding error, factor) in float32, from sums of x - origin and of its squares.

    As in the reference, sums of x and of (x - mean)^2 that exceed float32 are infinite.
    """
    shift = total / count
    variance = squares / count - shift * shift
    variance = 0.0 if variance < 0.0 else variance
    if variance * count > LARGEST_SUM:
        variance = np.inf
    mean = origin + shift
    if abs(mean) * count > LARGEST_SUM:
        mean *= np.inf
    high = np.float32(mean)
    return high, np.float32(mean - high), np.float32(gamma / np.sqrt(variance + epsilon))


@helper
def instance(x, high, low, factor, beta):
    """A normalized element. The mean has two parts, more digits than one float32."""
    return multiply_add((x - high) - low, factor, beta)


@kernel(INSTANCE)
def instance_normalization_f32(a, tile, deadline):
    """A tile is tile_blocks rows."""
    length, beta = a.length, a.beta
    for row in range(*part(a.outer, a.tile_blocks, tile)):
        x, y = a.input + row * length * SIZE, a.output + row * length * SIZE
        origin, total, squares = np.float64(read(x, 0)), 0.0, 0.0
        for i in range(length):
            value = np.float64(read(x, i)) - origin
            total = add_any_order_f64(total, value)
            squares = add_any_order_f64(squares, value * value)
        high, low, factor = statistics(origin, total, squares, length, a.gamma, a.epsilon)
        if length > LONG and late(deadline):
            return DEADLINE
        for i in range(length):
            write_f32(y, i, instance(read(x, i), high, low, factor, beta))
    return 0


@inlined
def add_folded_rows(totals, squares, wanted, count):
    """Add all folded rows of the sums to the first."""
    for other in range(wanted, count, wanted):
        for c in range(wanted):
            more = read_f64(totals, c) + read_f64(totals, other + c)
            write_f64(totals, c, more)
            more = read_f64(squares, c) + read_f64(squares, other + c)
            write_f64(squares, c, more)


@kernel(INSTANCE)
def instance_normalization_lanes_f32(a, tile, deadline):
    """A tile is tile_blocks blocks of lanes; `fold` rows of few lanes are processed as one row.
    scratch: float64 origins, sums, sums of squares; float32 means, their rounding errors, factors.
    """
    length, inner, fold = a.length, a.inner, a.fold
    gamma, beta, epsilon = a.gamma, a.beta, a.epsilon
    origins = a.scratch + tile * INSTANCE_SCRATCH
    totals, squares = origins + 8 * LANES, origins + 16 * LANES
    high, low, factor = origins + 24 * LANES, origins + 28 * LANES, origins + 32 * LANES
    pitch, steps, rest = fold * inner * SIZE, length // fold, length % fold * inner
    blocks = (inner + LANES - 1) // LANES
    for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
        at, lane, wanted = lanes_of(block, blocks, inner)
        offset = (at * length * inner + lane) * SIZE
        x, y = a.input + offset, a.output + offset
        count = fold * wanted
        for c in range(count):
            write_f64(origins, c, np.float64(read(x, c % wanted)))
            write_f64(totals, c, 0.0)
            write_f64(squares, c, 0.0)
        for i in range(0, steps - 1, 2):
            if i % STRETCH == STRETCH - 2 and late(deadline):
                return DEADLINE
            x0, x1 = x + i * pitch, x + (i + 1) * pitch
            for c in range(count):
                origin = read_f64(origins, c)
                value0, value1 = np.float64(read(x0, c)) - origin, np.float64(read(x1, c)) - origin
                write_f64(totals, c, read_f64(totals, c) + (value0 + value1))
                more = value0 * value0 + value1 * value1
                write_f64(squares, c, read_f64(squares, c) + more)
        for i in range(steps // 2 * 2, steps + 1):  # the odd row, then the incomplete one
            x0 = x + i * pitch
            for c in range(count if i < steps else rest):
                value = np.float64(read(x0, c)) - read_f64(origins, c)
                write_f64(totals, c, read_f64(totals, c) + value)
                write_f64(squares, c, read_f64(squares, c) + value * value)
        add_folded_rows(totals, squares, wanted, count)
        for c in range(wanted):
            sums = read_f64(origins, c), read_f64(totals, c), read_f64(squares, c)
            moments = statistics(*sums, length, gamma, epsilon)
            write_f32(high, c, moments[0])
            write_f32(low, c, moments[1])
            write_f32(factor, c, moments[2])
        for other in range(wanted, count, wanted):
            copy_bytes(high + 4 * other, high, 4 * wanted)
            copy_bytes(low + 4 * other, low, 4 * wanted)
            copy_bytes(factor + 4 * other, factor, 4 * wanted)
        for i in range(steps + 1):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            x0, y0 = x + i * pitch, y + i * pitch
            for c in range(count if i < steps else rest):
                mean = read_f32(high, c), read_f32(low, c)
                write_f32(y0, c, instance(read(x0, c), *mean, read_f32(factor, c), beta))
    return 0
