"""What a kernel met that it refused: found again in its arguments, for the message."""

from struct import unpack
from typing import Any

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program import Frame
from nnapi_shim.drivers.cpu.record import Record


def explanation(kernel: str, frame: Frame, step: int) -> str:
    """What was wrong with the values that a step met; empty where nobody looks for it."""
    if kernel == "gather":
        from nnapi_shim.drivers.cpu.lowering.lookup import GATHER

        return _index_outside(_fields(frame, step, GATHER))
    return ""


def _fields(frame: Frame, step: int, record: Record) -> dict[str, Any]:
    """The arguments of a step, by the names of its record; addresses are those of this run."""
    (block,) = unpack("<q", address.read(frame.words + 32 * step + 8, 8))
    return dict(
        zip(record.fields, record.unpack(address.read(block, 8 * record.words)), strict=True)
    )


def _index_outside(fields: dict[str, Any]) -> str:
    size = fields["size"]
    for at, index in enumerate(address.words(fields["indices"], "int32_t", fields["count"])):
        if not 0 <= index < size:
            return f"index number {at} is {index}; allowed are 0 to {size - 1}"
    return ""
