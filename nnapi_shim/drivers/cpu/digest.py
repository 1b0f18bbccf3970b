"""Checksums of memory, by a kernel: fast enough to look at all constants of a model."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.record import ADDRESS, INT64, record

DIGEST = record(input=ADDRESS, output=ADDRESS, sums=ADDRESS, bytes=INT64)
DIGEST_BYTES, SUMS_BYTES = 32, 256


def digest_at(library: KernelLibrary, where: int, length: int) -> bytes:
    """The checksum of `length` bytes at an address, 32 bytes. It is not a cryptographic one."""
    result, sums = address.Block(DIGEST_BYTES), address.Block(SUMS_BYTES)
    block, keep = address.address_of(DIGEST.pack(where, result.address, sums.address, length))
    library.function("digest")(block, 0)
    del keep
    return address.read(result.address, DIGEST_BYTES)


def digest(library: KernelLibrary, data: bytes) -> bytes:
    """The checksum of bytes."""
    where, keep = address.address_of(data)
    found = digest_at(library, where, len(data))
    del keep
    return found
