"""RELU, RELU1 and RELU6 behind other operations give what they give alone, whatever a pass does
with them: NaN becomes the lower bound, and a zero has the sign of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.tools.explain import explain
from tests.drivers.exact.comparison import tier, tiers

TYPES = {"TENSOR_FLOAT32": np.float32, "TENSOR_FLOAT16": np.float16}
DEPTH = 32
IMAGE, ROW, PIXEL = [1, 9, 11, DEPTH], [1, 1, 7, DEPTH], [1, 1, 1, DEPTH]
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 60000, -60000, 1e-7, -1e-7, 6, -1]
Build = Callable[[Model, Any, Any], Any]


def shaped(depth: int, *window: int) -> Callable[[Any], np.ndarray]:
    """A filter of few ones, so that a special value reaches a result and others do not."""

    def values(dtype: Any) -> np.ndarray:
        filter = np.zeros((*window, depth), dtype)
        filter.reshape(-1)[:: 2 * depth + 1] = 1
        return filter

    return values


def product(name: str, window: Any, outputs: int, *others: Any, **options: Any) -> Build:
    """A convolution."""

    def build(model: Model, x: Any, dtype: Any) -> Any:
        bias = np.full(outputs, -0.0, dtype)
        options.setdefault("padding", "VALID")
        return getattr(model, name)(x, window(dtype), bias, *others, **options)

    return build


def transposed(stride: int) -> Build:
    """With a filter of 2 x 2: for larger strides there are pixels that none of its taps reaches."""
    size = np.int32([1, IMAGE[1] * stride, IMAGE[2] * stride, 6])
    window = shaped(DEPTH, 6, 2, 2)
    options = {"padding": "SAME", "stride": stride, "output_shape": size}
    return product("transpose_conv_2d", window, 6, False, **options)


def connected(model: Model, x: Any, dtype: Any) -> Any:
    rows = model.reshape(x, [-1, x.dimensions[-1]])
    depth = x.dimensions[-1]
    return model.fully_connected(rows, np.eye(19, depth, dtype=dtype), np.full(19, -0.0, dtype))


def added(model: Model, x: Any, dtype: Any) -> Any:
    return model.add(x, np.full(x.dimensions[-1], -0.0, dtype))


def added_to_a_product(model: Model, x: Any, dtype: Any) -> Any:
    depth = x.dimensions[-1]
    window = np.eye(depth, dtype=dtype).reshape(depth, 1, 1, depth)
    return model.add(
        model.relu6(model.conv_2d(x, window, np.zeros(depth, dtype), padding="VALID")), x
    )


def element_by_element(name: str) -> Build:
    return lambda model, x, dtype: getattr(model, name)(x, np.ones(x.dimensions[-1], dtype))


def pooled(name: str) -> Build:
    return lambda model, x, dtype: getattr(model, name)(x, padding="VALID", filter=2, stride=1)


MOVED: dict[str, tuple[list[int], Build]] = {
    "conv": (IMAGE, product("conv_2d", shaped(DEPTH, 35, 1, 1), 35)),
    "conv of a row": (ROW, product("conv_2d", shaped(DEPTH, 35, 1, 1), 35)),
    "conv of a pixel": (PIXEL, product("conv_2d", shaped(DEPTH, 35, 1, 1), 35)),
    "conv of few channels": (IMAGE, product("conv_2d", shaped(DEPTH, 3, 1, 1), 3)),
    "conv 3 x 3": (IMAGE, product("conv_2d", shaped(DEPTH, 32, 3, 3), 32, padding="SAME")),
    "conv with strides": (IMAGE, product("conv_2d", shaped(DEPTH, 5, 3, 3), 5, stride=2)),
    "depthwise": (
        IMAGE, product("depthwise_conv_2d", shaped(DEPTH, 1, 3, 3), DEPTH, 1, padding="SAME")
    ),
    "grouped": (IMAGE, product("grouped_conv_2d", shaped(16, 8, 1, 1), 8, 2)),
    "transposed": (IMAGE, transposed(2)),
    "transposed with gaps": (IMAGE, transposed(3)),
    "connected": (IMAGE, connected),
    "connected of a row": (PIXEL, connected),
    "added": (IMAGE, added),
    "added to a product": (IMAGE, added_to_a_product),
    "largest": (IMAGE, pooled("max_pool_2d")),
}  # fmt: skip
LEFT = {
    **{name: (IMAGE, element_by_element(name)) for name in ("sub", "mul", "div")},
    **{name: (IMAGE, pooled(name)) for name in ("average_pool_2d", "l2_pool_2d")},
}
"""Float operations that the pass leaves alone."""


@pytest.mark.parametrize("activation", ["relu", "relu1", "relu6"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("case", [*MOVED, *LEFT])
def test_they_give_what_they_give_alone(
    case: str, kind: str, activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, build = (MOVED | LEFT)[case]
    model, dtype = Model(), TYPES[kind]
    y = build(model, model.input(kind, shape), dtype)
    model.outputs(getattr(model, activation)(y))
    model.finish()
    is_moved = "fuse_activations" in [done.name for done in explain(model).passes]
    assert is_moved == (case in MOVED)
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape).astype(dtype) * 4
    number = min(x.size // 2, 60)
    x.reshape(-1)[rng.permutation(x.size)[:number]] = np.resize(SPECIAL, number)
    expected = model.compile("nnapi-reference").run(x)
    assert not np.isnan(expected).any()
    result = {}
    for name in tiers():
        with tier(name):
            result[name] = model.compile("nnapi-cpu").run(x)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-fuse_activations")
    for name, with_it in result.items():
        with tier(name):
            without = model.compile("nnapi-cpu").run(x)
        np.testing.assert_array_equal(with_it, without, err_msg=name)
        np.testing.assert_array_equal(np.signbit(with_it), np.signbit(without), err_msg=name)
        np.testing.assert_allclose(with_it, expected, rtol=2e-3, atol=2e-3, err_msg=name)
