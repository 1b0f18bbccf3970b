"""Writes a prepared model to its file of the cache.

It is written beside its place and renamed, so that another process sees all of it or none.
"""

import marshal
import os
from _thread import get_ident
from contextlib import suppress
from errno import EFBIG
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit
from struct import pack_into
from time import time_ns
from typing import Any

from nnapi_shim import address, log
from nnapi_shim.drivers.cpu.cache import (
    ALIGNMENT,
    CONSTANT,
    HEAD,
    KERNEL,
    MAGIC,
    POOL,
    TOLD,
    UNSHARED,
    VALUE,
    Cache,
)
from nnapi_shim.drivers.cpu.record import Buffer
from nnapi_shim.drivers.cpu.segments import Segment
from nnapi_shim.drivers.cpu.weights import Constants, digest
from nnapi_shim.errors import Place
from nnapi_shim.hal.enums import OperandLifeTime

ABANDONED_NS = 600 * 10**9
"""Age at which a file that is being written belongs to nobody any more."""


def store(cache: Cache, segment: Segment) -> None:
    """Keep a segment, if it is all of a graph; a folder that cannot be written is no error."""
    program = segment.program
    if not segment.is_whole or program is None:
        return
    content = _Content(cache.constants)
    fixed = [(at, *content.place(segment, owner, offset)) for at, owner, offset in program.fixed]
    template = bytearray(program.template)
    for at, *_ in fixed:
        pack_into("<q", template, 8 * at, 0)
    description = marshal.dumps(
        (
            bytes(template),
            program.patch_bytes,
            program.arena_bytes,
            program.slots.size // 8,
            [
                (tuple(where) if isinstance(where, Place) else where, step.kernel, step.complaint)
                for where, step in program.origins
            ],
            fixed,
            [tuple(shape.dimensions) for shape in segment.shapes],
            segment.needed,
        ),
        UNSHARED,
    )
    description += bytes(-(HEAD.size + len(description)) % ALIGNMENT)
    constants = content.bytes()
    now = time_ns()
    told = TOLD.pack(now, len(description), len(constants)) + description
    checksums = digest(cache.library, told) + digest(cache.library, constants)
    values = cache.constants.digest()
    path = Path(cache.path)
    beside = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
    try:
        _require_room(HEAD.size + len(description) + len(constants))
        _clear(path)
        with beside.open("wb") as file:
            file.writelines((MAGIC, cache.key, values, checksums, told, constants))
        os.utime(beside, ns=(now, now))
        beside.replace(path)
    except (OSError, ValueError) as error:
        log.write("debug", f"the compiled model is not kept: {error}")
        with suppress(OSError, ValueError):
            beside.unlink()


def _require_room(length: int) -> None:
    """Raise OSError for a file beyond the limit of the process, which a signal would end."""
    limit = getrlimit(RLIMIT_FSIZE)[0]
    if limit not in (RLIM_INFINITY, -1) and length > limit:
        raise OSError(EFBIG, f"{length} bytes are more than a file may have, {limit}")


def _clear(path: Path) -> None:
    """Remove what writers left beside the file that did not come to their end."""
    for other in path.parent.glob(f"{path.name}.*"):
        with suppress(OSError):  # another process does the same
            if time_ns() - other.stat().st_mtime_ns > ABANDONED_NS:
                other.unlink()


class _Content:
    """The constants of a file, while they are collected."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._parts: list[bytes] = []
        self._length = 0
        self._places: dict[Any, int] = {}

    def place(self, segment: Segment, owner: Any, offset: int) -> tuple[int, Any, int]:
        """Kind, which and offset of what a fixed address leads to."""
        if isinstance(owner, str):
            return KERNEL, owner, 0
        if isinstance(owner, bytes):
            return CONSTANT, 0, self._add(owner, owner) + offset
        if isinstance(owner, Buffer):
            assert owner.address is not None
            key = owner.address
            if key not in self._places:
                self._add(key, address.read(key, owner.length))
            return CONSTANT, 0, self._places[key] + offset
        operand = segment.builder.operands[owner]
        where = operand.location
        if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
            return VALUE, 0, where.offset + offset
        return POOL, where.pool_index, where.offset + offset

    def _add(self, key: Any, data: bytes) -> int:
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self._length
            padded = data + bytes(-len(data) % ALIGNMENT)
            self._parts.append(padded)
            self._length += len(padded)
        return found

    def bytes(self) -> bytes:
        """All of them, each at its place."""
        return b"".join(self._parts)
