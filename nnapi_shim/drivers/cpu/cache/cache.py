"""Prepared models kept in files: the packed constants and the planned program.

A file lies in the program's folder under a name made of its key: the program's token, the model
with its small constants, the version of this library, its kernels and their tier. What is kept is
the program for the dimensions that the model declares, if it is one segment. Layout, little-endian:

    magic        8 bytes
    seal        32   keyed digest of all that follows up to the weights
    key         32
    constants   32   keyed digest of all constants of the model
    weights     32   keyed digest of the weights
    lengths      3 x 8: of the description, the literals and the weights
    description      `format.py`, with zeros up to a multiple of 64
    literals         what kernels take places from, and what steps made of no constants; each
                     64-byte aligned
    weights          packed constants, numbers to compute with; each 64-byte aligned

All of it is looked at before any of it is used. What decides addresses is a copy in memory of this
process; weights are mapped, because a copy of them takes longer than all the rest. `folder.py`
says who could change them then: the user and root. One that is damaged, or another's, is as good as
none. `writer.py` makes them.

Loading is meant to be much faster than compiling, so this module is all that it imports.
"""

import os
from _operator import _compare_digest
from itertools import chain
from struct import Struct, pack

from nnapi_shim import __version__, address, log
from nnapi_shim.drivers.cpu.cache.folder import ABSENT, Folder, Untrusted
from nnapi_shim.drivers.cpu.cache.format import (
    FIXED_WORDS,
    LITERAL,
    POOL,
    WEIGHT,
    Description,
    Limits,
    Malformed,
    parsed,
    words_of,
)
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.digest import Digest
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import Program
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import CacheHandles, Model, OutputShape, Subgraph, byte_size
from nnapi_shim.hints import Any
from nnapi_shim.pages import PROT_READ, Pages
from nnapi_shim.settings import PASSES

MAGIC = b"NNSHIM\x00\x07"
"""The last byte is the version of the layout."""

HEAD = Struct("<8s32s32s32s32s3q")
SEALED = 40
"""Where what the seal is of begins."""
ALIGNMENT = 64
COPY = OperandLifeTime.CONSTANT_COPY
SMALL = 1 << 12
"""Bytes of a constant that is part of the key; larger ones are compared when a file is loaded."""

Stored = tuple[Program, list[OutputShape], list[tuple[int, int]]]
"""A program, and the shapes and lengths of its segment's outputs."""


class StoredStep:
    """What messages need to know of a step."""

    __slots__ = ("complaint", "kernel")

    def __init__(self, kernel: str, complaint: str) -> None:
        self.kernel, self.complaint = kernel, complaint


class Cache:
    """The file of one model: its name, its key, and what was stored in it.

    handles: the program's folder and token. `constants` are those of the prepared model, and their
    digest is under way. Closed by `with`. Raises OSError, ValueError and Untrusted for a folder
    that cannot be used.
    """

    def __init__(
        self,
        model: Model,
        library: KernelLibrary,
        constants: Constants,
        handles: CacheHandles,
        digest: Digest,
    ) -> None:
        self.library = library
        self.constants = constants
        self.digest = digest
        self.folder = Folder(handles.directory)
        self.model = model
        self.key = self._key_of(handles.token)
        self.name = f"nnapi_shim-{self.key.hex()}"
        self.path = os.path.join(handles.directory, self.name)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.close()

    def _key_of(self, token: bytes) -> bytes:
        model = self.model
        parts = [token, f"{__version__} {self.library.identity} {PASSES.get()}".encode()]
        parts.append(bytes([model.relax_computation_float32_to_float16]))
        for graph in (model.main, *model.referenced):
            parts += _described(graph, model.operand_values)
        lengths = pack(f"<{len(parts)}q", *map(len, parts))
        return self.digest.of(b"key", pack("<q", len(parts)) + lengths + b"".join(parts))

    def load(self) -> Stored | None:
        """What was stored; None where there is nothing that is whole and this user's."""
        try:
            fd, length = self.folder.open(self.name)
        except FileNotFoundError:
            return None
        except Untrusted as found:
            log.warning(f"{found}; the model is compiled and kept again")
            return None
        except OSError as error:
            log.warning(f"{self.path} cannot be read: {error}; the model is compiled")
            return None
        try:
            return self._loaded(fd, length)
        except Malformed as found:
            log.warning(
                f"{self.path} is damaged, or another model's ({found}); "
                "the model is compiled and kept again"
            )
        except (OSError, ValueError) as error:
            log.warning(f"{self.path} cannot be read: {error}; the model is compiled")
        finally:
            os.close(fd)
        return None

    def _loaded(self, fd: int, length: int) -> Stored:
        head = os.pread(fd, HEAD.size, 0)
        if len(head) < HEAD.size:
            raise Malformed("it ends early")
        magic, seal, key, constants, of_weights, *lengths = HEAD.unpack(head)
        if (magic, key) != (MAGIC, self.key):
            raise Malformed("its head is not this model's")
        described, literals, weights = lengths
        private = HEAD.size + described + literals
        if min(lengths) < 0 or private + weights != length or private % ALIGNMENT:
            raise Malformed(f"it has {length} bytes")
        mapped = Pages.of_file(fd, private, weights, PROT_READ) if weights else None
        where = mapped.address if mapped else 0
        begun = self.digest.begun(b"weights", [(where, weights)], mapped)
        block = address.Block(private)
        contents = memoryview(address.view(block.address, private)).cast("B")
        if os.preadv(fd, [contents], 0) != private:
            raise Malformed("it ends early")
        # Of the copy: what is read above may have been changed meanwhile.
        sealed = self.digest.at(b"sealed", block.address + SEALED, private - SEALED)
        if contents[: HEAD.size] != head or not _compare_digest(sealed, seal):
            raise Malformed("its seal is broken")
        description = parsed(
            contents[HEAD.size : HEAD.size + described], limits(self.model, literals, weights)
        )
        program = self._placed(
            description, block.address + HEAD.size + described, where, [block, mapped]
        )
        if begun.result() != of_weights:
            raise Malformed("its weights have changed")
        if self.constants.digest() != constants:
            raise Malformed("it was made of other constants")
        return program, [OutputShape(shape) for shape in description.shapes], [*description.needed]

    def _placed(
        self, given: Description, literals: int, weights: int, owners: list[Any]
    ) -> Program:
        steps = given.steps
        try:
            kernels = {name: self.library.address(name) for name in set(steps.kernels)}
        except NnapiError as error:
            raise Malformed(error.message) from None
        filled, patches = words_of(given, kernels)
        words = memoryview(filled)[len(filled) - len(given.arguments) :].cast("q")
        bases = {LITERAL: literals, WEIGHT: weights}
        fixed = (given.fixed[field::FIXED_WORDS] for field in range(FIXED_WORDS))
        for at, kind, which, offset in zip(*fixed, strict=True):
            if kind == POOL:
                words[at] = self.constants.pool(which) + offset
            else:
                words[at] = bases.get(kind, self.constants.values) + offset
        return Program(
            self.library,
            bytes(filled),
            patches,
            given.arena_bytes,
            given.slots,
            [*zip(steps.where, map(StoredStep, steps.kernels, steps.complaints), strict=True)],
            [self.constants, *owners],
            crew=self.constants.crew,
        )


def opened(
    model: Model,
    library: KernelLibrary,
    constants: Constants,
    handles: CacheHandles,
    digest: Digest,
) -> Cache | None:
    """The cache of a model; None where no folder can be trusted: that is no error, and is
    told of where somebody should know.
    """
    try:
        return Cache(model, library, constants, handles, digest)
    except Untrusted as found:
        log.warning_once(handles.directory, f"compiled models are not kept: {found}")
    except (OSError, ValueError) as error:
        quiet = not isinstance(error, OSError) or error.errno in ABSENT
        log.write("debug" if quiet else "warning", f"compiled models are not kept: {error}")
    return None


def limits(model: Model, literals: int, weights: int) -> Limits:
    """What the description of a model may refer to."""
    operands, main = model.main.operands, model.main
    return Limits(
        (literals, weights, len(model.operand_values)),
        [pool.size for pool in model.pools],
        [byte_size(operands[index]) for index in main.input_indexes],
        len(main.output_indexes),
    )


def _described(graph: Subgraph, values: bytes) -> list[bytes]:
    """A graph in a form that only equal graphs share, and its small constants."""
    columns = (*zip(*graph.operands, strict=True),) or 8 * ((),)
    types, dimensions, scales, zero_points, lifetimes, locations, channels, _ = columns
    kinds, inputs, outputs, numbers = (*zip(*graph.operations, strict=True),) or 4 * ((),)
    per_channel = [(at, *channel) for at, channel in enumerate(channels) if channel]
    groups = *dimensions, *inputs, *outputs, graph.input_indexes, graph.output_indexes
    whole = [
        len(types),
        len(kinds),
        len(per_channel),
        *map(len, groups),
        *chain.from_iterable(groups),
        *types,
        *zero_points,
        *lifetimes,
        *chain.from_iterable(locations),
        *kinds,
        *numbers,
        *chain.from_iterable([(at, len(scales), axis) for at, scales, axis in per_channel]),
    ]
    real = [*scales, *chain.from_iterable([scales for _, scales, _ in per_channel])]
    small = [
        values[offset : offset + length]
        for lifetime, (_, offset, length) in zip(lifetimes, locations, strict=True)
        if length <= SMALL and lifetime is COPY
    ]
    return [pack(f"<{len(whole)}q{len(real)}d", *whole, *real), *small]
