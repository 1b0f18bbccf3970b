"""Loads prepared models from cache files: the packed constants and the planned program.

A file in the application's cache folder is named by its key: a digest of the application's token,
the model with its small constants, the version of this library, its kernels, their tier, and the
number of threads, for which tiles were chosen. It holds the program for the declared dimensions, if
that is one segment. Layout, little-endian:

    magic        8 bytes
    seal        32   keyed digest of everything between the seal and the weights
    key         32
    constants   32   keyed digest of all constants of the model
    weights     32   keyed digest of the weights
    lengths      3 x 8: of the description, the literals and the weights
    description      `format.py`, zero-padded to a multiple of 64
    literals         data from which kernels compute addresses, and results of steps without
                     constant inputs; each 64-byte aligned
    weights          packed constants, used only as numbers; each 64-byte aligned

The whole file is verified before it is used. Everything that determines addresses is verified in a
private copy; weights are mapped, because copying them would dominate the load time. Only the user
and root can change a mapped file (`folder.py`). A damaged or foreign file is treated as missing.
`writer.py` writes the files.

Loading must be much faster than compiling, so it imports no more than this module does.
"""

import marshal
import os
from _operator import _compare_digest
from struct import Struct, pack

from nnapi_shim import address, log
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
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.digest import Digest
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import Program
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import CacheHandles, Model, OutputShape, Subgraph, byte_size
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.pages import PROT_READ, Pages
from nnapi_shim.settings import PASSES
from nnapi_shim.version import __version__

MAGIC = b"NNSHIM\x00\x07"
"""The last byte is the layout version."""

HEAD = Struct("<8s32s32s32s32s3q")
SEALED = 40
"""Offset of the first byte that the seal covers."""
ALIGNMENT = 64
COPY = OperandLifeTime.CONSTANT_COPY
SMALL = 1 << 12
"""Bytes of a constant that is part of the key, at most; larger ones are verified at loading."""
MARSHALLED = 2
"""The version of marshal's format that writes each object in full, wherever else it occurs."""

Stored = tuple[Program, list[OutputShape], list[tuple[int, int]]]
"""A program, the output shapes of its segment, and (position, bytes) of the written outputs."""


class StoredStep(NamedTuple):
    """The attributes of a step that messages need."""

    kernel: str
    complaint: str


class Cache:
    """The cache file of one model: its name, its key and its contents.

    handles: the application's folder and token. constants: of the prepared model; their digest has
    begun. A context manager. Raises OSError, ValueError and Untrusted for an unusable folder.
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
        compiled_by = f"{__version__} {self.library.identity} {PASSES.get()} {threads.count()}"
        parts = [token, compiled_by.encode()]
        parts.append(bytes([model.relax_computation_float32_to_float16]))
        for graph in (model.main, *model.referenced):
            parts += _serialized(graph, model.operand_values)
        lengths = pack(f"<{1 + len(parts)}q", len(parts), *map(len, parts))
        return self.digest.of(b"key", b"".join([lengths, *parts]))

    def load(self) -> Stored | None:
        """The stored program; None if the file is missing, untrusted or damaged."""
        try:
            fd, length = self.folder.open(self.name)
        except FileNotFoundError:
            return None
        except Untrusted as error:
            log.warning(f"{error}; the model is compiled and kept again")
            return None
        except OSError as error:
            log.warning(f"{self.path} cannot be read: {error}; the model is compiled")
            return None
        try:
            return self._loaded(fd, length)
        except Malformed as error:
            log.warning(
                f"{self.path} is damaged, or another model's ({error}); "
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
        description_bytes, literals, weights = lengths
        private = HEAD.size + description_bytes + literals
        if min(lengths) < 0 or private + weights != length or private % ALIGNMENT:
            raise Malformed(f"it has {length} bytes")
        mapped = Pages.of_file(fd, private, weights, PROT_READ) if weights else None
        weights_address = mapped.address if mapped else 0
        weights_digest = self.digest.begun(b"weights", [(weights_address, weights)], mapped)
        block = address.Block(private)
        contents = memoryview(address.view(block.address, private)).cast("B")
        if os.preadv(fd, [contents], 0) != private:
            raise Malformed("it ends early")
        # Verify the copy: the file may have changed since the header was read.
        sealed = self.digest.at(b"sealed", block.address + SEALED, private - SEALED)
        if contents[: HEAD.size] != head or not _compare_digest(sealed, seal):
            raise Malformed("its seal is broken")
        description = parsed(
            contents[HEAD.size : HEAD.size + description_bytes],
            limits(self.model, literals, weights),
        )
        program = self._placed(
            description,
            block.address + HEAD.size + description_bytes,
            weights_address,
            [block, mapped],
        )
        if weights_digest.result() != of_weights:
            raise Malformed("its weights have changed")
        if self.constants.digest() != constants:
            raise Malformed("it was made of other constants")
        return program, [OutputShape(shape) for shape in description.shapes], [*description.needed]

    def _placed(
        self, description: Description, literals: int, weights: int, owners: list[Any]
    ) -> Program:
        steps = description.steps
        try:
            kernels = {name: self.library.address(name) for name in set(steps.kernels)}
        except NnapiError as error:
            raise Malformed(error.message) from None
        template, patches = words_of(description, kernels)
        words = memoryview(template)[len(template) - len(description.arguments) :].cast("q")
        bases = {LITERAL: literals, WEIGHT: weights}
        fixed = (description.fixed[field::FIXED_WORDS] for field in range(FIXED_WORDS))
        for at, kind, which, offset in zip(*fixed, strict=True):
            if kind == POOL:
                words[at] = self.constants.pool(which) + offset
            else:
                words[at] = bases.get(kind, self.constants.values) + offset
        return Program(
            self.library,
            bytes(template),
            patches,
            description.arena_bytes,
            description.slots,
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
    """The cache of a model; None if the folder is unusable or untrusted, which is logged and is not
    an error.
    """
    try:
        return Cache(model, library, constants, handles, digest)
    except Untrusted as error:
        log.warning_once(handles.directory, f"compiled models are not kept: {error}")
    except FileNotFoundError:
        folder = handles.directory
        log.warning_once(folder, f"compiled models are not kept: there is no folder {folder}")
    except (OSError, ValueError) as error:
        is_debug = not isinstance(error, OSError) or error.errno in ABSENT
        log.write("debug" if is_debug else "warning", f"compiled models are not kept: {error}")
    return None


def limits(model: Model, literals: int, weights: int) -> Limits:
    """The limits that the description of a model must observe."""
    operands, main = model.main.operands, model.main
    return Limits(
        (literals, weights, len(model.operand_values)),
        [pool.size for pool in model.pools],
        [byte_size(operands[index]) for index in main.input_indexes],
        len(main.output_indexes),
    )


def _serialized(graph: Subgraph, values: bytes) -> list[bytes]:
    """A unique serialization of a graph, and its small constants."""
    columns = (*zip(*graph.operands, strict=True),) or 8 * ((),)
    types, dimensions, scales, zero_points, lifetimes, locations, channels, _ = columns
    kinds, *others = (*zip(*graph.operations, strict=True),) or 4 * ((),)
    per_channel = [(at, *channel) for at, channel in enumerate(channels) if channel]
    integers = [*types, *lifetimes, *kinds]
    for location in locations:
        integers += location
    arguments = graph.input_indexes, graph.output_indexes
    rest = dimensions, scales, zero_points, others, per_channel, arguments
    small = [
        values[offset : offset + length]
        for lifetime, (_, offset, length) in zip(lifetimes, locations, strict=True)
        if length <= SMALL and lifetime is COPY
    ]
    # marshal takes neither enums nor named tuples
    return [pack(f"<{len(integers)}q", *integers), marshal.dumps(rest, MARSHALLED), *small]
