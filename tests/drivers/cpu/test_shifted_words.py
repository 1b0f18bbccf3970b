"""Filters as words of bytes at any offset of the input row, next to nnapi-reference.

Weights and inputs are as large as their types allow: a pair of products that does not fit int16
would saturate, and sums would be wrong by thousands.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import byte_pairs, shifted_words
from nnapi_shim.drivers.cpu.lowering.packing import Shifted
from nnapi_shim.drivers.cpu.lowering.tiling import tier, tiling
from nnapi_shim.tools.explain import explain

pytestmark = pytest.mark.skipif(
    not tier().byte_pairs, reason="this tier does not multiply in pairs; test_tiers.py runs it"
)

Array = np.ndarray[Any, Any]
U8, S8, QC8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_SYMM_PER_CHANNEL"
LEAST = {U8: 0, S8: -128, QC8: -127}


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Shifted | None]]:
    """What `shifted_words` returns while a test runs."""
    results: list[Shifted | None] = []
    original = shifted_words.shifted_words

    def observed(*arguments: Any) -> Shifted | None:
        results.append(original(*arguments))
        return results[-1]

    monkeypatch.setattr(shifted_words, "shifted_words", observed)
    yield results


@pytest.fixture(params=[1, 2], ids=["one form", "two forms"])
def only_words(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Nothing but words, as many as are needed in one form of the input, or in two."""
    monkeypatch.setattr(shifted_words, "WORTH", {4: 8, 8: 8})
    limit = 1 << 20 if request.param == 1 else -(1 << 20)
    monkeypatch.setattr(shifted_words, "words_worth_a_copy", lambda depth: limit)
    monkeypatch.setattr(byte_pairs, "further_terms", lambda *arguments: None)
    return int(request.param)


def convolved(
    weights: Array, image: tuple[int, ...], input: str, zero: int, filter: str = S8, **options: Any
) -> Model:
    """A convolution of real scales: a step of the output is 300 products of 1."""
    columns = len(weights)
    model = Model()
    x = model.input(input, image, 1.0, zero)
    flip = 128 if filter == U8 else 0
    stored = (weights + flip).astype(np.uint8 if filter == U8 else np.int8)
    if filter == QC8:
        operand = model.constant(stored, QC8, scales=[1.0] * columns)
    else:
        operand = model.constant(stored, filter, 1.0, flip)
    bias = np.arange(columns, dtype=np.int32) * 1000
    biases = model.constant(bias, "TENSOR_INT32", scale=0.0 if filter == QC8 else 1.0)
    model.outputs(model.conv_2d(x, operand, biases, scale=300.0, zero_point=1, **options))
    model.finish()
    return model


def assert_equal(model: Model, image: tuple[int, ...], input: str, rng: Any, name: str) -> None:
    """The device and the reference agree on inputs at random and at both ends of the type."""
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    least = LEAST[input]
    every_other = np.arange(np.prod(image)).reshape(image) % 2 * 255
    values = [rng.integers(0, 256, image), every_other, 255 - every_other]
    values += [np.zeros(image, int), np.full(image, 255)]
    for value in values:
        x = (value + least).astype(np.uint8 if input == U8 else np.int8)
        np.testing.assert_array_equal(ours.run(x), reference.run(x), name)


def couples_of(plan: Shifted, columns: int) -> list[int]:
    """The number of words in couples of each panel of a filter of one tap."""
    panels = -(-columns // tiling().columns)
    heads = np.frombuffer(plan.lists, np.int64).reshape(panels, -1)[:, :3]
    assert (heads[:, 0] == 0).all() and (heads[:, 1] % 2 == 0).all()
    assert (heads[:, 1] <= heads[:, 2]).all() and heads[:, 2].max() == plan.words
    return [int(number) for number in heads[:, 1]]


def offsets_of(plan: Shifted, columns: int) -> list[int]:
    """The offsets of the words of a filter of one tap."""
    width, lanes, result = tiling().columns, tiling().lanes, []
    panels = -(-columns // width)
    for panel in range(panels):
        at = panel * len(plan.lists) // panels
        words = int(np.frombuffer(plan.lists, np.int64, 3, at)[2])
        vectors = -(-min(width, columns - panel * width) // lanes)
        result += np.frombuffer(plan.lists, np.int32, vectors * words, at + 24).tolist()
    return result


def trained(rng: Any, shape: tuple[int, ...]) -> Array:
    """Normally distributed weights, of which each channel has one of the largest magnitude."""
    weights = rng.normal(size=shape)
    largest = np.abs(weights).max(axis=tuple(range(1, len(shape))), keepdims=True)
    return np.rint(weights / largest * 127).astype(int)


def test_random_convolutions(plans: list[Shifted | None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifted_words, "WORTH", {4: 1.25, 8: 1.25})
    rng = np.random.default_rng(1)
    worth = [0, 1 << 20]  # two forms of the input row, or one
    monkeypatch.setattr(shifted_words, "words_worth_a_copy", lambda depth: rng.choice(worth))
    for number in range(60):
        size = int(rng.integers(1, 4))
        depth = int(rng.integers(4, 40)) if size > 1 else int(rng.integers(24, 140))
        image = (int(rng.integers(1, 3)), *map(int, rng.integers(6, 14, 2)), depth)
        input, filter = [(U8, U8), (S8, S8), (U8, QC8), (S8, QC8)][number % 4]
        zero = LEAST[input] + int(rng.choice([0, 255, rng.integers(256)]))
        weights = trained(rng, (int(rng.integers(9, 60)), size, size, depth))
        weights = np.rint(weights * [1, 0.7][rng.integers(2)]).astype(int)
        options: dict[str, Any] = {
            "padding": ["SAME", "VALID"][rng.integers(2)],
            "stride": int(rng.integers(1, 3)) if size > 1 else 1,
        }
        model = convolved(weights, image, input, zero, filter, **options)
        assert_equal(model, image, input, rng, f"{number}: {weights.shape} {image} {options}")
    acted = [plan for plan in plans if plan is not None]
    forms = [plan.forms for plan in acted]
    assert forms.count(1) >= 6 and forms.count(2) >= 6
    assert None in plans
    heads = [np.frombuffer(plan.lists, np.int64, 3) for plan in acted]
    assert sum(others > first for first, others, _ in heads) >= 10
    assert sum(end > others for _, others, end in heads) >= 10


@pytest.mark.parametrize("filter", [U8, S8])
def test_extreme_weights(filter: str, only_words: int, plans: list[Shifted | None]) -> None:
    """Pairs of any weights at the ends of int8, wherever in the row they are."""
    rng = np.random.default_rng(2)
    for number in range(40):
        depth, columns = int(rng.integers(4, 50)), int(rng.integers(1, 34))
        shape = columns, 1, 1, depth
        ends = [-128, -127, -65, -64, -1, 0, 1, 63, 64, 65, 126, 127]
        some = [[127], [-128], [127, -128], ends][number % 4]
        weights = rng.choice(some, shape)
        if number % 8 == 2:
            weights = np.where(np.arange(depth) % 2, 127, -128) + np.zeros(shape, int)
        image, zero = (1, 6, 7, depth), LEAST[filter] + [0, 255][number // 4 % 2]
        model = convolved(weights, image, filter, zero, filter, padding="SAME")
        assert_equal(model, image, filter, rng, f"{number}: {weights.shape} {some}")
    assert None not in plans


@pytest.mark.parametrize("depth", [*range(4, 12), 16, 17, 18, 19, 33])
def test_every_pair_of_weights(depth: int, only_words: int, plans: list[Shifted | None]) -> None:
    """One pair of each column is large, at each place of the row."""
    ends = [-128, -127, -64, 1, 65, 127]
    pairs = [(a, b) for a in ends for b in ends]
    rng = np.random.default_rng(depth)
    image = 1, 4, 6, depth
    for at in range(depth - 1):
        weights = np.zeros((len(pairs), 1, 1, depth), int)
        weights[:, 0, 0, at : at + 2] = pairs
        model = convolved(weights, image, S8, -128, padding="SAME")
        assert_equal(model, image, S8, rng, f"{at}")
    for plan in plans:
        assert plan is not None
        offsets = offsets_of(plan, len(pairs))
        assert min(offsets) >= 0
        assert max(offset % depth for offset in offsets) + 4 <= depth
        assert {offset // depth for offset in offsets} <= set(range(only_words))


def test_every_two_pairs_of_weights(only_words: int, plans: list[Shifted | None]) -> None:
    """Of two words: one column of each panel has all combinations of two pairs, in either half."""
    ends = [-128, -64, -1, 0, 1, 64, 65, 127]
    pairs = [(a, b) for a in ends for b in ends if -128 <= a + b <= 128]
    fours = [(*first, *second) for first in pairs for second in pairs]
    width = tiling().columns
    weights = np.zeros((len(fours), width, 1, 1, 8), int)
    for number, four in enumerate(fours):
        half = number % 2 * 2
        weights[number, :: width // 2 + 1, 0, 0, [half, half + 1, half + 4, half + 5]] = [
            [value] * 2 for value in four
        ]
    weights = weights.reshape(-1, 1, 1, 8)
    model = convolved(weights, (1, 6, 6, 8), U8, 0, U8, padding="SAME")
    assert_equal(model, (1, 6, 6, 8), U8, np.random.default_rng(5), "")
    (plan,) = plans
    assert plan is not None
    if only_words == 1:
        signs = np.array(fours)
        sums = [np.maximum(sign * signs, 0).sum(axis=1) for sign in (1, -1)]
        fitting = np.maximum(*sums) <= 128
        assert couples_of(plan, len(weights)) == [2 * int(fits) for fits in fitting]


@pytest.mark.parametrize(
    ("large", "words"), [([], (16, 16)), ([21, 22], (16, 16)), ([20, 21], (17, 16))]
)
def test_words_cover_four_weights_where_pairs_fit(
    large: list[int], words: tuple[int, int], only_words: int, plans: list[Shifted | None]
) -> None:
    weights = np.ones((16, 1, 1, 64), int)
    weights[3, 0, 0, large] = 100
    convolved(weights, (1, 6, 6, 64), S8, 0, padding="SAME").compile("nnapi-cpu")
    assert plans[0] is not None
    assert (plans[0].words, plans[0].forms) == (words[only_words - 1], only_words)
    assert couples_of(plans[0], 16)[0] == 16


@pytest.mark.parametrize(
    ("batch", "units", "depth"),
    [(12, 24, 160), (18, 9, 133), (25, 24, 160), (49, 9, 133), (1, 16, 64)],
)
def test_fully_connected(
    batch: int, units: int, depth: int, only_words: int, plans: list[Shifted | None]
) -> None:
    rng = np.random.default_rng(batch)
    weights = trained(rng, (units, depth)).astype(np.int8)
    model = Model()
    x = model.input(S8, [batch, depth], 1.0, 9)
    filter = model.constant(weights, S8, 1.0, 0)
    bias = model.constant(np.arange(units, dtype=np.int32), "TENSOR_INT32", 1.0)
    model.outputs(model.fully_connected(x, filter, bias, scale=300.0, zero_point=100))
    model.finish()
    assert_equal(model, (batch, depth), S8, rng, "")
    assert [plan is not None for plan in plans] == [True] * (batch > 1)


@pytest.mark.parametrize("zero", [0, 7])
def test_padding(zero: int, only_words: int, plans: list[Shifted | None]) -> None:
    """All pixels of the first and the last tiles have taps outside of the image."""
    rng = np.random.default_rng(zero)
    image = 1, 5, 24, 24
    weights, options = trained(rng, (20, 3, 3, 24)), {"padding": "SAME", "stride": 2}
    model = convolved(weights, image, U8, zero, QC8, **options)
    assert_equal(model, image, U8, rng, "")
    assert [plan.forms for plan in plans if plan] == [only_words]


@pytest.mark.parametrize("width", [9, 7])
@pytest.mark.parametrize("columns", [64, 43])
def test_with_an_addition(
    columns: int, width: int, only_words: int, plans: list[Shifted | None]
) -> None:
    rng = np.random.default_rng(columns)
    weights = trained(rng, (columns, 1, 1, columns)).astype(np.int8)
    image = 1, 7, width, columns
    model = Model()
    x = model.input(S8, image, 1.0, 3)
    filter = model.constant(weights, QC8, scales=[1.0] * columns)
    bias = model.constant(np.zeros(columns, np.int32), "TENSOR_INT32", scale=0.0)
    y = model.conv_2d(x, filter, bias, padding="SAME", scale=300.0, zero_point=1)
    model.outputs(model.add(x, y, scale=201.7, zero_point=-9))
    model.finish()
    assert [done.name for done in explain(model).passes] == ["fuse_additions"]
    assert_equal(model, image, S8, rng, "")
    assert None not in plans


def test_filters_of_many_large_pairs_are_left(plans: list[Shifted | None]) -> None:
    weights = np.random.default_rng(4).choice([-100, 100], (16, 1, 1, 64))
    convolved(weights, (1, 6, 6, 64), S8, 0, padding="SAME").compile("nnapi-cpu")
    assert plans == [None]


def test_filters_with_a_zero_point_are_left(plans: list[Shifted | None]) -> None:
    weights = trained(np.random.default_rng(3), (16, 1, 1, 64))
    model = Model()
    x = model.input(U8, [1, 6, 6, 64], 1.0, 0)
    filter = model.constant((weights + 128).astype(np.uint8), U8, 1.0, 127)
    bias = model.constant(np.zeros(16, np.int32), "TENSOR_INT32", 1.0)
    model.outputs(model.conv_2d(x, filter, bias, padding="SAME", scale=300.0))
    model.finish()
    model.compile("nnapi-cpu")
    assert plans == [None]
