"""RELU RELU1 RELU6 TANH LOGISTIC as steps."""

from collections.abc import Callable
from math import exp, tanh
from typing import Any

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.elements import tiles
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Record, Step, record
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation

CLAMP = record(input=ADDRESS, output=ADDRESS, count=INT64, low=FLOAT32, high=FLOAT32)
CLAMP_RAW = record(input=ADDRESS, output=ADDRESS, count=INT64, low=INT64, high=INT64)
MAP = record(input=ADDRESS, output=ADDRESS, count=INT64)
LOOKUP = record(input=ADDRESS, output=ADDRESS, count=INT64, table=ADDRESS)


def lower_relu(op: BoundOperation) -> list[Step]:
    """Clamp to [0, largest]."""
    return [_clamp(op, FuseCode.RELU)]


def lower_relu1(op: BoundOperation) -> list[Step]:
    """Clamp to [-1, 1]."""
    return [_clamp(op, FuseCode.RELU1)]


def lower_relu6(op: BoundOperation) -> list[Step]:
    """Clamp to [0, 6]."""
    return [_clamp(op, FuseCode.RELU6)]


def lower_tanh(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return [_mapped(op, "tanh", tanh)]


def lower_logistic(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return [_mapped(op, "logistic", _logistic)]


def _logistic(x: float) -> float:
    """1 / (1 + e^-x), in a form that does not overflow."""
    small = exp(-abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)


def _clamp(op: BoundOperation, activation: FuseCode) -> Step:
    """Quantized values are clamped as they are stored: both sides have the same parameters."""
    if op.variant in ("f32", "f16"):
        low, high = float_bounds(activation)
        return _element_wise(CLAMP, f"clamp_{op.variant}", op, low=low, high=high)
    lowest, highest = quantized_bounds(activation, op.input)
    return _element_wise(CLAMP_RAW, f"clamp_{op.variant}", op, low=lowest, high=highest)


def _mapped(op: BoundOperation, name: str, function: Callable[[float], float]) -> Step:
    if op.variant in ("f32", "f16"):
        return _element_wise(MAP, f"{name}_{op.variant}", op)
    return _element_wise(LOOKUP, "lookup_b8", op, table=_table(op, function))


def _table(op: BoundOperation, function: Callable[[float], float]) -> bytes:
    """Stored result for each stored byte, at the index of the byte read as unsigned."""
    source, target = op.input, op.output
    lowest, highest = QUANTIZED_RANGE[source.type]
    table = bytearray(256)
    for stored in range(lowest, highest + 1):
        steps = round(function((stored - source.zero_point) * source.scale) / target.scale)
        result = min(max(target.zero_point + steps, lowest), highest)
        table[stored & 255] = result & 255
    return bytes(table)


def _element_wise(layout: Record, kernel: str, op: BoundOperation, **fields: Any) -> Step:
    count = element_count(op.output.dimensions)
    return Step(
        layout,
        kernel,
        tiles=tiles(count),
        in_place="input",
        input=op.input,
        output=op.output,
        count=count,
        **fields,
    )
