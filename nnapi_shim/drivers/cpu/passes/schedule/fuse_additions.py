"""Fuses an ADD of two tensors of equal dimensions into the epilogue of the matrix product that
computes one of them.

The epilogue adds to float32 sums in registers, and to bytes while they are in the cache, which
saves a write and a read of the product. Bytes are added with rounding to nearest; products that may
be rounded down (codegen/floored.py) stay apart.
"""

from nnapi_shim.drivers.cpu.lowering.broadcasting import is_one_by_one
from nnapi_shim.drivers.cpu.lowering.fused_add import float_addition, quantized_addition
from nnapi_shim.drivers.cpu.lowering.gemm import ADDING
from nnapi_shim.drivers.cpu.lowering.requantization import may_be_floored
from nnapi_shim.drivers.cpu.program.record import Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand

BYTES = "add_float_b8"
"""The kernel that adds quantized bytes in float32."""
FLOATS = ("add_f32", "add_bounded_f32")
INPUTS = ("input0", "input1")


def fuse_additions(schedule: Schedule) -> None:
    """Fuse additions into products; the fused product moves to the position of the ADD."""
    steps = schedule.steps
    if schedule.has_branches:
        return
    additions = [number for number, it in enumerate(watched(steps)) if _is_plain(it.step)]
    if not additions:
        return
    added = [steps[number].step.fields[name] for number in additions for name in INPUTS]
    writers: dict[Any, list[int]] = {schedule.root(value): [] for value in added}
    readers: dict[Any, list[int]] = {root: [] for root in writers}
    for number, scheduled in enumerate(watched(steps)):
        for name, root in _roots(schedule, scheduled.step):
            if root in writers:
                table = writers if name in scheduled.step.writes else readers
                table[root].append(number)
    removed: set[int] = set()
    for number in additions:
        scheduled = steps[number]
        step = scheduled.step
        best, side_of_product = -1, 0
        for side in (0, 1):
            root = schedule.root(step.fields[INPUTS[side]])
            is_free = schedule.is_temporary(root) and len(readers[root]) == 1
            if is_free and len(writers[root]) == 1:
                at = writers[root][0]
                if at > best and _is_whole(steps[at].step, step):
                    best, side_of_product = at, side
        if best < 0 or not _inputs_survive(schedule, steps, best, number):
            continue
        first = steps[best]
        others = [root for _, root in _roots(schedule, first.step)]
        _add(first.step, step, side_of_product)
        # No other tile reads the addend. In place, additions of bytes take longer.
        if step.kernel in FLOATS and schedule.root(first.step.fields["addend"]) not in others:
            first.step.in_place = "addend"
        removed.add(best)
        steps[number] = ScheduledStep(first.step, first.where, link=scheduled.link)
        schedule.report(scheduled, f"added at the end of {first.where}")
    steps[:] = [scheduled for number, scheduled in enumerate(steps) if number not in removed]


def _roots(schedule: Schedule, step: Step) -> list[tuple[str, Any]]:
    return [(name, schedule.root(step.fields[name])) for _, name in step.record.addresses]


def _is_plain(step: Step) -> bool:
    """Whether a step adds two tensors without broadcasting."""
    return step.kernel in (BYTES, *FLOATS) and is_one_by_one(step.fields)


def _is_whole(product: Step, addition: Step) -> bool:
    """Whether a step is a product that computes one whole input of the addition, and whose kernel
    has the epilogue.
    """
    if product.kernel not in ADDING or not isinstance(product.fields["output"], BoundOperand):
        return False
    fields = product.fields
    size = 4 if addition.kernel in FLOATS else 1
    if addition.kernel == BYTES and may_be_floored(fields):
        return False  # an ADD rounds to nearest, in another mode
    if fields["addend"] is not None or fields["output_stride"] != size * fields["columns"]:
        return False
    rows = fields["row_tiles"] // fields["image_tiles"] * fields["image_rows"]
    return bool(rows * fields["columns"] == addition.fields["length"])


def _inputs_survive(schedule: Schedule, steps: list[ScheduledStep], first: int, last: int) -> bool:
    """Whether no step between `first` and `last` overwrites an input of step `first`."""
    read = {root for _, root in _roots(schedule, steps[first].step)}
    for scheduled in watched(steps[first + 1 : last]):
        step = scheduled.step
        if not read.isdisjoint([schedule.root(step.fields[name]) for name in step.writes]):
            return False
    return True


def _add(product: Step, addition: Step, side: int) -> None:
    """Set the epilogue of a product. side: the input of the addition that the product computes."""
    source, fields = addition.fields, product.fields
    if addition.kernel in FLOATS:
        fields["addition"] = float_addition(source)
    else:
        fields["addition"] = quantized_addition(source, side)
    fields["addend"] = source[INPUTS[1 - side]]
    fields["addend_stride"] = fields["output_stride"]
    fields["output"] = source["output"]
