"""Examples of the binary family."""

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import ResultCode
from tests.operations.plans.common import Random, broadcast
from tests.single import Value


def sum_scale(inputs: list[Value], rng: Random) -> float:
    """The scales of both inputs, added."""
    return inputs[0].operand.scale + inputs[1].operand.scale


def product_scale(inputs: list[Value], rng: Random) -> float:
    """A part of the largest product."""
    return inputs[0].operand.scale * inputs[1].operand.scale * 150


PLANS = dict.fromkeys(("ADD", "SUB", "MUL", "DIV"), broadcast)
OUTPUT_SCALE = {"ADD": sum_scale, "SUB": sum_scale, "MUL": product_scale}
FAILS = {"DIV-qs8": ResultCode.OP_FAILED}
NOT_IN_THE_TABLE = {
    # The reference accepts the operation when it is added, and fails when it is reached.
    "DIV": {(T.TENSOR_QUANT8_ASYMM_SIGNED,) * 2 + (T.INT32,): 4},
}
