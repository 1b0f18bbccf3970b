"""An ADD of two tensors of the same dimensions at the end of the product that computes one of them.

What the product writes is added to while it is in registers, and not written, read and written
once more.
"""

from collections.abc import Collection

from nnapi_shim.drivers.cpu.compile.layout import Lowered, Placed
from nnapi_shim.drivers.cpu.lowering.broadcasting import is_one_by_one
from nnapi_shim.drivers.cpu.lowering.fused_add import float_addition, quantized_addition
from nnapi_shim.drivers.cpu.lowering.gemm import ADDING
from nnapi_shim.drivers.cpu.program.record import Step
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand

FLIPS = {"add_guarded_qu8": 0x80, "add_guarded_qs8": 0}
"""Kernels that add bytes -> what makes these int8."""
FLOATS = ("add_f32", "add_bounded_f32")


def fuse_additions(lowered: Lowered, kept: Collection[Any]) -> list[tuple[Placed, Placed]]:
    """Let products add; pairs of a product, which is then where the ADD was, and the ADD.

    kept: operands and Buffers that later programs read.
    """
    steps = lowered.steps
    if any(placed.jump for placed in steps):
        return []
    writers: dict[Any, list[int]] = {}
    readers: dict[Any, list[int]] = {}
    for number, placed in enumerate(watched(steps)):
        for name, root in _roots(lowered, placed.step):
            where = writers if name in placed.step.writes else readers
            where.setdefault(root, []).append(number)
    found: list[tuple[Placed, Placed]] = []
    gone: set[int] = set()
    for number, placed in enumerate(watched(steps)):
        step = placed.step
        if not _is_plain(step):
            continue
        best, own = -1, 0
        for side in (0, 1):
            value = step.fields[f"input{side}"]
            root = lowered.root(value)
            is_free = _is_temporary(lowered, root, kept) and len(readers.get(root, ())) == 1
            if is_free and len(writers.get(root, ())) == 1:
                at = writers[root][0]
                if at > best and _is_whole(steps[at].step, step):
                    best, own = at, side
        if best < 0 or not _may_wait(lowered, steps, best, number):
            continue
        first = steps[best]
        others = [root for _, root in _roots(lowered, first.step)]
        _add(first.step, step, own)
        if step.kernel in FLOATS and lowered.root(first.step.fields["addend"]) not in others:
            first.step.in_place = "addend"  # no other tile reads it
        gone.add(best)
        steps[number] = Placed(first.step, first.where, first.jump, placed.join)
        found.append((first, placed))
    steps[:] = [placed for number, placed in enumerate(steps) if number not in gone]
    return found


def _roots(lowered: Lowered, step: Step) -> list[tuple[str, Any]]:
    return [(name, lowered.root(step.fields[name])) for _, name in step.record.addresses]


def _is_plain(step: Step) -> bool:
    """Whether a step adds two tensors element by element."""
    return (step.kernel in FLOATS or step.kernel in FLIPS) and is_one_by_one(step.fields)


def _is_temporary(lowered: Lowered, root: Any, kept: Collection[Any]) -> bool:
    is_given = root in lowered.slots or root in lowered.constant_addresses or root in kept
    return isinstance(root, int) and not is_given


def _is_whole(product: Step, addition: Step) -> bool:
    """Whether a step is a product that computes all that is added, and can add it."""
    if product.kernel not in ADDING or not isinstance(product.fields["output"], BoundOperand):
        return False
    fields = product.fields
    size = 4 if addition.kernel in FLOATS else 1
    if fields["addend"] is not None or fields["output_stride"] != size * fields["columns"]:
        return False
    rows = fields["row_tiles"] // fields["image_tiles"] * fields["image_rows"]
    return bool(rows * fields["columns"] == addition.fields["length"])


def _may_wait(lowered: Lowered, steps: list[Placed], first: int, last: int) -> bool:
    """Whether what a step reads is still there where a later one is."""
    read = {root for _, root in _roots(lowered, steps[first].step)}
    for placed in watched(steps[first + 1 : last]):
        step = placed.step
        if read.intersection(root for name, root in _roots(lowered, step) if name in step.writes):
            return False
    return True


def _add(product: Step, addition: Step, own: int) -> None:
    """Give a product the other input of an addition, its constants, and its output."""
    given, fields = addition.fields, product.fields
    if addition.kernel in FLOATS:
        fields["addition"] = float_addition(given)
    else:
        fields["addition"] = quantized_addition(given, own, FLIPS[addition.kernel])
    fields["addend"] = given[f"input{1 - own}"]
    fields["addend_stride"] = fields["output_stride"]
    fields["output"] = given["output"]
