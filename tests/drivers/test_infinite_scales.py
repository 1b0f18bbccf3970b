"""Infinite scales are accepted by models: what becomes of them is harmless and the same everywhere.

Where an operation only moves stored values, there is nothing to say; one that would compute with
such a scale is refused when it is reached.
"""

from zlib import crc32

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.operations.cases import USES, example
from tests.single import CONSTANT, INPUT, build, run

INFINITE = float("inf")
QUANTIZED = {
    (use.operation.type, use.variant): use
    for use in USES
    if any(type in QUANTIZED_RANGE for type in use.inputs + use.outputs)
}
"""The longest use of every variant."""
COPIES = {O.RESHAPE, O.TRANSPOSE, O.GATHER, O.SLICE, O.PAD, O.TILE, O.PACK, O.SPLIT, O.MEAN, O.RANK}


def infinite(value):
    """The same operand with infinite scales."""
    operand = value.operand
    if operand.type is T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        quant = operand.channel_quant
        endless = quant._replace(scales=(INFINITE,) * len(quant.scales))
        return value._replace(operand=operand._replace(channel_quant=endless))
    return value._replace(operand=operand._replace(scale=INFINITE))


def outcome(device, use, operands, tensors_are):
    """The outputs as bytes, or the refusal."""
    count = len(use.inputs)
    built = build(use.operation.type, operands[:count], operands[count:], tensors_are)
    try:
        return [array.tobytes() for array in run(device, built)]
    except NnapiError as error:
        assert "report" not in error.message
        return error.code


@pytest.mark.parametrize("tensors_are", [INPUT, CONSTANT])
@pytest.mark.parametrize("use", QUANTIZED.values(), ids=str)
def test_devices_agree(use, tensors_are):
    """Every scale alone, and all of them."""
    sample = example(use, np.random.default_rng(crc32(str(use).encode())))
    operands = [*sample.inputs, *sample.outputs]
    scaled = [
        position
        for position, value in enumerate(operands)
        if not value.is_omitted
        and (
            value.operand.type in QUANTIZED_RANGE
            or (value.array is not None and value.operand.scale)
        )
    ]
    for chosen in ([position] for position in (*scaled, None)):
        chosen = scaled if chosen == [None] else chosen
        changed = [infinite(v) if p in chosen else v for p, v in enumerate(operands)]
        result = [
            outcome(device, use, changed, tensors_are)
            for device in (ReferenceDevice(), CpuDevice())
        ]
        assert result[0] == result[1], chosen
        assert isinstance(result[0], list) or result[0] is ResultCode.OP_FAILED
        if use.operation.type in COPIES and chosen == scaled:
            assert isinstance(result[0], list)
        counts = any(operands[p].operand.type in QUANTIZED_RANGE for p in chosen)
        if counts and not use.operation.infinite_scales:
            assert result[0] is ResultCode.OP_FAILED, chosen
