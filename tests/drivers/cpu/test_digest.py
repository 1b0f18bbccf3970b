"""The keyed digest: its lower level is the formula, on every tier, and all that goes in counts."""

import os

import numpy as np
import pytest

from nnapi_shim import address
from nnapi_shim.drivers.cpu.digest import BLOCK, KEY_BYTES, PASSES, Digest
from nnapi_shim.drivers.cpu.library import KernelLibrary, processor_tiers

KEY = np.random.default_rng(0).bytes(KEY_BYTES)


def numbers(block, key):
    """What digest.py says of NH."""
    m, k = np.frombuffer(block, np.uint32), np.frombuffer(key, np.uint32)
    for p in range(PASSES):
        both = (m + k[2 * p : 2 * p + m.size]).astype(np.uint64)
        yield int((both[::2] * both[1::2]).sum(dtype=np.uint64))


@pytest.mark.parametrize("tier", processor_tiers())
@pytest.mark.parametrize("shift", [0, 1, 8])
def test_the_formula(tier, shift, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_TIER", tier)
    library = KernelLibrary()
    digest = Digest(library, KEY)
    data = bytearray(np.random.default_rng(1).bytes(shift + 2 * BLOCK))
    data[shift : shift + 64] = b"\xff" * 64  # sums that go beyond 32 bits
    where, keep = address.address_of(data)
    found = np.frombuffer(digest._blocks(where + shift, 2), np.uint64).reshape(2, PASSES)
    for row, begin in zip(found, (shift, shift + BLOCK), strict=True):
        assert row.tolist() == [*numbers(data[begin : begin + BLOCK], KEY[64:])]
    del keep


@pytest.mark.parametrize("length", [0, 1, 63, 64, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_everything_counts(length):
    library = KernelLibrary()
    digest = Digest(library, KEY)
    data = os.urandom(length)
    seen = {digest.of(b"one", data), digest.of(b"other", data), digest.of(b"one", data + b"\0")}
    for at in sorted({0, length // 2, max(0, length - 1)} & {*range(length)}):
        changed = bytearray(data)
        changed[at] ^= 0x80
        seen.add(digest.of(b"one", changed))
    for at in (0, 63, 64, KEY_BYTES - 1)[: 2 if length == 0 else 4]:
        key = bytearray(KEY)
        key[at] ^= 1
        if at < 64 or (length >= BLOCK or at == 64):
            seen.add(Digest(library, bytes(key)).of(b"one", data))
    assert digest.of(b"one", data) in seen
    assert len(seen) >= 3 + len({0, length // 2, max(0, length - 1)} & {*range(length)}) + 2
