"""Products with a prefetch of the next panel have the results of those without."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import gemm_blocking

KINDS = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"


def layer(rng: np.random.Generator, kind: str) -> Model:
    """A convolution of a random size, and perhaps an addition behind it."""
    height, width, depth, columns = (int(rng.integers(2, most)) for most in (9, 9, 200, 150))
    size = int(rng.choice([1, 1, 3]))
    model, floats = Model(), kind == "TENSOR_FLOAT32"
    of_tensor = () if floats else (0.02, int(rng.integers(-128, 128)) + 128 * (kind == KINDS[1]))
    x = model.input(kind, [1, height, width, depth], *of_tensor)
    weights = rng.normal(0, 25, (columns, size, size, depth))
    bias = rng.normal(0, 100, columns)
    if floats:
        filter, added = (model.constant(each.astype(np.float32)) for each in (weights, bias))
    else:
        whole = np.clip(weights, -127, 127).astype(np.int8)
        filter = model.constant(whole, scales=[0.005] * columns, channel_dim=0)
        added = model.constant(bias.astype(np.int32))
    output = {} if floats else {"scale": 0.05, "zero_point": of_tensor[1]}
    y = model.conv_2d(
        x, filter, added, padding="SAME", activation=str(rng.choice(["NONE", "RELU"])), **output
    )
    if rng.random() < 0.5:
        y = model.add(y, model.input(kind, [1, height, width, columns], *of_tensor), **output)
    model.outputs(y)
    model.finish()
    return model


def values(rng: np.random.Generator, kind: str, dimensions: tuple[int, ...]) -> Any:
    if kind == "TENSOR_FLOAT32":
        return rng.normal(0, 1, dimensions).astype(np.float32)
    small = np.int8 if kind.endswith("SIGNED") else np.uint8
    whole = np.iinfo(small)
    return rng.integers(whole.min, whole.max, dimensions, small, endpoint=True)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_the_same_bits(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
    rng, prefetched = np.random.default_rng(threads), []
    fields_of = gemm_blocking._fields

    def seen(*arguments: Any) -> gemm_blocking.Split:
        result = fields_of(*arguments)
        prefetched.append(result[1]["prefetched"])
        return result

    monkeypatch.setattr(gemm_blocking, "_fields", seen)
    acted = 0
    for _ in range(60):
        model = layer(rng, kind)
        compiled = []
        for least in (0, 1 << 40):
            monkeypatch.setattr(gemm_blocking, "PREFETCHED_BYTES", least)
            monkeypatch.setattr(gemm_blocking, "_splits", {})
            prefetched.clear()
            compiled.append(model.compile("nnapi-cpu"))
            assert least == 0 or not any(prefetched)
            acted += any(prefetched)
        inputs = [values(rng, kind, each.dimensions) for each in compiled[0].inputs]
        np.testing.assert_array_equal(*(each.run(*inputs) for each in compiled))
    assert acted >= 5
