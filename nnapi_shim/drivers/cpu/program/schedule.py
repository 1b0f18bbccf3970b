"""A schedule: the ordered steps of a program, before memory planning."""

from nnapi_shim.drivers.cpu.program.program import CHAIN, END
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.errors import Where
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, Container, NamedTuple, Protocol, Sequence
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand


class ScheduledStep:
    """A step in a schedule.

    where: the operation it comes from, for messages.
    branch_offset: of a step that branches, the distance to its target, in steps; else 0.
    link: END, CHAIN or BESIDE, as in program.py.
    """

    __slots__ = ("branch_offset", "link", "step", "where")

    def __init__(self, step: Step, where: Where, branch_offset: int = 0, link: int = END) -> None:
        self.step = step
        self.where = where
        self.branch_offset = branch_offset
        self.link = link


class Operands(Protocol):
    """The operands that steps name. slots: operand or Buffer -> slot of its address."""

    slots: dict[Any, int]
    constant_addresses: dict[int, int]
    aliases: dict[int, int]

    def root(self, value: Any) -> Any:
        """The operand or Buffer to which a field refers, with aliases resolved."""

    def bound(self, index: int) -> BoundOperand:
        """An operand with the dimensions of this run."""


class Rewrite(NamedTuple):
    """A change by a pass: its name, the operation, and a text for `explain`."""

    name: str
    where: Where
    text: str


class _Sizes(dict[Any, int]):
    """Operand or Buffer -> its bytes; 0 for other memory. Computed when they are looked up."""

    def __init__(self, operands: Operands) -> None:
        self._operands = operands

    def __missing__(self, root: Any) -> int:
        if type(root) is int:
            size = byte_size(self._operands.bound(root))
        else:
            size = root.length if type(root) is Buffer else 0
        self[root] = size
        return size


class Schedule:
    """Steps, and the operands that they name.

    kept: operands and Buffers that later programs of the run read.
    loops: first and last step of every loop.
    pass_name: the current pass. rewrites: the changes that passes reported.
    """

    def __init__(
        self,
        steps: list[ScheduledStep],
        operands: Operands,
        loops: Sequence[tuple[int, int]] = (),
        kept: Container[Any] = (),
    ) -> None:
        self.steps = steps
        self.operands = operands
        self.loops = loops
        self.kept = kept
        self.pass_name = ""
        self.rewrites: list[Rewrite] = []
        self.root = operands.root
        self._references: dict[Step, list[Any]] = {}
        self.sizes = _Sizes(operands)

    def references(self, step: Step) -> list[Any]:
        """For each ADDRESS field that is not None, one after the other: its number, the operand,
        Buffer or constant to which it refers, with aliases resolved, and the offset in that.

        Computed once, for the last pass and the layout, when no field changes any more.
        """
        references = self._references.get(step)
        if references is None:
            references = self._references[step] = self._resolved(step)
        return references

    def _resolved(self, step: Step) -> list[Any]:
        fields, aliases = step.fields, self.operands.aliases
        references: list[Any] = []
        for at, name in step.record.addresses:
            value = fields[name]
            if value is None:
                continue
            offset = 0
            while type(value) is At:
                offset += value.offset
                value = value.base
            if type(value) is BoundOperand:
                value = aliases.get(value.index, value.index)
            references += at, value, offset
        return references

    def roots(self, step: Step) -> list[Any]:
        """The operands, Buffers and constants of `references`."""
        return self.references(step)[1::3]

    def report(self, scheduled: ScheduledStep, text: str) -> None:
        """Record a change to a step by the current pass."""
        where = scheduled.where
        self.rewrites.append(Rewrite(self.pass_name, where, f"{where}: {text}"))

    @property
    def has_branches(self) -> bool:
        """Whether a step branches."""
        return any(scheduled.branch_offset for scheduled in self.steps)

    def is_argument(self, root: Any) -> bool:
        """Whether an operand or Buffer is an argument of the run or a constant."""
        return root in self.operands.slots or root in self.operands.constant_addresses

    def is_temporary(self, root: Any) -> bool:
        """Whether an operand is used only within this program."""
        return isinstance(root, int) and not self.is_argument(root) and root not in self.kept


def regions(steps: Sequence[ScheduledStep]) -> list[tuple[int, int]]:
    """The first and the last step of the region of every step."""
    bounds: list[tuple[int, int]] = []
    for last, scheduled in enumerate(watched(steps)):
        if scheduled.link == END:
            bounds += [(len(bounds), last)] * (last + 1 - len(bounds))
        elif scheduled.link == CHAIN:
            assert scheduled.step.tiles == steps[last + 1].step.tiles
    assert len(bounds) == len(steps)
    return bounds
