"""Assembles a program: plans the memory of a schedule, and writes its words."""

from collections.abc import Iterable, Sequence
from struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.memory_planner import LiveRange, plan
from nnapi_shim.drivers.cpu.program.program import (
    BESIDE,
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_LOOP_TIMEOUT,
    SLOT_WORDS,
    STEP_WORDS,
    Program,
    patch,
)
from nnapi_shim.drivers.cpu.program.record import LOOP_TIMEOUT, At, Buffer
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep, regions
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched


def assemble(
    schedule: Schedule, library: KernelLibrary, constants: Constants
) -> tuple[Program, dict[Any, int]]:
    """The program of a schedule, and the arena offsets of its kept operands and Buffers."""
    return _Layout(schedule, library, constants).assembled()


class _Layout:
    """The memory layout of one program."""

    def __init__(self, schedule: Schedule, library: KernelLibrary, constants: Constants) -> None:
        self._schedule = schedule
        self._operands = schedule.operands
        self._library = library
        self._constants = constants
        self._steps: Sequence[ScheduledStep] = schedule.steps
        self._regions = regions(self._steps)
        self._literals: dict[bytes, address.Block] = {}
        self._patches: list[bytes] = []
        self._fixed: list[tuple[int, Any, int]] = []

    def assembled(self) -> tuple[Program, dict[Any, int]]:
        kept = self._schedule.kept
        ranges = self._ranges()
        shared = self._share_in_place(ranges)
        self._widen(ranges.values())
        keys = [key for key in ranges if key not in shared]
        offsets, arena_bytes = plan([LiveRange(*ranges[key]) for key in keys])
        arena = dict(zip(keys, offsets, strict=True))
        arena.update((key, arena[owner]) for key, owner in shared.items())
        program = self._program(arena, arena_bytes)
        return program, {key: offset for key, offset in arena.items() if key in kept}

    def _ranges(self) -> dict[Any, list[int]]:
        """Operand or Buffer in the arena -> [bytes, first step, last step that needs it]."""
        ranges: dict[Any, list[int]] = {}
        for number, scheduled in enumerate(watched(self._steps)):
            step = scheduled.step
            for _, name in step.record.addresses:
                key = self._arena_key(step.fields[name])
                if key is None:
                    continue
                if key in ranges:
                    ranges[key][2] = number
                else:
                    ranges[key] = [self._length(key), number, number]
        # A value from before a loop that the loop reads must stay alive until the loop ends.
        for first, last in sorted(self._schedule.loops, key=lambda loop: loop[1]):
            for span in ranges.values():
                if span[1] < first <= span[2] < last:
                    span[2] = last
        for key, span in ranges.items():
            if key in self._schedule.kept:
                span[2] = len(self._steps)
        return ranges

    def _arena_key(self, value: Any) -> Any:
        """The operand or Buffer in the arena to which a field refers; None for other memory."""
        if value is None or type(value) is bytes:
            return None
        root = self._schedule.root(value)
        if isinstance(root, int):
            return None if self._schedule.is_argument(root) else root
        if isinstance(root, Buffer):
            outside = root.address is not None or root in self._operands.slots
            return None if outside else root
        return None

    def _length(self, key: Any) -> int:
        return key.length if isinstance(key, Buffer) else byte_size(self._operands.bound(key))

    def _share_in_place(self, ranges: dict[Any, list[int]]) -> dict[Any, Any]:
        """Outputs of in-place steps that reuse the memory of an input which no later step reads:
        output -> first owner of the memory.
        """
        shared: dict[Any, Any] = {}
        for number, scheduled in enumerate(watched(self._steps)):
            step = scheduled.step
            if not step.in_place:
                continue
            source = self._arena_key(step.fields[step.in_place])
            target = self._arena_key(step.fields["output"])
            if (
                source is not None
                and target is not None
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
            groups[at - first] != groups[number - first] and key in self._used(self._steps[at])
            for at in range(first, last + 1)
        )

    def _used(self, scheduled: ScheduledStep) -> set[Any]:
        step = scheduled.step
        return {self._arena_key(step.fields[name]) for _, name in step.record.addresses}

    def _widen(self, ranges: Iterable[list[int]]) -> None:
        """Extend live ranges to whole regions, whose steps run in parallel."""
        for span in watched(ranges):
            span[1] = self._regions[span[1]][0]
            if span[2] < len(self._steps):
                span[2] = self._regions[span[2]][1]

    def _program(self, arena: dict[Any, int], arena_bytes: int) -> Program:
        head: list[bytes] = []
        blocks: list[bytes] = []
        word = STEP_WORDS * len(self._steps)
        for number, scheduled in enumerate(watched(self._steps)):
            step = scheduled.step
            values = [*step.record.values(step.fields)]
            for at, _ in step.record.addresses:
                values[at] = self._address(values[at], arena, word + at)
            blocks.append(step.record.pack(*values))
            kernel = self._library.address(step.kernel)
            self._fixed.append((STEP_WORDS * number, step.kernel, 0))
            head.append(pack("<5q", kernel, 0, step.tiles, scheduled.branch_offset, scheduled.link))
            self._patches.append(patch(STEP_WORDS * number + 1, SLOT_WORDS, 8 * word))
            word += step.record.words
        return Program(
            self._library,
            b"".join(head) + b"".join(blocks),
            b"".join(self._patches),
            arena_bytes,
            FIRST_ARGUMENT_SLOT + len(self._operands.slots),
            [(scheduled.where, scheduled.step) for scheduled in self._steps],
            [self._constants, self._literals],
            self._fixed,
            self._constants.crew,
        )

    def _literal(self, data: bytes) -> int:
        """Address of literal bytes, which live as long as the program."""
        block = self._literals.get(data)
        if block is None:
            block = self._literals[data] = address.Block(len(data))
            address.view(block.address, len(data))[:] = data
        return block.address

    def _address(self, value: Any, arena: dict[Any, int], at: int) -> int:
        """The word of an ADDRESS field: the final address, or 0 with a patch."""
        if value is None:
            return 0
        if value is LOOP_TIMEOUT:
            self._patches.append(patch(at, SLOT_LOOP_TIMEOUT, 0))
            return 0
        offset = 0
        while type(value) is At:
            offset += value.offset
            value = value.base
        if type(value) is bytes:
            self._fixed.append((at, value, offset))
            return self._literal(value) + offset
        operands, root = self._operands, self._schedule.root(value)
        if root in arena:
            self._patches.append(patch(at, SLOT_ARENA, arena[root] + offset))
            return 0
        if root in operands.slots:
            self._patches.append(patch(at, operands.slots[root], offset))
            return 0
        self._fixed.append((at, root, offset))
        if isinstance(root, Buffer):
            assert root.address is not None
            return root.address + offset
        return operands.constant_addresses[root] + offset
