"""Parts of a tensor are written and read where they lie, and not copied.

What CONCATENATION and PACK join is written there by the step that computes it; what SPLIT and SLICE
take is read there.
"""

from collections.abc import Collection

from nnapi_shim.drivers.cpu.compile.layout import Lowered, Placed
from nnapi_shim.drivers.cpu.lowering.gemm import GEMM
from nnapi_shim.drivers.cpu.lowering.strided import COPY
from nnapi_shim.drivers.cpu.program.record import At, Step
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand


class _Uses(NamedTuple):
    """Steps that name an operand: (step, field) of those that write it, and of those that read."""

    writes: list[tuple[Step, str]]
    reads: list[tuple[Step, str]]


def write_in_place(lowered: Lowered, kept: Collection[Any]) -> list[Placed]:
    """Leave out copies of temporaries, as far as the other step can do without; those left out.

    kept: operands and Buffers that later programs read.
    """
    steps = lowered.steps
    if any(placed.jump for placed in steps):
        return []
    uses: dict[Any, _Uses] = {}
    for placed in watched(steps):
        step = placed.step
        for _, name in step.record.addresses:
            root = lowered.root(step.fields[name])
            if isinstance(root, int):
                found = uses.setdefault(root, _Uses([], []))
                (found.writes if name in step.writes else found.reads).append((step, name))
    left_out = []
    for placed in watched(steps):
        if is_copy(placed.step) and (
            _written_there(placed.step, lowered, uses, kept)
            or _read_there(placed.step, lowered, uses, kept)
        ):
            left_out.append(placed)
    if left_out:
        gone = set(map(id, left_out))
        steps[:] = [placed for placed in steps if id(placed) not in gone]
    return left_out


def is_copy(step: Step) -> bool:
    """Whether a step copies runs of bytes that follow each other in the source or the target."""
    fields = step.fields
    if step.record is not COPY or fields["lines"] != 1:
        return False
    return fields["bytes"] in (fields["input_step"], fields["output_step"]) or fields["rows"] == 1


def _is_dense(step: Step) -> bool:
    """Whether what a step copies lies in one piece on both sides."""
    fields = step.fields
    steps = fields["input_step"], fields["output_step"]
    return fields["rows"] == 1 or steps == 2 * (fields["bytes"],)


def _temporary(
    step: Step, name: str, lowered: Lowered, uses: dict[Any, _Uses], kept: Collection[Any]
) -> Any:
    """The operand all of which a field of a copy names, if its memory is nobody else's; or None."""
    value = step.fields[name]
    root = lowered.root(value)
    if not isinstance(value, BoundOperand) or root not in uses or root in kept:
        return None
    if step.fields["rows"] * step.fields["bytes"] != byte_size(value):
        return None
    is_given = root in lowered.slots or root in lowered.constant_addresses
    return None if is_given else root


def _written_there(
    step: Step, lowered: Lowered, uses: dict[Any, _Uses], kept: Collection[Any]
) -> bool:
    """Let the step that writes what is copied write it where it is copied to."""
    root = _temporary(step, "input", lowered, uses, kept)
    if root is None or len(uses[root].reads) != 1 or len(uses[root].writes) != 1:
        return False
    ((writer, name),) = uses[root].writes
    fields, target = writer.fields, step.fields["output"]
    if name != "output" or not isinstance(fields[name], BoundOperand):
        return False
    if not _is_dense(step):
        # Rows of a product may lie apart.
        size = step.fields["bytes"]
        if writer.record is not GEMM or fields["output_stride"] != size:
            return False
        if step.fields["input_step"] != size:
            return False
        fields["output_stride"] = step.fields["output_step"]
    fields[name] = target
    there = uses.setdefault(lowered.root(target), _Uses([], []))
    there.writes.append((writer, name))
    return True


def _read_there(
    step: Step, lowered: Lowered, uses: dict[Any, _Uses], kept: Collection[Any]
) -> bool:
    """Let the steps that read the copy read what is copied."""
    root = _temporary(step, "output", lowered, uses, kept)
    if root is None or not _is_dense(step) or len(uses[root].writes) != 1:
        return False
    source = step.fields["input"]
    if isinstance(lowered.root(source), bytes):
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
