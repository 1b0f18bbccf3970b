"""LOCAL_RESPONSE_NORMALIZATION of float32.

input, output: [outer, length, inner], normalized along `length`; see lowering/normalization.py.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, STRETCH, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.logarithm import power
from nnapi_shim.drivers.cpu.codegen.numeric import multiply_add
from nnapi_shim.drivers.cpu.kernels.normalization import lanes_of
from nnapi_shim.drivers.cpu.lowering.normalization import LANES, LOCAL, LOCAL_SCRATCH
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined, kernel

NEGLIGIBLE = 2.0**-24
ZERO = np.float32(0)
SIZE = 4
"""Bytes of a float."""

read = READ["f32"]
read_f32, write_f32 = READ_BACK["f32"], WRITE["f32"]
read_f64, write_f64 = READ_BACK["f64"], WRITE["f64"]


@inlined
def local_response(x, total, bias, alpha, minus_beta):
    """The result for a number x; total: the sum of the squares of its window."""
    return x * power(multiply_add(alpha, total, bias), minus_beta)


@kernel(LOCAL)
def local_response_f32(a, tile):
    """Each window is summed separately, in float32. A tile is tile_blocks blocks of LANES adjacent
    elements of [length, inner]. scratch: float32 sums.
    """
    inner, radius = a.inner, a.radius
    bias, alpha, minus_beta = a.bias, a.alpha, -a.beta
    whole = a.length * inner
    sums = a.scratch + tile * LOCAL_SCRATCH
    blocks = (whole + LANES - 1) // LANES
    for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
        at, start, count = lanes_of(block, blocks, whole)
        origin = (at * whole + start) * SIZE
        x, y = a.input + origin, a.output + origin
        for p in range(count):
            write_f32(sums, p, ZERO)
        for offset in range(-radius * inner, radius * inner + 1, inner):
            neighbour = x + offset * SIZE
            for p in range(max(0, -offset - start), min(count, whole - offset - start)):
                value = read(neighbour, p)
                write_f32(sums, p, multiply_add(value, value, read_f32(sums, p)))
        for p in range(count):
            total = read_f32(sums, p)
            write_f32(y, p, local_response(read(x, p), total, bias, alpha, minus_beta))
    return 0


@helper
def update(running, x, count, sign):
    """Add squares to running sums, or subtract them if sign is -1."""
    for c in range(count):
        value = np.float64(read(x, c))
        write_f64(running, c, read_f64(running, c) + sign * (value * value))


@helper
def is_negligible(running, count, alpha, bias):
    """Whether the residue of running sums is negligible beside the bias; False for NaN."""
    residue = 0.0
    for c in range(count):
        residue += abs(read_f64(running, c))
    return abs(alpha * residue) <= NEGLIGIBLE * abs(bias)


@kernel(LOCAL)
def local_response_running_f32(a, tile, deadline):
    """Each window is a running sum in float64: the previous one plus and minus one element. A tile
    is tile_blocks blocks of lanes. scratch: float64 sums, float32 sums of several rows.

    An infinite element, NaN, or one so large that it absorbs others spoils all later windows. It
    leaves a residue after all elements have been subtracted; then each window is summed separately.
    """
    length, inner, radius = a.length, a.inner, a.radius
    bias, alpha, minus_beta = a.bias, a.alpha, -a.beta
    running = a.scratch + tile * LOCAL_SCRATCH
    sums = running + 8 * LANES
    pitch = inner * SIZE
    blocks = (inner + LANES - 1) // LANES
    for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
        at, lane, count = lanes_of(block, blocks, inner)
        offset = (at * length * inner + lane) * SIZE
        x, y = a.input + offset, a.output + offset
        rows = LANES // inner if count == inner else 1
        for c in range(count):
            write_f64(running, c, 0.0)
        for i in range(-radius, length + radius + 1):
            if i % STRETCH == STRETCH - 1 and late(deadline):
                return DEADLINE
            if i + radius < length:
                update(running, x + (i + radius) * pitch, count, 1.0)
            if i > radius:
                update(running, x + (i - radius - 1) * pitch, count, -1.0)
            if i < 0 or i >= length:
                continue
            total = sums + i % rows * count * 4
            for c in range(count):
                write_f32(total, c, np.float32(max(read_f64(running, c), 0.0)))
            if i % rows < rows - 1 and i < length - 1:
                continue
            back = i // rows * rows * pitch
            for p in range((i % rows + 1) * count):
                value = local_response(
                    read(x + back, p), read_f32(sums, p), bias, alpha, minus_beta
                )
                write_f32(y + back, p, value)
        if not is_negligible(running, count, alpha, bias):
            for i in range(length):
                if late(deadline):
                    return DEADLINE
                for c in range(count):
                    write_f64(running, c, 0.0)
                for j in range(max(0, i - radius), min(length, i + radius + 1)):
                    update(running, x + j * pitch, count, 1.0)
                for c in range(count):
                    total = np.float32(read_f64(running, c))
                    value = local_response(read(x + i * pitch, c), total, bias, alpha, minus_beta)
                    write_f32(y + i * pitch, c, value)
    return 0
