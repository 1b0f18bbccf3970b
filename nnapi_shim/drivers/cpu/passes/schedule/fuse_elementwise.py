"""Steps that go element by element follow each other block by block, while a block is in the first
cache: what GELU, a normalisation of layers, or numbers made real and quantized again consist of.

All steps of a chain are cut into the same rows. A row of one needs that row alone of those in front
of it; what all rows need, such as a number per channel, comes from in front of the chain.
"""

from collections.abc import Callable, Sequence
from math import gcd

from nnapi_shim.drivers.cpu.compile.layout import Placed
from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS
from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS
from nnapi_shim.drivers.cpu.lowering.reduction import VIEW
from nnapi_shim.drivers.cpu.lowering.softmax import SOFTMAX
from nnapi_shim.drivers.cpu.program.program import CHAIN, END
from nnapi_shim.drivers.cpu.program.record import At, Step
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.limits import watched

NAME = "fuse_elementwise"
BLOCK = 2048
"""Elements of a block, at most: three blocks of float32 fit into the first cache."""
WORTH = 8192
"""Elements of a step from which on it is chained: less stays in the cache anyway."""

Root = Callable[[Any], Any]


class Rows(NamedTuple):
    """How a step can be cut.

    finest: into so many rows at most, and into what divides that. elements: that it reads, at
    most, or writes. by_row: fields that are read row by row.
    cut: lets a tile be so many (second) of so many rows (first).
    """

    finest: int
    elements: int
    by_row: frozenset[str]
    cut: Callable[[int, int], None]


def fuse_elementwise(steps: Sequence[Placed], root: Root) -> list[tuple[Placed, Placed]]:
    """Chain what can be; the pairs that are.

    root: of a field's value, the operand or Buffer behind it.
    """
    if any(placed.jump for placed in steps):
        return []
    found = []
    at = 0
    while at < len(steps):
        chain = _chain(steps, at, root)
        last = at + len(chain.cuts)
        if len(chain.cuts) > 1:
            chain.divide(steps[at:last], root)
            found += [(steps[number], steps[number + 1]) for number in range(at, last - 1)]
        at = max(last, at + 1)
    return found


class _Chain(NamedTuple):
    """Cuts of its steps, and how many rows all of them can be cut into."""

    cuts: list[Rows]
    rows: int

    def divide(self, steps: Sequence[Placed], root: Root) -> None:
        """Cut all steps alike."""
        share = max(1, BLOCK * self.rows // max(cut.elements for cut in self.cuts))
        read_by_all: set[Any] = set()
        for placed, cut in watched(zip(steps, self.cuts, strict=True)):
            step = placed.step
            cut.cut(self.rows, share)
            step.tiles = -(-self.rows // share)
            for _, name in step.record.addresses:
                if name not in cut.by_row and name != "output":
                    read_by_all.add(root(step.fields[name]))
            # Other tiles of the steps in front may still read what it would write over.
            if step.in_place and root(step.fields[step.in_place]) in read_by_all:
                step.in_place = ""
        for placed in steps[:-1]:
            placed.join = CHAIN


def _chain(steps: Sequence[Placed], at: int, root: Root) -> _Chain:
    """The longest chain that begins at a step."""
    cuts: list[Rows] = []
    written: dict[Any, Any] = {}
    rows = 0
    for number in watched(range(at, len(steps))):
        placed = steps[number]
        if placed.join != END:
            break  # it is joined to the next one already
        if number > 0 and steps[number - 1].join != END:
            break  # the one before is joined to it
        cut = _rows(placed.step)
        if cut is None or not _reads_rows(placed.step, cut, written, root):
            break
        finest = gcd(rows, cut.finest)
        largest = max(cut.elements, *[other.elements for other in cuts], 0)
        if largest < WORTH or largest // finest > BLOCK:
            break
        cuts.append(cut)
        rows = finest
        output = placed.step.fields["output"]
        written[root(output)] = output
    return _Chain(cuts, rows)


def _reads_rows(step: Step, cut: Rows, written: dict[Any, Any], root: Root) -> bool:
    """Whether what a step reads of a chain in front of it are the same rows."""
    for _, name in step.record.addresses:
        value = step.fields[name]
        source = root(value)
        if name != "output" and source in written:
            if name not in cut.by_row:
                return False
            if isinstance(value, At) or isinstance(written[source], At):
                return False
    return True


def _rows(step: Step) -> Rows | None:
    """How a step can be cut; None for one that cannot be chained."""
    fields, names = step.fields, step.record.fields.keys()
    if step.writes != ("output",) or fields["output"] is None:
        return None
    if names >= ELEMENTS.keys():
        return _counted(step)
    if names >= WALK_FIELDS.keys():
        return _flat(step) if fields["all_rows"] == 1 else _broadcast(step)
    if names >= VIEW.keys() and (fields["inner"], fields["repeats"]) == (1, 1):
        blocks = fields["outer"] * fields["rows"]
        return _runs(step, blocks, "tile_blocks")
    if step.record is SOFTMAX:
        return _runs(step, fields["outer"], "tile_rows")
    return None


def _counted(step: Step) -> Rows:
    """Of elements that are counted."""
    fields, count = step.fields, step.fields["count"]

    def cut(rows: int, share: int) -> None:
        fields["part"] = count // rows * share

    inputs = frozenset(("condition", "input", "input1", "input2"))
    return Rows(count, count, inputs, cut)


def _flat(step: Step) -> Rows | None:
    """Of two inputs, each of which is one number or as many as the output."""
    fields, count = step.fields, step.fields["length"]
    moves = fields["moves_0"], fields["moves_1"]
    if fields["part"] < count and (fields["part_step_0"], fields["part_step_1"]) != tuple(
        fields["part"] * moving for moving in moves
    ):
        return None  # a short row that is repeated

    def cut(rows: int, share: int) -> None:
        part = fields["part"] = count // rows * share
        fields["part_step_0"], fields["part_step_1"] = (part * moving for moving in moves)

    by_row = frozenset(f"input{number}" for number in (0, 1) if moves[number])
    return Rows(count, count, by_row, cut)


def _broadcast(step: Step) -> Rows:
    """Of rows that are combined with others, with one number each, or all with the same.

    Rows of more than one part are longer than a BLOCK, which no chain takes.
    """
    fields = step.fields
    all_rows, length = fields["all_rows"], fields["length"]

    def cut(rows: int, share: int) -> None:
        fields["rows"] = all_rows // rows * share

    by_row = set()
    if fields["size"] == all_rows:
        for number in (0, 1):
            if (fields[f"step_{number}"], fields[f"moves_{number}"]) in ((length, 1), (1, 0)):
                by_row.add(f"input{number}")
    return Rows(all_rows, all_rows * length, frozenset(by_row), cut)


def _runs(step: Step, count: int, name: str) -> Rows:
    """Of runs of elements, each of which is one row."""
    fields = step.fields

    def cut(rows: int, share: int) -> None:
        fields[name] = count // rows * share

    return Rows(count, count * fields["length"], frozenset(("input",)), cut)
