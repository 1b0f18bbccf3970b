"""GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION: slices that data chooses, and hashes."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ_BACK, part
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, f32, f64, i32, i64, u8, u16, u32
from nnapi_shim.drivers.cpu.codegen.register_transpose import copy_long
from nnapi_shim.drivers.cpu.codegen.single_fetch import BLOCK, fetch_block, fetch_i32, private_block
from nnapi_shim.drivers.cpu.lowering.lookup import GATHER, HASHTABLE, LSH
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel
from nnapi_shim.hal.enums import ResultCode

OP_FAILED = int(ResultCode.OP_FAILED)

U = np.uint64


@helper
def are_inside(indices, count, size):
    """Whether all indices are 0 to size - 1; a loop of its own, which becomes vectors."""
    low, high = np.int32(0), np.int32(0)
    for i in range(count):
        index = indices[i]
        low, high = min(low, index), max(high, index)
    return low >= 0 and high < size


@helper
def _collect(y, x, indices, count, length):
    """Slices of `length` bytes; those of single elements are moved without a call."""
    if length == 4:
        x32, y32 = u32(x), u32(y)
        for i in range(count):
            y32[i] = x32[indices[i]]
    elif length == 1:
        x8, y8 = u8(x), u8(y)
        for i in range(count):
            y8[i] = x8[indices[i]]
    elif length == 2:
        x16, y16 = u16(x), u16(y)
        for i in range(count):
            y16[i] = x16[indices[i]]
    elif length == 8:
        x64, y64 = i64(x), i64(y)
        for i in range(count):
            y64[i] = x64[indices[i]]
    elif length == 16:
        for i in range(count):
            copy_bytes(y + i * 16, x + indices[i] * 16, 16)
    elif length == 32:
        for i in range(count):
            copy_bytes(y + i * 32, x + indices[i] * 32, 32)
    elif length == 64:
        for i in range(count):
            copy_bytes(y + i * 64, x + indices[i] * 64, 64)
    else:
        for i in range(count):
            copy_long(y + i * length, x + indices[i] * length, length)


@kernel(GATHER)
def gather(a, tile):
    """input: [outer, size, bytes], indices: int32[count], output: [outer, count, bytes].

    A tile is tile_slices slices of `bytes` bytes.
    """
    size, count, length = a.size, a.count, a.bytes
    first = tile * a.tile_slices
    end = min(first + a.tile_slices, a.slices)
    block = private_block()
    indices = i32(block)
    while first < end:
        at = first % count
        run = min(end - first, count - at, BLOCK)
        fetch_block(block, a.indices + at * 4, run * 4)
        if not are_inside(indices, run, size):
            return OP_FAILED
        x = a.input + first // count * size * length
        _collect(a.output + first * length, x, indices, run, length)
        first += run
    return 0


@kernel(HASHTABLE)
def hashtable_lookup(a, tile):
    """lookups: int32[count], keys: int32[rows], ascending, values: [rows, bytes].

    output: [count, bytes], zeros where a key is not found; hits: byte[count].
    """
    keys, hits, rows, length = i32(a.keys), u8(a.hits), a.rows, a.bytes
    for i in range(*part(a.count, a.tile_lookups, tile)):
        wanted = fetch_i32(a.lookups, i)
        low, high = 0, rows
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        y = a.output + i * length
        if low < rows and keys[low] == wanted:
            copy_long(y, a.values + low * length, length)
            hits[i] = 1
        else:
            zeros = u8(y)
            for j in range(length):
                zeros[j] = 0
            hits[i] = 0
    return 0


# FarmHash Fingerprint64 (semantics.md 15) of `n` bytes, at least 5, in arithmetic modulo 2^64.

K0, K1, K2 = U(0xC3A5C85C97CB3127), U(0xB492B66FBE98F273), U(0x9AE16A3B2F90404F)
ZERO, ONE, EIGHT, NINE, LOW_BYTE, LOW_WORD = map(U, (0, 1, 8, 9, 0xFF, 0xFFFFFFFF))
R18, R21, R25, R30, R33, R37, R42, R43, R44 = map(U, (18, 21, 25, 30, 33, 37, 42, 43, 44))
BITS, MIX_BITS = U(64), U(47)
_Y = 81 * int(K1) + 113
X_START, Y_START, Z_START = (U(v % 2**64) for v in (81 * int(K2), _Y, _Y * int(K2) + 113))

_read_word, _read_long = READ_BACK["i32"], READ_BACK["u64"]


@helper
def _load(address):
    return _read_long(address, 0)


@helper
def _load_word(address):
    return U(_read_word(address, 0)) & LOW_WORD


@helper
def _mixed(x):
    return x ^ (x >> MIX_BITS)


@helper
def _rotated(bits, x):
    """To the right."""
    return (x >> bits) | (x << (BITS - bits))


@helper
def _joined(u, v, multiplier):
    p = _mixed((u ^ v) * multiplier)
    return _mixed((v ^ p) * multiplier) * multiplier


@helper
def _weak(at, a, b):
    """A pair from the 32 bytes at an address and two numbers."""
    a += _load(at)
    c = a + _load(at + 8) + _load(at + 16)
    last = _load(at + 24)
    return c + last, _rotated(R21, b + a + last) + _rotated(R44, c) + a


@helper
def _fingerprint_long(data, n):
    """Of more than 64 bytes: rounds of 64, the last one over the last 64."""
    x, y, z = X_START + _load(data), Y_START, _mixed(Z_START) * K2
    v0, v1, w0, w1 = ZERO, ZERO, ZERO, ZERO
    multiplier, factor, rounds = K1, ONE, (n - 1) // 64
    for turn in range(rounds + 1):
        at = data + 64 * turn
        if turn == rounds:
            at, multiplier, factor = data + n - 64, K1 + ((z & LOW_BYTE) << ONE), NINE
            w0 += U((n - 1) % 64)
            v0 += w0
            w0 += v0
        x = _rotated(R37, x + y + v0 + _load(at + 8)) * multiplier
        y = _rotated(R42, y + v1 + _load(at + 48)) * multiplier
        x ^= factor * w1
        y += factor * v0 + _load(at + 40)
        z = _rotated(R33, z + w0) * multiplier
        v0, v1 = _weak(at, v1 * multiplier, x + w0)
        w0, w1 = _weak(at + 32, z + w1, y + _load(at + 16))
        x, z = z, x
    first = _joined(v0, w0, multiplier) + _mixed(y) * K0 + z
    return _joined(first, _joined(v1, w1, multiplier) + x, multiplier)


@helper
def fingerprint(data, n):
    """uint64; data: the address of the bytes."""
    if n > 64:
        return _fingerprint_long(data, n)
    size, end = U(n), data + n
    multiplier = K2 + size + size
    if n < 8:
        return _joined(size + EIGHT * _load_word(data), _load_word(end - 4), multiplier)
    if n <= 16:
        p, q = _load(data) + K2, _load(end - 8)
        first = _rotated(R37, q) * multiplier + p
        return _joined(first, (_rotated(R25, p) + q) * multiplier, multiplier)
    p = _load(data) * (K1 if n <= 32 else K2)
    q, r, t = _load(data + 8), _load(end - 8) * multiplier, _load(end - 16) * K2
    y = _rotated(R43, p + q) + _rotated(R30, r) + t
    z = _joined(y, p + _rotated(R18, q + K2) + r, multiplier)
    if n <= 32:
        return z
    e, f = _load(data + 16) * multiplier, _load(data + 24)
    g, h = (y + _load(end - 32)) * multiplier, (z + _load(end - 24)) * multiplier
    first = _rotated(R43, e + f) + _rotated(R30, g) + h
    return _joined(first, e + _rotated(R18, f + p) + g, multiplier)


@kernel(LSH)
def lsh_projection(a, tile, deadline):
    """seeds: float32[hashes, bits], input: [items, item_bytes], weight: float32[items] or none.

    output: int32[hashes], or [hashes, bits] if `dense`. scratch, per tile: float64[tile's bits],
    then the bytes to be hashed, a seed and an item. Sums are in float64, in the order of the items.
    """
    bits, items, item_bytes = a.bits, a.items, a.item_bytes
    first = tile * a.tile_hashes
    count = (min(first + a.tile_hashes, a.hashes) - first) * bits
    seeds = u32(a.seeds + 4 * first * bits)
    scratch = a.scratch + tile * a.scratch_step
    scores, data = f64(scratch), scratch + 8 * count
    seed, weights = u32(data), f32(a.weight)
    has_weights = a.weight != 0
    for i in range(count):
        scores[i] = 0.0
    stretch, work = max(4 * LONG // (item_bytes + 16), 1), 0
    for item in range(items):
        copy_bytes(data + 4, a.input + item * item_bytes, item_bytes)
        weight = np.float64(weights[item]) if has_weights else 1.0
        is_late, work = late_after(work + count, deadline, stretch)
        if is_late:
            return DEADLINE
        for start in range(0, count, stretch):
            if start > 0 and late(deadline):
                return DEADLINE
            for i in range(start, min(start + stretch, count)):
                seed[0] = seeds[i]
                scores[i] += weight * np.float64(np.int64(fingerprint(data, 4 + item_bytes)))
    output = i32(a.output)
    if a.dense:
        for i in range(count):
            output[first * bits + i] = scores[i] > 0
        return 0
    for row in range(count // bits):
        number = (first + row) * a.offset
        for bit in range(bits):
            number += np.int64(scores[row * bits + bit] > 0) << (bits - 1 - bit)
        output[first + row] = number  # of which the lower 32 bits stay
    return 0
