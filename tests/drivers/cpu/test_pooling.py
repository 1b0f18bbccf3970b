"""The pooling operations on the CPU device, window by window in numpy."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import ACTIVATIONS, Quantized, expect, random_tensor, tensor
from tests.drivers.cpu.single import Single
from tests.single import Value

VARIANTS = ("f32", "f16", "qu8", "qs8")

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


def pooled(x, window, stride, pads, function):
    """function(taps, axis) over the part of every window that lies inside the image."""
    top, bottom, left, right = pads
    heights = (x.shape[1] + top + bottom - window[0]) // stride[0] + 1
    widths = (x.shape[2] + left + right - window[1]) // stride[1] + 1
    result = np.empty((x.shape[0], heights, widths, x.shape[3]))
    for i, j in np.ndindex(heights, widths):
        y, z = i * stride[0] - top, j * stride[1] - left
        taps = x[:, max(y, 0) : y + window[0], max(z, 0) : z + window[1]]
        result[:, i, j] = function(taps.reshape(len(x), -1, x.shape[3]), axis=1)
    return result


def compute(type, variant, geometry, activation=0, nchw=False):
    """(result in NHWC order, real input numbers, parameters)."""
    shape, window, stride, pads = geometry
    top, bottom, left, right = pads
    kind = Quantized(0.05, 120)
    given, x = random_tensor(variant, np.random.default_rng(shape[3]), shape, kind)
    if nchw:
        array = np.ascontiguousarray(given.array.transpose(0, 3, 1, 2))
        given = Value(given.operand._replace(dimensions=array.shape), array)
    numbers = [left, right, top, bottom, stride[1], stride[0], window[1], window[0], activation]
    wanted_shape = pooled(x, window, stride, pads, np.max).shape
    if nchw:
        wanted_shape = tuple(wanted_shape[axis] for axis in (0, 3, 1, 2))
    found = Single(
        CpuDevice(), type, [given, *numbers, *([True] if nchw else [])],
        tensor(variant, quantized=kind), wanted_shape, misaligned=2,
    ).checked()  # fmt: skip
    return found.transpose(0, 2, 3, 1) if nchw else found, x, kind


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("nchw", [False, True])
def test_max_pool(variant, geometry, nchw):
    found, x, kind = compute(Op.MAX_POOL_2D, variant, geometry, nchw=nchw)
    expect(variant, found, pooled(x, *geometry[1:], np.max), kind, off=0)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("nchw", [False, True])
def test_average_pool(variant, geometry, nchw):
    found, x, kind = compute(Op.AVERAGE_POOL_2D, variant, geometry, nchw=nchw)
    if variant in ("f32", "f16"):
        wanted = pooled(x, *geometry[1:], np.mean)
        expect(variant, found, wanted, absolute=1e-5)
        return
    shift = 128 if variant == "qs8" else 0
    raw = np.rint(x / np.float64(np.float32(kind.scale))) + kind.zero_point - shift
    total = pooled(raw, *geometry[1:], np.sum)
    count = pooled(np.ones_like(raw), *geometry[1:], np.sum)
    wanted = np.trunc((total + np.where(total > 0, count // 2, -(count // 2))) / count)
    np.testing.assert_array_equal(found, wanted)


def root_mean_square(values, axis):
    return np.sqrt((values**2).mean(axis))


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("variant", ["f32", "f16"])
@pytest.mark.parametrize("nchw", [False, True])
def test_l2_pool(variant, geometry, nchw):
    found, x, _ = compute(Op.L2_POOL_2D, variant, geometry, nchw=nchw)
    expect(variant, found, pooled(x, *geometry[1:], root_mean_square), absolute=1e-5)


@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("variant", ["f32", "f16"])
def test_activation_of_l2_pool(variant, activation):
    found, x, _ = compute(Op.L2_POOL_2D, variant, GEOMETRIES[2], activation)
    wanted = np.clip(pooled(x, *GEOMETRIES[2][1:], root_mean_square), *ACTIVATIONS[activation])
    expect(variant, found, wanted, absolute=1e-5)


@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("type", "function"), [(Op.MAX_POOL_2D, np.max), (Op.AVERAGE_POOL_2D, np.mean)]
)
def test_activation(type, function, variant, activation):
    geometry = GEOMETRIES[2]
    found, x, kind = compute(type, variant, geometry, activation)
    wanted = np.clip(pooled(x, *geometry[1:], function), *ACTIVATIONS[activation])
    expect(variant, found, wanted, kind, absolute=1e-6, off=0.1)


@pytest.mark.parametrize("variant", ["f32", "qu8"])
def test_a_large_window(variant):
    """The sums of a quantized average are exact although they are float32."""
    geometry = ((1, 250, 260, 2), (250, 260), (1, 1), (0, 0, 0, 0))
    found, x, kind = compute(Op.AVERAGE_POOL_2D, variant, geometry)
    expect(variant, found, x.mean((1, 2), keepdims=True), kind, absolute=1e-4, off=0)


@pytest.mark.parametrize("variant", ["qu8", "qs8"])
def test_the_sum_of_a_large_window_is_exact(variant):
    """One step in 160,000 pixels, whose sum float32 does not hold, decides how it is rounded."""
    shift, exact = 128 if variant == "qs8" else 0, Quantized(1.0, 0)
    raw = np.full((1, 400, 400, 1), 200)
    raw[:, ::2] += 1
    for first, wanted in ((200, 200), (201, 201), (202, 201)):
        raw[0, 0, 0, 0] = first
        inputs = [tensor(variant, raw, exact), 0, 0, 0, 0, 1, 1, 400, 400, 0]
        output = tensor(variant, quantized=exact)
        found = Single(CpuDevice(), Op.AVERAGE_POOL_2D, inputs, output, (1, 1, 1, 1)).checked()
        assert found.item() == wanted - shift
