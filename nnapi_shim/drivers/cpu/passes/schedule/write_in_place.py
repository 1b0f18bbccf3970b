"""Removes copies: steps read or write a part of a tensor directly.

The producer of an input of CONCATENATION or PACK writes into the result; the reader of a result of
SPLIT or SLICE reads from the input.
"""

from nnapi_shim.drivers.cpu.program.record import At, Space, Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand


class _Uses(NamedTuple):
    """The uses of an operand: (step, field) of each write and of each read."""

    writes: list[tuple[Step, str]]
    reads: list[tuple[Step, str]]


def write_in_place(schedule: Schedule) -> None:
    """Remove copies of temporaries where the producer or the readers can use the other memory."""
    if schedule.has_branches:
        return
    uses: dict[Any, _Uses] = {}
    for scheduled in watched(schedule.steps):
        step = scheduled.step
        for _, name in step.record.addresses:
            root = schedule.root(step.fields[name])
            if isinstance(root, int):
                of_root = uses.setdefault(root, _Uses([], []))
                (of_root.writes if name in step.writes else of_root.reads).append((step, name))
    remaining = []
    for scheduled in watched(schedule.steps):
        step = scheduled.step
        if is_copy(step) and (
            _redirect_writer(step, schedule, uses) or _redirect_readers(step, schedule, uses)
        ):
            schedule.report(scheduled, "what it would copy is written or read where it lies")
        else:
            remaining.append(scheduled)
    schedule.steps[:] = remaining


def is_copy(step: Step) -> bool:
    """Whether a step copies runs of bytes that are contiguous in the source or the target."""
    fields = step.fields
    if step.record.space != Space.COPIES or fields["lines"] != 1:
        return False
    return fields["bytes"] in (fields["input_step"], fields["output_step"]) or fields["rows"] == 1


def _is_dense(step: Step) -> bool:
    """Whether the copied bytes are contiguous in the source and in the target."""
    fields = step.fields
    steps = fields["input_step"], fields["output_step"]
    return fields["rows"] == 1 or steps == 2 * (fields["bytes"],)


def _temporary(step: Step, name: str, schedule: Schedule, uses: dict[Any, _Uses]) -> Any:
    """The temporary that a field of a copy covers completely; None for any other memory."""
    value = step.fields[name]
    root = schedule.root(value)
    if not isinstance(value, BoundOperand) or root not in uses:
        return None
    if step.fields["rows"] * step.fields["bytes"] != byte_size(value):
        return None
    return root if schedule.is_temporary(root) else None


def _redirect_writer(step: Step, schedule: Schedule, uses: dict[Any, _Uses]) -> bool:
    """Redirect the producer of the source to write the target."""
    root = _temporary(step, "input", schedule, uses)
    if root is None or len(uses[root].reads) != 1 or len(uses[root].writes) != 1:
        return False
    ((writer, name),) = uses[root].writes
    fields, target = writer.fields, step.fields["output"]
    if name != "output" or not isinstance(fields[name], BoundOperand):
        return False
    if not _is_dense(step):
        # A product can write strided rows.
        size = step.fields["bytes"]
        if writer.record.space != Space.MATRIX or fields["output_stride"] != size:
            return False
        if step.fields["input_step"] != size:
            return False
        fields["output_stride"] = step.fields["output_step"]
    fields[name] = target
    target_uses = uses.setdefault(schedule.root(target), _Uses([], []))
    target_uses.writes.append((writer, name))
    return True


def _redirect_readers(step: Step, schedule: Schedule, uses: dict[Any, _Uses]) -> bool:
    """Redirect the readers of the target to read the source."""
    root = _temporary(step, "output", schedule, uses)
    if root is None or not _is_dense(step) or len(uses[root].writes) != 1:
        return False
    source = step.fields["input"]
    if isinstance(schedule.root(source), bytes):
        return False
    for reader, name in uses[root].reads:
        value = reader.fields[name]
        offset = 0
        while isinstance(value, At):
            offset, value = offset + value.offset, value.base
        reader.fields[name] = At(source, offset)
        if reader.in_place:
            reader.in_place = ""
    return True
