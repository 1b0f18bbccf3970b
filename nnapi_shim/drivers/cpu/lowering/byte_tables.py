"""Tables of 256 requantized bytes, computed without a Python loop over the values.

One multiplication of long integers computes all multiples of a ratio in fixed point, with a lane of
`LANE` bytes per stored value: one byte for the integer part, the rest for the fraction. A formula
with float32 roundings differs from that by a bounded error. So the table is computed twice, with
the bound subtracted and added: where both bytes agree, they are the result. Only the other values,
about 1 in 5,000, are computed by the formula itself.
"""

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand
from nnapi_shim.hints import Callable, Sequence
from nnapi_shim.operations.declare import BoundOperand

Formula = Callable[[Sequence[int]], Sequence[int]]
"""Stored values -> stored results: round((q - z) * s / s_target) + z_target, clamped to the type,
with at most the float32 roundings that `near` counts."""

LANE = 5
_ONE = 1 << 8 * (LANE - 1)
_COUNT = 256
_ONES = int.from_bytes((b"\1" + bytes(LANE - 1)) * _COUNT, "little")
_NUMBERS = int.from_bytes(bytes(LANE - 1).join([bytes([n]) for n in range(_COUNT)]), "little")
_FLIPPED = bytes(n ^ 0x80 for n in range(_COUNT))

_LEAST, _MOST = 2.0**-100, 2.0**100
"""Bounds of scales without subnormal or infinite multiples in float32."""


def rescaled(
    source: BoundOperand | Operand, target: BoundOperand | Operand, formula: Formula
) -> bytes:
    """The table of a formula: the stored result for each stored byte of `source`."""
    table, unclear = near(source, target)
    first, lowest = _lowest(source.type), _lowest(target.type)
    if unclear:
        changed = bytearray(table)
        results = formula([n + first for n in unclear])
        for n, result in zip(unclear, results, strict=True):
            changed[n] = result - lowest
        table = bytes(changed)
    if first:
        table = table[128:] + table[:128]
    return table.translate(_FLIPPED) if lowest else table


def near(
    source: BoundOperand | Operand, target: BoundOperand | Operand
) -> tuple[bytes, Sequence[int]]:
    """(results, unclear): the results for all stored values, and the values for which a formula may
    give another result. Results and values are relative to the lowest of their types.
    """
    zero = source.zero_point - _lowest(source.type)
    scales = source.scale, target.scale
    if not (min(scales) >= _LEAST and max(scales) <= _MOST and 0 <= zero < _COUNT):
        return bytes(_COUNT), range(_COUNT)
    ratio = source.scale / target.scale
    # Relative errors of 2^-24 each. In up to 257 output steps: two in the ratio, one in the
    # product, one in the sum. In two products of up to 255 times the ratio, whose difference is
    # taken: one each. 256 units are the error of the lanes.
    error = int((4 * 257 + 2 * 255 * ratio) * _ONE * 2.0**-24 * 1.01) + 256
    if 2 * error >= _ONE:
        return bytes(_COUNT), range(_COUNT)
    step = max(int(ratio * _ONE + 0.5), 1)
    first = ((2 * (target.zero_point - _lowest(target.type)) + 1) * _ONE >> 1) - zero * step - error
    # The other results are clamped to 0 or 255 with certainty.
    begin = min(max(-(first // step), 0), _COUNT)
    end = min(max(-((first + 2 * error - _COUNT * _ONE) // step), begin), _COUNT)
    count = end - begin
    mask = (1 << 8 * LANE * count) - 1
    ones = _ONES & mask
    low = (_NUMBERS & mask) * step + ones * (first + begin * step)
    below, above = _wholes(low, count), _wholes(low + ones * (2 * error), count)
    unclear: Sequence[int] = ()
    if below != above:
        unclear = [begin + n for n in range(count) if below[n] != above[n]]
    return bytes(begin) + below + b"\xff" * (_COUNT - end), unclear


def _wholes(lanes: int, count: int) -> bytes:
    return lanes.to_bytes(LANE * count, "little")[LANE - 1 :: LANE]


def _lowest(type: OperandType) -> int:
    return QUANTIZED_RANGE[type][0]
