"""CONV_2D of 3x3 in 8 bits by Winograd, next to nnapi-reference, bit for bit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import winograd, winograd_quantized
from nnapi_shim.drivers.cpu.lowering.tiling import tier, tiling

Array = np.ndarray[Any, Any]
U8, S8, QC8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_SYMM_PER_CHANNEL"
RANGE = {U8: (0, 255), S8: (-128, 127), QC8: (-127, 127)}


small = pytest.mark.skipif(
    tiling(True).group != 2, reason="this tier multiplies bytes; test_tiers.py runs others"
)
large = pytest.mark.skipif(not tier().large_patches, reason="this tier has no patches of 4x4")


@pytest.fixture(params=[pytest.param("2x2", marks=small), pytest.param("4x4", marks=large)])
def patch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output patches that all convolutions have that can have them."""
    if request.param == "2x2":
        monkeypatch.setattr(winograd_quantized, "_pays_large", lambda *arguments: False)
    else:
        always_4x4(monkeypatch)
    return str(request.param)


def always_4x4(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions have patches of 4x4, or are multiplied directly."""
    for name in ("INPUTS", "OUTPUTS", "LARGE_PATCHES"):
        monkeypatch.setattr(winograd_quantized, name, 0)
    monkeypatch.setattr(winograd_quantized, "_pays_small", lambda *arguments: False)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The names of the kernels of each convolution that is lowered to Winograd."""
    lowered: list[list[str]] = []
    original = winograd_quantized.winograd_quantized

    def observed(*arguments: Any) -> Any:
        made = original(*arguments)
        lowered.append([step.kernel for step in made])
        return made

    monkeypatch.setattr(winograd_quantized, "winograd_quantized", observed)
    yield lowered


def convolved(
    image: tuple[int, ...],
    weights: Array,
    kinds: tuple[str, str],
    zeros: tuple[int, int],
    **options: Any,
) -> Model:
    columns = len(weights)
    model = Model()
    x = model.input(kinds[0], image, 1.0, zeros[0])
    by_channel = {"scales": [1 / (1 + n % 7) for n in range(columns)]}
    scales = by_channel if kinds[1] == QC8 else {"scale": 1.0, "zero_point": zeros[1]}
    filter = model.constant(weights, kinds[1], **scales)
    bias = np.arange(columns, dtype=np.int32) * 1000
    biases = model.constant(bias, "TENSOR_INT32", scale=0.0 if kinds[1] == QC8 else 1.0)
    model.outputs(model.conv_2d(x, filter, biases, **options))
    model.finish()
    return model


def of_range(kind: str, shape: Any, rng: np.random.Generator) -> Array:
    """Values of which a half lies at the ends of the range."""
    least, most = RANGE[kind]
    dtype = np.uint8 if kind == U8 else np.int8
    ends = rng.choice([least, most], shape)
    inner = rng.integers(least, most, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.5, ends, inner).astype(dtype)


def check(model: Model, kind: str, image: tuple[int, ...], rng: np.random.Generator) -> None:
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    least, most = RANGE[kind]
    dtype = np.uint8 if kind == U8 else np.int8
    inputs = [of_range(kind, image, rng), np.full(image, least, dtype), np.full(image, most, dtype)]
    for x in inputs:
        np.testing.assert_array_equal(ours.run(x), reference.run(x))


def test_random_convolutions(patch: str, steps: list[list[str]]) -> None:
    rng = np.random.default_rng(1)
    for number in range(40):
        kinds = [(U8, U8), (S8, S8), (U8, QC8), (S8, QC8)][number % 4]
        zeros = [
            int(rng.choice([*RANGE[kind], rng.integers(*RANGE[kind])])) if kind != QC8 else 0
            for kind in kinds
        ]
        image = tuple(int(n) for n in rng.integers((1, 6, 6), (3, 17, 17)))
        image = (*image, 16 * int(rng.integers(1, 4)))
        columns = tiling(True).lanes * int(rng.integers(2, 9))
        weights = of_range(kinds[1], (columns, 3, 3, image[3]), rng)
        options: dict[str, Any] = {
            "padding": ["SAME", "VALID", (1, 2, 0, 1)][number % 3],
            "activation": ["NONE", "RELU", "RELU6"][number % 3],
            "scale": float(rng.choice([300.0, 5000.0])),
            "zero_point": 1,
        }
        model = convolved(image, weights, kinds, (zeros[0], zeros[1]), **options)
        check(model, kinds[0], image, rng)
    assert len(steps) >= 30
    assert all(("4x4" in names[0]) is (patch == "4x4") for names in steps)


def test_groups_of_panels_share_rows(
    patch: str, steps: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SERIAL", "STEPS_PER_TILE"):
        monkeypatch.setattr(winograd, name, 1)
    rng = np.random.default_rng(2)
    image = (1, 9, 8, 64)
    model = convolved(
        image, of_range(S8, (320, 3, 3, 64), rng), (S8, S8), (-5, 3), padding="SAME", scale=900.0
    )
    check(model, S8, image, rng)
    assert {"winograd_rows_q8", "winograd_rows_4x4_q8"} & {*steps[0]}


@small
@pytest.mark.parametrize(("depth", "acts"), [(912, True), (928, False)])
def test_the_largest_sums_of_2x2(
    depth: int, acts: bool, steps: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 times the sum of 9 * depth products of 255 and 255 has to fit int32."""
    monkeypatch.setattr(winograd_quantized, "_pays_large", lambda *arguments: False)
    image = (1, 8, 8, depth)
    weights = np.full((16, 3, 3, depth), 255, np.uint8)
    model = convolved(image, weights, (U8, U8), (0, 0), padding="SAME", scale=2.0**22)
    check(model, U8, image, np.random.default_rng(3))
    assert bool(steps) == acts


@large
@pytest.mark.parametrize(("weight", "zero"), [(255, 0), (0, 255), (3, 3 - 255)])
@pytest.mark.parametrize("kind", [U8, S8])
@pytest.mark.parametrize("more", [0, 1])
def test_the_largest_sums_of_4x4(
    weight: int,
    zero: int,
    kind: str,
    more: int,
    steps: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """64 times 255 times the sum of a column's magnitudes has to fit int32: 131,586 of them."""
    always_4x4(monkeypatch)
    least = RANGE[kind][0]
    zero = max(zero, 0)
    weights = np.full((16, 3, 3, 64), zero, np.int64)
    full, rest = divmod(131_586 + more, 255)
    column = weights[7].reshape(-1)
    column[: full + 1] = [abs(255 - zero)] * full + [abs(rest - zero)]
    weights = (weights + least).astype(np.uint8 if kind == U8 else np.int8)
    image = (1, 8, 8, 64)
    model = convolved(
        image, weights, (kind, kind), (least, zero + least), padding="SAME", scale=2.0**18
    )
    check(model, kind, image, np.random.default_rng(3))
    assert bool(steps) == (not more)


def test_filters_that_are_computed(patch: str, steps: list[list[str]]) -> None:
    """They are transformed at each run."""
    rng = np.random.default_rng(4)
    model = Model()
    x = model.input(S8, [1, 8, 8, 16], 1.0, 4)
    filter = model.input(S8, [32, 3, 3, 16], 1.0, -7)
    bias = model.constant(np.arange(32, dtype=np.int32), "TENSOR_INT32", 1.0)
    model.outputs(model.conv_2d(x, filter, bias, padding="SAME", scale=900.0))
    model.finish()
    ours, reference = model.compile("nnapi-cpu"), model.compile("nnapi-reference")
    for _ in range(3):
        arrays = of_range(S8, (1, 8, 8, 16), rng), of_range(S8, (32, 3, 3, 16), rng)
        np.testing.assert_array_equal(ours.run(*arrays), reference.run(*arrays))
    assert len(steps) == 1


@small
@pytest.mark.parametrize(("depth", "columns", "acts"), [(16, 16, False), (16, 64, True)])
def test_few_channels_are_multiplied_directly(
    depth: int,
    columns: int,
    acts: bool,
    steps: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their transforms would take longer than the products that they save."""
    monkeypatch.setattr(winograd_quantized, "_pays_large", lambda *arguments: False)
    rng, lanes = np.random.default_rng(5), tiling().lanes
    depth, columns = depth * lanes // 8, columns * lanes // 8
    image = (1, 8, 8, depth)
    weights = of_range(S8, (columns, 3, 3, depth), rng)
    check(convolved(image, weights, (S8, S8), (-5, 3), scale=900.0, padding="SAME"), S8, image, rng)
    assert bool(steps) == acts


@pytest.mark.skipif(
    not tier().byte_pairs or tiling(True).lanes < 8, reason="on this tier patches take less time"
)
@pytest.mark.parametrize(
    ("size", "largest", "is_direct"), [(7, 60, True), (7, 127, False), (8, 60, False)]
)
def test_patches_that_hang_over_an_image(
    size: int,
    largest: int,
    is_direct: bool,
    steps: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """16 patches take 18 rows of products. With 7 x 7 outputs, words of bytes take less time, if
    the weights are small enough for them.
    """
    monkeypatch.setattr(winograd_quantized, "_pays_large", lambda *arguments: False)
    rng, image = np.random.default_rng(6), (1, size, size, 64)
    weights = rng.integers(-largest, largest, (64, 3, 3, 64), endpoint=True).astype(np.int8)
    if largest == 127:
        weights = np.where(weights < 0, -127, 127).astype(np.int8)
    model = convolved(image, weights, (S8, QC8), (-5, 0), scale=900.0, padding="SAME")
    check(model, S8, image, rng)
    assert bool(steps) is not is_direct
