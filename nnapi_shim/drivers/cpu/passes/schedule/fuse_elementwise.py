"""Chains element-wise steps block by block, while a block is in the first-level cache: GELU, layer
normalisation, or numbers that are dequantized and quantized again.

All steps of a chain are cut into the same rows. A row of a step needs that row alone of the steps
before it; what all rows need, such as a number per channel, comes from steps before the chain.
"""

from collections.abc import Callable
from math import gcd

from nnapi_shim.drivers.cpu.passes.schedule.chains import Chain, Cut, fuse_chains
from nnapi_shim.drivers.cpu.program.program import END
from nnapi_shim.drivers.cpu.program.record import At, Space, Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched

BLOCK = 2048
"""Elements of a block, at most: three blocks of float32 fit into the first-level cache."""
WORTH = 8192
"""Elements of a step from which on it is chained: fewer stay in the cache anyway."""


def fuse_elementwise(schedule: Schedule) -> None:
    """Chain element-wise steps."""
    fuse_chains(schedule, _chain, "block by block")


def _chain(schedule: Schedule, at: int) -> Chain:
    """The longest chain that begins at a step."""
    cuts: list[Cut] = []
    written: dict[Any, Any] = {}
    steps, root, rows = schedule.steps, schedule.root, 0
    for number in watched(range(at, len(steps))):
        scheduled = steps[number]
        if scheduled.link != END:
            break  # it is linked to the next one already
        if number > 0 and steps[number - 1].link != END:
            break  # the one before is linked to it
        cut = _cut(scheduled.step)
        if cut is None or not _reads_rows(scheduled.step, cut, written, root):
            break
        finest = gcd(rows, cut.units)
        largest = max(cut.size, *[other.size for other in cuts], 0)
        if largest < WORTH or largest // finest > BLOCK:
            break
        cuts.append(cut)
        rows = finest
        output = scheduled.step.fields["output"]
        written[root(output)] = output
    share = max(1, BLOCK * rows // max(cut.size for cut in cuts)) if cuts else 0
    return Chain(cuts, rows, share)


def _reads_rows(step: Step, cut: Cut, written: dict[Any, Any], root: Callable[[Any], Any]) -> bool:
    """Whether a step reads, of the results of the chain before it, the same rows alone."""
    for _, name in step.record.addresses:
        value = step.fields[name]
        source = root(value)
        if name != "output" and source in written:
            if name not in cut.by_unit:
                return False
            if isinstance(value, At) or isinstance(written[source], At):
                return False
    return True


def _cut(step: Step) -> Cut | None:
    """The cut of a step into rows; its size is in elements that it reads, at most, or writes."""
    cut = _CUTS.get(step.record.space)
    if cut is None or step.writes != ("output",) or step.fields["output"] is None:
        return None
    return cut(step)


def _elements(step: Step) -> Cut:
    """Element by element."""
    fields, count = step.fields, step.fields["count"]

    def cut(rows: int, share: int) -> None:
        fields["part"] = count // rows * share

    inputs = frozenset(("condition", "input", "input1", "input2"))
    return Cut(count, count, inputs, cut)


def _pairs(step: Step) -> Cut | None:
    return _flat(step) if step.fields["all_rows"] == 1 else _broadcast(step)


def _flat(step: Step) -> Cut | None:
    """Two inputs, each of which is one number or as many as the output."""
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
    return Cut(count, count, by_row, cut)


def _broadcast(step: Step) -> Cut:
    """Rows that are combined with others, with one number each, or all with the same.

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
    return Cut(all_rows, all_rows * length, frozenset(by_row), cut)


def _runs(step: Step) -> Cut | None:
    """Runs of elements that follow each other, each reduced or normalised."""
    fields = step.fields
    if (fields["inner"], fields["repeats"]) != (1, 1):
        return None
    return _rows_of(step, fields["outer"] * fields["rows"], "tile_blocks")


def _rows(step: Step) -> Cut:
    return _rows_of(step, step.fields["outer"], "tile_rows")


def _rows_of(step: Step, count: int, name: str) -> Cut:
    """`count` rows; the field `name` has those of a tile."""
    fields = step.fields

    def cut(rows: int, share: int) -> None:
        fields[name] = count // rows * share

    return Cut(count, count * fields["length"], frozenset(("input",)), cut)


_CUTS: dict[str, Callable[[Step], Cut | None]] = {
    Space.ELEMENTS: _elements,
    Space.PAIRS: _pairs,
    Space.RUNS: _runs,
    Space.ROWS: _rows,
}
