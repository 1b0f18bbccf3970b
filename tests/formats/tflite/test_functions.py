"""Functions that are put together of NNAPI's operations, at the edges of their types."""

import math

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import Compilation
from tests.formats.tflite.building import Array, one_operator
from tests.formats.tflite.cases import F
from tests.formats.tflite.running import DEVICES, Litert, model_of


def both(name: str, x: Array, kind: str = "", **fields: bool) -> list[tuple[Array, Array]]:
    """What each device and LiteRT give."""
    data = one_operator(name, [F(*x.shape)], [F(*x.shape)], kind, **fields)
    (expected,) = Litert(data).run(x)
    model = model_of(data)
    return [(Compilation(model, device).run(x), expected) for device in DEVICES]


def test_round_is_exact() -> None:
    around = [2.0**at + part for at in range(24) for part in (-1, -0.5, -0.25, 0, 0.5, 1, 1.5)]
    halves = np.arange(-20, 20) / 2
    special = [0.49999997, 8388607.5, 4194303.5, 4194304.5, 16777217, 1e30, math.inf]
    x = np.array([*around, *halves, *special], np.float32)
    x = np.concatenate([x, -x])
    for result, expected in both("ROUND", x[:-1]):
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(result, np.rint(x[:-1]))


def test_round_of_no_number() -> None:
    for result, _ in both("ROUND", np.array([np.nan, 1.5], np.float32)):
        assert np.isnan(result[0])
        assert result[1] == 2


@pytest.mark.parametrize("reach", [1, 100, 1e4, 1e6])
def test_cosine(reach: float) -> None:
    x = np.random.default_rng(0).uniform(-reach, reach, 4000).astype(np.float32)
    for result, expected in both("COS", x, "CosOptions"):
        assert np.abs(result - expected).max() < 5e-7


def test_gelu_with_the_error_function() -> None:
    x = np.concatenate([np.linspace(-12, 12, 4001), [1e-30, -1e-30, 300, -300, 0]])
    x = x.astype(np.float32)
    exact = np.array([v / 2 * math.erfc(-v * math.sqrt(0.5)) for v in x.astype(np.float64)])
    for result, expected in both("GELU", x, "GeluOptions", approximate=False):
        assert (np.abs(result - expected) <= 3e-7 * np.abs(x) + 1e-37).all()
        assert (np.abs(result - exact) <= 2.5e-7 * np.abs(x) + 1e-37).all()
