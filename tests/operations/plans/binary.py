"""Examples of the binary family."""

from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions
from tests.operations.plans.common import Plan, Random, narrowed, pick, sizes
from tests.single import Value, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def pair(rng: Random, batch: int) -> list[Dimensions]:
    """Dimensions of two tensors that are broadcast against each other."""
    return narrowed(rng, sizes(rng, batch, pick(rng, range(1, 5))))


def power(use: "Use", rng: Random, batch: int) -> Plan:
    """Positive numbers to any power, and any numbers to integer powers."""
    base, exponent = pair(rng, batch)
    bases, exponents = rng.uniform(0.2, 3, base), rng.uniform(-3, 3, exponent)
    if rng.random() < 0.5:
        bases, exponents = bases * rng.choice((-1, 1), base), np.round(exponents)
    types = use.inputs
    return {"base": tensor(types[0], bases), "exponent": tensor(types[1], exponents)}


def sum_scale(inputs: list[Value], rng: Random) -> float:
    """The scales of both inputs, added."""
    return inputs[0].operand.scale + inputs[1].operand.scale


def product_scale(inputs: list[Value], rng: Random) -> float:
    """A part of the largest product."""
    return inputs[0].operand.scale * inputs[1].operand.scale * 150


PLANS = {"POW": power}
OUTPUT_SCALE = {"ADD": sum_scale, "SUB": sum_scale, "MUL": product_scale}
FAILS = {"DIV-qs8": ResultCode.OP_FAILED}
NOT_IN_THE_TABLE = {
    # The reference accepts the operation when it is added, and fails when it is reached.
    "DIV": {(T.TENSOR_QUANT8_ASYMM_SIGNED,) * 2 + (T.INT32,): 4},
}
