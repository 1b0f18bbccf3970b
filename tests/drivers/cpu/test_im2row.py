"""Convolutions whose filter rows read consecutive bytes: results are those of nnapi-reference."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.cpu.lowering import convolution
from nnapi_shim.drivers.cpu.lowering.im2row import MAX_WORDS
from nnapi_shim.drivers.cpu.lowering.im2row import folded as folded_rows
from nnapi_shim.drivers.cpu.lowering.tiling import tiling

U8, S8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
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
