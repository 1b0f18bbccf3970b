"""RESHAPE SQUEEZE EXPAND_DIMS RANK FILL as steps."""

from struct import pack

from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation


def lower_reshape(op: BoundOperation) -> list[Alias]:
    """An alias: the bytes stay the same."""
    return [Alias(op.input, op.output)]


lower_squeeze = lower_expand_dims = lower_reshape


def lower_rank(op: BoundOperation) -> list[Step]:
    """A constant at compilation."""
    from nnapi_shim.drivers.cpu.lowering.strided import filled

    rank = pack("<i", len(op.input.dimensions))
    return filled(op.rank, (1,), (len(rank),), rank)


def lower_fill(op: BoundOperation) -> list[Step]:
    """Fills the output with one value."""
    from nnapi_shim.drivers.cpu.lowering.strided import filled

    value = pack("<" + STRUCT_CODES[op.output.type], op.value)
    return filled(op.output, (element_count(op.output.dimensions),), (len(value),), value)
