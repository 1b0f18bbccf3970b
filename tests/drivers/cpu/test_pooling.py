"""The pooling operations on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import VARIANTS, Quantized, close, random_tensor, same, tensor
from tests.drivers.cpu.single import Single

# image (NHWC), window (height, width), stride, padding (top, bottom, left, right)
GEOMETRIES = [
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((2, 5, 7, 3), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((1, 8, 6, 17), (3, 3), (2, 1), (1, 1, 1, 1)),
    ((1, 9, 9, 64), (3, 2), (1, 2), (2, 0, 0, 1)),
    ((2, 7, 7, 130), (7, 7), (1, 1), (0, 0, 0, 0)),
    ((1, 4, 5, 8), (6, 9), (3, 4), (5, 4, 8, 7)),
    ((1, 30, 40, 33), (4, 5), (1, 1), (1, 2, 2, 2)),
    ((1, 11, 10, 20), (9, 10), (1, 1), (0, 1, 0, 0)),
    ((1, 3, 3, 1023), (2, 1), (1, 1), (1, 1, 0, 0)),
]
FLOATS = ("f32", "f16")
every_geometry = pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
every_layout = pytest.mark.parametrize("nchw", [False, True])


def operands(variant, geometry, activation=0, nchw=False):
    """Inputs with a random image, and the output."""
    shape, window, stride, (top, bottom, left, right) = geometry
    if nchw:
        shape = [shape[axis] for axis in (0, 3, 1, 2)]
    image = random_tensor(variant, np.random.default_rng(geometry[0][3]), shape)
    numbers = [left, right, top, bottom, stride[1], stride[0], window[1], window[0], activation]
    return [image, *numbers, nchw], tensor(variant)


@every_geometry
@pytest.mark.parametrize("variant", VARIANTS)
@every_layout
def test_max_pool(variant, geometry, nchw):
    same(Op.MAX_POOL_2D, *operands(variant, geometry, nchw=nchw))


@every_geometry
@pytest.mark.parametrize("variant", VARIANTS)
@every_layout
def test_average_pool(variant, geometry, nchw):
    close(Op.AVERAGE_POOL_2D, *operands(variant, geometry, nchw=nchw), absolute=1e-5)


@every_geometry
@pytest.mark.parametrize("variant", FLOATS)
@every_layout
def test_l2_pool(variant, geometry, nchw):
    close(Op.L2_POOL_2D, *operands(variant, geometry, nchw=nchw), absolute=1e-5)


@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("variant", FLOATS)
def test_activation_of_l2_pool(variant, activation):
    close(Op.L2_POOL_2D, *operands(variant, GEOMETRIES[2], activation), absolute=1e-5)


@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("type", [Op.MAX_POOL_2D, Op.AVERAGE_POOL_2D])
def test_activation(type, variant, activation):
    close(type, *operands(variant, GEOMETRIES[2], activation), absolute=1e-6)


@pytest.mark.parametrize("variant", ["f32", "qu8"])
def test_a_large_window(variant):
    """The sums of a quantized average are exact although they are float32."""
    geometry = ((1, 250, 260, 2), (250, 260), (1, 1), (0, 0, 0, 0))
    close(Op.AVERAGE_POOL_2D, *operands(variant, geometry), absolute=1e-4)


@pytest.mark.parametrize("base", [200, 20])
@pytest.mark.parametrize("variant", ["qu8", "qs8"])
def test_the_sum_of_a_large_window_is_exact(variant, base):
    """One step in 160,000 pixels, whose sum float32 does not hold, decides how it is rounded.

    Halves go away from zero.
    """
    shift, exact = 128 if variant == "qs8" else 0, Quantized(1.0, 0)
    raw = np.full((1, 400, 400, 1), base)
    raw[:, ::2] += 1
    half = base + (base >= shift)
    for first, expected in ((base, base), (base + 1, half), (base + 2, base + 1)):
        raw[0, 0, 0, 0] = first
        inputs = [tensor(variant, raw, exact), 0, 0, 0, 0, 1, 1, 400, 400, 0]
        output = tensor(variant, quantized=exact)
        result = Single(CpuDevice(), Op.AVERAGE_POOL_2D, inputs, output, (1, 1, 1, 1)).checked()
        assert result.item() == expected - shift
