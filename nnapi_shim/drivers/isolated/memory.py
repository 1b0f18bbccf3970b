"""Memory that the program and the process of a device both map.

Memory of a descriptor of the program is mapped in the process, too. All other arguments are copied
to and from a block, which belongs to one request at a time.
"""

import os
from _weakref import ref
from collections.abc import Sequence
from functools import partial
from itertools import count

from nnapi_shim import address
from nnapi_shim.drivers.isolated.messages import MOST_DESCRIPTORS, memory_file
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import Model, OutputShape, Request, RequestArgument, element_count
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.pages import PROT_READ, PROT_WRITE, Pages, SharedPages, shared_pages

_ALIGNMENT = 64
_SMALLEST = address.PAGE_BYTES


class Block(SharedPages):
    """A file in memory, mapped here."""

    __slots__ = ()

    def __init__(self, length: int) -> None:
        """Raises OSError."""
        self.address, self.fd = 0, -1  # for __del__, if this fails
        file = memory_file(length)
        try:
            super().__init__(file, 0, length, PROT_READ | PROT_WRITE)
        except BaseException:
            os.close(file)
            raise

    def __del__(self, close: Any = os.close) -> None:
        if self.fd >= 0:
            close(self.fd)
        super().__del__()


class Blocks:
    """The blocks of a process; sizes are powers of two.

    It holds those in use, too: a block that goes with its request, in a cycle, may be unmapped
    before the request gives it back.
    """

    _MOST_IDLE_BYTES = 1 << 26

    def __init__(self) -> None:
        self._idle: dict[int, list[Block]] = {}
        self._idle_bytes = 0
        self._in_use: dict[int, Block] = {}

    def take(self, length: int) -> Block:
        """A block of at least that length. Raises OSError."""
        size = max(_SMALLEST, 1 << (length - 1).bit_length())
        try:
            block = self._idle[size].pop()
            self._idle_bytes -= size
        except (KeyError, IndexError):
            block = Block(size)
        self._in_use[id(block)] = block
        return block

    def drop(self, block: Block) -> None:
        """The process may still use it."""
        self._in_use.pop(id(block), None)

    def give_back(self, block: Block) -> None:
        """Nobody uses it any more, on either side."""
        self.drop(block)
        if self._idle_bytes + block.length <= self._MOST_IDLE_BYTES:
            self._idle_bytes += block.length
            self._idle.setdefault(block.length, []).append(block)


class Numbers:
    """Numbers by which a process knows memory; each has been sent there once, or is yet to be."""

    def __init__(self, forget: Any) -> None:
        """forget: called with the number of memory that is gone."""
        self._forget = forget
        self._next = count(1)
        self._of: dict[int, tuple[int, Any]] = {}
        self.known: set[int] = set()

    def number(self, pages: SharedPages) -> int:
        """The number of memory."""
        key = id(pages)
        entry = self._of.get(key)
        if entry is None:
            number = next(self._next)
            made = number, ref(pages, partial(self._gone, key, number))
            entry = self._of.setdefault(key, made)
        return entry[0]

    def _gone(self, key: int, number: int, _: Any) -> None:
        self._of.pop(key, None)
        if number in self.known:
            self.known.discard(number)
            self._forget(number)


class Copy(NamedTuple):
    """`length` bytes from one address to another, before or after a run."""

    to: int
    source: int
    length: int


class Arguments:
    """The arguments of a request, as the process finds them.

    pages: the memory that they lie in. block: the one for what is copied; None without it.
    """

    def __init__(self, request: Request, outputs: Sequence[Any], blocks: Blocks) -> None:
        """outputs: the operands of the outputs. Raises OSError without memory for a block."""
        self.pages: dict[int, SharedPages] = {}
        self.block: Block | None = None
        self._request, self._outputs = request, outputs
        arguments = (*request.inputs, *request.outputs)
        in_pages = [self._shared(each) for each in arguments]
        offsets, end = [], 0
        for each, pages in zip(arguments, in_pages, strict=True):
            offsets.append(end)
            if pages is None:
                end += (each.length + _ALIGNMENT - 1) & -_ALIGNMENT
        if end:
            self.block = blocks.take(end)
            self.pages[id(self.block)] = self.block
        self._places = [
            (self.block, offset) if pages is None else (pages, each.address - pages.address)
            for each, pages, offset in zip(arguments, in_pages, offsets, strict=True)
        ]
        copied = [
            pages is None and each.length > 0
            for each, pages in zip(arguments, in_pages, strict=True)
        ]
        inputs = len(request.inputs)
        self.before = [
            Copy(self._in_block(at), each.address, each.length)
            for at, each in enumerate(request.inputs)
            if copied[at]
        ]
        self._after = [
            (at, self._in_block(inputs + at))
            for at in range(len(request.outputs))
            if copied[inputs + at]
        ]
        # the device writes fewer bytes of these than the buffer has, and only it knows how many
        self.before += [
            Copy(where, request.outputs[at].address, request.outputs[at].length)
            for at, where in self._after
            if outputs[at].type not in ELEMENT_BYTES
        ]

    def _shared(self, argument: RequestArgument) -> SharedPages | None:
        if argument.has_no_value or not argument.length:
            return None
        pages = shared_pages(argument.address, argument.length)
        if pages is not None and id(pages) not in self.pages:
            if len(self.pages) >= MOST_DESCRIPTORS - 1:
                return None
            self.pages[id(pages)] = pages
        return pages

    def _in_block(self, at: int) -> int:
        assert self.block is not None
        return self.block.address + self._places[at][1]

    def described(self, numbers: Numbers) -> tuple[Any, ...]:
        """The request with a number and an offset for each address."""

        def each(argument: RequestArgument, at: int) -> tuple[Any, ...]:
            pages, offset = self._places[at]
            number = 0 if pages is None else numbers.number(pages)
            return number, offset, argument.length, argument.dimensions, argument.has_no_value

        inputs = len(self._request.inputs)
        return (
            [each(item, at) for at, item in enumerate(self._request.inputs)],
            [each(item, inputs + at) for at, item in enumerate(self._request.outputs)],
            [tuple(item) for item in self._request.extension_attributes],
        )

    def after(self, shapes: Sequence[OutputShape]) -> list[Copy]:
        """The copies to the program after a run with these dimensions of the outputs."""
        copies = []
        for at, where in self._after:
            argument, type = self._request.outputs[at], self._outputs[at].type
            size = argument.length
            if type in ELEMENT_BYTES:
                dimensions = () if type in SCALARS else shapes[at].dimensions
                size = min(size, ELEMENT_BYTES[type] * element_count(dimensions))
            if size:
                copies.append(Copy(argument.address, where, size))
        return copies


class PoolPlace(NamedTuple):
    """A pool of a model: the position of its file among those of the model, offset and size there;
    since, is_immutable: as in Pool.
    """

    file: int
    offset: int
    size: int
    since: int
    is_immutable: bool


class Constants(NamedTuple):
    """The pools of a model for the process.

    files: descriptors. copied: the file that was made for those without a descriptor, or -1.
    """

    files: list[int]
    places: list[PoolPlace]
    copied: int


def constants_of(model: Model) -> Constants:
    """The pools of a model; close `copied` when they have been sent. Raises OSError, UNMAPPABLE."""
    files: list[int] = []
    places: list[PoolPlace] = []
    without: list[tuple[int, int, int]] = []
    end = 0
    for pool in model.pools:
        start = pool.map()
        pages = shared_pages(start, pool.size) if len(files) < MOST_DESCRIPTORS - 2 else None
        if pages is not None:
            offset = pages.offset + start - pages.address
            places.append(PoolPlace(len(files), offset, pool.size, pool.since, pool.is_immutable))
            files.append(pages.fd)
        else:
            places.append(PoolPlace(-1, end, pool.size, pool.since, pool.is_immutable))
            without.append((end, start, pool.size))
            end += (pool.size + address.PAGE_BYTES - 1) & -address.PAGE_BYTES
    if not end:
        return Constants(files, places, -1)
    file = memory_file(end)
    try:
        pages_of_file = Pages.of_file(file, 0, end, PROT_READ | PROT_WRITE)
        for offset, start, size in without:
            address.copy(pages_of_file.address + offset, start, size)
    except BaseException:
        os.close(file)
        raise
    last = len(files)
    placed = [each._replace(file=last) if each.file < 0 else each for each in places]
    return Constants([*files, file], placed, file)
