"""Assembles a program block by block, when most of its steps belong to repeated operations.

A block is the steps of a repeated operation (repeated.py). What does not depend on its operands is
computed once for all repetitions (shape.py): the words of its steps and records, and the ranges of
its Buffers. The result of the planner's scan of a block depends on the scan's state before it and
on few ranges, so it is kept, too. The program is the one that layout.py assembles of the same
steps.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import chain
from struct import pack

from nnapi_shim.drivers.cpu import passes
from nnapi_shim.drivers.cpu.compile.layout import FIXED, Layout, Slots
from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable
from nnapi_shim.drivers.cpu.compile.repeated import Block, Lowered
from nnapi_shim.drivers.cpu.compile.shape import Shape
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.memory_planner import Scan, is_scanned, rounded
from nnapi_shim.drivers.cpu.program.program import STEP_WORDS, Program
from nnapi_shim.drivers.cpu.program.record import Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.errors import Where
from nnapi_shim.hints import Any, Iterable, Iterator, NamedTuple
from nnapi_shim.limits import watched

Entry = ScheduledStep | Block


def assembled(
    entries: Sequence[Entry], operands: OperandTable, library: KernelLibrary, constants: Constants
) -> Program | None:
    """The program of steps and blocks; None if it is not certain that passes change nothing, and
    that the planner does no more than its scan.
    """
    steps = _each_once(entries)
    if steps is None or passes.may_rewrite(Schedule(steps, operands)):
        return None
    return _BlockLayout(entries, operands, library, constants).program()


def _each_once(entries: Sequence[Entry]) -> list[ScheduledStep] | None:
    """The steps outside of blocks, and those of blocks for each pair of neighbours once; None if a
    step branches.
    """
    steps: list[ScheduledStep] = []
    pairs: set[Any] = set()
    before: Any = None
    last: Any = None
    for entry in watched(entries):
        if isinstance(entry, ScheduledStep):
            if entry.branch_offset:
                return None
            this: Any = entry
        else:
            this = entry.lowered
        if (before, this) not in pairs:
            pairs.add((before, this))
            for each in (this,) if before is last else (before, this):
                steps += _steps_of(each, entry.where)
            last = this
        before = this
    return steps


def _steps_of(entry: ScheduledStep | Lowered, where: Where) -> list[ScheduledStep]:
    if isinstance(entry, ScheduledStep):
        return [entry]
    return [ScheduledStep(step, where) for step in entry.scheduled]


class _Placed(NamedTuple):
    """A block in a program.

    number: of its first step. roots: of the Shape's external operands, with aliases resolved.
    begun: position in `roots`, and root, of each whose range begins in the block.
    """

    shape: Shape
    where: Where
    number: int
    roots: Sequence[Any]
    begun: Sequence[tuple[int, Any]]


class _Scanned(NamedTuple):
    """The result of the scan of a block: offsets of its Buffers and of the ranges that begin in it,
    and the state of the scan behind it.
    """

    offsets: Sequence[int]
    begun: Sequence[int]
    size: int
    free: Sequence[tuple[int, int]]


class _BlockLayout(Layout):
    """The memory layout of a program of steps and blocks; no steps are linked."""

    def __init__(
        self,
        entries: Sequence[Entry],
        operands: OperandTable,
        library: KernelLibrary,
        constants: Constants,
    ) -> None:
        steps = [entry for entry in watched(entries) if isinstance(entry, ScheduledStep)]
        super().__init__(Schedule(steps, operands), library, constants)
        self._shapes: dict[Lowered, Shape] = {}
        self._scans: dict[Any, _Scanned] = {}
        self._live: dict[Any, list[int]] = {}
        """Operand or Buffer of a step, in the arena -> [bytes, first step, last step]."""
        self._elsewhere: set[Any] = set()
        """Other memory that steps use."""
        self._begun: list[list[Any]] = []
        """For each step outside of blocks, what begins there."""
        self._numbers: list[int] = []
        self._count = self._words = 0
        """The steps, and the words of their records."""
        self._entries = self._placed(entries)

    def _placed(self, entries: Sequence[Entry]) -> list[ScheduledStep | _Placed]:
        placed: list[ScheduledStep | _Placed] = []
        references = iter(self._references)
        aliases = self._operands.aliases
        for entry in watched(entries):
            number = self._count
            if isinstance(entry, ScheduledStep):
                roots = next(references)[1::3]
                at = [number] * len(roots)
                self._begun.append([root for _, root in self._use(roots, at, at)])
                self._numbers.append(number)
                placed.append(entry)
                self._count += 1
                self._words += entry.step.record.words
            else:
                indexes, shape = entry.indexes, self._shape(entry)
                roots = [indexes[at] for at in shape.externals]
                if aliases:
                    roots = [aliases.get(index, index) for index in roots]
                begun = self._use(roots, shape.firsts, shape.lasts, number)
                placed.append(_Placed(shape, entry.where, number, roots, begun))
                self._count += len(shape.steps)
                self._words += shape.words
        return placed

    def _shape(self, block: Block) -> Shape:
        lowered = block.lowered
        shape = self._shapes.get(lowered)
        if shape is None:
            operands = self._operands
            roots = [operands.aliases.get(index, index) for index in block.indexes]
            constants = [at for at, root in enumerate(roots) if root in operands.constant_addresses]
            shape = Shape(lowered, constants, self._library, self._literal)
            self._shapes[lowered] = shape
        return shape

    def _use(
        self, roots: Sequence[Any], firsts: Sequence[int], lasts: Sequence[int], number: int = 0
    ) -> list[tuple[int, Any]]:
        """Extend live ranges by uses; returns position and root of each range that begins."""
        ranges, elsewhere, begun = self._live, self._elsewhere, []
        for at, root in enumerate(roots):
            span = ranges.get(root)
            if span is not None:
                span[2] = max(span[2], number + lasts[at])
            elif root not in elsewhere:
                if self._is_in_arena(root):
                    size = self._schedule.sizes[root]
                    ranges[root] = [size, number + firsts[at], number + lasts[at]]
                    begun.append((at, root))
                else:
                    elsewhere.add(root)
        return begun

    def _is_used_beside(self, key: Any, number: int) -> bool:
        return False

    def program(self) -> Program | None:
        """The program; None if the planner does more than its scan."""
        shared = self._share_in_place(self._live)
        blocks = [entry for entry in self._entries if isinstance(entry, _Placed)]
        count = len(self._live) - len(shared) + sum([block.shape.buffers for block in blocks])
        if not is_scanned(count):
            return None
        scan, arena = Scan(), dict[Any, int]()
        buffers = self._scan(scan, arena, shared)
        arena.update((key, arena[owner]) for key, owner in shared.items())
        template, patches = self._written(Slots(self._slot, arena), buffers)
        origins = _Origins(self._entries, self._count)
        return self._program_of(template, patches, scan.size, origins, _Fixed(self._fixed))

    # Memory

    def _scan(
        self, scan: Scan, arena: dict[Any, int], shared: dict[Any, Any]
    ) -> list[Sequence[int]]:
        """Place all ranges in the order of first use; returns the offsets of the blocks' Buffers.

        arena: gets the offsets of others. shared: as in `_share_in_place`.
        """
        buffers, begun = [], iter(self._begun)
        for entry in watched(self._entries):
            if isinstance(entry, _Placed):
                buffers.append(self._scan_block(entry, scan, arena))
            else:
                for root in next(begun):
                    if root not in shared:
                        arena[root] = scan.place(*self._live[root])
        return buffers

    def _scan_block(self, block: _Placed, scan: Scan, arena: dict[Any, int]) -> Sequence[int]:
        """Place the ranges of a block; returns the offsets of its Buffers.

        Steps count from the block's first one, and what ends behind the block ends there, so that
        the scans of many blocks are the same.
        """
        number, end = block.number, block.number + len(block.shape.steps)
        scan.release(number)
        ending = []
        for last, offset, length in scan.ends:
            if last >= end:
                break
            ending.append((last - number, offset, length))
        begun = []
        for at, root in block.begun:
            size, _, last = self._live[root]
            begun.append((at, size, min(last, end) - number))
        key = block.shape, tuple(begun), scan.size, tuple(scan.free), tuple(ending)
        result = self._scans.get(key)
        if result is None:
            result = self._scans[key] = _scanned(block.shape, begun, scan, ending)
        del scan.ends[: len(ending)]
        scan.size, scan.free = result.size, [*result.free]
        for (_, root), offset in zip(block.begun, result.begun, strict=True):
            arena[root] = offset
            size, _, last = self._live[root]
            if last >= end:
                insort(scan.ends, (last, offset, rounded(size)))
        return result.offsets

    # Words

    def _written(self, slots: Slots, buffers: Iterable[Sequence[int]]) -> tuple[bytes, bytes]:
        """The words of the program, and its patches."""
        word, number = STEP_WORDS * self._count, 0
        template = bytearray(8 * (word + self._words))
        words = memoryview(template).cast("q")
        offsets, references = iter(buffers), iter(self._references)
        parts: list[bytes] = []
        for entry in watched(self._entries):
            if isinstance(entry, ScheduledStep):
                self._write(entry, next(references), template, words, number, word, slots)
                number += 1
                word += entry.step.record.words
                continue
            if self._patches:
                parts.append(pack(f"<{len(self._patches)}q", *self._patches))
                self._patches = []
            shape, first = entry.shape, STEP_WORDS * number
            template[8 * first : 8 * first + len(shape.step_words)] = shape.step_words
            template[8 * word : 8 * (word + shape.words)] = shape.records
            pairs = [*chain.from_iterable([slots[root] for root in entry.roots])]
            assert pairs[::2].count(FIXED) == len(shape.constants)
            parts.append(shape.patches(word, first, [*next(offsets), *pairs]))
            for at, position, offset in shape.addresses:
                words[word + at] = pairs[2 * position + 1] + offset
            self._fixed.append((entry, word))
            number += len(shape.steps)
            word += shape.words
        parts.append(pack(f"<{len(self._patches)}q", *self._patches))
        return bytes(template), b"".join(parts)


def _scanned(
    shape: Shape,
    begun: Sequence[tuple[int, int, int]],
    before: Scan,
    ending: Sequence[tuple[int, int, int]],
) -> _Scanned:
    """A scan of a block. begun: position, bytes and last step of each range that begins in it and
    is of no Buffer. before: the state. ending: the ends in the block.
    """
    scan = Scan()
    scan.size, scan.free, scan.ends = before.size, [*before.free], [*ending]
    offsets, others = [], []
    lengths = {at: (size, last) for at, size, last in begun}
    for each in shape.ranges:
        if not isinstance(each, int):
            offsets.append(scan.place(*each))
        elif each in lengths:
            size, last = lengths[each]
            others.append(scan.place(size, shape.firsts[each], last))
    scan.release(len(shape.steps))
    return _Scanned(offsets, others, scan.size, scan.free)


class _Origins(Sequence[tuple[Where, Step]]):
    """As Program.origins; the steps of a block are those of the operation that it repeats."""

    def __init__(self, entries: Sequence[ScheduledStep | _Placed], count: int) -> None:
        self._entries, self._count = entries, count
        self._firsts: list[int] = []

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        if not self._firsts:
            first = 0
            for entry in self._entries:
                self._firsts.append(first)
                first += len(entry.shape.steps) if isinstance(entry, _Placed) else 1
        at = bisect_right(self._firsts, number) - 1
        entry = self._entries[at]
        if isinstance(entry, _Placed):
            return entry.where, entry.shape.steps[number - self._firsts[at]]
        return entry.where, entry.step

    def __iter__(self) -> Iterator[tuple[Where, Step]]:
        for entry in self._entries:
            if isinstance(entry, _Placed):
                for step in entry.shape.steps:
                    yield entry.where, step
            else:
                yield entry.where, entry.step


class _Fixed:
    """As Program.fixed. entries: as there, or a block and the word of its first record."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[tuple[int, Any, int]]:
        for entry in self._entries:
            if isinstance(entry[0], int):
                yield entry
                continue
            block, word = entry
            first = STEP_WORDS * block.number
            for is_step, at, target, offset in block.shape.fixed:
                if isinstance(target, int):
                    target = block.roots[target]
                yield (first if is_step else word) + at, target, offset
