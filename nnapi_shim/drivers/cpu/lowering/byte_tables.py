"""Tables of 256 requantized bytes, without a loop over them in Python.

All multiples of a ratio are computed by one multiplication of long integers, which have a lane of
`LANE` bytes for each stored value: a byte of the whole number, and a fraction. A formula that
rounds to float32 on its way is within a known error of that. So the table is made twice, with the
error subtracted and added: where both have the same byte, it is the result of the formula. Only
the others, one in 5,000 of a ratio by chance, are computed by the formula itself.
"""

from collections.abc import Callable, Sequence

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand
from nnapi_shim.operations.declare import BoundOperand

Formula = Callable[[Sequence[int]], Sequence[int]]
"""The results for stored values: round((q - z) * s / s_target) + z_target within the type, rounded
to float32 in no more places than `near` counts."""

LANE = 5
_ONE = 1 << 8 * (LANE - 1)
_COUNT = 256
_ONES = sum(1 << 8 * LANE * n for n in range(_COUNT))
_NUMBERS = sum(n << 8 * LANE * n for n in range(_COUNT))
_MASKS = [(1 << 8 * LANE * n) - 1 for n in range(_COUNT + 1)]
_FLIPPED = bytes(n ^ 0x80 for n in range(_COUNT))

_LEAST, _MOST = 2.0**-100, 2.0**100
"""Scales of which no multiple is subnormal or infinite in float32."""


def rescaled(
    source: BoundOperand | Operand, target: BoundOperand | Operand, formula: Formula
) -> bytes:
    """The results of a formula as they are stored, by the byte that each value of `source` is
    stored in.
    """
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
    """(results, unclear): for all stored values, results and values both counted from the lowest
    of their type; and those for which a formula may have another result.
    """
    zero = source.zero_point - _lowest(source.type)
    scales = source.scale, target.scale
    if not (min(scales) >= _LEAST and max(scales) <= _MOST and 0 <= zero < _COUNT):
        return bytes(_COUNT), range(_COUNT)
    ratio = source.scale / target.scale
    # Relative errors of 2^-24 each: of steps of the output, of which up to 257 matter, two in the
    # ratio, one in the product, one in the sum; and one in each of two products of up to 255 times
    # the ratio whose difference is taken. 256 units are what the lanes are off by.
    error = int((4 * 257 + 2 * 255 * ratio) * _ONE * 2.0**-24 * 1.01) + 256
    if 2 * error >= _ONE:
        return bytes(_COUNT), range(_COUNT)
    step = max(int(ratio * _ONE + 0.5), 1)
    first = ((2 * (target.zero_point - _lowest(target.type)) + 1) * _ONE >> 1) - zero * step - error
    # The others are below 0 or above 255, and clear.
    begin = min(max(-(first // step), 0), _COUNT)
    end = min(max(-((first + 2 * error - _COUNT * _ONE) // step), begin), _COUNT)
    count = end - begin
    mask = _MASKS[count]
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
