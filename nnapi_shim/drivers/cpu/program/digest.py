"""A message authentication code at memory bandwidth.

The construction has three levels; the lower two are NH as in RFC 4418 (UMAC) and Adiantum:

    blocks  8,192 bytes each: the whole blocks of every memory range, then the concatenated rests of
            the ranges, zero-padded
    NH      4 hashes of 64 bits per block, with a key of the block's length: hash p is the sum over
            all even i of (m[i] + k[i + 2p]) * (m[i + 1] + k[i + 1 + 2p]), where m and k are 32-bit
            words added modulo 2^32 (`kernels/digest.py`)
    NH      the same of these hashes, with a second key
    digest  keyed BLAKE2b, 32 bytes, of a label, the length of each range, and the last hashes

Without the key, two different blocks collide with probability 2^-128 on each level, and BLAKE2b
with a third key hides the hashes. All keys are random bytes (`cache/folder.py`). Unkeyed hashes
take five times as long (BLAKE3) or more (SHA-256): loading would then take a third of the time of
compiling.
"""

from _blake2 import blake2b
from _struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.native_task import NativeTask
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, record
from nnapi_shim.hints import Any, Sequence

DIGEST = record(ranges=ADDRESS, key=ADDRESS, output=ADDRESS, taken=ADDRESS, blocks=INT64)

BLOCK = 8192
PASSES = 4
DIGEST_BYTES = 32
_NUMBERS = 8 * PASSES
_FINAL_KEY_BYTES = 64
_LEVEL_KEY_BYTES = BLOCK + 8 * (PASSES - 1)
KEY_BYTES = _FINAL_KEY_BYTES + 2 * _LEVEL_KEY_BYTES

WORTH_A_THREAD = 2 << 20
"""Bytes from which a digest takes about twice as long as starting a thread."""

Range = tuple[int, int]
"""Address and length."""


class Digest:
    """Digests with one key of KEY_BYTES random bytes."""

    def __init__(self, library: KernelLibrary, key: bytes) -> None:
        assert len(key) == KEY_BYTES
        self.final = key[:_FINAL_KEY_BYTES]
        second = _FINAL_KEY_BYTES + _LEVEL_KEY_BYTES
        self.levels = key[_FINAL_KEY_BYTES:second], key[second:]
        self.kernel = library.function("digest")
        self.kernel_address = library.address("digest")

    def of(self, label: bytes, data: bytes | bytearray | memoryview) -> bytes:
        """The digest of bytes. label: domain separation."""
        where, keep = address.address_of(data)
        result = self.at(label, where, len(data))
        del keep
        return result

    def at(self, label: bytes, where: int, length: int) -> bytes:
        """The digest of `length` bytes at an address."""
        return Underway(self, label, [(where, length)], None).result()

    def begun(self, label: bytes, ranges: Sequence[Range], owner: Any) -> "Underway":
        """Begin the digest of several memory ranges, on another thread from WORTH_A_THREAD bytes.

        owner: owns the memory; it is kept alive until the digest is complete.
        """
        digest = Underway(self, label, ranges, owner)
        if sum([length for _, length in ranges]) >= WORTH_A_THREAD:
            digest.begin()
        return digest


class Underway:
    """A digest in progress, possibly on another thread; `result` joins the work."""

    def __init__(self, digest: Digest, label: bytes, ranges: Sequence[Range], owner: Any) -> None:
        self._digest, self._owner = digest, owner
        self._task: NativeTask | None = None
        self._label = label.ljust(8, b"\0") + pack(
            f"<{len(ranges)}q", *[each for _, each in ranges]
        )
        rows: list[int] = []
        rests: list[Range] = []
        blocks = 0
        for where, length in ranges:
            whole, rest = divmod(length, BLOCK)
            if whole:
                rows += blocks + whole, where - blocks * BLOCK
                blocks += whole
            if rest:
                rests.append((where + whole * BLOCK, rest))
        self._last: Any = None
        if rests:
            count = -(-sum([rest for _, rest in rests]) // BLOCK)
            last, self._last = address.address_of(bytearray(count * BLOCK))
            rows += blocks + count, last - blocks * BLOCK
            blocks += count
            for where, rest in rests:
                address.copy(last, where, rest)
                last += rest
        self._work = _Work(digest, 0, rows, blocks)

    def begin(self) -> None:
        """Start a thread; if none can be created, `result` does all the work."""
        owner = self._work, self._last, self._owner
        self._task = NativeTask(self._digest.kernel_address, self._work.record, owner)

    def result(self) -> bytes:
        """The digest."""
        digest = self._digest
        self._work.run()
        self._wait()
        numbers = self._work.numbers
        where, keep = address.address_of(numbers)
        blocks = len(numbers) // BLOCK
        above = _Work(digest, 1, [blocks, where], blocks)
        above.run()
        del keep
        state = blake2b(self._label, key=digest.final, digest_size=DIGEST_BYTES)
        state.update(memoryview(above.numbers)[: blocks * _NUMBERS])
        return state.digest()

    def _wait(self) -> None:
        if self._task is not None:
            self._task.result()


class _Work:
    """NH of blocks, shared by all threads that call the kernel with the record."""

    def __init__(self, digest: Digest, level: int, rows: Sequence[int], blocks: int) -> None:
        self._kernel = digest.kernel
        self.numbers = bytearray(-(-blocks * _NUMBERS // BLOCK) * BLOCK)
        parts = (pack(f"<{len(rows)}q", *rows), digest.levels[level], self.numbers, bytearray(8))
        addresses, self._keep = zip(*map(address.address_of, parts), strict=True)
        self.record, self._packed = address.address_of(DIGEST.pack(*addresses, blocks))

    def run(self) -> None:
        """Process the blocks that no other thread has taken."""
        self._kernel(self.record, 0)
