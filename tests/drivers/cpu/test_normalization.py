"""The normalizations on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, Quantized, close, random_tensor, tensor
from tests.drivers.cpu.single import Single

RELATIVE = {"f32": 2e-6, "f16": 2e-3}
CASES = [
    ((1,), 0), ((3, 1023), -1), ((2, 1023), 0), ((5, 4, 3), 1), ((1, 70001), 1), ((70001, 1), 0),
    ((2, 3, 4, 5), 0), ((2, 7, 33, 17), 1), ((300, 300), 0), ((2, 5, 1025), 1), ((9000, 9), 1),
]  # fmt: skip


def scalars(variant, *values):
    """Of the type that goes with a tensor."""
    half = OperandType.FLOAT16
    return [single.scalar(half, v) for v in values] if variant == "f16" else list(values)


@pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)
def test_l2(shape, axis):
    random = np.random.default_rng(len(str(shape)))
    for variant in VARIANTS:
        values = random_tensor(variant, random, shape, Quantized(0.043, 100))
        output = tensor(variant, None, Quantized(1 / 128, 128))
        close(Op.L2_NORMALIZATION, [values, axis], output, RELATIVE.get(variant), 1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_l2_of_zeros(axis):
    for variant in ("f32", "f16"):
        result = close(
            Op.L2_NORMALIZATION, [tensor(variant, np.zeros((5, 7))), axis], tensor(variant)
        )
        assert not result.any()


@pytest.mark.parametrize("radius", [0, 1, 5, 16, 17, 40, 2**31 - 1])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), 0), ((3, 1023), -1), ((100, 1030), 0), ((2, 60, 3), 1), ((2, 60, 33, 17), 1)],
    ids=str,
)
def test_local_response(shape, axis, radius):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16"):
        values = random_tensor(variant, random, shape)
        inputs = [values, radius, *scalars(variant, 1.0, 0.125, 0.75), axis]
        type = Op.LOCAL_RESPONSE_NORMALIZATION
        close(type, inputs, tensor(variant), RELATIVE[variant], 1e-6)


def test_what_leaves_a_large_window_is_forgotten():
    x = np.zeros(200, np.float32)
    x[90], x[100:] = 1e6, 1e-3
    inputs = [tensor("f32", x), 20, 1e-6, 1.0, 0.5]
    type = Op.LOCAL_RESPONSE_NORMALIZATION
    result = Single(CpuDevice(), type, inputs, tensor("f32"), (200,)).checked()
    np.testing.assert_allclose(result[150:170], 1e-3 / np.sqrt(1e-6 + 41e-6), rtol=1e-5)


@pytest.mark.parametrize("mean", [0, 1000])
@pytest.mark.parametrize(
    ("batch", "height", "width", "depth"),
    [(1, 1, 1, 1), (2, 3, 5, 7), (1, 17, 31, 3), (2, 9, 9, 64), (1, 3, 2, 1025), (1, 100, 90, 1)],
    ids=str,
)
def test_instance(batch, height, width, depth, mean):
    random = np.random.default_rng(height)
    for variant in ("f32", "f16"):
        for nchw in (False, True):
            shape = (batch, depth, height, width) if nchw else (batch, height, width, depth)
            values = tensor(variant, random.normal(mean, 2, shape))
            inputs = [values, *scalars(variant, 1.5, 0.25, 0.125), nchw]
            close(Op.INSTANCE_NORMALIZATION, inputs, tensor(variant), RELATIVE[variant], 1e-6)
