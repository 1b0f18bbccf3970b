"""Program: lowered steps as one immutable block of words. Frame: one run of it in flight.

Layout of the words of a program:

    steps    5 words each: kernel address, address of its argument block, tiles, branch offset, link
    blocks   the argument records, one after another

A step whose kernel returns a number below 0 branches: its branch offset is the distance to the next
step to run. Any other is followed by the next one.

Linked steps form a region, which runs as a unit; the link of a step is its relation to the next
step:

    END      the region ends with this step
    CHAIN    tile t of the next step runs right after tile t of this one, on the same thread. Both
             have the same number of tiles. Tile t of the next step reads nothing that another tile
             of this one writes, and no tile writes memory that another one accesses
    BESIDE   the two steps and the steps chained with them are independent: their tiles may run in
             parallel

A region of several steps contains no branch, and no step branches into it.

Words that hold addresses are patched when a frame is bound: patch {at, slot, addend} stores
addresses[slot] + addend. Slots: the words themselves, the arena, the loop timeout in ns, then the
addresses of the run: the graph's inputs and outputs, and the values that earlier programs of the
run have kept. Constants have fixed addresses and are part of the template.
"""

from struct import Struct, pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.native_task import NativeTask
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, record
from nnapi_shim.drivers.cpu.program.threads import ALONE, Crew
from nnapi_shim.errors import Where
from nnapi_shim.hints import Any, Iterable, Protocol, Sequence

STEP_WORDS = 5
STEP_BYTES = 8 * STEP_WORDS
END, CHAIN, BESIDE = range(3)

WALK = record(steps=ADDRESS, count=INT64, stopped=INT64, deadline=INT64, threads=INT64, rank=INT64)
WALK_BYTES = 8 * WALK.words
BIND = record(words=ADDRESS, patches=ADDRESS, count=INT64, addresses=ADDRESS)

SLOT_WORDS, SLOT_ARENA, SLOT_LOOP_TIMEOUT, FIRST_ARGUMENT_SLOT = 0, 1, 2, 3


class Origin(Protocol):
    """A step, for messages."""

    @property
    def kernel(self) -> str:
        """Name of the kernel."""

    @property
    def complaint(self) -> str:
        """The error message for illegal values."""


class Program:
    """The immutable compiled form of a part of a graph for static shapes."""

    __slots__ = (
        "_bind",
        "arena_bytes",
        "crew",
        "fixed",
        "library",
        "origins",
        "owners",
        "patch_bytes",
        "patch_count",
        "patches",
        "slots",
        "step_count",
        "template",
        "walk",
    )

    def __init__(
        self,
        library: KernelLibrary,
        template: bytes,
        patches: bytes,
        arena_bytes: int,
        slots: int,
        origins: Sequence[tuple[Where, Origin]],
        owners: Sequence[Any],
        fixed: Iterable[tuple[int, Any, int]] = (),
        crew: Crew = ALONE,
    ) -> None:
        self.library = library
        self.template = template
        self.patch_bytes = patches
        self.patches, keep = address.address_of(patches)
        self.patch_count = len(patches) // 24
        self.step_count = len(origins)
        self.arena_bytes = arena_bytes
        self.slots = Struct(f"<{slots}q")
        self.origins = origins
        """Per step: its operation and the step, for messages and profiles."""
        self.owners = (owners, keep)
        """Objects that must live as long as the program: constants and packed constants."""
        self.fixed = fixed
        """Words of the template that hold addresses: the word, the target (a kernel's name, literal
        bytes, a packed Buffer, or the index of a constant) and the offset in it.
        """
        self.crew = crew
        """The threads of its runs."""
        self.walk = library.run_program
        self._bind = library.function("bind")
        """The compiled function that applies patches; takes a BIND record."""


class Frame:
    """The words and the arena of one run in flight. Not thread-safe: one run at a time."""

    __slots__ = ("_addresses", "_arena", "_bind", "_slots", "_walk", "_words", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        words = self._words = address.Block(len(program.template))
        address.write(words.address, program.template)
        self._arena = address.Block(program.arena_bytes)
        self._addresses = address.Block(program.slots.size)
        self._slots = address.view(self._addresses.address, program.slots.size)
        self._walk = address.Block(WALK_BYTES)
        self._bind = address.Block(32)
        address.write(
            self._walk.address, WALK.pack(words.address, program.step_count, 0, 0, *program.crew)
        )
        address.write(
            self._bind.address,
            BIND.pack(words.address, program.patches, program.patch_count, self._addresses.address),
        )

    def bind(self, arguments: Sequence[int], loop_timeout_ns: int) -> None:
        """Set the addresses of the run's arguments, in the order of their slots."""
        program = self.program
        program.slots.pack_into(
            self._slots, 0, self._words.address, self._arena.address, loop_timeout_ns, *arguments
        )
        program._bind(self._bind.address, 0)

    def rerun(self, run: int, block: int) -> bytes:
        """The `struct program` of native/module/rerun.c, which binds other arguments.

        run, block: the address of the function that runs them then and its argument, or 0.
        """
        arguments = self._addresses.address + 8 * FIRST_ARGUMENT_SLOT
        bind = address.of_function(self.program._bind)
        return pack("<5q", arguments, bind, self._bind.address, run, block)

    def set_deadline(self, deadline_ns: int) -> None:
        """time.monotonic_ns() after which the walk stops before the next step; 0 for never."""
        address.view(self._walk.address + 24, 8)[:] = deadline_ns.to_bytes(8, "little")

    @property
    def words(self) -> int:
        """Address of the frame's words."""
        return self._words.address

    @property
    def arena(self) -> int:
        """Address of the arena."""
        return self._arena.address

    @property
    def walk_block(self) -> int:
        """Address of the WALK record: `program.walk(frame.walk_block, 0)` runs the frame."""
        return self._walk.address

    def stopped(self) -> int:
        """Number of the step at which a walk stopped."""
        return int.from_bytes(address.read(self._walk.address + 16, 8), "little")


class StepsInOrder:
    """A sequence of steps without branches: kernel (its name, or the address of a C function),
    argument block and tiles of each.
    """

    def __init__(
        self,
        library: KernelLibrary,
        steps: Sequence[tuple[str | int, bytes, int]],
        deadline_ns: int,
        crew: Crew,
    ) -> None:
        at = WALK_BYTES + STEP_BYTES * len(steps)
        self._words = words = address.Block(at + sum([len(block) for _, block, _ in steps]))
        begin = words.address
        parts = [WALK.pack(begin + WALK_BYTES, len(steps), 0, deadline_ns, *crew)]
        for kernel, block, tiles in steps:
            function = library.address(kernel) if isinstance(kernel, str) else kernel
            parts.append(pack("<5q", function, begin + at, tiles, 0, END))
            at += len(block)
        address.write(words.address, b"".join([*parts, *[block for _, block, _ in steps]]))
        self._run = library.run_program
        self._task: NativeTask | None = None

    def begin(self, owner: Any) -> None:
        """Start them on another thread, if one can be created; owner: as in NativeTask."""
        runner = address.of_function(self._run)
        self._task = NativeTask(runner, self._words.address, (self._words, owner))

    def result(self) -> tuple[int, int]:
        """Run them, or wait for the thread; returns the result code and the step that stopped."""
        code = None if self._task is None else self._task.result()
        if code is None:
            code = self._run(self._words.address, 0)
        return code, int.from_bytes(address.read(self._words.address + 16, 8), "little")


patch = Struct("<3q").pack
"""A patch, as `bind` reads it: the word, the slot of its address, the number to add."""
