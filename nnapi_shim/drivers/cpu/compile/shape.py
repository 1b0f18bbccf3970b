"""Shape: what all repetitions of an operation have in common in a program."""

from struct import Struct, pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.repeated import Lowered
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import (
    BIND,
    END,
    SLOT_ARENA,
    SLOT_WORDS,
    STEP_WORDS,
)
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.hints import Any, Callable, Collection, Sequence
from nnapi_shim.operations.declare import BoundOperand

ZERO, WORD, BYTE, STEP, FIRST = range(5)
"""The numbers from which patches are computed: 0, the word and the byte of the first record, the
word of the first step; then the offset of each Buffer, and the slot and offset of each external
operand.
"""


class Shape:
    """The words of the steps of an operation, and how its patches depend on its operands.

    steps: the steps. words: the words of their records. step_words, records: the bytes of both.
    externals: the tensors that the steps name, by their numbers in Lowered.tensors, in the order of
        first use. firsts, lasts: the first and the last step that uses each.
    ranges: in the order of first use, (length, first step, last step) of a Buffer, or the position
        of an external operand.
    buffers: how many of them are Buffers.
    constants: the positions of external operands that are constants.
    addresses: word, position of the external operand, and offset of each address of a constant.
    fixed: whether the word is one of a step; the word, the target and the offset as in
        Program.fixed, a constant by its position.
    """

    def __init__(
        self,
        lowered: Lowered,
        constants: Collection[int],
        library: KernelLibrary,
        literal: Callable[[bytes], int],
    ) -> None:
        """constants: the numbers of tensors that are constants. literal: data -> its address."""
        self.steps = lowered.scheduled
        self.words = sum([step.record.words for step in self.steps])
        numbers: dict[int, int] = {}
        for at, operand in enumerate(lowered.tensors):
            numbers.setdefault(operand.index, at)
        references = [_references(step, numbers) for step in self.steps]
        self._set_ranges(references)
        self.constants = [at for at, it in enumerate(self.externals) if it in constants]
        self.addresses: list[tuple[int, int, int]] = []
        self.fixed: list[tuple[bool, int, Any, int]] = []
        self._recipe: list[int] = []
        """Patches that make patches, as `bind` reads them."""
        self._rows = word = 0
        words, records = bytearray(), bytearray(8 * self.words)
        for number, step in enumerate(self.steps):
            step.record.store_numbers(records, 8 * word, step.fields)
            for at, root, offset in references[number]:
                self._refer(word + at, root, offset, records, literal)
            words += pack("<5q", library.address(step.kernel), 0, step.tiles, 0, END)
            self.fixed.append((True, STEP_WORDS * number, step.kernel, 0))
            first = STEP_WORDS * number + 1
            self._add((STEP, first), (ZERO, SLOT_WORDS), (BYTE, 8 * word))
            word += step.record.words
        self.step_words, self.records = bytes(words), bytes(records)
        self._bind = library.function("bind")
        self._prepare()

    def _set_ranges(self, references: Sequence[Sequence[tuple[int, Any, int]]]) -> None:
        uses: dict[Any, list[int]] = {}
        for number, of_step in enumerate(references):
            for _, root, _ in of_step:
                if type(root) is not bytes and _address(root) is None:
                    uses.setdefault(root, [number, number])[1] = number
        self.externals = [root for root in uses if type(root) is int]
        self.firsts = [uses[root][0] for root in self.externals]
        self.lasts = [uses[root][1] for root in self.externals]
        self.ranges: list[Any] = []
        self._slots: dict[Any, tuple[int, int]] = {}
        """Buffer -> number of its offset; external -> its position, number of its slot."""
        self.buffers = 0
        for root in uses:
            if type(root) is Buffer:
                self._slots[root] = -1, FIRST + self.buffers
                self.ranges.append((root.length, *uses[root]))
                self.buffers += 1
            else:
                self.ranges.append(len(self.ranges) - self.buffers)
        for at, root in enumerate(self.externals):
            self._slots[root] = at, FIRST + self.buffers + 2 * at

    def _refer(
        self, at: int, root: Any, offset: int, records: bytearray, literal: Callable[[bytes], int]
    ) -> None:
        """Set a word that holds an address, or add its patch."""
        where = literal(root) if type(root) is bytes else _address(root)
        if where is not None:
            records[8 * at : 8 * at + 8] = pack("<q", where + offset)
            self.fixed.append((False, at, root, offset))
            return
        position, number = self._slots[root]
        if position < 0:
            self._add((WORD, at), (ZERO, SLOT_ARENA), (number, offset))
        elif position in self.constants:
            self.addresses.append((at, position, offset))
            self.fixed.append((False, at, position, offset))
        else:
            self._add((WORD, at), (number, 0), (number + 1, offset))

    def _add(self, *patch: tuple[int, int]) -> None:
        """Add a patch: word, slot and addend, each the sum of one of the numbers and a constant."""
        for at, (number, more) in enumerate(patch):
            self._recipe += 3 * self._rows + at, number, more
        self._rows += 1

    def _prepare(self) -> None:
        recipe = pack(f"<{len(self._recipe)}q", *self._recipe)
        count = FIRST + self.buffers + 2 * len(self.externals)
        self._numbers = Struct(f"<{count}q")
        made, numbers, record = (address.Block(size) for size in (24 * self._rows, 8 * count, 32))
        where, owner = address.address_of(recipe)
        self._owners = recipe, owner, made, numbers, record
        packed = BIND.pack(made.address, where, len(self._recipe) // 3, numbers.address)
        address.write(record.address, packed)
        self._record = record.address
        self._made = address.view(made.address, 24 * self._rows)
        self._view = address.view(numbers.address, 8 * count)

    def patches(self, word: int, first: int, numbers: Sequence[int]) -> bytes:
        """The patches of a repetition, which the compiled helper computes.

        word: of its first record. first: word of its first step. numbers: as in FIRST.
        """
        self._numbers.pack_into(self._view, 0, 0, word, 8 * word, first, *numbers)
        self._bind(self._record, 0)
        return bytes(self._made)


def _address(root: Any) -> int | None:
    """The address of a packed Buffer; None for other memory."""
    return root.address if type(root) is Buffer else None


def _references(step: Step, numbers: dict[int, int]) -> list[tuple[int, Any, int]]:
    """As Schedule.references, with the number of a tensor instead of an operand."""
    references = []
    for at, name in step.record.addresses:
        value, offset = step.fields[name], 0
        if value is None:
            continue
        while type(value) is At:
            value, offset = value.base, offset + value.offset
        references.append(
            (at, numbers[value.index] if type(value) is BoundOperand else value, offset)
        )
    return references
