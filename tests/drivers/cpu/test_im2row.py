"""Convolutions whose filter rows read consecutive bytes: results are those of nnapi-reference."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.cpu.lowering import convolution, im2row
from nnapi_shim.drivers.cpu.lowering.im2row import MAX_WORDS
from nnapi_shim.drivers.cpu.lowering.im2row import folded as folded_rows
from nnapi_shim.drivers.cpu.lowering.tiling import tiling

U8, S8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
DEVICES = ("nnapi-cpu", "nnapi-reference")
MODELS = 60
MOST = tiling(is_quantized=True).group * MAX_WORDS
"""Channels of the input."""


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.count = function, 0

    def __call__(self, *arguments: Any) -> Any:
        self.count += 1
        return self.function(*arguments)


def is_right(random: np.random.Generator, dilation: int = 1) -> bool:
    """Whether the result of a random convolution is that of nnapi-reference."""
    kind = random.choice([U8, S8])
    least, dtype = (0, np.uint8) if kind == U8 else (-128, np.int8)
    zero, output_zero = (int(n) for n in random.integers(least, least + 256, 2))
    channels, height, width = (int(random.integers(1, end)) for end in (MOST + 1, 6, 6))
    columns, batch, *more = (int(n) for n in random.integers(1, (40, 3, 20, 20)))
    reach = 1 + dilation * (np.array([height, width]) - 1)
    x = random.integers(least, least + 256, (batch, *(reach + more), channels)).astype(dtype)
    model = Model()
    input = model.input(kind, x.shape, 0.05, zero)
    weights = random.integers(least, least + 256, (columns, height, width, channels)).astype(dtype)
    if random.random() < 0.5:
        scales = tuple(random.uniform(0.001, 0.05, columns).tolist())
        filter = model.constant((weights.view(np.int8) | 1), scales=scales, channel_dim=0)
    else:
        filter = model.constant(weights, kind, 0.01, least + 128)
    bias = random.integers(-5000, 5000, columns).astype(np.int32)
    padding: Any = tuple(int(n) for n in random.integers(0, (width, width, height, height)))
    stride: Any = tuple(int(n) for n in random.integers(1, 4, 2)) if dilation == 1 else 1
    activation = random.choice(["NONE", "RELU", "RELU6"])
    scale = float(random.uniform(0.3, 3))
    given: Any = {"scale": scale, "zero_point": output_zero, "activation": str(activation)}
    model.outputs(
        model.conv_2d(
            input, filter, bias, padding=padding, stride=stride, dilation=dilation, **given
        )
    )
    model.finish()
    ours, reference = (
        Compilation(model, devices=[device]).run(x) for device in ("nnapi-cpu", "nnapi-reference")
    )
    return np.array_equal(ours, reference)


def test_random_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    folded = Counted(folded_rows)
    monkeypatch.setattr(convolution, "folded", folded)
    random = np.random.default_rng(31)
    assert all(is_right(random) for _ in range(MODELS))
    assert folded.count > MODELS // 2


def test_a_guard_that_is_taken_away_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(32)
    assert all(is_right(random, dilation=2) for _ in range(8))
    monkeypatch.setattr(convolution, "has_few_words", lambda *_: True)
    assert not all(is_right(random, dilation=2) for _ in range(8))


WIDTHS = (42, 84, 85, 168)
"""Of outputs: of whole tiles on all tiers, but one."""


def by_rows(random: np.random.Generator, batch: int = 1) -> tuple[Model, Any]:
    """A convolution of few channels whose output rows may be images of their own, and its input."""
    channels, taps, columns = int(random.integers(1, 5)), int(random.integers(2, 6)), 8
    stride, dilation = int(random.integers(1, 3)), int(random.integers(1, 3))
    dilation = 1 if stride > 1 else dilation
    heights = int(random.integers(1, 6))
    left, right = (int(n) for n in random.integers(0, taps, 2))
    top, bottom = (int(n) for n in random.integers(0, 1 + dilation * (heights - 1), 2))
    width = (int(random.choice(WIDTHS)) - 1) * stride + taps - left - right
    height = 1 + dilation * (heights - 1) + int(random.integers(0, 12))
    shape, filter_shape = (batch, height, width, channels), (columns, heights, taps, channels)
    given: Any = {"padding": (left, right, top, bottom), "stride": stride}
    if dilation > 1:
        given["dilation"] = (1, dilation)
    model = Model()
    if random.random() < 0.5:
        x = random.standard_normal(shape).astype(np.float32)
        input = model.input("TENSOR_FLOAT32", shape)
        weights = model.constant(random.standard_normal(filter_shape).astype(np.float32))
        bias = random.standard_normal(columns).astype(np.float32)
    else:
        x = random.integers(0, 256, shape).astype(np.uint8)
        input = model.input(U8, shape, 0.05, int(random.integers(0, 256)))
        zero = int(random.choice([128, 120]))
        content = random.integers(0, 256, filter_shape).astype(np.uint8)
        weights = model.constant(content, U8, 0.01, zero)
        bias = random.integers(-500, 500, columns).astype(np.int32)
        given |= {"scale": 1.0, "zero_point": 7}
    model.outputs(model.conv_2d(input, weights, bias, **given))
    model.finish()
    return model, x


def test_output_rows_are_images_with_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[bool] = []
    predicate = im2row._is_by_rows

    def counted(*arguments: Any) -> bool:
        used.append(predicate(*arguments))
        return used[-1]

    monkeypatch.setattr(im2row, "_is_by_rows", counted)
    random = np.random.default_rng(33)
    for _ in range(MODELS):
        model, x = by_rows(random)
        actual = Compilation(model, devices=["nnapi-cpu"]).run(x)
        if x.dtype == np.uint8:
            assert np.array_equal(actual, Compilation(model, devices=["nnapi-reference"]).run(x))
        with monkeypatch.context() as changed:
            changed.setattr(im2row, "_is_by_rows", lambda *_: False)
            assert np.array_equal(actual, Compilation(model, devices=["nnapi-cpu"]).run(x))
    assert used.count(True) > MODELS // 4 and False in used


def test_rows_of_several_images_are_no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one image to the next, the distance of rows is another: the guard is needed."""
    random = np.random.default_rng(34)
    models = [by_rows(random, batch=2) for _ in range(MODELS // 2)]

    def all_right() -> bool:
        return all(
            np.array_equal(*(Compilation(model, devices=[each]).run(x) for each in DEVICES))
            for model, x in models
            if x.dtype == np.uint8
        )

    assert all_right()
    predicate = im2row._is_by_rows
    changed = lambda window, *others: predicate(window._replace(batch=1), *others)  # noqa: E731
    monkeypatch.setattr(im2row, "_is_by_rows", changed)
    assert not all_right()
