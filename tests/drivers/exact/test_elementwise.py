"""Quantized element-wise operations, bit for bit: nnapi-reference against plain integers, and
nnapi-cpu against nnapi-reference, on every tier that this processor has.

Scales, zero points and values are random and at their ends; the largest difference allowed is 0.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.library import processor_tiers
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.drivers.exact import integers
from tests.single import execute, qs8, qu8

ROOT = Path(__file__).parents[3]
VARIANTS = {"qu8": qu8, "qs8": qs8}
LARGEST = integers.LARGEST
Parameters = tuple[float, int]


def on_devices(type: Op, inputs: Sequence[Any], output: Any) -> tuple[Any, Any]:
    """The result of each device as integers, or the error: reference, cpu."""
    results: list[Any] = []
    for device in (ReferenceDevice(), CpuDevice()):
        try:
            (array,) = execute(device, type, inputs, [output])
            results.append(array.astype(int))
        except NnapiError as error:
            results.append(error)
    return results[0], results[1]


def check(type: Op, inputs: Sequence[Any], output: Any, expected: Any, **shown: Any) -> None:
    """Both devices answer what plain integers give."""
    reference, cpu = on_devices(type, inputs, output)
    for name, result in (("nnapi-reference", reference), ("nnapi-cpu", cpu)):
        assert not isinstance(result, NnapiError), f"{name}: {result} {shown}"
        difference = np.abs(result - np.reshape(expected, result.shape)).max(initial=0)
        assert difference == 0, f"{name} is {difference} off: {shown}"


def scale(rng: random.Random, low: float = -6, high: float = 3) -> float:
    """A random float32; every fourth is a power of 2, where results lie halfway between steps."""
    exponent = rng.uniform(low, high)
    return integers.single(2.0 ** round(exponent) if rng.randrange(4) == 0 else 2.0**exponent)


def zero(rng: random.Random, variant: str) -> int:
    """A zero point; every third is an end of the type."""
    low, high = integers.RANGE[variant]
    return rng.choice([low, high]) if rng.randrange(3) == 0 else rng.randint(low, high)


def parameters(rng: random.Random, variant: str, **limits: float) -> Parameters:
    """Scale and zero point."""
    return scale(rng, **limits), zero(rng, variant)


def every(variant: str) -> list[int]:
    """All 256 numbers of a type."""
    low, high = integers.RANGE[variant]
    return list(range(low, high + 1))


def some(rng: random.Random, variant: str, count: int) -> list[int]:
    """Random numbers of a type."""
    return rng.choices(every(variant), k=count)


def operand(variant: str, values: Any, of: Parameters) -> Any:
    """A tensor."""
    return VARIANTS[variant](values, *of)


def seeded(*key: Any) -> random.Random:
    """The same numbers for the same test."""
    return random.Random(repr(key))


def sums(sign: int) -> Callable[..., int]:
    """The formula of ADD, or of SUB for sign -1."""
    return lambda x, y, *rest: integers.add(x, y, *rest, sign)


PAIRS: dict[Op, Callable[..., int]] = {
    Op.ADD: sums(+1),
    Op.SUB: sums(-1),
    Op.MUL: integers.mul,
    Op.PRELU: lambda x, y, a, b, c, variant, _: integers.prelu(x, y, a, b, c, variant),
}


def output_scale(rng: random.Random, type: Op, x: Parameters, y: Parameters) -> float:
    """A scale that the output may have, from where most results saturate to where most are 0."""
    if type is Op.MUL:
        smallest = integers.single(x[0] * y[0])
    elif type is Op.PRELU:
        return scale(rng, -12, 8)
    else:
        smallest = 2 * max(x[0], y[0]) / 2**20
        if rng.randrange(2):
            smallest = max(x[0], y[0]) / 64
    return max(
        integers.single(smallest * 2 ** rng.uniform(0.01, 12)),
        float(np.nextafter(np.float32(smallest), np.float32(np.inf))),
    )


def check_pairs(
    type: Op, variant: str, x: Parameters, y: Parameters, z: Parameters, rng: random.Random
) -> None:
    """Numbers of the first input with numbers of the other, the ends of the type among them."""
    ends = list(integers.RANGE[variant])
    left, right = (ends + some(rng, variant, 46) for _ in range(2))
    activation = 0 if type is Op.PRELU else rng.choice([0, 0, 1, 2, 3])
    expected = [[PAIRS[type](a, b, x, y, z, variant, activation) for b in right] for a in left]
    tail = [] if type is Op.PRELU else [activation]
    inputs = [operand(variant, [[a] for a in left], x), operand(variant, right, y), *tail]
    check(type, inputs, operand(variant, None, z), expected, x=x, y=y, z=z, activation=activation)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", PAIRS, ids=lambda type: type.name)
def test_pairs(type: Op, variant: str) -> None:
    rng = seeded(type, variant)
    for _ in range(25):
        x, y = (parameters(rng, variant) for _ in range(2))
        if rng.randrange(5) == 0:
            y = (x[0], y[1])
        z = (output_scale(rng, type, x, y), zero(rng, variant))
        check_pairs(type, variant, x, y, z, rng)


EXTREMES = {
    Op.ADD: [
        (1.0, 2.0**-28, 0.125),  # the second is just not lost
        (1.0, 2.0**-31, 0.125),
        (1.0, 2.0**-40, 0.125),
        (2.0**-149, 1.0, 1.0),
        (1.0, 1.0, 2.0**-18),  # the sum is not made smaller
        (1.0, 1.0, 2.0**-10),
        (1.0, 1.0, 2.0**7),
        (1.0, 1.0, 2.0**8),
        (1.0, 0.75, 2.0**9),
        (1.0, 1.0, 2.0**30),
        (2.0**-20, 2.0**-20, 2.0**100),
        (2.0**126, 2.0**126, 1.5 * 2.0**107),
        (2.0**-149, 2.0**-149, 2.0**-149),
    ],
    Op.MUL: [
        (1.0, 1.0, 1.0000001192092896),
        (0.5, 1.0, 2.0**16),
        (0.5, 1.0, 2.0**15),
        (0.5, 1.0, 2.0**14),
        (2.0**-70, 2.0**-70, 2.0**-139),
        (2.0**-60, 2.0**-60, LARGEST),
        (2.0**-100, 2.0**-49, 2.0**-148),
        (2.0**60, 2.0**60, 2.0**121),
    ],
    Op.PRELU: [
        (1.0, 1.0, 2.0**-149),
        (LARGEST, LARGEST, 2.0**-149),
        (LARGEST, 1.0, 1.0),
        (2.0**-149, 1.0, LARGEST),
        (2.0**-149, 2.0**-149, 1.0),
        (1.0, 2.0**-8, 2.0**-13),
        (1.0, 2.0**-8, 2.0**-12),
        (1.0, 2.0**8, 2.0**-31),
        (1.0, 1.0, 2.0**8),
        (1.0, 1.0, 2.0**16),
        (1.0, 1.0, 2.0**17),
    ],
}
"""Scales of both inputs and of the output at which something runs out of bits."""
EXTREMES[Op.SUB] = [*EXTREMES[Op.ADD], *((y, x, z) for x, y, z in EXTREMES[Op.ADD])]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", EXTREMES, ids=lambda type: type.name)
def test_pairs_of_extreme_scales(type: Op, variant: str) -> None:
    rng = seeded("extreme", type, variant)
    for scales in EXTREMES[type]:
        for low_or_high in (0, 1):
            ends = [(value, integers.RANGE[variant][low_or_high]) for value in scales]
            x, y, z = ends[0], (ends[1][0], zero(rng, variant)), (ends[2][0], zero(rng, variant))
            check_pairs(type, variant, x, y, z, rng)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", PAIRS, ids=lambda type: type.name)
def test_long_pairs(type: Op, variant: str) -> None:
    """Every loop of the walk, with and without a rest that fills no vector."""
    rng = seeded("long", type, variant)
    generator = np.random.default_rng(rng.randrange(2**32))
    low, high = integers.RANGE[variant]
    tail = [] if type is Op.PRELU else [0]
    for shapes in [((3, 301), (3, 301)), ((3, 301), (1, 1)), ((1, 1), (3, 301)), ((299, 5), (5,))]:
        x, y = (generator.integers(low, high + 1, shape) for shape in shapes)
        of = [(0.02, 3), (0.013, -7 % 128), (0.03, 20)]
        of = [(integers.single(s), z) for s, z in of]
        inputs = [operand(variant, x, of[0]), operand(variant, y, of[1]), *tail]
        reference, cpu = on_devices(type, inputs, operand(variant, None, of[2]))
        expected = [
            PAIRS[type](int(a), int(b), *of, variant, 0)
            for a, b in zip(*(np.broadcast_arrays(x, y)[i].ravel() for i in (0, 1)), strict=True)
        ]
        assert reference.ravel().tolist() == expected
        assert cpu.ravel().tolist() == expected


NEAR_INTEGERS = [
    (1.0, 1.0, 1.0),
    (1.0, 1.0, 2.0),  # every second result lies halfway between two steps
    (1.0, 0.5, 1.0),
    (0.25, 1.0, 4.0),
    (0.02, 0.013, 0.018),
    (0.7, 0.3, 0.9),
    (1.0, 2.0**-8, 1.0),
    (1.0, 2.0**-9, 0.500978),
    (1.0, 2.0**-13, 2.0**-1),
    (1.0, 2.0**-30, 0.5),
    (1.0, 1.0, 1.0000001),
    (1.0, 1.0, 0.9999999),  # more than 2 steps of the output in all: not in float32
    (1.0, 0.3, 2.0**-5),
    (1.0, 0.9, 2.0**7),
    (1.0, 1.0, 2.0**9),
]
"""Scales of inputs and output with sums on either side of the numbers that are rounded apart."""

SHAPES = [((65536,), (65536,)), ((256, 1), (1, 256)), ((1, 256), (256, 1))]
"""Of all pairs of bytes, one loop of the walk each."""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", [Op.ADD, Op.SUB], ids=lambda type: type.name)
def test_sums_of_all_bytes(type: Op, variant: str) -> None:
    """Where float32 tells a result from its neighbours, and where it does not."""
    rng = seeded("all", type, variant)
    scales = list(NEAR_INTEGERS)
    for _ in range(21):
        of = [scale(rng), scale(rng)]
        scales.append((*of, integers.single(sum(of) / 2 ** rng.uniform(-3, 1.1))))
    columns, rows = np.meshgrid(every(variant), every(variant))
    for number, ratios in enumerate(scales):
        ratios = (ratios[1], ratios[0], ratios[2]) if rng.randrange(2) else ratios
        x, y, z = ((integers.single(value), zero(rng, variant)) for value in ratios)
        shapes = SHAPES[number % 3]
        values = [
            np.unique(grid).reshape(shape) if 1 in shape else grid.reshape(shape)
            for grid, shape in zip((rows, columns), shapes, strict=True)
        ]
        inputs = [operand(variant, values[0], x), operand(variant, values[1], y), 0]
        reference, cpu = on_devices(type, inputs, operand(variant, None, z))
        wrong = np.argwhere(reference != cpu)
        assert not len(wrong), f"{len(wrong)} differ, first at {wrong[0]}: {x=} {y=} {z=}"


SQUASHED = {
    Op.LOGISTIC: {"qu8": (1 / 256, 0), "qs8": (1 / 256, -128)},
    Op.TANH: {"qu8": (1 / 128, 128), "qs8": (1 / 128, 0)},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", SQUASHED, ids=lambda type: type.name)
def test_squashed(type: Op, variant: str) -> None:
    rng = seeded(type, variant)
    scales = [scale(rng, -9, 2) for _ in range(30)]
    just_fine_enough = float(np.nextafter(np.float32(2.0**-27), np.float32(1)))
    scales += [just_fine_enough, 2.0**-20, 2.0**-8, 1 / 17, 1.0, 14.9999, 15.0, 16.0, 31.0, LARGEST]
    for value in scales:
        of = (integers.single(value), zero(rng, variant))
        expected = [integers.squashed(x, of, variant, type.name) for x in every(variant)]
        output = operand(variant, None, SQUASHED[type][variant])
        check(type, [operand(variant, every(variant), of)], output, expected, of=of)


@pytest.mark.parametrize("variant", VARIANTS)
def test_hard_swish(variant: str) -> None:
    rng = seeded("hard swish", variant)
    pairs = [(scale(rng, -9, 2), rng.uniform(-6.9, 8)) for _ in range(60)]
    scales = [(x, integers.single(x * 2**ratio)) for x, ratio in pairs]
    scales += [
        (127.0, 1.0),  # no shift at the end: a sum with the zero point may not fit 16 bits
        (1.0, 2.0**8),
        (1.0, 2.0**9),  # shifts by 16 bits and more
        (1.0, 2.0**10),
        (1.0, 2.0**24),
        (1.0, 2.0**25),  # a multiplier of 0
        (2.0**-26, 2.0**-30),
        (2.0**-28, 2.0**-30),
        (2.0**-60, 2.0**-60),
        (2.0**-149, 2.0**-149),
        (2.0**-149, LARGEST),
        (2.0**40, 2.0**40),
        (LARGEST, LARGEST),
    ]
    for x_scale, y_scale in scales:
        for x_zero in (zero(rng, variant), integers.RANGE[variant][0]):
            x, y = (x_scale, x_zero), (y_scale, zero(rng, variant))
            expected = [integers.hard_swish(q, x, y, variant) for q in every(variant)]
            inputs = [operand(variant, every(variant), x)]
            check(Op.HARD_SWISH, inputs, operand(variant, None, y), expected, x=x, y=y)


def along(axis: int, rows: Any) -> Any:
    """Rows of numbers as a tensor of rank 2 with the rows along an axis."""
    return np.ascontiguousarray(np.transpose(rows)) if axis == 0 else rows


@pytest.mark.parametrize("variant", VARIANTS)
def test_softmax(variant: str) -> None:
    rng = seeded("softmax", variant)
    output = operand(variant, None, {"qu8": (1 / 256, 0), "qs8": (1 / 256, -128)}[variant])
    for length in [1, 2, 3, 5, 10, 17, 64, 255, 256, 257, 300, 700]:
        for axis in (0, 1):
            of, beta = parameters(rng, variant), integers.single(rng.choice([1.0, 0.3, 2.0, 7.0]))
            rows = [some(rng, variant, length), [rng.choice(every(variant))] * length]
            expected = [integers.softmax(row, of[0], beta, variant) for row in rows]
            inputs = [operand(variant, along(axis, rows), of), beta, axis]
            check(
                Op.SOFTMAX, inputs, output, along(axis, expected), of=of, beta=beta, length=length
            )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("of", "beta"),
    [
        (float(np.nextafter(np.float32(2.0**-26), np.float32(1))), 1.0),
        (2.0**-20, 1.0),
        (1.0, 2.0**-20),
        (1.0, 31.0),
        (31.0, 1.0),
        (32.0, 1.0),
        (LARGEST, LARGEST),
    ],
)
def test_softmax_of_extreme_scales(variant: str, of: float, beta: float) -> None:
    rng = seeded("softmax", variant, of, beta)
    output = operand(variant, None, {"qu8": (1 / 256, 0), "qs8": (1 / 256, -128)}[variant])
    ends = list(integers.RANGE[variant])
    rows = [some(rng, variant, 40), ends * 20, [ends[1], ends[1] - 1] * 20]
    expected = [integers.softmax(row, of, beta, variant) for row in rows]
    inputs = [operand(variant, rows, (of, zero(rng, variant))), beta]
    check(Op.SOFTMAX, inputs, output, expected, of=of, beta=beta)


@pytest.mark.parametrize("length", [511, 512, 1024, 4095, 4096, 8191, 8192, 8193])
def test_softmax_of_equal_numbers(length: int) -> None:
    """Sums that need all 32 bits, and more."""
    row = [7] * length
    expected = integers.softmax(row, 1.0, 1.0, "qu8")
    check(
        Op.SOFTMAX,
        [operand("qu8", row, (1.0, 0)), 1.0],
        operand("qu8", None, (1 / 256, 0)),
        expected,
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_l2_normalization(variant: str) -> None:
    rng = seeded("l2", variant)
    output = operand(variant, None, {"qu8": (1 / 128, 128), "qs8": (1 / 128, 0)}[variant])
    for length in [1, 2, 3, 4, 7, 16, 33, 100, 515]:
        for of in [zero(rng, variant) for _ in range(6)]:
            near = [min(max(of + rng.randint(-2, 2), every(variant)[0]), every(variant)[-1])]
            rows = [some(rng, variant, length), [of] * length, near * length, [*near] * length]
            rows[3][0] = rng.choice(every(variant))
            for axis, shape in [(1, (4, length)), (1, (4, length, 1)), (0, (length, 4))]:
                is_last = axis == len(shape) - 1
                expected = [integers.l2_normalization(row, of, variant, is_last) for row in rows]
                values = np.reshape(along(axis, rows), shape)
                inputs = [operand(variant, values, (0.1, of)), axis]
                shown = {"zero": of, "rows": rows, "shape": shape}
                check(Op.L2_NORMALIZATION, inputs, output, along(axis, expected), **shown)


def test_l2_normalization_of_sums_that_overflow() -> None:
    """33,026 squares of 255 are beyond 2^31, which makes the norm count as 1."""
    row = [255] * 33026
    expected = integers.l2_normalization(row, 0, "qu8", True)
    check(Op.L2_NORMALIZATION, [operand("qu8", row, (1.0, 0))], qu8(None, 1 / 128, 128), expected)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("activation", [1, 2, 3])
def test_clamps(variant: str, activation: int) -> None:
    rng = seeded("clamps", variant, activation)
    type = {1: Op.RELU, 2: Op.RELU1, 3: Op.RELU6}[activation]
    for value in [scale(rng, -9, 4) for _ in range(20)] + [2.0**-149, 2.0**-20, 0.4, LARGEST]:
        of = (integers.single(value), zero(rng, variant))
        expected = [integers.clamped(x, variant, activation, *of) for x in every(variant)]
        inputs = [operand(variant, every(variant), of)]
        check(type, inputs, operand(variant, None, of), expected, of=of)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reciprocal_root(variant: str) -> None:
    rng = seeded("rsqrt", variant)
    for _ in range(40):
        x, y = parameters(rng, variant, low=-20, high=20), parameters(rng, variant)
        expected = [integers.reciprocal_root(q, x, y, variant) for q in every(variant)]
        inputs = [operand(variant, every(variant), x)]
        check(Op.RSQRT, inputs, operand(variant, None, y), expected, x=x, y=y)


REFUSED = {
    "ADD: the output is too fine": (Op.ADD, (1.0, 1.0), 2.0**-19, [0]),
    "ADD: the inputs are too coarse": (Op.ADD, (2.0**127, 1.0), 1.0, [0]),
    "ADD: the output is too coarse": (Op.ADD, (1.0, 1.0), 2.0**108, [0]),
    "SUB: the output is too fine": (Op.SUB, (0.25, 1.0), 2.0**-19, [0]),
    "MUL: the product of the scales is 0": (Op.MUL, (2.0**-100, 2.0**-100), 1.0, [0]),
    "LOGISTIC: the input is too fine": (Op.LOGISTIC, (2.0**-27,), 1 / 256, []),
    "TANH: the input is too fine": (Op.TANH, (2.0**-27,), 1 / 128, []),
    "SOFTMAX: the input is too fine": (Op.SOFTMAX, (2.0**-26,), 1 / 256, [1.0]),
    "HARD_SWISH: the output is too fine": (Op.HARD_SWISH, (128.0,), 1.0, []),
    "HARD_SWISH: by float32": (Op.HARD_SWISH, (127 * 2.0**-149,), 2.0**-149, []),
}


@pytest.mark.parametrize("case", REFUSED)
def test_scales_that_are_refused(case: str) -> None:
    """OP_FAILED, in the same words on both devices."""
    type, scales, result, tail = REFUSED[case]
    zeros = {Op.TANH: 128}
    inputs = [*(operand("qu8", [1, 2], (value, 0)) for value in scales), *tail]
    reference, cpu = on_devices(type, inputs, operand("qu8", None, (result, zeros.get(type, 0))))
    assert isinstance(reference, NnapiError) and isinstance(cpu, NnapiError)
    assert reference.code is cpu.code is ResultCode.OP_FAILED
    assert reference.message == cpu.message
    assert "scale" in cpu.message


@pytest.mark.parametrize("type", ["qu8", "qs8"])
def test_infinite_beta(type: str) -> None:
    """What it gives means nothing, but both devices have the same."""
    source = operand(type, [0, 1, 3, 4, 100, 127], (1.0, 3))
    lowest = {"qu8": 0, "qs8": -128}[type]
    reference, cpu = on_devices(
        Op.SOFTMAX, [source, np.inf], operand(type, None, (1 / 256, lowest))
    )
    assert reference.tolist() == cpu.tolist()


def test_numbers_beyond_float32() -> None:
    """MINIMUM takes what a stored number stands for as a float32, whatever the parameters are."""
    inputs = [operand("qs8", values, (1e37, 0)) for values in ([50, -60, 100], [127, 127, 127])]
    reference, cpu = on_devices(Op.MINIMUM, inputs, operand("qs8", None, (1e37, 0)))
    assert reference.tolist() == cpu.tolist() == [127, -128, 127]


NO_SCALE_MATTERS = {
    "ADD": (Op.ADD, (1.0, 1.0), 2.0**-30, [0]),
    "MUL": (Op.MUL, (2.0**-100, 2.0**-100), 1.0, [0]),
    "LOGISTIC": (Op.LOGISTIC, (2.0**-27,), 1 / 256, []),
    "SOFTMAX": (Op.SOFTMAX, (2.0**-26,), 1 / 256, [1.0]),
    "SOFTMAX, tiny": (Op.SOFTMAX, (2.0**-40,), 1 / 256, [1.0]),
    "LOGISTIC, tiny": (Op.LOGISTIC, (2.0**-40,), 1 / 256, []),
    "HARD_SWISH": (Op.HARD_SWISH, (128.0,), 1.0, []),
}


@pytest.mark.parametrize("case", NO_SCALE_MATTERS)
def test_scales_of_empty_tensors(case: str) -> None:
    """There is nothing to compute, so nothing is refused."""
    type, scales, result, tail = NO_SCALE_MATTERS[case]
    inputs = [operand("qu8", np.zeros((0, 2)), (value, 0)) for value in scales]
    reference, cpu = on_devices(type, [*inputs, *tail], operand("qu8", None, (result, 0)))
    assert reference.shape == cpu.shape == (0, 2)


def test_known_answers_of_the_integers_themselves() -> None:
    """semantics.md 15, for the formulas that everything here is compared with."""
    logistic = {
        -32768: 11, -8192: 3901, -4096: 8815, -1: 16383, 0: 16384, 1000: 18376, 4096: 23952,
        8192: 28866, 20000: 32524, 32767: 32756,
    }  # fmt: skip
    assert {x: integers.logistic(x, 3, 16) for x in logistic} == logistic
    tanh = {1: 8, 100: 792, 1000: 7840, 4096: 24964, 8192: 31596, 20000: 32767}
    assert {x: integers.tanh(x, 3, 16) for x in tanh} == tanh
    assert integers.tanh(16384, 0, 16) == 15136
    assert integers.tanh(100, 4, 16) == 1596
    assert integers.logistic(2**27, 4) == 1569936226
    assert integers.logistic(-(2**27), 4) == 577547421
    assert integers.logistic(2**28, 4) == 1891497262
    assert integers.tanh(2**26, 4) == 992388804
    assert integers.tanh(2**27, 4) == 1635510876
    assert integers.exponential(-(2**26), 5) == 790015308
    assert integers.exponential(-(2**25), 5) == 1302515042
    assert integers.exponential(-1, 5) == 2147483124
    roots = {2: (1518498372, 0), 100: (214748363, 0), 12345: (309246148, 4)}
    roots[10**8] = (219902323, 10)
    assert {n: integers.inverse_root(n) for n in roots} == roots


@pytest.mark.slow
@pytest.mark.parametrize("tier", processor_tiers())
def test_on_tier(tier: str) -> None:
    """Everything above once more, with the kernels of a tier."""
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", __file__]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        env={**os.environ, "NNAPI_SHIM_TIER": tier},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
