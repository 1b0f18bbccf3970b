"""Examples of the lstm_quantized family: parameters with which gates use much of their range."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.lstm_cell import (
    GATES,
    bias_names,
    gain_names,
    input_names,
    peephole_names,
    projection_names,
    recurrent_names,
)
from nnapi_shim.operations.lstm_quantized import OUTPUT_16, STATE_16, STATE_BITS
from tests.operations.plans.common import DEPTHS, SIZES, Plan, Random, pick
from tests.operations.plans.lstm import parameters
from tests.single import Value, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def _filled(
    rng: Random, type: T, dimensions: Dimensions, scale: float, zero_point: int, limit: int
) -> Value:
    """Random numbers from -limit to limit, or from 0 to limit in an unsigned type."""
    low = 0 if type == T.TENSOR_QUANT8_ASYMM else -limit
    return tensor(type, rng.integers(low, limit, dimensions, endpoint=True), scale, zero_point)


def fixed_16(use: "Use", rng: Random, batch: int) -> Plan:
    """All scales but that of the weights are given by the operation."""
    size, outputs, zero_point = pick(rng, DEPTHS), pick(rng, SIZES), pick(rng, range(256))
    scale = float(np.float32(rng.uniform(0.002, 0.02)))
    weights: Any = {
        **dict.fromkeys(input_names(), (outputs, size)),
        **dict.fromkeys(recurrent_names(), (outputs, outputs)),
    }
    plan = {
        name: _filled(rng, T.TENSOR_QUANT8_ASYMM, dimensions, scale, zero_point, 255)
        for name, dimensions in weights.items()
    }
    for name in bias_names():
        plan[name] = _filled(rng, T.TENSOR_INT32, (outputs,), scale / 128, 0, 20000)
    for name, last in (("input", size), ("prev_output", outputs)):
        plan[name] = _filled(rng, T.TENSOR_QUANT8_ASYMM, (batch, last), *OUTPUT_16, 255)
    state = _filled(rng, T.TENSOR_QUANT16_SYMM, (batch, outputs), *STATE_16, 2**15 - 1)
    return {**plan, "prev_cell_state": state}


def quantized(use: "Use", rng: Random, batch: int) -> Plan:
    """A cell with and without its optional parts; gates are in units of about 2^-12."""
    size = pick(rng, DEPTHS)
    sizes = parameters(rng, batch, size, bool(rng.integers(2)), states=("prev_output", "state"))
    sizes["input"], sizes["prev_cell_state"] = (batch, size), sizes["state"]
    weights, bias = projection_names()
    if sizes[weights] is not None:
        sizes[bias] = sizes[weights][:1]
    kinds: dict[str, Any] = {
        **dict.fromkeys((*input_names(), *recurrent_names(), weights), (T.TENSOR_QUANT8_SYMM, 127)),
        **dict.fromkeys((*peephole_names(), *gain_names()), (T.TENSOR_QUANT16_SYMM, 2**15 - 1)),
        **dict.fromkeys(bias_names(), (T.TENSOR_INT32, 10**7)),
        **dict.fromkeys(("input", "prev_output"), (T.TENSOR_QUANT8_ASYMM_SIGNED, 127)),
        "prev_cell_state": (T.TENSOR_QUANT16_SYMM, 2**15 - 1),
        bias: (T.TENSOR_INT32, 3000),
    }
    plan: Plan = {}
    for name, (type, limit) in kinds.items():
        scale = rng.uniform(0.003, 0.009)
        if type == T.TENSOR_QUANT16_SYMM:
            scale = 2.0**-15
        if name == "prev_cell_state":
            scale = 2.0 ** pick(rng, STATE_BITS)
        zero_point = pick(rng, range(-128, 128)) if type == T.TENSOR_QUANT8_ASYMM_SIGNED else 0
        dimensions = sizes[name]
        plan[name] = (
            None if dimensions is None else _filled(rng, type, dimensions, scale, zero_point, limit)
        )
    plan |= {f"{gate}_intermediate_scale": 2.0 ** pick(rng, range(-13, -10)) for gate in GATES}
    return plan | {
        "cell_clip": float(rng.choice([0.0, -1.0, 0.02, 3.0])),
        "projection_clip": float(rng.choice([0.0, 0.2])),
        "hidden_state_zero_point": pick(rng, range(-300, 300)),
        "hidden_state_scale": rng.uniform(0.004, 0.02),
    }


PLANS = {"QUANTIZED_16BIT_LSTM": fixed_16, "QUANTIZED_LSTM": quantized}
