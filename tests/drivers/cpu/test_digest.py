"""The keyed digest: it is the formula, on every tier and however many threads, and all that goes
in counts.
"""

import ctypes
import os
import struct
import time
from hashlib import blake2b

import numpy as np
import pytest

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program import digest as digest_module
from nnapi_shim.drivers.cpu.program import native_task
from nnapi_shim.drivers.cpu.program.digest import BLOCK, KEY_BYTES, PASSES, WORTH_A_THREAD, Digest
from nnapi_shim.drivers.cpu.program.library import KernelLibrary, current, processor_tiers

KEY = np.random.default_rng(0).bytes(KEY_BYTES)
FINAL, LEVELS = KEY[:64], (KEY[64 : 64 + BLOCK + 24], KEY[64 + BLOCK + 24 :])


def numbers(block, key):
    """What digest.py says of NH."""
    m, k = np.frombuffer(block, np.uint32), np.frombuffer(key, np.uint32)
    for p in range(PASSES):
        both = (m + k[2 * p : 2 * p + m.size]).astype(np.uint64)
        yield int((both[::2] * both[1::2]).sum(dtype=np.uint64))


def level(blocks, key):
    """The numbers of blocks, as bytes."""
    actual = [number for block in blocks for number in numbers(block, key)]
    return struct.pack(f"<{len(actual)}Q", *actual)


def cut(data):
    """Blocks, the last one filled up."""
    return [data[at : at + BLOCK].ljust(BLOCK, b"\0") for at in range(0, len(data), BLOCK)]


def formula(label, pieces):
    """What digest.py says of ranges with these contents."""
    wholes = [len(piece) // BLOCK * BLOCK for piece in pieces]
    blocks = [block for p, end in zip(pieces, wholes, strict=True) for block in cut(p[:end])]
    blocks += cut(b"".join(p[end:] for p, end in zip(pieces, wholes, strict=True)))
    above = cut(level(blocks, LEVELS[0]))
    said = label.ljust(8, b"\0") + struct.pack(f"<{len(pieces)}q", *map(len, pieces))
    return blake2b(said + level(above, LEVELS[1]), key=FINAL, digest_size=32).digest()


def ranges_of(pieces):
    """Where pieces lie, and what keeps them."""
    places = [address.address_of(piece) for piece in pieces]
    return [(location[0], len(p)) for location, p in zip(places, pieces, strict=True)], (
        places,
        pieces,
    )


@pytest.mark.parametrize("tier", processor_tiers())
@pytest.mark.parametrize("shift", [0, 1, 8])
def test_the_formula(tier, shift, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_TIER", tier)
    library = KernelLibrary()  # which keeps the kernel in memory
    digest = Digest(library, KEY)
    data = bytearray(np.random.default_rng(1).bytes(shift + 300 * BLOCK + 5))
    data[shift : shift + 64] = b"\xff" * 64  # sums that go beyond 32 bits
    where, keep = address.address_of(data)
    for length in (0, 1, BLOCK, 2 * BLOCK, 300 * BLOCK + 5):
        part = bytes(data[shift : shift + length])
        assert digest.at(b"one", where + shift, length) == formula(b"one", [part])
    del keep


@pytest.mark.parametrize(
    "lengths",
    [[], [0], [5, 7], [BLOCK, 0, 3], [1, BLOCK + 1, 2 * BLOCK, 17], [WORTH_A_THREAD, 9, BLOCK]],
)
def test_several_ranges(lengths):
    pieces = [os.urandom(length) for length in lengths]
    ranges, keep = ranges_of(pieces)
    digest = Digest(current(), KEY)
    assert digest.begun(b"all", ranges, keep).result() == formula(b"all", pieces)


def test_where_one_range_ends_and_the_next_begins_counts():
    data, digest = bytes(2 * BLOCK), Digest(current(), KEY)
    where, keep = address.address_of(data)
    actual = set()
    for split in (0, 1, BLOCK, BLOCK + 1, 2 * BLOCK):
        ranges = [(where, split), (where + split, 2 * BLOCK - split)]
        actual.add(digest.begun(b"all", ranges, keep).result())
    actual.add(digest.begun(b"all", [(where, 2 * BLOCK)], keep).result())
    assert len(actual) == 6


def test_threads_share_the_blocks():
    data, digest = os.urandom(3 * WORTH_A_THREAD + 1), Digest(current(), KEY)
    ranges, keep = ranges_of([data])
    expected = digest_module.Underway(digest, b"all", ranges, keep).result()
    for _ in range(50):
        several = [digest.begun(b"all", ranges, keep) for _ in range(3)]
        assert all(each._task.began for each in several)
        assert {each.result() for each in several} == {expected}


def test_where_no_thread_is_to_be_had(monkeypatch):
    data, digest = os.urandom(WORTH_A_THREAD), Digest(current(), KEY)
    ranges, keep = ranges_of([data])
    expected = digest.begun(b"all", ranges, keep).result()
    ((where, _),) = native_task._functions
    monkeypatch.setattr(native_task, "_functions", [(where, lambda *_: 0)])
    begun = digest.begun(b"all", ranges, keep)
    assert not begun._task.began
    assert begun.result() == expected


def test_one_that_nobody_asks_for_ends_before_its_memory_goes(monkeypatch):
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value

    class Slow(native_task.NativeTask):
        def __init__(self, function, argument, owner):
            super().__init__(sleep, 100_000, owner)

    seen, data = [], bytes(WORTH_A_THREAD)

    class Memory:
        def __del__(self):
            seen.append(time.monotonic())

    monkeypatch.setattr(digest_module, "NativeTask", Slow)
    where, keep = address.address_of(data)
    before = time.monotonic()
    Digest(current(), KEY).begun(b"all", [(where, len(data))], Memory())
    (gone,) = seen
    assert gone >= before + 0.1
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
    second = 64 + BLOCK + 24
    for at in (0, 63, 64, second - 1, second)[: 2 if length == 0 else 5]:
        key = bytearray(KEY)
        key[at] ^= 1
        seen.add(Digest(library, bytes(key)).of(b"one", data))
    assert digest.of(b"one", data) in seen
    assert len(seen) >= 3 + len({0, length // 2, max(0, length - 1)} & {*range(length)}) + 2
