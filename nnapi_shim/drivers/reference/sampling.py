"""RANDOM_MULTINOMIAL."""

from secrets import randbits

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.operations.declare import BoundOperation


def random_multinomial(op: BoundOperation) -> list[Array]:
    """samples[b,i] = the first class c with sum over classes up to c of p[b,c] > u * sum of p[b].

    The logits are the first batch * classes values. p = exp(logits - their maximum), 0 where a
    logit is not finite; u: uniform, one number for each sample. A row without a finite logit gives
    the number of classes, as in the reference. A second seed that is missing is 0.
    """
    batch, classes, *_ = op.logits.dimensions
    logits = op.logits.value.ravel()[: batch * classes].reshape(batch, classes).astype(np.float64)
    finite = np.isfinite(logits)
    most = np.max(logits, axis=1, keepdims=True, where=finite, initial=-np.inf)
    shares = np.exp(logits - most, where=finite, out=np.zeros_like(logits))
    sums = np.cumsum(shares, axis=1)
    first, second = (*op.seeds.value.ravel().tolist(), 0)[:2]
    if first == second == 0:
        first, second = randbits(32) - 2**31, randbits(32) - 2**31
    u = uniform(first, second, batch * op.sample_count).reshape(batch, op.sample_count)
    rows = [
        np.searchsorted(row, draws * row[-1], "right") for row, draws in zip(sums, u, strict=True)
    ]
    return [np.array(rows, np.int32).reshape(batch, op.sample_count)]


def uniform(key: int, stream: int, count: int) -> Array:
    """`count` numbers in [0, 1): 52 bits each of consecutive words of Philox 4x32 (semantics.md
    10.5). Key and stream are 32-bit numbers, extended to 64 bits by their sign.
    """
    blocks = np.arange((count + 1) // 2, dtype=np.uint64)
    counter = [blocks & MASK, blocks >> WORD, *(np.full_like(blocks, w) for w in _words(stream))]
    words = np.stack(philox(counter, _words(key)), axis=1).reshape(-1, 2)[:count]
    mantissa = ((words[:, 0] & np.uint64(0xFFFFF)) << WORD) | words[:, 1]
    return mantissa / 2.0**52


MASK, WORD = np.uint64(2**32 - 1), np.uint64(32)


def _words(number: int) -> list[int]:
    return [number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF]


def philox(counter: list[Array], key: list[int]) -> list[Array]:
    """Philox 4x32 with 10 rounds: four words of 32 bits, as uint64, for each counter."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = p1 >> WORD ^ c1 ^ np.uint64(k0), p1 & MASK
        c2, c3 = p0 >> WORD ^ c3 ^ np.uint64(k1), p0 & MASK
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return [c0, c1, c2, c3]
