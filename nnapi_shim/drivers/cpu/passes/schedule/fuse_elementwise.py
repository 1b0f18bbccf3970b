"""Chains element-wise steps block by block, so that a block stays in the L1 cache: GELU, layer
normalisation, or element-wise steps between DEQUANTIZE and QUANTIZE.

All steps of a chain are partitioned into the same rows. A row of a step reads only that row of the
results of earlier steps in the chain. Operands that all rows read, such as a value per channel, are
computed before the chain.
"""

from math import gcd

from nnapi_shim.drivers.cpu.passes.schedule.chains import Chain, Cut, fuse_chains
from nnapi_shim.drivers.cpu.program.program import END
from nnapi_shim.drivers.cpu.program.record import At, Space, Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule
from nnapi_shim.hints import Any, Callable
from nnapi_shim.limits import watched

BLOCK = 2048
"""Elements of a block, at most: three float32 blocks fit into the L1 cache."""
MIN_ELEMENTS = 8192
"""Elements of a chained step, at least: smaller results stay in the cache anyway."""


def fuse_elementwise(schedule: Schedule) -> None:
    """Chain element-wise steps."""
    fuse_chains(schedule, _chain, "block by block")


def has_large_steps(schedule: Schedule) -> bool:
    """Whether a step is large enough to begin a chain."""
    cuts = (_cut(scheduled.step) for scheduled in watched(schedule.steps))
    return any(cut is not None and cut.size >= MIN_ELEMENTS for cut in cuts)


def _chain(schedule: Schedule, at: int) -> Chain:
    """The longest chain that begins at a step."""
    cuts: list[Cut] = []
    written: dict[Any, Any] = {}
    steps, root, rows = schedule.steps, schedule.root, 0
    for number in watched(range(at, len(steps))):
        scheduled = steps[number]
        if scheduled.link != END:
            break  # already linked to the next step
        if number > 0 and steps[number - 1].link != END:
            break  # the previous step is linked to it
        cut = _cut(scheduled.step)
        if cut is None or not _reads_rows(scheduled.step, cut, written, root):
            break
        finest = gcd(rows, cut.units)
        largest = max(cut.size, *[other.size for other in cuts], 0)
        if largest < MIN_ELEMENTS or largest // finest > BLOCK:
            break
        cuts.append(cut)
        rows = finest
        output = scheduled.step.fields["output"]
        written[root(output)] = output
    share = max(1, BLOCK * rows // max(cut.size for cut in cuts)) if cuts else 0
    return Chain(cuts, rows, share)


def _reads_rows(step: Step, cut: Cut, written: dict[Any, Any], root: Callable[[Any], Any]) -> bool:
    """Whether each tile of a step reads only its own rows of the results of the chain."""
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
    """The cut of a step into rows, sized in elements; None if the step cannot be chained."""
    cut = _CUTS.get(step.record.space)
    if cut is None or step.writes != ("output",) or step.fields["output"] is None:
        return None
    return cut(step)


def _elements(step: Step) -> Cut:
    """Element-wise steps with one output."""
    fields, count = step.fields, step.fields["count"]

    def cut(rows: int, share: int) -> None:
        fields["part"] = count // rows * share

    inputs = frozenset(("condition", "input", "input1", "input2"))
    return Cut(count, count, inputs, cut)


def _pairs(step: Step) -> Cut | None:
    return _flat(step) if step.fields["all_rows"] == 1 else _broadcast(step)


def _flat(step: Step) -> Cut | None:
    """Two inputs, each a scalar or of the size of the output."""
    fields, count = step.fields, step.fields["length"]
    moves = fields["moves_0"], fields["moves_1"]
    if fields["part"] < count and (fields["part_step_0"], fields["part_step_1"]) != tuple(
        fields["part"] * moving for moving in moves
    ):
        return None  # an input is a short row that repeats

    def cut(rows: int, share: int) -> None:
        part = fields["part"] = count // rows * share
        fields["part_step_0"], fields["part_step_1"] = (part * moving for moving in moves)

    by_row = frozenset(f"input{number}" for number in (0, 1) if moves[number])
    return Cut(count, count, by_row, cut)


def _broadcast(step: Step) -> Cut:
    """Rows, each combined with a row, with a scalar per row, or with one row for all.

    Rows of more than one part are longer than BLOCK and are never chained.
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
    """Runs of consecutive elements, each reduced or normalised."""
    fields = step.fields
    if (fields["inner"], fields["repeats"]) != (1, 1):
        return None
    return _rows_of(step, fields["outer"] * fields["rows"], "tile_blocks")


def _rows(step: Step) -> Cut:
    return _rows_of(step, step.fields["outer"], "tile_rows")


def _rows_of(step: Step, count: int, name: str) -> Cut:
    """A cut into `count` rows; the field `name` holds the rows of a tile."""
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
