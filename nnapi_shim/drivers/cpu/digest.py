"""A keyed digest at the speed of memory: nobody foresees or matches one without the key.

Construction, a tree of two levels as in RFC 4418 (UMAC) and in Adiantum:

    block   8,192 bytes, the last one filled up with zeros
    NH      per block 4 numbers of 64 bits, from a key as long as the block: number p is the sum of
            (m[i] + k[i + 2p]) * (m[i + 1] + k[i + 1 + 2p]) over all even i, m and k being words of
            32 bits, their sums modulo 2^32 (`kernels/digest.py`)
    digest  keyed BLAKE2b, 32 bytes, of a label, the length and the numbers of all blocks

Two different blocks have the same numbers with a probability of 2^-128 for a key that their author
does not know, and BLAKE2b with a key of its own tells nobody anything of the numbers. Both keys are
random bytes (`cache_key.py`). A hash that needs no secret takes five times as long (BLAKE3) or more
(SHA-256): loading a model would take as long as a third of compiling it.
"""

from _blake2 import blake2b

from nnapi_shim import address
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.record import ADDRESS, INT64, record

DIGEST = record(input=ADDRESS, key=ADDRESS, output=ADDRESS, blocks=INT64)

BLOCK = 8192
PASSES = 4
DIGEST_BYTES = 32
_FINAL_KEY_BYTES = 64
KEY_BYTES = _FINAL_KEY_BYTES + BLOCK + 8 * (PASSES - 1)


class Digest:
    """Digests with one key of KEY_BYTES random bytes."""

    def __init__(self, library: KernelLibrary, key: bytes) -> None:
        assert len(key) == KEY_BYTES
        self._final = key[:_FINAL_KEY_BYTES]
        self._blocks_key = key[_FINAL_KEY_BYTES:]
        self._kernel = library.function("digest")

    def of(self, label: bytes, data: bytes | bytearray | memoryview) -> bytes:
        """The digest of bytes; the label says what they are."""
        where, keep = address.address_of(data)
        found = self.at(label, where, len(data))
        del keep
        return found

    def at(self, label: bytes, where: int, length: int) -> bytes:
        """The digest of `length` bytes at an address."""
        state = blake2b(key=self._final, digest_size=DIGEST_BYTES)
        state.update(label.ljust(8, b"\0") + length.to_bytes(8, "little"))
        whole, rest = divmod(length, BLOCK)
        if whole:
            state.update(self._blocks(where, whole))
        if rest:
            last = address.read(where + whole * BLOCK, rest).ljust(BLOCK, b"\0")
            begin, keep = address.address_of(last)
            state.update(self._blocks(begin, 1))
            del keep
        return state.digest()

    def _blocks(self, where: int, count: int) -> bytes:
        found = bytearray(8 * PASSES * count)
        output, keep_output = address.address_of(found)
        key, keep_key = address.address_of(self._blocks_key)
        block, keep = address.address_of(DIGEST.pack(where, key, output, count))
        self._kernel(block, 0)
        del keep, keep_key, keep_output
        return bytes(found)
