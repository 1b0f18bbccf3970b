"""GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.boxes import check_indexes
from nnapi_shim.drivers.reference.deadline import look, watched
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.lookup import DENSE, SPARSE


def gather(op: BoundOperation) -> list[Array]:
    """output[a,i,b] = input[a,indices[i],b], a and b the dimensions before and after axis."""
    source, indices = op.input.value, op.indices.value
    if not -source.ndim <= op.axis < source.ndim:
        raise op_failed(f"axis is {op.axis}; the rank is {source.ndim}", "operation.axis")
    return [_taken(source, indices, op.axis)]


def embedding_lookup(op: BoundOperation) -> list[Array]:
    """output[i,...] = values[lookups[i],...]."""
    return [_taken(op.values.value, op.lookups.value, 0)]


def _taken(source: Array, indices: Array, axis: int) -> Array:
    size = source.shape[axis]
    check_indexes(indices, "indices", size)
    return np.take(source, indices, axis)


def hashtable_lookup(op: BoundOperation) -> list[Array]:
    """output[i,...] = values[k,...], hits[i] = 1 where keys[k] = lookups[i]; elsewhere both 0."""
    values, lookups = op.values.value, op.lookups.value
    # Differs: the reference takes values to have as many keys as rows, and reads on otherwise.
    keys = op.keys.value[: len(values)]
    at = np.minimum(np.searchsorted(keys, lookups), len(keys) - 1)
    hits = keys[at] == lookups
    output = np.zeros((len(lookups), *values.shape[1:]), values.dtype)
    output[hits] = values[at[hits]]
    return [output, hits.astype(np.uint8)]


def lsh_projection(op: BoundOperation) -> list[Array]:
    """bit[i,j] = sum over items k of weight[k] * h(hash[i,j], input[k]) > 0.

    h: the fingerprint of the bytes of the seed, as float32, and those of the item, as a signed
    number in float64. DENSE: the bits; otherwise the numbers that the rows of bits form, the first
    bit the highest; SPARSE: plus i * 2^bits.
    """
    seeds = op.hash.value.astype(np.float32)
    items = [item.tobytes() for item in op.input.value]
    weights = [1.0] * len(items) if op.weight is None else op.weight.value.astype(np.float64)
    bits = np.array([[_bit(seed, items, weights) for seed in row] for row in seeds])
    if op.type == DENSE:
        return [bits.ravel().astype(np.int32)]
    count = bits.shape[1]
    numbers = bits @ (1 << np.arange(count)[::-1])
    if op.type == SPARSE:
        numbers += np.arange(len(bits)) << count
    return [numbers.astype(np.int32)]  # wraps


def _bit(seed: np.float32, items: list[bytes], weights: list[float] | Array) -> int:
    score = 0.0
    for item, weight in zip(items, weights, strict=True):
        look()
        hashed = fingerprint(seed.tobytes() + item)
        score += float(weight) * float(hashed - 2**64 if hashed >= 2**63 else hashed)
    return int(score > 0)


# FarmHash Fingerprint64 (semantics.md 15). All numbers are modulo 2^64.

MODULUS = 2**64
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def fingerprint(data: bytes) -> int:
    """FarmHash Fingerprint64 of a string of bytes."""
    n = len(data)

    def load(at: int, size: int = 8) -> int:
        return int.from_bytes(data[at : at + size], "little")

    multiplier = (K2 + 2 * n) % MODULUS
    if n == 0:
        return K2
    if n < 4:
        y, z = data[0] + 256 * data[n // 2], n + 4 * data[n - 1]
        return _mixed(y * K2 % MODULUS ^ z * K0 % MODULUS) * K2 % MODULUS
    if n < 8:
        return _joined(n + 8 * load(0, 4), load(n - 4, 4), multiplier)
    if n < 17:
        p, q = load(0) + K2, load(n - 8)
        first = _rotated(q, 37) * multiplier + p
        return _joined(first, (_rotated(p, 25) + q) * multiplier, multiplier)
    if n < 33:
        p, q, r, t = load(0) * K1, load(8), load(n - 8) * multiplier, load(n - 16) * K2
        return _joined(*_quarter(p, q, r, t), multiplier)
    if n < 65:
        p, q, r, t = load(0) * K2, load(8), load(n - 8) * multiplier, load(n - 16) * K2
        y, second = _quarter(p, q, r, t)
        z = _joined(y, second, multiplier)
        e, f = load(16) * multiplier, load(24)
        g, h = (y + load(n - 32)) * multiplier, (z + load(n - 24)) * multiplier
        first = _rotated(e + f, 43) + _rotated(g, 30) + h
        return _joined(first, e + _rotated(f + p, 18) + g, multiplier)
    return _long(n, load)


def _long(n: int, load: Callable[[int], int]) -> int:
    """Of more than 64 bytes: rounds of 64, the last one over the last 64."""

    def weak(at: int, a: int, b: int) -> tuple[int, int]:
        k = [load(at + 8 * word) for word in range(4)]
        a += k[0]
        c = a + k[1] + k[2]
        return (c + k[3]) % MODULUS, (_rotated(b + a + k[3], 21) + _rotated(c, 44) + a) % MODULUS

    y = (81 * K1 + 113) % MODULUS
    z = _mixed((y * K2 + 113) % MODULUS) * K2 % MODULUS
    v = w = (0, 0)
    x = (81 * K2 + load(0)) % MODULUS

    def turn(at: int, multiplier: int, factor: int) -> None:
        nonlocal x, y, z, v, w
        x = _rotated(x + y + v[0] + load(at + 8), 37) * multiplier % MODULUS
        y = _rotated(y + v[1] + load(at + 48), 42) * multiplier % MODULUS
        x ^= factor * w[1] % MODULUS
        y = (y + factor * v[0] + load(at + 40)) % MODULUS
        z = _rotated(z + w[0], 33) * multiplier % MODULUS
        v = weak(at, v[1] * multiplier, x + w[0])
        w = weak(at + 32, z + w[1], y + load(at + 16))
        x, z = z, x

    for at in watched(range(0, 64 * ((n - 1) // 64), 64)):
        turn(at, K1, 1)
    multiplier = K1 + 2 * (z % 256)
    w = (w[0] + (n - 1) % 64, w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    turn(n - 64, multiplier, 9)
    first = _joined(v[0], w[0], multiplier) + _mixed(y) * K0 + z
    return _joined(first, _joined(v[1], w[1], multiplier) + x, multiplier)


def _quarter(p: int, q: int, r: int, t: int) -> tuple[int, int]:
    """What strings of 17 to 64 bytes join, from their first and last 16."""
    return _rotated(p + q, 43) + _rotated(r, 30) + t, p + _rotated(q + K2, 18) + r


def _joined(u: int, v: int, multiplier: int) -> int:
    """H(u, v, multiplier)."""
    u, v = u % MODULUS, v % MODULUS
    p = _mixed((u ^ v) * multiplier % MODULUS)
    q = _mixed((v ^ p) * multiplier % MODULUS)
    return q * multiplier % MODULUS


def _mixed(x: int) -> int:
    return x ^ x >> 47


def _rotated(x: int, bits: int) -> int:
    """To the right."""
    x %= MODULUS
    return (x >> bits | x << (64 - bits)) % MODULUS
