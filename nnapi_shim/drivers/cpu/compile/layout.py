"""Assembles a program: plans the memory of a schedule, and writes its words."""

from struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.memory_planner import plan
from nnapi_shim.drivers.cpu.program.program import (
    BESIDE,
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_LOOP_TIMEOUT,
    SLOT_WORDS,
    STEP_WORDS,
    Program,
)
from nnapi_shim.drivers.cpu.program.record import LOOP_TIMEOUT, Buffer, Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep, regions
from nnapi_shim.errors import Where
from nnapi_shim.hints import Any, Callable, Iterable, Sequence
from nnapi_shim.limits import watched

FIXED = -1
"""In place of a slot: the address is fixed."""


def assemble(
    schedule: Schedule, library: KernelLibrary, constants: Constants
) -> tuple[Program, dict[Any, int]]:
    """The program of a schedule, and the arena offsets of its kept operands and Buffers."""
    return Layout(schedule, library, constants).assembled()


class Slots(dict[Any, tuple[int, int]]):
    """Operand, Buffer or constant -> its slot and the offset from the slot's address, as in
    `Layout._slot`. Computed when they are looked up.
    """

    def __init__(
        self, slot: Callable[[Any, dict[Any, int]], tuple[int, int]], arena: dict[Any, int]
    ) -> None:
        self._slot, self._arena = slot, arena

    def __missing__(self, root: Any) -> tuple[int, int]:
        slot = self[root] = self._slot(root, self._arena)
        return slot


class Layout:
    """The memory layout of one program."""

    def __init__(self, schedule: Schedule, library: KernelLibrary, constants: Constants) -> None:
        self._schedule = schedule
        self._operands = schedule.operands
        self._library = library
        self._constants = constants
        self._steps: Sequence[ScheduledStep] = schedule.steps
        self._references = [schedule.references(each.step) for each in watched(self._steps)]
        self._regions = regions(self._steps)
        self._numbers = [*range(len(self._steps))]
        """The number of each step in the program."""
        self._literals: dict[bytes, address.Block] = {}
        self._fixed: list[Any] = []
        self._patches: list[int] = []

    def assembled(self) -> tuple[Program, dict[Any, int]]:
        """As `assemble`."""
        kept = self._schedule.kept
        ranges = self._ranges()
        shared = self._share_in_place(ranges)
        self._widen(ranges.values())
        keys = [key for key in ranges if key not in shared]
        offsets, arena_bytes = plan([ranges[key] for key in keys])
        arena = dict(zip(keys, offsets, strict=True))
        arena.update((key, arena[owner]) for key, owner in shared.items())
        program = self._program(arena, arena_bytes)
        return program, {key: offset for key, offset in arena.items() if key in kept}

    def _ranges(self) -> dict[Any, list[int]]:
        """Operand or Buffer in the arena -> [bytes, first step, last step that needs it]."""
        ranges: dict[Any, list[int]] = {}
        elsewhere: set[Any] = set()
        sizes = self._schedule.sizes
        for number, references in enumerate(watched(self._references)):
            for root in references[1::3]:
                span = ranges.get(root)
                if span is not None:
                    span[2] = number
                elif root in elsewhere:
                    continue
                elif self._is_in_arena(root):
                    ranges[root] = [sizes[root], number, number]
                else:
                    elsewhere.add(root)
        # A value from before a loop that the loop reads must stay alive until the loop ends.
        for first, last in sorted(self._schedule.loops, key=lambda loop: loop[1]):
            for span in ranges.values():
                if span[1] < first <= span[2] < last:
                    span[2] = last
        for key, span in ranges.items():
            if key in self._schedule.kept:
                span[2] = len(self._steps)
        return ranges

    def _is_in_arena(self, root: Any) -> bool:
        """Whether an operand or Buffer to which a field refers is in the arena."""
        if isinstance(root, int):
            return not self._schedule.is_argument(root)
        if isinstance(root, Buffer):
            return root.address is None and root not in self._operands.slots
        return False

    def _share_in_place(self, ranges: dict[Any, list[int]]) -> dict[Any, Any]:
        """Outputs of in-place steps that reuse the memory of an input which no later step reads:
        output -> first owner of the memory.
        """
        shared: dict[Any, Any] = {}
        for number, scheduled in zip(self._numbers, watched(self._steps), strict=True):
            step = scheduled.step
            if not step.in_place:
                continue
            source = self._schedule.root(step.fields[step.in_place])
            target = self._schedule.root(step.fields["output"])
            if (
                source in ranges
                and target in ranges
                and source != target
                and ranges[source][0] == ranges[target][0]
                and ranges[source][2] == number
                and ranges[target][1] == number
                and not self._is_used_beside(source, number)
            ):
                owner = shared[target] = shared.get(source, source)
                ranges[owner][2] = ranges[target][2]  # lives until the last of them ends
        return shared

    def _is_used_beside(self, key: Any, number: int) -> bool:
        """Whether a step that may run in parallel with step `number` uses an operand or Buffer."""
        first, last = self._regions[number]
        groups = [0]
        for scheduled in self._steps[first:last]:
            groups.append(groups[-1] + (scheduled.link == BESIDE))
        return any(
            groups[at - first] != groups[number - first] and key in self._references[at][1::3]
            for at in range(first, last + 1)
        )

    def _widen(self, ranges: Iterable[list[int]]) -> None:
        """Extend live ranges to whole regions, whose steps run in parallel."""
        for span in watched(ranges):
            span[1] = self._regions[span[1]][0]
            if span[2] < len(self._steps):
                span[2] = self._regions[span[2]][1]

    def _program(self, arena: dict[Any, int], arena_bytes: int) -> Program:
        word = STEP_WORDS * len(self._steps)
        template = bytearray(8 * (word + sum([each.step.record.words for each in self._steps])))
        words = memoryview(template).cast("q")
        slots = Slots(self._slot, arena)
        for number, scheduled in enumerate(watched(self._steps)):
            self._write(scheduled, self._references[number], template, words, number, word, slots)
            word += scheduled.step.record.words
        patches = pack(f"<{len(self._patches)}q", *self._patches)
        origins = [(scheduled.where, scheduled.step) for scheduled in self._steps]
        return self._program_of(bytes(template), patches, arena_bytes, origins, self._fixed)

    def _write(
        self,
        scheduled: ScheduledStep,
        references: Sequence[Any],
        template: bytearray,
        words: memoryview,
        number: int,
        word: int,
        slots: "Slots",
    ) -> None:
        """Write a step and its record, which begins at `word`; appends their patches."""
        step, first, patches = scheduled.step, STEP_WORDS * number, self._patches
        step.record.store_numbers(template, 8 * word, step.fields)
        of_step = iter(references)
        for at, root, offset in zip(of_step, of_step, of_step, strict=True):
            slot, addend = slots[root]
            if slot == FIXED:
                words[word + at] = addend + offset
                self._fixed.append((word + at, root, offset))
            else:
                patches += word + at, slot, addend + offset
        words[first] = self._library.address(step.kernel)
        self._fixed.append((first, step.kernel, 0))
        words[first + 2] = step.tiles
        words[first + 3] = scheduled.branch_offset
        words[first + 4] = scheduled.link
        patches += first + 1, SLOT_WORDS, 8 * word

    def _program_of(
        self,
        template: bytes,
        patches: bytes,
        arena_bytes: int,
        origins: Sequence[tuple[Where, Step]],
        fixed: Iterable[tuple[int, Any, int]],
    ) -> Program:
        return Program(
            self._library,
            template,
            patches,
            arena_bytes,
            FIRST_ARGUMENT_SLOT + len(self._operands.slots),
            origins,
            [self._constants, self._literals],
            fixed,
            self._constants.crew,
        )

    def _literal(self, data: bytes) -> int:
        """Address of literal bytes, which live as long as the program."""
        block = self._literals.get(data)
        if block is None:
            block = self._literals[data] = address.Block(len(data))
            address.view(block.address, len(data))[:] = data
        return block.address

    def _slot(self, root: Any, arena: dict[Any, int]) -> tuple[int, int]:
        """The slot of an operand, Buffer or constant, and its offset from the slot's address; FIXED
        and its address if that is known.
        """
        if root is LOOP_TIMEOUT:
            return SLOT_LOOP_TIMEOUT, 0
        if type(root) is bytes:
            return FIXED, self._literal(root)
        if root in arena:
            return SLOT_ARENA, arena[root]
        slots = self._operands.slots
        if root in slots:
            return slots[root], 0
        if isinstance(root, Buffer):
            assert root.address is not None
            return FIXED, root.address
        return FIXED, self._operands.constant_addresses[root]
