"""Adds up rows where they are, in place of copies that GATHER or EMBEDDING_LOOKUP makes of them."""

from nnapi_shim.drivers.cpu.lowering.gathered_sum import GATHER, MOST_INDICES, SUM, gathered_sum
from nnapi_shim.drivers.cpu.program.record import Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched


def sum_gathered(schedule: Schedule) -> None:
    """Fuse a gathering step and the sum of what it copies; the fused step has the place of the
    first, so that the first illegal index is still the one that a run reports.
    """
    steps = schedule.steps
    if schedule.has_branches:
        return
    uses: dict[Any, list[int]] = {}
    for number, scheduled in enumerate(watched(steps)):
        for _, name in scheduled.step.record.addresses:
            uses.setdefault(schedule.root(scheduled.step.fields[name]), []).append(number)
    removed: set[int] = set()
    for number, scheduled in enumerate(watched(steps)):
        step = scheduled.step
        if step.kernel != SUM:
            continue
        copied = schedule.root(step.fields["input"])
        first, *others = uses[copied]
        is_free = others == [number] and schedule.is_temporary(copied)
        if is_free and _sums(step, steps[first].step):
            fused, where = gathered_sum(steps[first].step, step), steps[first].where
            steps[first] = ScheduledStep(fused, where, link=steps[first].link)
            removed.add(number)
            schedule.report(scheduled, f"adds up what {where} would copy")
    steps[:] = [scheduled for number, scheduled in enumerate(steps) if number not in removed]


def _sums(total: Step, gather: Step) -> bool:
    """Whether a sum may be that of the slices, along the first axis, of a gathering step."""
    if gather.kernel != GATHER:
        return False
    source, fields = gather.fields, total.fields
    is_along_first = source["count"] == source["slices"]
    is_of_slices = source["bytes"] == 4 * fields["inner"]
    return bool(is_along_first and is_of_slices and fields["length"] <= MOST_INDICES)
