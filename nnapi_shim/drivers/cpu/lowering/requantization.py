"""Multipliers of quantized sums as the kernels take them: see ../kernels/requantization.py."""

from array import array
from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.lowering.bounds import quantized_bounds
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.operations.declare import BoundOperand

REQUANTIZATION_TABLE = record(multipliers=ADDRESS, output=ADDRESS, width=INT64)

COLUMN_BYTES = 32
"""Size of a table's entries, of an even number of columns."""


def float64s(values: Sequence[float]) -> bytes:
    """An array of float64."""
    return array("d", values).tobytes()


def table(multipliers: Sequence[float]) -> tuple[Step, Buffer]:
    """The step that makes a table at compilation, and where it does."""
    width = len(multipliers)
    output = Buffer(COLUMN_BYTES * (width + width % 2))
    numbers = float64s(multipliers)
    step = Step(
        REQUANTIZATION_TABLE,
        "requantization_table",
        once=True,
        multipliers=numbers,
        output=output,
        width=width,
    )
    return step, output


FINISH = {
    "zero_point": INT64,
    "low": FLOAT32,
    "high": FLOAT32,
    "output_flip": INT64,
    "limited": INT64,
}
"""Fields that say what becomes of quantized sums."""


def finish(activation: int, target: BoundOperand, multipliers: Sequence[float]) -> dict[str, Any]:
    """Values of FINISH: zero point and bounds of the output as of an int8, what to xor then, and
    whether a multiplier may be 1 or more (once it is rounded).
    """
    smallest, largest = quantized_bounds(activation, target)
    flip = 0x80 if target.type is OperandType.TENSOR_QUANT8_ASYMM else 0
    return {
        "zero_point": target.zero_point - flip,
        "low": float(smallest - flip),
        "high": float(largest - flip),
        "output_flip": flip,
        "limited": int(not max(multipliers) < 0.99),
    }
