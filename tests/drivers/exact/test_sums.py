"""Sums of products become bytes with two roundings, whatever the sum and the multiplier are.

Convolutions of a filter of zeros, so that the bias is the sum. The expected bytes are computed in
Python's integers from semantics.md 5.2 to 5.4.
"""

from contextlib import nullcontext
from math import frexp

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.drivers.exact.comparison import tier, tiers
from tests.single import execute, i32, qc8, qs8, qu8

LOWEST, HIGHEST = -(2**31), 2**31 - 1
COUNT = 250
"""Sums of one multiplier."""
MULTIPLIERS = 60
SAME, NONE = 1, 0


def decomposed(multiplier):
    if multiplier == 0:
        return 0, 0
    fraction, exponent = frexp(multiplier)
    mantissa = int(fraction * 2**31 + 0.5)  # exact: a float64 has 53 bits
    if mantissa == 2**31:
        mantissa, exponent = 2**30, exponent + 1
    return (0, 0) if exponent < -31 else (mantissa, exponent)


def rescaled(total, multiplier):
    """RDPOT(SRDHM(total << e+, M), e-)."""
    mantissa, exponent = decomposed(multiplier)
    shifted = max(LOWEST, min(HIGHEST, total << min(max(exponent, 0), 31)))
    product = shifted * mantissa
    nudged = product + (2**30 if product >= 0 else 1 - 2**30)
    high = nudged // 2**31 if nudged >= 0 else -(-nudged // 2**31)
    bits = max(-exponent, 0)
    remainder, half = high & ((1 << bits) - 1), ((1 << bits) - 1) >> 1
    return (high >> bits) + (remainder > half + (high < 0))


def float32(value):
    """Two float32 make a float64 that has every bit of their product."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def interesting_sums(multiplier, rng):
    """Where results change, next to that, at the ends of int32, and any."""
    chosen = [LOWEST, LOWEST + 1, HIGHEST, HIGHEST - 1, 0, 1, -1, 511, 512, 513, -512, -513]
    for step in rng.integers(-300, 300, 40):
        # Bisection: rescaled never falls.
        low, high = LOWEST, HIGHEST
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if rescaled(middle, multiplier) >= step else (middle + 1, high)
            )
        chosen += [low - 1, low, low + 1]
    reach = min(2.0**31, 400 / multiplier) if multiplier else 2.0**31
    chosen += [int(x) for x in rng.uniform(-reach, reach, COUNT - len(chosen))]
    return [max(LOWEST, min(HIGHEST, total)) for total in chosen]


def multipliers(rng):
    """(input scale, filter scale, output scale) of multipliers of all sizes."""
    powers = [(0.5, 2.0**-k, 1.0) for k in range(-4, 33)]
    yield from powers
    for _ in range(MULTIPLIERS - len(powers)):
        yield tuple(float32(2.0 ** rng.uniform(-8, 3)) for _ in range(3))
    yield 1.0, float32(1 - 2.0**-24), 1.0
    yield float32(1e-30), float32(1e-9), float32(1e30)  # nothing is left
    yield float32(1e30), float32(1e30), float32(1e-30)  # no float32 holds it


def cases(tensor, rng):
    """(scales, zero point of the output, sums, expected bytes) per multiplier."""
    low, high = QUANTIZED_RANGE[tensor(None, 1.0).operand.type]
    for scales in multipliers(rng):
        source, filter, target = scales
        product = float32(source * filter)
        multiplier = min(product, float(np.finfo(np.float32).max)) / target
        zero_point = int(rng.choice([low, high, rng.integers(low, high + 1)]))
        sums = interesting_sums(multiplier, rng)
        expected = [max(low, min(high, rescaled(total, multiplier) + zero_point)) for total in sums]
        yield scales, zero_point, np.array(sums, np.int32), np.array(expected)


@pytest.mark.parametrize("tensor", [qu8, qs8])
@pytest.mark.parametrize("operation", ["FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("device", ["nnapi-reference", *tiers()])
def test_any_sum(device, operation, tensor):
    rng = np.random.default_rng(7)
    zero = int(QUANTIZED_RANGE[tensor(None, 1.0).operand.type][0])
    compared = 0
    for (source, filter, target), zero_point, sums, expected in cases(tensor, rng):
        product = float32(source * filter)
        if operation == "FULLY_CONNECTED" and np.isinf(product):
            continue  # there is no scale that a bias could have
        count = len(sums)
        if operation == "FULLY_CONNECTED":
            operands = [
                tensor([[zero] * 2] * 3, source, zero),
                tensor(np.full((count, 2), zero), filter, zero),
                i32(sums, product),
                NONE,
            ]
        else:
            is_plain = operation == "CONV_2D"
            image = tensor(np.full((1, 5, 1, 1), zero), source, zero)
            shape = (count, 1, 1, 1) if is_plain else (1, 1, 1, count)
            weights = qc8(np.zeros(shape), [filter] * count, 0 if is_plain else 3)
            multiplier = [] if is_plain else [count]
            operands = [image, weights, i32(sums), SAME, 1, 1, *multiplier, NONE]
        output = tensor(None, target, zero_point)
        with nullcontext() if device == "nnapi-reference" else tier(device):
            runner = ReferenceDevice() if device == "nnapi-reference" else CpuDevice()
            [result] = execute(runner, OperationType[operation], operands, [output])
        goal = np.broadcast_to(expected, result.shape)
        assert result.astype(int).tolist() == goal.tolist(), (source, filter, target, zero_point)
        compared += result.size
    assert compared > 40_000
