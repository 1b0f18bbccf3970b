"""Filters as terms that are multiplied in pairs of bytes, next to nnapi-reference.

Weights and inputs are as large as their types allow wherever that counts: products of int8 terms
that were too large would saturate, and sums would be wrong by thousands.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import byte_pairs, shifted_words
from nnapi_shim.drivers.cpu.lowering.packing import Terms
from nnapi_shim.drivers.cpu.lowering.tiling import tier

pytestmark = pytest.mark.skipif(
    not tier().byte_pairs, reason="this tier does not multiply in pairs; test_tiers.py runs it"
)

Array = np.ndarray[Any, Any]
U8, S8, QC8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_SYMM_PER_CHANNEL"
RANGE = {U8: (0, 255), S8: (-128, 127), QC8: (-127, 127)}


class Case(NamedTuple):
    """A convolution. large: pairs of weights at an end of their range. spread: magnitude of others,
    of which two add up to 128 at most, and four if it is 32 at most.
    """

    image: tuple[int, int, int, int]
    columns: int
    size: int = 1
    stride: int = 1
    padding: str = "SAME"
    input: str = U8
    filter: str = U8
    zeros: tuple[int, int] = (0, 128)
    large: int = 2
    spread: int = 30


CASES = (
    Case((1, 6, 6, 16), 16, large=0),
    Case((1, 9, 8, 64), 40, zeros=(128, 120)),
    Case((1, 9, 8, 64), 17, zeros=(255, 0), large=0),
    Case((1, 6, 9, 35), 9, zeros=(7, 131), large=1),
    Case((2, 7, 9, 24), 33, size=3, zeros=(100, 128)),
    Case((3, 13, 13, 20), 16, size=3, stride=2, padding="VALID"),
    Case((1, 8, 8, 6), 24, size=5, zeros=(200, 127)),
    Case((1, 9, 9, 32), 48, input=S8, filter=S8, zeros=(-128, 0)),
    Case((1, 9, 9, 30), 20, size=3, stride=2, input=S8, filter=S8, zeros=(5, -3)),
    Case((1, 9, 9, 72), 40, input=S8, filter=QC8, zeros=(-10, 0)),
    Case((2, 6, 6, 128), 16, size=2, input=U8, filter=QC8, zeros=(3, 0)),
    Case((1, 6, 6, 64), 24, spread=64, large=0),
)


def weights_of(case: Case, rng: np.random.Generator) -> Array:
    """Weights near the zero point, few of them at the ends of the range, in all columns."""
    least, most = RANGE[case.filter]
    shape = case.columns, case.size, case.size, case.image[3]
    values = case.zeros[1] + rng.integers(-case.spread, case.spread, shape, endpoint=True)
    pairs = values.reshape(-1, case.image[3])
    for _ in range(case.large):
        first = 2 * rng.integers(case.image[3] // 2)
        pairs[rng.integers(len(pairs)), first : first + 2] = rng.choice([least, most])
    return np.clip(values, least, most).astype(np.uint8 if case.filter == U8 else np.int8)


def inputs_of(case: Case, rng: np.random.Generator) -> list[Array]:
    """Inputs at random, and with all bytes as large, and as small, as they can be."""
    least, most = RANGE[case.input]
    dtype = np.uint8 if case.input == U8 else np.int8
    return [
        rng.integers(least, most, case.image, endpoint=True).astype(dtype),
        np.full(case.image, most, dtype),
        np.full(case.image, least, dtype),
    ]


def convolved(
    case: Case, weights: Array, bias_step: int = 1000, step: float = 300.0, zero_point: int = 1
) -> Model:
    model = Model()
    x = model.input(case.input, case.image, 1.0, case.zeros[0])
    scale = {"scales": [1.0] * case.columns} if case.filter == QC8 else {"scale": 1.0}
    zero = {} if case.filter == QC8 else {"zero_point": case.zeros[1]}
    filter = model.constant(weights, case.filter, **scale, **zero)
    bias = np.arange(case.columns, dtype=np.int32) * bias_step
    biases = model.constant(bias, "TENSOR_INT32", scale=0.0 if case.filter == QC8 else 1.0)
    # A step of the output is less than a hundredth of what one saturated pair would take away.
    window = {"padding": case.padding, "stride": case.stride}
    y = model.conv_2d(x, filter, biases, **window, scale=step, zero_point=zero_point)
    model.outputs(y)
    model.finish()
    return model


@pytest.fixture
def terms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Terms | None]]:
    """What `further_terms` answers while a test runs."""
    answers: list[Terms | None] = []
    further_terms = byte_pairs.further_terms

    def observed(*arguments: Any) -> Terms | None:
        answers.append(further_terms(*arguments))
        return answers[-1]

    monkeypatch.setattr(byte_pairs, "further_terms", observed)
    monkeypatch.setattr(shifted_words, "shifted_words", lambda *arguments: None)
    yield answers


@pytest.mark.parametrize("case", CASES)
def test_convolutions(case: Case, terms: list[Terms | None]) -> None:
    rng = np.random.default_rng(case.columns)
    model = convolved(case, weights_of(case, rng))
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    for x in inputs_of(case, rng):
        np.testing.assert_array_equal(ours.run(x), reference.run(x))
    assert terms and terms[0] is not None
    assert (terms[0].most > 0) == (case.large > 0)
    is_even = case.image[3] % 8 == 0
    assert terms[0].together == (2 if is_even and case.spread <= 32 else 1)


def test_random_convolutions(terms: list[Terms | None]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        size = int(rng.integers(1, 4))
        input, filter = [(U8, U8), (S8, S8), (U8, QC8), (S8, QC8)][rng.integers(4)]
        zeros = [
            0 if kind == QC8 else int(rng.integers(*RANGE[kind], endpoint=True))
            for kind in (input, filter)
        ]
        batch, height, width, depth = rng.integers((1, 6, 6, 5), (3, 14, 14, 80)).tolist()
        depth = depth if rng.random() < 0.5 else (depth + 7) // 8 * 8
        case = Case(
            (batch, height, width, depth),
            int(rng.integers(9, 60)),
            size,
            int(rng.integers(1, 3)) if size > 1 else 1,
            ["SAME", "VALID"][rng.integers(2)],
            input,
            filter,
            (zeros[0], zeros[1]),
            int(rng.choice([0, 1, 4, 400])),
            int(rng.choice([30, 64])),
        )
        model = convolved(case, weights_of(case, rng))
        ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
        for x in inputs_of(case, rng):
            np.testing.assert_array_equal(ours.run(x), reference.run(x), str(case))
    acted = [answer for answer in terms if answer is not None]
    assert len(acted) >= 15 and sum(answer.most > 0 for answer in acted) >= 5
    assert {answer.together for answer in acted} == {1, 2}
    assert None in terms


def test_every_pair_of_weights(terms: list[Terms | None]) -> None:
    """All pairs of int8 weights, by the largest inputs: one column has one pair that is large."""
    steps = [-128, -127, -65, -64, -1, 0, 1, 63, 64, 65, 126, 127]
    pairs = [(a, b) for a in steps for b in steps]
    weights = np.zeros((len(pairs), 1, 1, 64), np.int8)
    for column, pair in enumerate(pairs):
        weights[column, 0, 0, 8:10] = pair
    case = Case((1, 6, 6, 64), len(pairs), input=U8, filter=S8, zeros=(0, 0))
    weights = (weights.astype(int) + 128).astype(np.uint8)
    case = case._replace(filter=U8, zeros=(0, 128))
    model = convolved(case, weights, bias_step=0, step=600.0, zero_point=128)
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    for x in inputs_of(case, np.random.default_rng(2)):
        np.testing.assert_array_equal(ours.run(x), reference.run(x))
    assert terms[0] == Terms(1, 2)


def test_every_two_pairs_of_weights(terms: list[Terms | None]) -> None:
    """Of neighbouring words: all combinations, by the largest inputs."""
    steps = [-128, -64, 0, 64, 127]
    fours = [(a, b, c, d) for a in steps for b in steps for c in steps for d in steps]
    weights = np.zeros((len(fours), 1, 1, 64), np.int8)
    for column, four in enumerate(fours):
        first = 16 + 2 * (column % 2)
        weights[column, 0, 0, [first, first + 1, first + 4, first + 5]] = four
    case = Case((1, 6, 6, 64), len(fours), zeros=(0, 128))
    weights = (weights.astype(int) + 128).astype(np.uint8)
    model = convolved(case, weights, bias_step=0, step=1100.0, zero_point=128)
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    for x in inputs_of(case, np.random.default_rng(4)):
        np.testing.assert_array_equal(ours.run(x), reference.run(x))
    assert terms[0] == Terms(3, 2)


@pytest.mark.parametrize(("batch", "units", "depth"), [(12, 24, 64), (18, 9, 33), (1, 16, 64)])
def test_fully_connected(batch: int, units: int, depth: int, terms: list[Terms | None]) -> None:
    rng = np.random.default_rng(batch)
    case = Case((batch, 1, 1, depth), units, zeros=(9, 125), large=1)
    weights = weights_of(case, rng).reshape(units, depth)
    model = Model()
    x = model.input(U8, [batch, depth], 1.0, 9)
    filter = model.constant(weights, U8, 1.0, 125)
    bias = model.constant(np.arange(units, dtype=np.int32), "TENSOR_INT32", 1.0)
    model.outputs(model.fully_connected(x, filter, bias, scale=300.0, zero_point=100))
    model.finish()
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    for value in inputs_of(case, rng):
        value = value.reshape(batch, depth)
        np.testing.assert_array_equal(ours.run(value), reference.run(value))
    assert [answer is not None for answer in terms] == [True] * (batch > 1)


def test_filters_with_many_large_weights_are_left(terms: list[Terms | None]) -> None:
    case = CASES[0]._replace(large=400)
    convolved(case, weights_of(case, np.random.default_rng(3))).compile("nnapi-cpu")
    assert terms == [None]


def test_filters_that_are_computed_are_left(terms: list[Terms | None]) -> None:
    model = Model()
    x, filter = model.input(U8, [1, 6, 6, 16], 1.0, 0), model.input(U8, [8, 1, 1, 16], 1.0, 0)
    bias = model.constant(np.zeros(8, np.int32), "TENSOR_INT32", 1.0)
    y = model.conv_2d(x, filter, bias, padding="SAME", scale=300.0)
    model.outputs(y)
    model.finish()
    model.compile("nnapi-cpu")
    assert terms == [None]
