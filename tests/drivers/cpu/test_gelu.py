"""The one step of a GELU gives what its nine operations give, for all numbers that there are."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.tools.explain import explain
from tests.drivers.exact.comparison import tier, tiers

MAX, INF, NAN = float(np.finfo(np.float32).max), float("inf"), float("nan")
ORDINARY = [(0.044715, 0.7978845608, 1.0, 0.5), (2.0**-10, 2.0**-10, 1.0, -1.0)]
ORDINARY += [(16.0, 16.0, 1.0, 1.0), (16.0, 2.0**-10, 1.0, 1e-40)]
OTHERS = [
    (0.0, 0.8, 1.0, 0.5), (-0.04, 0.8, 1.0, 0.5), (1e-30, 0.8, 1.0, 0.5), (INF, 0.8, 1.0, 0.5),
    (0.04, 0.0, 1.0, 0.5), (0.04, -0.8, 1.0, 0.5), (0.04, 1e-39, 1.0, 0.5), (0.04, NAN, 1.0, 0.5),
    (0.04, 0.8, INF, 0.5), (0.04, 0.8, -1.0, 0.5), (0.04, 0.8, -MAX, 0.5),
    (0.04, 0.8, 1.0, 2.0), (0.04, 0.8, 1.0, NAN),
]  # fmt: skip
COUNT = 20_000


def gelu(numbers: tuple[float, ...]) -> Model:
    model = Model()
    cubic, inner, one, half = (model.constant(np.float32([number])) for number in numbers)
    x: Any = model.input("TENSOR_FLOAT32", [COUNT])
    cube = model.mul(model.mul(model.mul(x, x), x), cubic)
    share = model.tanh(model.mul(model.add(x, cube), inner))
    model.outputs(model.mul(model.mul(x, model.add(share, one)), half))
    model.finish()
    return model


def numbers() -> np.ndarray:
    """Any float32 by its bits, those around which something overflows, and the ends."""
    rng = np.random.default_rng(1)
    result = rng.integers(0, 2**32, COUNT, dtype=np.uint32).view(np.float32)
    special = [NAN, INF, -INF, 0.0, -0.0, MAX, -MAX, 3e38, -3e38, MAX / 2, 1e-45, 1e-38]
    edges = 2.0 ** np.arange(30, 128, 0.125)
    both = np.concatenate([special, edges, -edges, rng.normal(size=5000) * 3]).astype(np.float32)
    result[: len(both)] = both
    return result


@pytest.mark.parametrize("constants", [*ORDINARY, *OTHERS], ids=str)
def test_any_number(constants: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = gelu(constants), numbers()
    acts = "fuse_gelu" in [done.name for done in explain(model).passes]
    assert acts == (constants in ORDINARY)
    result = {}
    for name in tiers():
        with tier(name):
            result[name] = model.compile("nnapi-cpu").run(x)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-all")
    for name, with_it in result.items():
        with tier(name):
            without = model.compile("nnapi-cpu").run(x)
        same = (with_it.view(np.uint32) == without.view(np.uint32)) | (
            np.isnan(with_it) & np.isnan(without)
        )
        assert same.all(), f"{name}: {x[~same][:5]} {with_it[~same][:5]} {without[~same][:5]}"
