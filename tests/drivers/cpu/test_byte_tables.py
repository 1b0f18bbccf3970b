"""Tables of requantized bytes: the same as their formulas give for each of the 256 values."""

from typing import NamedTuple

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.lowering import binary, elements, joining, unary
from nnapi_shim.drivers.cpu.lowering.byte_tables import near, rescaled
from nnapi_shim.drivers.cpu.passes.graph import merge_quantization
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

TYPES = (OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED)
FORMULAS = {
    "elements": elements.requantized,
    "concatenation": joining.requantized,
    "quantization": merge_quantization.requantized,
}
ROUND = (1.0, 2.0, 0.5, 3.0, 1 / 3, 0.1, 10.0, 1.5, 255.0, 1 / 256)
EXTREME = (1e-45, 1e-38, 3e-31, 1e-30, 1e30, 2e30, 1e36, 3.4e38)
COUNT = 3000


class Bytes(NamedTuple):
    """What formulas look at of an operand."""

    type: OperandType
    scale: float
    zero_point: int


def stored(type: OperandType) -> range:
    """All values of a type, from the lowest on."""
    lowest, highest = QUANTIZED_RANGE[type]
    return range(lowest, highest + 1)


def pairs(count: int, seed: int):
    """Inputs and outputs of random scales, of round ratios, and of scales at the end of float32."""
    random = np.random.default_rng(seed)
    for number in range(count):
        kind = TYPES[number % 2]
        scale = 10.0 ** random.uniform(-4, 1)
        ratio = 10.0 ** random.uniform(-1.5, 1.5)
        if number % 5 == 0:
            ratio = random.choice(ROUND)
        elif number % 31 == 0:
            scale, ratio = random.choice(EXTREME), 1.0
        elif number % 37 == 0:
            ratio = 10.0 ** random.uniform(-9, 9)
        other = scale / ratio if number % 41 else random.choice(EXTREME)
        lowest = -128 if number % 2 else 0
        zeros = random.integers(lowest, lowest + 256, 2)
        with np.errstate(over="ignore"):
            scales = np.minimum(np.float32([scale, other]), np.finfo(np.float32).max)
        yield [Bytes(kind, float(s), int(z)) for s, z in zip(scales, zeros, strict=True)]


def by_stored_byte(type: OperandType, results: list[int]) -> bytes:
    """The results for all values of a type, as they are stored."""
    actual = {q & 255: result & 255 for q, result in zip(stored(type), results, strict=True)}
    return bytes(actual[byte] for byte in range(256))


def test_other_types():
    """QUANTIZE may give another type than DEQUANTIZE takes."""
    for source, target in pairs(COUNT, seed=1):
        shift = 128 if target.type is TYPES[1] else -128
        other = Bytes(TYPES[target.type is TYPES[0]], target.scale, target.zero_point + shift)
        formula = merge_quantization.requantized(source, other)
        expected = by_stored_byte(source.type, formula(stored(source.type)))
        assert rescaled(source, other, formula) == expected, (source, other)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_table_has_the_results_of_its_formula(name):
    requantized = FORMULAS[name]
    unclear = []
    for source, target in pairs(COUNT, seed=len(name)):
        formula = requantized(source, target)
        expected = by_stored_byte(source.type, formula(stored(source.type)))
        assert rescaled(source, target, formula) == expected, (source, target)
        unclear.append(len(near(source, target)[1]))
    # Most need no result of the formula at all, few need all of them.
    assert np.mean(np.array(unclear) == 0) > 0.6
    assert np.mean(np.array(unclear) == 256) < 0.1


def test_inverse_roots():
    for source, target in pairs(COUNT // 3, seed=2):
        values = np.array(stored(source.type), np.float32) - np.float32(source.zero_point)
        with np.errstate(all="ignore"):
            roots = np.sqrt(np.maximum(values * np.float32(source.scale), 0))
            steps = np.float32(1) / roots / np.float32(target.scale)
            steps = elements.all_rounded_away(steps.tolist())
        expected = elements.all_saturated([target.zero_point + s for s in steps], target.type)
        assert unary.inverse_roots(source, target) == expected, (source, target)


def test_products_that_are_far_larger_than_their_difference_are_rounded_more():
    random = np.random.default_rng(5)
    for number in range(3 * COUNT):
        kind, lowest = TYPES[number % 2], -128 if number % 2 else 0
        scale, ratio = 10.0 ** random.uniform(-4, 1), 10.0 ** random.uniform(1, 3.3)
        source = Bytes(kind, float(np.float32(scale)), int(random.integers(128, 256)) + lowest)
        target = Bytes(kind, float(np.float32(scale / ratio)), 128 + lowest)
        formula = joining.requantized(source, target)
        values = range(source.zero_point - 13, source.zero_point + 13)
        values = [q for q in values if q in stored(kind)]  # others are at the ends of the range
        table = rescaled(source, target, formula)
        actual = [table[q & 255] for q in values]
        assert actual == [result & 255 for result in formula(values)], (source, target)


def is_exact_everywhere(operand: Bytes, target: Bytes) -> bool:
    """As _is_exact_in_float32, of all stored values."""
    values = stored(operand.type)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.float32(operand.scale / target.scale)
        products = (np.array(values) - operand.zero_point).astype(np.float32) * scale
        sums = products + np.float32(target.zero_point)
    results = elements.all_saturated(sums.tolist(), target.type)
    return results == elements.requantized(operand, target)(values)


def test_whether_float32_is_exact_is_decided_as_for_all_values():
    actual = set()
    for source, target in pairs(2 * COUNT, seed=3):
        is_exact = binary._is_exact_in_float32(source, target)
        assert is_exact == is_exact_everywhere(source, target), (source, target)
        actual.add((is_exact, bool(near(source, target)[1])))
    assert actual == {(True, False), (True, True), (False, True)}
