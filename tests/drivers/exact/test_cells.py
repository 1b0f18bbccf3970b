"""The quantized cells, bit for bit: both devices, on every tier that this processor has, against
tests.drivers.exact.cells. Sums go to the ends of 16 and of 32 bits, and beyond.
"""

import random

import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.exact import cells
from tests.drivers.exact.comparison import tier, tiers
from tests.drivers.exact.integers import single
from tests.single import CONSTANT, INPUT, execute, i32, omitted, qs8, qsym8, qsym16, qu8

LAST = 2**31 - 1
BIASES = (0, 1, -1, LAST, -LAST - 1, LAST - 1000, 1000 - LAST)


def numbers(rng, low, high, *shape):
    """Nested lists of random numbers, or of the ends alone."""
    if rng.randrange(3) == 0:
        return filled(shape, lambda: rng.choice((low, high)))
    return filled(shape, lambda: rng.randint(low, high))


def filled(shape, value):
    """Nested lists."""
    return [filled(shape[1:], value) for _ in range(shape[0])] if shape else value()


def biases(rng, reach, count):
    """Random biases, at the ends of 32 bits among them."""
    return [rng.choice(BIASES) if rng.randrange(4) == 0 else rng.randint(-reach, reach)
            for _ in range(count)]  # fmt: skip


def near(rng, low, high):
    """A float32 between two powers of 2; every third is one."""
    exponent = rng.uniform(low, high)
    return single(2.0 ** (round(exponent) if rng.randrange(3) == 0 else exponent))


def compare(type, inputs, outputs, expected, shown):
    """All outputs of both devices, nnapi-cpu on every tier, with constants and without."""
    result = {"nnapi-reference": execute(ReferenceDevice(), type, inputs, outputs)}
    for name in tiers():
        with tier(name):
            for kind in (INPUT, CONSTANT):
                result[f"{name}, {kind}"] = execute(
                    CpuDevice(), type, inputs, outputs, tensors_are=kind, first_is=INPUT
                )
    for name, arrays in result.items():
        for index, (array, numbers) in enumerate(zip(arrays, expected, strict=True)):
            assert array.tolist() == numbers, f"{name}, output {index}: {shown}"


def by_output(expected):
    """The rows of each output, from those of each batch."""
    return [list(rows) for rows in zip(*expected, strict=True)]


def check_16(rng, batches, size, outputs, weight):
    """One QUANTIZED_16BIT_LSTM."""
    x, h = numbers(rng, 0, 255, batches, size), numbers(rng, 0, 255, batches, outputs)
    state = numbers(rng, -(2**15), 2**15 - 1, batches, outputs)
    direct = [numbers(rng, 0, 255, outputs, size) for _ in range(4)]
    recurrent = [numbers(rng, 0, 255, outputs, outputs) for _ in range(4)]
    reach = 10 ** rng.randint(3, 9)
    offsets = [biases(rng, reach, outputs) for _ in range(4)]
    inputs = [
        qu8(x, 1 / 128, 128),
        *(qu8(values, *weight) for values in (*direct, *recurrent)),
        *(i32(values, single(weight[0] / 128)) for values in offsets),
        qsym16(state, 2**-11),
        qu8(h, 1 / 128, 128),
    ]
    expected = [
        cells.cell_16(x[b], h[b], state[b], direct, recurrent, offsets, weight)
        for b in range(batches)
    ]
    outputs = [qsym16(None, 2**-11), qu8(None, 1 / 128, 128)]
    compare(Op.QUANTIZED_16BIT_LSTM, inputs, outputs, by_output(expected), weight)


@pytest.mark.parametrize("reach", ["inside 16 bits", "any"])
def test_16bit_lstm(reach):
    rng = random.Random(reach)
    for _ in range(40):
        weight = near(rng, -9, -5) if reach != "any" else near(rng, -24, 20)
        sizes = rng.randint(1, 3), rng.randint(1, 12), rng.randint(1, 9)
        check_16(rng, *sizes, (weight, rng.choice([0, 255, rng.randint(0, 255)])))


SIZES = ((33, 40), (64, 64), (70, 31), (100, 5), (5, 100))
"""Numbers of inputs and of units: whole vectors, with and without a rest."""


@pytest.mark.parametrize("sizes", SIZES)
def test_16bit_lstm_of_whole_vectors(sizes):
    rng = random.Random(1)
    for _ in range(3):
        check_16(rng, 2, *sizes, (2.0**-10, rng.choice([0, 255, rng.randint(0, 255)])))


def test_16bit_lstm_sums_beyond_32_bits():
    """128 * 255 * 70,000 is more than 2^31."""
    rng = random.Random(1)
    for zero, outputs in ((0, 1), (255, 5)):
        for weight in (2.0**-8, 2.0**-22):
            check_16(rng, 1, 70_000, outputs, (weight, zero))


GATES = ("input", "forget", "cell", "output")


def random_cell(rng, size, outputs, units, reach, parts):
    """A cell with these parts; scales of gates that keep them inside 16 bits, or any."""
    low, high = (-10, -7) if reach == "inside 16 bits" else (-16, 3)
    coupled = "coupled" in parts

    def of_gates(make, left_out=()):
        return [None if gate in left_out else make() for gate in range(4)]

    def scaled_numbers(limit, scale, *shape):
        return numbers(rng, -limit - 1, limit, *shape), scale

    no_input = {cells.INPUT} if coupled else set()
    nothing = [None] * 4
    return cells.Cell(
        of_x=(near(rng, -9, -5), rng.randint(-128, 127)),
        of_h=(near(rng, -9, -5), rng.randint(-128, 127)),
        direct=of_gates(lambda: scaled_numbers(127, near(rng, low, high), units, size), no_input),
        recurrent=of_gates(
            lambda: scaled_numbers(127, near(rng, low, high), units, outputs), no_input
        ),
        peepholes=of_gates(
            lambda: scaled_numbers(2**15 - 1, near(rng, -18, -10), units),
            no_input | {cells.CANDIDATE},
        ) if "peepholes" in parts else nothing,
        gains=of_gates(
            lambda: scaled_numbers(2**15 - 1, near(rng, -36, -8), units), no_input
        ) if "gains" in parts else nothing,
        biases=of_gates(lambda: biases(rng, 10 ** rng.randint(3, 9), units), no_input),
        intermediates=[near(rng, -14, -10) for _ in range(4)],
        state_bits=rng.randint(-15, -9),
        hidden=(near(rng, -9, -5), rng.randint(-300, 300)),
        projection=(
            *scaled_numbers(127, near(rng, -10, -5), outputs, units),
            biases(rng, 10 ** rng.randint(3, 9), outputs),
        ) if "projection" in parts else None,
        cell_clip=rng.choice([0.0, -1.0, single(rng.uniform(0, 0.5)), 3.0]),
        projection_clip=rng.choice([0.0, single(rng.uniform(0, 1))]),
    )  # fmt: skip


def check_8(rng, cell, batches, size, outputs, units, lowest=-128):
    """One QUANTIZED_LSTM; lowest: of the numbers of input and output state."""
    x, h = (numbers(rng, lowest, 127, batches, count) for count in (size, outputs))
    state = numbers(rng, -(2**15), 2**15 - 1, batches, units)

    def arguments(type, tensor, items):
        return [omitted(type) if item is None else tensor(*item) for item in items]

    projection = cell.projection
    into, forget, _, out = cell.peepholes
    inputs = [
        qs8(x, *cell.of_x),
        *arguments(T.TENSOR_QUANT8_SYMM, qsym8, (*cell.direct, *cell.recurrent)),
        *arguments(T.TENSOR_QUANT16_SYMM, qsym16, (into, forget, out)),
        *arguments(T.TENSOR_INT32, i32, [None if row is None else (row,) for row in cell.biases]),
        *arguments(T.TENSOR_QUANT8_SYMM, qsym8, [projection and projection[:2]]),
        *arguments(T.TENSOR_INT32, i32, [projection and projection[2:]]),
        qs8(h, *cell.of_h),
        qsym16(state, 2.0**cell.state_bits),
        *arguments(T.TENSOR_QUANT16_SYMM, qsym16, cell.gains),
        cell.cell_clip, cell.projection_clip, *cell.intermediates,
        cell.hidden[1], cell.hidden[0],
    ]  # fmt: skip
    expected = [cells.cell_8(cell, x[b], h[b], state[b]) for b in range(batches)]
    rows, states = by_output(expected)
    results = [qs8(None, *cell.of_h), qsym16(None, 2.0**cell.state_bits), qs8(None, *cell.of_h)]
    compare(Op.QUANTIZED_LSTM, inputs, results, [rows, states, rows], cell._replace(
        direct=None, recurrent=None, gains=None, peepholes=None, biases=None, projection=None
    ))  # fmt: skip


PARTS = ("coupled", "peepholes", "gains", "projection")


@pytest.mark.parametrize("parts", [(), *((part,) for part in PARTS), PARTS[1:], PARTS],
                         ids="-".join)  # fmt: skip
@pytest.mark.parametrize("reach", ["inside 16 bits", "any"])
def test_lstm(reach, parts):
    rng = random.Random(f"{reach} {parts}")
    for _ in range(30):
        batches, size, outputs = rng.randint(1, 3), rng.randint(1, 12), rng.randint(1, 9)
        units = rng.randint(1, 9) if "projection" in parts else outputs
        if "peepholes" in parts:
            units = outputs  # the reference walks them by the size of the output
        cell = random_cell(rng, size, outputs, units, reach, parts)
        check_8(rng, cell, batches, size, outputs, units)


@pytest.mark.parametrize("sizes", SIZES)
def test_lstm_of_whole_vectors(sizes):
    rng = random.Random(2)
    for parts, units in (((), sizes[1]), (("projection",), 64), (("projection",), 45)):
        cell = random_cell(rng, *sizes, units, "inside 16 bits", parts)
        check_8(rng, cell, 2, *sizes, units)


def test_lstm_sums_beyond_32_bits():
    """128 * 255 * 70,000 is more than 2^31."""
    rng = random.Random(1)
    for reach in ("inside 16 bits", "any"):
        cell = random_cell(rng, 70_000, 1, 1, reach, ())
        ends = [[rng.choice([-128, 127])] * 70_000]
        weights = [(ends, scale) for _, scale in cell.direct]
        cell = cell._replace(of_x=(2.0**-8, rng.choice([-128, 127])), direct=weights)
        check_8(rng, cell, 1, 70_000, 1, 1)


def test_a_product_beyond_16_bits_is_added_before_it_is_cut():
    """-32768 and 34815 make 2047."""
    plain = random_cell(random.Random(1), 1, 1, 1, "any", ())
    cell = plain._replace(
        of_x=(1.0, -128),
        of_h=(1.0, -84),
        intermediates=[1.0] * 4,
        direct=[([[-128]], 2.0)] * 4,
        recurrent=[([[55]], 3.0)] * 4,
        state_bits=-12,
        hidden=(2.0**-8, 0),
        cell_clip=0.0,
    )
    assert cells._gate(cell, cells.CANDIDATE, [127], [127], [0]) == [2047]
    check_8(random.Random(2), cell, 2, 1, 1, 1, 127)
