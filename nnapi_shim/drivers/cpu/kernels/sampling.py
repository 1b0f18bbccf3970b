"""RANDOM_MULTINOMIAL: cumulative sums of exponentials in float64, sampled with random numbers.

The generator is Philox 4x32 with 10 rounds, as in the reference (semantics.md 10.5).
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, monotonic_ns
from nnapi_shim.drivers.cpu.codegen.elements import READ, part
from nnapi_shim.drivers.cpu.codegen.exponential_f64 import exp
from nnapi_shim.drivers.cpu.codegen.numeric import f64, from_ordered, i32, ordered
from nnapi_shim.drivers.cpu.codegen.single_fetch import fetch_i32
from nnapi_shim.drivers.cpu.lowering.sampling import CUMULATE, SAMPLE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

LOWEST = np.int32(-(2**31))
INFINITY = np.float32(np.inf)


def cumulate(variant, size):
    """logits: float[rows, classes], output: float64[rows, classes]; a tile is tile_rows rows.

    output[i] = sum over j <= i of exp(logits[j] - maximum); infinities and NaN count as 0.
    """
    read = READ[variant]

    @kernel(CUMULATE, f"cumulate_{variant}")
    def body(a, tile, deadline):
        classes = a.classes
        for row in range(*part(a.rows, a.tile_rows, tile)):
            x, sums = a.logits + row * classes * size, f64(a.output + row * classes * 8)
            key = LOWEST
            for i in range(classes):
                logit = read(x, i)
                key = max(key, ordered(logit) if abs(logit) < INFINITY else LOWEST)
            most = np.float64(from_ordered(key))
            for i in range(classes):
                logit = read(x, i)
                share = exp(np.float64(logit) - most)
                sums[i] = share if abs(logit) < INFINITY else 0.0
            total = 0.0
            for i in range(classes):
                if i % LONG == LONG - 1 and late(deadline):
                    return DEADLINE
                total += sums[i]
                sums[i] = total
        return 0


cumulate("f32", 4)
cumulate("f16", 2)


U = np.uint64
FACTOR_0, FACTOR_1, STEP_0, STEP_1 = U(0xD2511F53), U(0xCD9E8D57), U(0x9E3779B9), U(0xBB67AE85)
MASK, HIGH_MASK, WORD = U(0xFFFFFFFF), U(0xFFFFF), U(32)
UNIT = 2.0**-52


@helper
def philox(block, stream, key):
    """Two numbers in [0, 1), of 52 bits each; block, stream, key: uint64."""
    c0, c1, c2, c3 = block & MASK, block >> WORD, stream & MASK, stream >> WORD
    k0, k1 = key & MASK, key >> WORD
    for _ in range(10):
        p0, p1 = FACTOR_0 * c0, FACTOR_1 * c2
        c0, c1 = (p1 >> WORD) ^ c1 ^ k0, p1 & MASK
        c2, c3 = (p0 >> WORD) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + STEP_0) & MASK, (k1 + STEP_1) & MASK
    u = np.float64(((c0 & HIGH_MASK) << WORD) | c1) * UNIT
    v = np.float64(((c2 & HIGH_MASK) << WORD) | c3) * UNIT
    return u, v


@helper
def _class_of(sums, classes, u):
    """The first class whose cumulative sum exceeds u times the total."""
    target = u * sums[classes - 1]
    low, high = 0, classes
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] <= target:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(SAMPLE)
def random_multinomial(a, tile):
    """sums: float64[rows, classes], seeds: int32[2], output: int32[rows, row_samples].

    A tile is tile_samples of all `samples`, two for each block of the generator. Seeds of 0 are
    replaced by the time.
    """
    output = i32(a.output)
    key, stream = U(fetch_i32(a.seeds, 0)), U(fetch_i32(a.seeds, 1))
    if key == U(0) and stream == U(0):
        key = U(monotonic_ns())
    first = tile * a.tile_samples
    end = min(first + a.tile_samples, a.samples)
    for i in range(first, end, 2):
        u, v = philox(U(i >> 1), stream, key)
        row = i // a.row_samples
        output[i] = _class_of(f64(a.sums + row * a.classes * 8), a.classes, u)
        if i + 1 < end:
            row = (i + 1) // a.row_samples
            output[i + 1] = _class_of(f64(a.sums + row * a.classes * 8), a.classes, v)
    return 0
