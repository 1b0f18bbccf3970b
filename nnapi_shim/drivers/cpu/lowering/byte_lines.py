"""Requantized bytes as a line in 16-bit integers, in place of a table: with vectors, that takes a
third to a half of the time.

    result = ((q - zero_point << shift) * multiplier + 2^14 >> 15) + target_zero_point, clamped

A multiplier has 15 bits, so one in six lines next to the ratio of the scales misses a value or two.
Its neighbours are tried then. Only a line that has all 256 results of the table replaces it.
"""

from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Iterator, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand

MOST_SHIFTED, ONE = 7, 1 << 15
"""Of a difference of two bytes, which still is an int16; of multipliers."""
TRIED = (0, 1, -1, 2, -2, 3, -3)
"""Distances from the nearest multiplier."""
SAMPLES = 16
"""Of all values, every sixteenth is tried first."""
_FLIPPED = bytes(n ^ 0x80 for n in range(256))


class Line(NamedTuple):
    """Fields of the record LINE (elements.py)."""

    zero_point: int
    shift: int
    multiplier: int
    target_zero_point: int
    flip: int

    def results(self, values: Sequence[int]) -> bytes:
        """The bytes before the flip."""
        zero_point, shift, multiplier, target, _ = self
        return bytes(
            min(max(((q - zero_point << shift) * multiplier + (1 << 14) >> 15) + target, -128), 127)
            & 255
            for q in values
        )


def line_of(source: BoundOperand, target: BoundOperand, table: bytes) -> Line | None:
    """A line that has all results of a table by stored byte."""
    lowest, highest = QUANTIZED_RANGE[source.type]
    values = [*range(highest + 1), *range(lowest, 0)]
    flip = 0x80 if QUANTIZED_RANGE[target.type][0] == 0 else 0
    wanted = table.translate(_FLIPPED) if flip else table
    for line in _lines(source, target, flip):
        if line.results(values[::SAMPLES]) == wanted[::SAMPLES] and line.results(values) == wanted:
            return line
    return None


def _lines(source: BoundOperand, target: BoundOperand, flip: int) -> Iterator[Line]:
    """Those near the ratio of the scales."""
    if not target.scale or not source.scale / target.scale < 1 << MOST_SHIFTED:
        return
    ratio, shift = source.scale / target.scale, 0
    while ratio >= 1:
        ratio, shift = ratio / 2, shift + 1
    for distance in TRIED:
        multiplier = round(ratio * ONE) + distance
        if 0 <= multiplier < ONE:
            yield Line(source.zero_point, shift, multiplier, target.zero_point - flip, flip)
