"""From steps to a program: where everything lies, and the words that say so."""

from collections.abc import Container, Iterable, Sequence
from struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.memory_planner import LiveRange, plan
from nnapi_shim.drivers.cpu.program.program import (
    BESIDE,
    CHAIN,
    END,
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_LOOP_TIMEOUT,
    SLOT_WORDS,
    STEP_WORDS,
    Program,
    patch,
)
from nnapi_shim.drivers.cpu.program.record import LOOP_TIMEOUT, At, Buffer, Step
from nnapi_shim.errors import Where
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, Protocol
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand


class Placed:
    """A step in its place. jump: how many places further the step is that follows a jump.

    where: the operation it comes from, for messages.
    join: END, CHAIN or BESIDE, as in program.py.
    """

    __slots__ = ("join", "jump", "step", "where")

    def __init__(self, step: Step, where: Where, jump: int = 0, join: int = END) -> None:
        self.step = step
        self.where = where
        self.jump = jump
        self.join = join


class Lowered(Protocol):
    """What a builder has made of a graph: steps, and what is known of the operands they name."""

    library: KernelLibrary
    constants: Constants
    steps: list[Placed]
    loops: list[tuple[int, int]]
    slots: dict[Any, int]
    constant_addresses: dict[int, int]

    def root(self, value: Any) -> Any:
        """The operand or Buffer behind a field's value."""

    def operand(self, index: int) -> BoundOperand:
        """An operand as this run knows it."""


def assemble(builder: Lowered, kept: Container[Any]) -> tuple[Program, dict[Any, int]]:
    """The program of a builder's steps, and the arena offsets of what is kept."""
    return _Layout(builder).assembled(kept)


def regions(steps: Sequence[Placed]) -> list[tuple[int, int]]:
    """Of every step, the first and the last step of its region."""
    found: list[tuple[int, int]] = []
    for last, placed in enumerate(watched(steps)):
        if placed.join == END:
            found += [(len(found), last)] * (last + 1 - len(found))
        elif placed.join == CHAIN:
            assert placed.step.tiles == steps[last + 1].step.tiles
    assert len(found) == len(steps)
    return found


class _Layout:
    """The places of one program's operands and Buffers."""

    def __init__(self, builder: Lowered) -> None:
        self._builder = builder
        self._steps: Sequence[Placed] = builder.steps
        self._regions = regions(self._steps)
        self._literals: dict[bytes, address.Block] = {}
        self._patches: list[bytes] = []
        self._fixed: list[tuple[int, Any, int]] = []

    def assembled(self, kept: Container[Any]) -> tuple[Program, dict[Any, int]]:
        ranges = self._ranges(kept)
        shared = self._share_in_place(ranges)
        self._widen(ranges.values())
        keys = [key for key in ranges if key not in shared]
        offsets, arena_bytes = plan([LiveRange(*ranges[key]) for key in keys])
        places = dict(zip(keys, offsets, strict=True))
        places.update((key, places[owner]) for key, owner in shared.items())
        program = self._program(places, arena_bytes)
        return program, {key: place for key, place in places.items() if key in kept}

    def _ranges(self, kept: Container[Any]) -> dict[Any, list[int]]:
        """What lies in the arena -> [bytes, first step, last step that needs it]."""
        ranges: dict[Any, list[int]] = {}
        for number, placed in enumerate(watched(self._steps)):
            step = placed.step
            for _, name in step.record.addresses:
                key = self._place(step.fields[name])
                if key is None:
                    continue
                if key in ranges:
                    ranges[key][2] = number
                else:
                    ranges[key] = [self._length(key), number, number]
        # What a loop reads in one round must still be there in the next.
        for first, last in sorted(self._builder.loops, key=lambda loop: loop[1]):
            for span in ranges.values():
                if span[1] < first <= span[2] < last:
                    span[2] = last
        for key, span in ranges.items():
            if key in kept:
                span[2] = len(self._steps)
        return ranges

    def _place(self, value: Any) -> Any:
        """Key of what lies in the arena, or None for what has an address of its own."""
        if value is None or type(value) is bytes:
            return None
        builder = self._builder
        root = builder.root(value)
        if isinstance(root, int):
            outside = root in builder.slots or root in builder.constant_addresses
            return None if outside else root
        if isinstance(root, Buffer):
            outside = root.address is not None or root in builder.slots
            return None if outside else root
        return None

    def _length(self, key: Any) -> int:
        if isinstance(key, Buffer):
            return key.length
        return byte_size(self._builder.operand(key))

    def _share_in_place(self, ranges: dict[Any, list[int]]) -> dict[Any, Any]:
        """Outputs that take over the memory of an input which nothing reads afterwards.

        Output -> whoever the memory belonged to first.
        """
        shared: dict[Any, Any] = {}
        for number, placed in enumerate(watched(self._steps)):
            step = placed.step
            if not step.in_place:
                continue
            source = self._place(step.fields[step.in_place])
            target = self._place(step.fields["output"])
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
                ranges[owner][2] = ranges[target][2]  # it lives as long as the last of them
        return shared

    def _is_used_beside(self, key: Any, number: int) -> bool:
        """Whether a step that may run at the same time as step `number` uses what lies in the arena
        under a key.
        """
        first, last = self._regions[number]
        groups = [0]
        for placed in self._steps[first:last]:
            groups.append(groups[-1] + (placed.join == BESIDE))
        return any(
            groups[at - first] != groups[number - first] and key in self._used(self._steps[at])
            for at in range(first, last + 1)
        )

    def _used(self, placed: Placed) -> set[Any]:
        step = placed.step
        return {self._place(step.fields[name]) for _, name in step.record.addresses}

    def _widen(self, ranges: Iterable[list[int]]) -> None:
        """What a step of a region needs is needed as long as the region runs."""
        for span in watched(ranges):
            span[1] = self._regions[span[1]][0]
            if span[2] < len(self._steps):
                span[2] = self._regions[span[2]][1]

    def _program(self, places: dict[Any, int], arena_bytes: int) -> Program:
        builder = self._builder
        head: list[bytes] = []
        blocks: list[bytes] = []
        word = STEP_WORDS * len(self._steps)
        for number, placed in enumerate(watched(self._steps)):
            step = placed.step
            values = [*step.record.values(step.fields)]
            for at, _ in step.record.addresses:
                values[at] = self._address(values[at], places, word + at)
            blocks.append(step.record.pack(*values))
            kernel = builder.library.address(step.kernel)
            self._fixed.append((STEP_WORDS * number, step.kernel, 0))
            head.append(pack("<5q", kernel, 0, step.tiles, placed.jump, placed.join))
            self._patches.append(patch(STEP_WORDS * number + 1, SLOT_WORDS, 8 * word))
            word += step.record.words
        return Program(
            builder.library,
            b"".join(head) + b"".join(blocks),
            b"".join(self._patches),
            arena_bytes,
            FIRST_ARGUMENT_SLOT + len(builder.slots),
            [(placed.where, placed.step) for placed in self._steps],
            [builder.constants, self._literals],
            self._fixed,
            builder.constants.crew,
        )

    def _literal(self, data: bytes) -> int:
        """Address of constant bytes that a lowering made; they live as long as the program."""
        block = self._literals.get(data)
        if block is None:
            block = self._literals[data] = address.Block(len(data))
            address.view(block.address, len(data))[:] = data
        return block.address

    def _address(self, value: Any, places: dict[Any, int], at: int) -> int:
        """The word for an ADDRESS field: final, or 0 and a patch."""
        if value is None:
            return 0
        if value is LOOP_TIMEOUT:
            self._patches.append(patch(at, SLOT_LOOP_TIMEOUT, 0))
            return 0
        offset = 0
        while isinstance(value, At):
            offset += value.offset
            value = value.base
        if isinstance(value, bytes):
            self._fixed.append((at, value, offset))
            return self._literal(value) + offset
        builder = self._builder
        root = builder.root(value)
        if root in places:
            self._patches.append(patch(at, SLOT_ARENA, places[root] + offset))
            return 0
        if root in builder.slots:
            self._patches.append(patch(at, builder.slots[root], offset))
            return 0
        self._fixed.append((at, root, offset))
        if isinstance(root, Buffer):
            assert root.address is not None
            return root.address + offset
        return builder.constant_addresses[root] + offset
