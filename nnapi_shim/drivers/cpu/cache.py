"""Prepared models kept in files: the packed constants and the planned program, to be mapped.

A file lies in the program's folder under a name made of its key: the program's token, the model
with its small constants, the version of this library, its kernels and their tier. What is kept is
the program for the dimensions that the model declares, if it is one segment. Layout, little-endian:

    magic        8 bytes
    key         32
    constants   32   checksum of all constants of the model
    checksum    32   of all that follows
    lengths      2 x 8: of the description, and of the constants
    description      marshalled, then zeros up to a multiple of 64
    constants        packed constants and literals, each 64-byte aligned

A file is written beside its place and renamed, so that another process sees all of it or none. One
that is damaged, or another's, is as good as none.
"""

import marshal
import mmap
import os
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable, Sequence
from struct import Struct, pack, pack_into
from sys import hexversion
from typing import Any, NamedTuple

from nnapi_shim import __version__, address, log
from nnapi_shim.drivers.cpu.digest import digest, digest_at
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.program import Program
from nnapi_shim.drivers.cpu.record import Buffer
from nnapi_shim.drivers.cpu.segments import Segment
from nnapi_shim.drivers.cpu.weights import Constants
from nnapi_shim.errors import Place
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import CacheHandles, Model, OutputShape, Subgraph

MAGIC = b"NNSHIM\x00\x02"
"""The last byte is the version of the layout."""

UNSHARED = 2
"""A format of marshal in which equal values are equal bytes, shared objects or not."""

HEAD = Struct("<8s32s32s32s2q")
ALIGNMENT = 64
SMALL = 1 << 12
"""Bytes of a constant that is part of the key; larger ones are compared when a file is loaded."""

KERNEL, CONSTANT, VALUE, POOL = range(4)
"""What an address in a program leads to: a kernel, these constants, the model's own, a memory."""


Stored = tuple[Program, list[OutputShape], list[tuple[int, int]]]
"""A program, and the shapes and lengths of its segment's outputs."""


class StoredStep(NamedTuple):
    """What messages need to know of a step."""

    kernel: str
    complaint: str


class Cache:
    """The file of one model.

    handles: the program's folder and token. `constants` is that of the prepared model.
    """

    def __init__(
        self, model: Model, library: KernelLibrary, constants: Constants, handles: CacheHandles
    ) -> None:
        self._library = library
        self._constants = constants
        self._model = model
        self._key = self._key_of(handles.token)
        self._path = os.path.join(handles.directory, f"nnapi_shim-{self._key.hex()}")

    def _key_of(self, token: bytes) -> bytes:
        model = self._model
        parts = [token, pack("<q", hexversion), f"{__version__} {self._library.identity}".encode()]
        for graph in (model.main, *model.referenced):
            parts.append(_described(graph))
            for operand in graph.operands:
                where = operand.location
                if operand.lifetime is OperandLifeTime.CONSTANT_COPY and where.length <= SMALL:
                    parts.append(model.operand_values[where.offset : where.offset + where.length])
        lengths = pack(f"<{len(parts)}q", *map(len, parts))
        return digest(self._library, lengths + b"".join(parts))

    def _constants_digest(self) -> bytes:
        """Of all constants of the model."""
        model = self._model
        parts = [digest(self._library, model.operand_values)]
        for graph in (model.main, *model.referenced):
            for operand in graph.operands:
                if operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
                    where = operand.location
                    start = model.pools[where.pool_index].map() + where.offset
                    parts.append(digest_at(self._library, start, where.length))
        return digest(self._library, b"".join(parts))

    # Loading

    def load(self) -> Stored | None:
        """What was stored; None where there is nothing that is whole."""
        try:
            # A pipe in its place does not make this wait; it cannot be mapped.
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(fd)
        except (OSError, ValueError):  # no file, an empty one
            return None
        found = self._loaded(mapped)
        if found is None:
            log.warning(f"{self._path} is damaged, or another model's; the model is compiled again")
        return found

    def _loaded(self, mapped: mmap.mmap) -> Stored | None:
        if len(mapped) < HEAD.size:
            return None
        magic, key, constants, checksum, described, length = HEAD.unpack_from(mapped)
        start = HEAD.size + described + -(HEAD.size + described) % ALIGNMENT
        where, keep = address.address_of(mapped)
        body = HEAD.size - 16
        if (magic, key) != (MAGIC, self._key) or described < 0 or start + length != len(mapped):
            return None
        found = _both(
            self._constants_digest,
            lambda: digest_at(self._library, where + body, len(mapped) - body),
        )
        if found != (constants, checksum):
            return None
        description = marshal.loads(memoryview(mapped)[HEAD.size : HEAD.size + described])
        return self._placed(description, where + start, [mapped, keep])

    def _placed(self, description: Any, constants: int, owners: list[Any]) -> Stored:
        template, patches, arena_bytes, slots, steps, fixed, shapes, needed = description
        words = bytearray(template)
        for at, kind, which, offset in fixed:
            if kind == KERNEL:
                base = self._library.address(which)
            elif kind == CONSTANT:
                base = constants
            elif kind == VALUE:
                base = self._constants.values
            else:
                base = self._constants.pool(which)
            pack_into("<q", words, 8 * at, base + offset)
        program = Program(
            self._library,
            bytes(words),
            patches,
            arena_bytes,
            slots,
            [
                (Place(*where) if isinstance(where, tuple) else where, StoredStep(*told))
                for where, *told in steps
            ],
            [self._constants, *owners],
        )
        return program, [OutputShape(shape) for shape in shapes], needed

    # Storing

    def store(self, segment: Segment) -> None:
        """Keep a segment, if it is all of a graph; a folder that cannot be written is no error."""
        program = segment.program
        if not segment.is_whole or program is None:
            return
        content = _Content(self._constants)
        fixed = [
            (at, *content.place(segment, owner, offset)) for at, owner, offset in program.fixed
        ]
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
                    (
                        tuple(where) if isinstance(where, Place) else where,
                        step.kernel,
                        step.complaint,
                    )
                    for where, step in program.origins
                ],
                fixed,
                [tuple(shape.dimensions) for shape in segment.shapes],
                segment.needed,
            ),
            UNSHARED,
        )
        constants = content.bytes()
        padding = bytes(-(HEAD.size + len(description)) % ALIGNMENT)
        body = pack("<2q", len(description), len(constants)) + description + padding + constants
        head = MAGIC + self._key + self._constants_digest() + digest(self._library, body)
        self._write((head, body))

    def _write(self, parts: Sequence[bytes]) -> None:
        beside = f"{self._path}.{os.getpid()}.{get_ident()}"
        try:
            with open(beside, "wb") as file:
                file.writelines(parts)
            os.replace(beside, self._path)
        except (OSError, ValueError) as error:
            log.write("debug", f"the compiled model is not kept: {error}")
            try:
                os.unlink(beside)
            except (OSError, ValueError):
                pass


def _both(first: Callable[[], bytes], second: Callable[[], bytes]) -> tuple[bytes, bytes]:
    """What two functions return that run at the same time."""
    result: list[bytes] = []
    done = allocate_lock()

    def run() -> None:
        try:
            result.append(first())
        finally:
            done.release()

    done.acquire()
    try:
        start_new_thread(run, ())
    except RuntimeError:  # no thread can be had
        run()
    other = second()
    done.acquire()
    return (*result, b"")[0], other


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


def _described(graph: Subgraph) -> bytes:
    """All of a graph but the values of its constants, in a form that only equal graphs share."""
    return marshal.dumps(
        (
            [
                (
                    int(operand.type),
                    operand.dimensions,
                    operand.scale,
                    operand.zero_point,
                    int(operand.lifetime),
                    tuple(operand.location),
                    operand.channel_quant and tuple(operand.channel_quant),
                )
                for operand in graph.operands
            ],
            [(int(item.type), item.inputs, item.outputs, item.number) for item in graph.operations],
            graph.input_indexes,
            graph.output_indexes,
        ),
        UNSHARED,
    )
