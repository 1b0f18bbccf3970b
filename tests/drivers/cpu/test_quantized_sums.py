"""Sums of bytes between DEQUANTIZE and QUANTIZE give what these operations do one by one."""

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.tools.explain import explain

F32, U8, S8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
DTYPES = {U8: np.uint8, S8: np.int8}
SHAPES = [
    ((1, 7, 7, 200), [1, 2]), ((2, 9, 300), [1]), ((3, 400, 5), [1]), ((5, 3, 2), [1]),
    ((300, 64), [1]), ((37, 100), [1]), ((9, 20), [1]), ((40000,), [0]), ((3, 5, 7, 11), [0, 2]),
    ((50, 3, 64), [0]), ((2, 600, 70), [0, 1]), ((4, 3, 5, 9), [1, 3]),
]  # fmt: skip


def quantized_sum(source, shape, axes, is_mean, scales, zero_points):
    """A model of the three operations."""
    model = Model()
    real = model.dequantize(model.input(source, shape, scales[0], zero_points[0]), output=F32)
    total = model.mean(real, axes) if is_mean else model.reduce_sum(real, axes)
    target = U8 if source == S8 else S8
    result = model.quantize(total, output=target, scale=scales[1], zero_point=zero_points[1])
    model.outputs(result)
    model.finish()
    return model


def acts(model):
    """Whether the pass acts."""
    return "sum_bytes" in {done.name for done in explain(model).passes}


@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_quantized_sums(shape, axes, monkeypatch):
    """With 0.5 and the like, many quotients are halves, or next to one."""
    rng = np.random.default_rng(len(str(shape)))
    count = int(np.prod([shape[axis] for axis in axes]))
    acted = 0
    small = count**-0.5 / 1.7
    for is_mean, ratios in ((False, (0.5, 0.25, 0.0371, small)), (True, (0.25, small))):
        for ratio in ratios:
            source = U8 if rng.random() < 0.5 else S8
            low = np.iinfo(DTYPES[source]).min
            scale = float(np.float32(rng.uniform(0.01, 0.1)))
            target = scale / (ratio * (20 if is_mean else 1))
            zero_points = int(low + rng.integers(0, 256)), int(-128 - low + rng.integers(0, 256))
            model = quantized_sum(source, shape, axes, is_mean, (scale, target), zero_points)
            x = rng.integers(low, low + 256, shape)
            if ratio > 0.03:  # so that sums are in range
                x = np.where(rng.random(shape) < 30 / count, x, zero_points[0])
            x = x.astype(DTYPES[source])
            acted += acts(model)
            actual = model.compile("nnapi-cpu").run(x)
            if not is_mean:  # those of the reference device are rounded once less
                np.testing.assert_array_equal(actual, model.compile("nnapi-reference").run(x))
            with monkeypatch.context() as changed:
                changed.setenv("NNAPI_SHIM_PASSES", "-sum_bytes")
                np.testing.assert_array_equal(actual, model.compile("nnapi-cpu").run(x))
    assert acted >= 3


@pytest.mark.parametrize(
    ("count", "scales", "is_summed"),
    [
        (1 << 20, (0.5, 600.0), True), ((1 << 20) + 1, (0.5, 600.0), False),
        (100, (0.5, 0.5), True), (2**15, (0.5, 0.5), False),
        (9, (2.0**-90, 2.0**-88), True), (9, (2.0**-91, 2.0**-88), False),
        (9, (2.0**88, 2.0**90), True), (9, (2.0**88, 2.0**91), False),
    ],
)  # fmt: skip
def test_what_is_summed(count, scales, is_summed):
    """Scales whose products are normal numbers, and sums that few products round."""
    assert acts(quantized_sum(U8, (count,), [0], False, scales, (128, 0))) is is_summed
