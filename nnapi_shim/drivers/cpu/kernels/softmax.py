"""SOFTMAX and LOG_SOFTMAX: separate loops for maximum, exponentials with their sum, and results.

Floats in float32. Sums are taken in as many parts as the processor has lanes: their order depends
on the tier, never on the number of threads. Those along a row are float64 from block to block.
"""

from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.byte_lookup import lookup_bytes_of
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, STRETCH, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.exponential import exp_negative, exp_negative_of
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    exponential_32,
    floor_log2,
    reciprocal_32,
    scaled,
    shift_right_unsigned,
    wrapped_32,
)
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.logarithm import log
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    add_any_order,
    bits_of,
    float_of,
    from_ordered,
    i32,
    larger_number,
    ordered,
    xor32,
)
from nnapi_shim.drivers.cpu.codegen.simd import I32, LoopPosition, mapping, vector_loop
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, WORD
from nnapi_shim.drivers.cpu.lowering.softmax import (
    LANES,
    LOG_SCRATCH,
    LOG_SOFTMAX,
    POWERS,
    POWERS_COUNT,
    SCRATCH,
    SOFTMAX,
    SOFTMAX_LANES,
    SOFTMAX_TABLE,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ZERO, ONE = np.float32(0), np.float32(1)
LOWEST = np.int32(-(2**31))
HALF, TWELVE = np.int32(1 << 11), np.int32(12)
BLOCK = 1024
"""Numbers that are summed in float32."""

read_float, write_float, read_back = READ["f32"], WRITE["f32"], READ_BACK["f32"]
read_half, write_half = READ["f16"], WRITE["f16"]
read_word, write_word, read_word_back = READ["i32"], WRITE["i32"], READ_BACK["i32"]
read_byte_back = READ_BACK["u8"]
read_double, write_double = READ_BACK["f64"], WRITE["f64"]


@emits(types.int32(types.int64, types.int64))
def largest_key(builder: Any, x: Any, count: Any) -> Any:
    """The largest `ordered` of float32[count] at x."""

    def body(position: LoopPosition, most: Any) -> Any:
        bits = position.load(x, -np.inf).bits()
        return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).largest(I32(builder, most)).value

    def join(a: Any, b: Any) -> Any:
        return I32(builder, a).largest(I32(builder, b)).value

    return vector_loop(builder, count, body, (WORD, int(LOWEST), join), chains=2)


@emits(types.float32(*[types.int64] * 3, types.float32, types.float32))
def powers(builder: Any, x: Any, y: Any, count: Any, most: Any, beta: Any) -> Any:
    """float32[count] at y = e^((x - most) * beta); their sum."""

    def body(position: LoopPosition, total: Any) -> Any:
        distance = position.load(x) - position.broadcast(most)
        power = exp_negative_of(distance * position.broadcast(beta))
        position.store(y, power)
        return builder.fadd(total, position.select(power, 0.0).value)

    return vector_loop(builder, count, body, (FLOAT, 0.0, builder.fadd))


multiply_all = mapping(lambda x, share: x * share)


@kernel(SOFTMAX)
def softmax_f32(a, tile, deadline):
    """input, output: float32[outer, length], of which a tile is tile_rows rows."""
    length, beta = a.length, a.beta
    for row in range(*part(a.outer, a.tile_rows, tile)):
        x, y = a.input + row * length * 4, a.output + row * length * 4
        most, total = from_ordered(largest_key(x, length)), np.float64(0)
        for start in range(0, length, BLOCK):
            if start % LONG == LONG - BLOCK and late(deadline):
                return DEADLINE
            count = min(BLOCK, length - start)
            total += powers(x + 4 * start, y + 4 * start, count, most, beta)
        if length > LONG and late(deadline):
            return DEADLINE
        multiply_all(y, y, length, np.float32(1 / total))
    return 0


@kernel(SOFTMAX)
def softmax_f16(a, tile, deadline):
    """input, output: float16[outer, length], of which a tile is tile_rows rows.

    float16 has no room for the exponentials, so they are computed a second time.
    """
    length, beta = a.length, a.beta
    for row in range(*part(a.outer, a.tile_rows, tile)):
        x, y = a.input + row * length * 2, a.output + row * length * 2
        key = LOWEST
        for i in range(length):
            key = max(key, ordered(read_half(x, i)))
        most, total = from_ordered(key), np.float64(0)
        for start in range(0, length, BLOCK):
            if start % LONG == LONG - BLOCK and late(deadline):
                return DEADLINE
            subtotal = ZERO
            for i in range(start, min(start + BLOCK, length)):
                power = exp_negative((read_half(x, i) - most) * beta)
                subtotal = add_any_order(subtotal, power)
            total += subtotal
        share = np.float32(1 / total)
        if length > LONG and late(deadline):
            return DEADLINE
        for i in range(length):
            write_half(y, i, exp_negative((read_half(x, i) - most) * beta) * share)
    return 0


def lanes(variant, size):
    """input, output: float[outer, length, inner]; chosen for inner > 1. A tile is tile_rows blocks
    of up to LANES lanes, each summed in the order of the axis. scratch: float32[tiles, 2, LANES].
    """
    read, write, keeps = READ[variant], WRITE[variant], variant == "f32"

    @kernel(SOFTMAX_LANES, f"softmax_lanes_{variant}")
    def body(a, tile, deadline):
        length, inner, beta = a.length, a.inner, a.beta
        blocks = (inner + LANES - 1) // LANES
        most = a.scratch + tile * 2 * LANES * 4
        total = most + LANES * 4
        for block in range(*part(a.outer * blocks, a.tile_rows, tile)):
            lane = block % blocks * LANES
            count = min(LANES, inner - lane)
            start = (block // blocks * length * inner + lane) * size
            for c in range(count):
                write_float(most, c, read(a.input + start, c))
                write_float(total, c, ZERO)
            for j in range(1, length):
                if j % STRETCH == 0 and late(deadline):
                    return DEADLINE
                x = a.input + start + j * inner * size
                for c in range(count):
                    value, so_far = read(x, c), read_back(most, c)
                    write_float(most, c, value if value > so_far else so_far)
            for j in range(length):
                if j % STRETCH == STRETCH - 1 and late(deadline):
                    return DEADLINE
                x, y = a.input + start + j * inner * size, a.output + start + j * inner * size
                for c in range(count):
                    power = exp_negative((read(x, c) - read_back(most, c)) * beta)
                    write_float(total, c, read_back(total, c) + power)
                    if keeps:
                        write(y, c, power)
            for c in range(count):
                write_float(total, c, ONE / read_back(total, c))
            for j in range(length):
                if j % STRETCH == STRETCH - 1 and late(deadline):
                    return DEADLINE
                x, y = a.input + start + j * inner * size, a.output + start + j * inner * size
                for c in range(count):
                    if keeps:
                        power = read_back(y, c)
                    else:
                        power = exp_negative((read(x, c) - read_back(most, c)) * beta)
                    write(y, c, power * read_back(total, c))
        return 0


for _variant, _size in (("f32", 4), ("f16", 2)):
    lanes(_variant, _size)


# Quantized: exponentials without integer bits, their sum in Q12.19 (semantics.md 8.4).


@kernel(POWERS)
def softmax_powers(a, tile):
    """See POWERS in lowering/softmax.py."""
    y = i32(a.output)
    for i in range(POWERS_COUNT):
        below = max(255 - i, 0)
        exponent = -scaled(-below, a.mantissa, a.exponent)
        y[i] = exponential_32(exponent, 5) if below <= a.radius else 0
    return 0


@helper
def share_of(total):
    """(share, bits): what exponentials are multiplied by, and the bits that the products are then
    shifted by, for a sum of exponentials, an unsigned 32-bit number.
    """
    headroom = 31 - floor_log2(total) if total > 0 else 32
    share = reciprocal_32(wrapped_32((total << headroom) - (1 << 31)))
    bits = 12 - headroom + 31 - 8
    # Sums of 512 and above leave less than half a step; one that overflows to 0 gives any number.
    return (share, bits) if bits < 32 and share > 0 else (0, 31)


@helper
def power_of(table, byte):
    """(the exponential of a byte, the summand that it contributes)."""
    power = np.int32(read_word(table, byte))
    # Positive, so 12 bits can be cut off, but for the sign that the sum may get.
    return power, shift_right_unsigned(add32(power, HALF), TWELVE)


@helper
def steps_of(power, share, nudge, bits, flip):
    """Both roundings in one (see fixed_point.py); nothing is negative."""
    steps = min((np.int64(power) * np.int64(share) + nudge) >> bits, 255)
    return xor32(np.int32(steps), flip)


def quantized(variant, flip):
    """input, output: byte[outer, length, inner]; a tile is tile_rows lanes. scratch: exponentials
    of a short lane, results of a long one by its bytes.

    output = round(256 * p), at most 255. Signed numbers are flipped to unsigned ones, 128 higher.
    """
    read, write = READ["u8"], WRITE["b8"]
    flips = np.int32(flip)

    @kernel(SOFTMAX_TABLE, f"softmax_{variant}")
    def body(a, tile, deadline):
        length, inner, scratch = a.length, a.inner, a.scratch + SCRATCH * tile
        for lane in range(*part(a.outer * inner, a.tile_rows, tile)):
            start = lane // inner * length * inner + lane % inner
            x, y = a.input + start, a.output + start
            most = np.uint8(0)
            for stretch in range(0, length, LONG):
                if stretch > 0 and late(deadline):
                    return DEADLINE
                for i in range(stretch, min(stretch + LONG, length)):
                    most = max(most, np.uint8(read(x, i * inner) ^ flip))
            table = a.table + (255 - most) * 4
            total = np.int32(0)
            if length <= 256:
                for i in range(length):
                    power, summand = power_of(table, read(x, i * inner) ^ flip)
                    write_word(scratch, i, np.int64(power))
                    total = add32(total, summand)
            else:
                for stretch in range(0, length, LONG):
                    if stretch > 0 and late(deadline):
                        return DEADLINE
                    for i in range(stretch, min(stretch + LONG, length)):
                        _, summand = power_of(table, read(x, i * inner) ^ flip)
                        total = add32(total, summand)
            share, bits = share_of(np.int64(total) & 0xFFFFFFFF)
            nudge, bits, share = (1 << 30) + (1 << (30 + bits)), bits + 31, np.int32(share)
            if length <= 256:
                for i in range(length):
                    power = np.int32(read_word_back(scratch, i))
                    write(y, i * inner, steps_of(power, share, nudge, bits, flips))
                continue
            for byte in range(256):  # those above the maximum, too: inputs may change
                power, _ = power_of(table, byte)
                write(scratch, byte ^ np.int64(flip), steps_of(power, share, nudge, bits, flips))
            if inner == 1:
                lookup_bytes_of(y, x, length, scratch)
            else:
                for stretch in range(0, length, LONG):
                    if stretch > 0 and late(deadline):
                        return DEADLINE
                    for i in range(stretch, min(stretch + LONG, length)):
                        write(y, i * inner, np.int32(read_byte_back(scratch, read(x, i * inner))))
        return 0


quantized("qu8", np.uint8(0))
quantized("qs8", np.uint8(128))


# LOG_SOFTMAX: numbers have `flip` xor-ed to their bits; beta is not negative.


@helper
def flipped(x, i, flip):
    """A number, flipped."""
    return float_of(xor32(bits_of(read_float(x, i)), flip))


@kernel(LOG_SOFTMAX)
def log_softmax_f32(a, tile, deadline):
    """input, output: float32[outer, length], of which a tile is tile_rows rows."""
    length, beta, flip = a.length, a.beta, np.int32(a.flip)
    for row in range(*part(a.outer, a.tile_rows, tile)):
        x, y = a.input + row * length * 4, a.output + row * length * 4
        most = flipped(x, 0, flip)
        for i in range(1, length):
            most = larger_number(most, flipped(x, i, flip))
        total = np.float64(0)
        for start in range(0, length, BLOCK):
            if start % LONG == LONG - BLOCK and late(deadline):
                return DEADLINE
            subtotal = ZERO
            for i in range(start, min(start + BLOCK, length)):
                power = exp_negative((flipped(x, i, flip) - most) * beta)
                subtotal = add_any_order(subtotal, power)
            total += subtotal
        whole = np.float32(np.log(total))
        if length > LONG and late(deadline):
            return DEADLINE
        for i in range(length):
            write_float(y, i, (flipped(x, i, flip) - most) * beta - whole)
    return 0


@kernel(LOG_SOFTMAX)
def log_softmax_lanes_f32(a, tile, deadline):
    """input, output: float32[outer, length, inner]; chosen for inner > 1. A tile is tile_rows
    blocks of up to LANES lanes. scratch: float64 sums, float32 maxima of each tile.
    """
    length, inner, beta, flip = a.length, a.inner, a.beta, np.int32(a.flip)
    blocks, pitch = (inner + LANES - 1) // LANES, inner * 4
    total = a.scratch + tile * LOG_SCRATCH
    most = total + LANES * 8
    for block in range(*part(a.outer * blocks, a.tile_rows, tile)):
        lane = block % blocks * LANES
        count = min(LANES, inner - lane)
        start = (block // blocks * length * inner + lane) * 4
        x, y = a.input + start, a.output + start
        for c in range(count):
            write_float(most, c, flipped(x, c, flip))
            write_double(total, c, 0.0)
        for j in range(1, length):
            if j % STRETCH == 0 and late(deadline):
                return DEADLINE
            for c in range(count):
                value = larger_number(read_back(most, c), flipped(x + j * pitch, c, flip))
                write_float(most, c, value)
        for j in range(length):
            if j % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                exponent = (flipped(x + j * pitch, c, flip) - read_back(most, c)) * beta
                write_double(total, c, read_double(total, c) + exp_negative(exponent))
        for c in range(count):
            whole = log(np.float32(read_double(total, c)))
            write_double(total, c, np.float64(whole))
        for j in range(length):
            if j % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            for c in range(count):
                exponent = (flipped(x + j * pitch, c, flip) - read_back(most, c)) * beta
                write_float(y + j * pitch, c, exponent - np.float32(read_double(total, c)))
    return 0
