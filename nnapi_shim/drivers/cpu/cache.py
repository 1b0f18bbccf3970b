"""Prepared models kept in files: the packed constants and the planned program, to be mapped.

A file lies in the program's folder under a name made of its key: the program's token, the model
with its small constants, the version of this library, its kernels and their tier. What is kept is
the program for the dimensions that the model declares, if it is one segment. Layout, little-endian:

    magic        8 bytes
    key         32
    values      32   checksum of all constants of the model
    checksums    2 x 32: of all that follows up to the constants, and of the constants
    written      8   the time in ns that the file says it was changed at
    lengths      2 x 8: of the description and of the constants
    description      marshalled, with zeros up to a multiple of 64
    constants        packed constants and literals, each 64-byte aligned

One that is damaged, or another's, is as good as none. `cache_writer` makes them.

Loading is meant to be much faster than compiling, so this module is all that it imports.
"""

import marshal
import mmap
import os
from itertools import chain
from struct import Struct, pack
from sys import hexversion
from typing import Any

from nnapi_shim import __version__, address, log
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.program import Program
from nnapi_shim.drivers.cpu.weights import Constants, digest, digest_at
from nnapi_shim.errors import Place
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import CacheHandles, Model, OutputShape, Subgraph

MAGIC = b"NNSHIM\x00\x04"
"""The last byte is the version of the layout."""

UNSHARED = 2
"""A format of marshal in which equal values are equal bytes, shared objects or not."""

HEAD = Struct("<8s32s32s32s32s3q")
TOLD = Struct("<3q")
ALIGNMENT = 64
SMALL = 1 << 12
"""Bytes of a constant that is part of the key; larger ones are compared when a file is loaded."""

KERNEL, CONSTANT, VALUE, POOL = range(4)
"""What an address in a program leads to: a kernel, these constants, the model's own, a memory."""

Stored = tuple[Program, list[OutputShape], list[tuple[int, int]]]
"""A program, and the shapes and lengths of its segment's outputs."""


class StoredStep:
    """What messages need to know of a step."""

    __slots__ = ("complaint", "kernel")

    def __init__(self, kernel: str, complaint: str) -> None:
        self.kernel, self.complaint = kernel, complaint


class Cache:
    """The file of one model: its path, its key, and what was stored in it.

    handles: the program's folder and token. `constants` are those of the prepared model, and their
    digest is under way.
    """

    def __init__(
        self, model: Model, library: KernelLibrary, constants: Constants, handles: CacheHandles
    ) -> None:
        self.library = library
        self.constants = constants
        self._model = model
        self.key = self._key_of(handles.token)
        self.path = os.path.join(handles.directory, f"nnapi_shim-{self.key.hex()}")

    def _key_of(self, token: bytes) -> bytes:
        model = self._model
        parts = [token, pack("<q", hexversion), f"{__version__} {self.library.identity}".encode()]
        for graph in (model.main, *model.referenced):
            parts.append(_described(graph))
            for operand in graph.operands:
                where = operand.location
                if operand.lifetime is OperandLifeTime.CONSTANT_COPY and where.length <= SMALL:
                    parts.append(model.operand_values[where.offset : where.offset + where.length])
        lengths = pack(f"<{len(parts)}q", *map(len, parts))
        return digest(self.library, lengths + b"".join(parts))

    def load(self) -> Stored | None:
        """What was stored; None where there is nothing that is whole."""
        try:
            # A pipe in its place does not make this wait; it cannot be mapped.
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                changed = os.fstat(fd).st_mtime_ns
                mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(fd)
        except (OSError, ValueError):  # no file, an empty one
            return None
        found = self._loaded(mapped, changed)
        if found is None:
            log.warning(
                f"{self.path} is damaged, or another model's; the model is compiled and kept again"
            )
        return found

    def _loaded(self, mapped: mmap.mmap, changed: int) -> Stored | None:
        if len(mapped) < HEAD.size:
            return None
        magic, key, values, *checksums, written, described, length = HEAD.unpack_from(mapped)
        start = HEAD.size + described
        if (magic, key) != (MAGIC, self.key) or described < 0 or start + length != len(mapped):
            return None
        where, keep = address.address_of(mapped)
        told = HEAD.size - TOLD.size
        if digest_at(self.library, where + told, start - told) != checksums[0]:
            return None
        # A file that nobody has written to since it was made is not read as a whole: that would
        # take as long as all the rest.
        if changed != written:
            if digest_at(self.library, where + start, length) != checksums[1]:
                return None
            try:
                os.utime(self.path, ns=(written, written))  # a copy; from now on it is known
            except OSError:
                pass
        description = marshal.loads(memoryview(mapped)[HEAD.size : start])
        found = self._placed(description, where + start, [mapped, keep])
        return found if self.constants.digest() == values else None

    def _placed(self, description: Any, constants: int, owners: list[Any]) -> Stored:
        template, patches, arena_bytes, slots, steps, fixed, shapes, needed = description
        filled = bytearray(template)
        words = memoryview(filled).cast("q")
        for at, kind, which, offset in fixed:
            if kind == KERNEL:
                words[at] = self.library.address(which)
            elif kind == CONSTANT:
                words[at] = constants + offset
            elif kind == VALUE:
                words[at] = self.constants.values + offset
            else:
                words[at] = self.constants.pool(which) + offset
        program = Program(
            self.library,
            bytes(filled),
            patches,
            arena_bytes,
            slots,
            [
                (Place(*where) if isinstance(where, tuple) else where, StoredStep(*told))
                for where, *told in steps
            ],
            [self.constants, *owners],
        )
        return program, [OutputShape(shape) for shape in shapes], needed


def _described(graph: Subgraph) -> bytes:
    """All of a graph but the values of its constants, in a form that only equal graphs share."""
    columns = (*zip(*graph.operands, strict=True),) or 8 * ((),)
    types, dimensions, scales, zero_points, lifetimes, locations, channels, _ = columns
    kinds, inputs, outputs, numbers = (*zip(*graph.operations, strict=True),) or 4 * ((),)
    count = len(types)
    numeric = pack(
        f"<{6 * count + len(kinds)}q{count}d",
        *types,
        *zero_points,
        *lifetimes,
        *chain.from_iterable(locations),
        *kinds,
        *scales,
    )
    nested = dimensions, inputs, outputs, numbers, graph.input_indexes, graph.output_indexes
    per_channel = [(at, *channel) for at, channel in enumerate(channels) if channel]
    return numeric + marshal.dumps((nested, per_channel), UNSHARED)
