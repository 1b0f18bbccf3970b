"""Floating-point results at the edges: overflow, division by zero, infinities and NaN, on both
devices and all tiers (semantics.md 5.1, 6.3, 6.8, 7.7 and 8; api-semantics.md 15, values).

The expected numbers follow from the order of operations that semantics.md gives, in float32.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import execute, f16, f32, i32, qs8, qu8

DEVICES = {"nnapi-cpu": CpuDevice, "nnapi-reference": ReferenceDevice}
ROOT = Path(__file__).resolve().parents[3]
TIER = "NNAPI_SHIM_TIER"

MAX = np.finfo(np.float32).max
INF, NAN = np.inf, np.nan
NONE, RELU, RELU1, RELU6 = (FuseCode[name] for name in ("NONE", "RELU", "RELU1", "RELU6"))
VALID = 2


@pytest.fixture(params=DEVICES)
def compute(request):
    """Runs an operation: its type, inputs, outputs; the numbers of the last output."""
    tier = library.current().tier
    assert tier == os.environ.get(TIER, tier)
    device = DEVICES[request.param]()

    def run(type, inputs, *outputs):
        return execute(device, type, inputs, outputs or [f32()])[-1]

    return run


def same(actual, goal):
    """Equal, NaN where NaN is wanted."""
    np.testing.assert_array_equal(actual, np.array(goal, actual.dtype))


def near(actual, goal):
    """Infinities, NaN and zeros where they are wanted, the rest but for rounding."""
    np.testing.assert_allclose(actual, np.array(goal, actual.dtype), rtol=1e-6, atol=0)


# Fused activations

ENDS = {NONE: (-MAX, MAX), RELU: (0, MAX), RELU1: (-1, 1), RELU6: (0, 6)}
FUSED = pytest.mark.parametrize("activation", ENDS)


@FUSED
def test_arithmetic_ends_at_the_largest_number(compute, activation):
    low, high = ENDS[activation]
    many = 21  # vectors and what is left beside them
    large, small = f32([3e38, -3e38] * many), f32([-3e38, 3e38] * many)
    for type, other in ((Op.ADD, large), (Op.SUB, small), (Op.MUL, f32([10.0, 10.0] * many))):
        same(compute(type, [large, other, activation]), [high, low] * many)
    zeros = [0.0, 0.0, -0.0, 0.0, 1.0]
    x = [1.0, -1.0, 1.0, 0.0, NAN]
    same(compute(Op.DIV, [f32(x), f32(zeros), activation]), [high, low, low, NAN, NAN])


@FUSED
def test_infinities_end_there_too(compute, activation):
    low, high = ENDS[activation]
    x = f32([INF, -INF, INF, NAN])
    same(compute(Op.ADD, [x, f32([1, 1, -INF, 1]), activation]), [high, low, NAN, NAN])
    same(compute(Op.MUL, [x, f32([1, 1, 0, 1]), activation]), [high, low, NAN, NAN])


def test_half_precision_is_clamped_as_float32_and_rounded_after(compute):
    x = f16([60000, -60000, 1, 0])
    same(compute(Op.ADD, [x, x, NONE], f16()), [INF, -INF, 2, 0])
    same(compute(Op.ADD, [x, x, RELU], f16()), [INF, 0, 2, 0])
    same(compute(Op.DIV, [x, f16([0, 0, 0, 0]), NONE], f16()), [INF, -INF, INF, NAN])
    same(compute(Op.ADD, [x, x, RELU6], f16()), [6, 0, 2, 0])


@FUSED
def test_sums_of_products_end_at_the_largest_number(compute, activation):
    low, high = ENDS[activation]
    pixels = np.array([3e38, -3e38, INF, -INF, NAN, 0]).reshape(1, 1, 6, 1)
    goal = np.array([high, low, high, low, NAN, 1]).reshape(1, 1, 6, 1)
    image, bias = f32(pixels), f32([1])
    taps, strides = f32(np.full((1, 1, 1, 1), 2.0)), (1, 1)
    same(compute(Op.CONV_2D, [image, taps, bias, VALID, *strides, activation]), goal)
    same(compute(Op.DEPTHWISE_CONV_2D, [image, taps, bias, VALID, *strides, 1, activation]), goal)
    grouped = [image, taps, bias, VALID, *strides, 1, activation, False]
    same(compute(Op.GROUPED_CONV_2D, grouped), goal)
    transposed = [image, taps, bias, i32([1, 1, 6, 1]), VALID, *strides, activation, False]
    same(compute(Op.TRANSPOSE_CONV_2D, transposed), goal)
    rows = f32(pixels.reshape(6, 1))
    connected = compute(Op.FULLY_CONNECTED, [rows, f32([[2.0]]), bias, activation])
    same(connected, goal.reshape(6, 1))


def test_half_precision_sums_of_products_may_be_infinite(compute):
    image, taps = f16([[[[60000.0], [-60000.0], [1.0]]]]), f16([[[[2.0]]]])
    for activation, goal in ((NONE, [INF, -INF, 2]), (RELU, [INF, 0, 2]), (RELU6, [6, 0, 2])):
        scalars = [f16([0.0]), VALID, 1, 1]
        same(compute(Op.CONV_2D, [image, taps, *scalars, activation], f16()).ravel(), goal)
        actual = compute(Op.DEPTHWISE_CONV_2D, [image, taps, *scalars, 1, activation], f16())
        same(actual.ravel(), goal)


def test_products_without_an_activation_are_not_clamped(compute):
    x = f32([[3e38, 3e38], [INF, 1]])
    same(compute(Op.BATCH_MATMUL, [x, x, False, False]), [[INF, INF], [INF, INF]])
    weights, states = f32([[2.0]]), f32([[0.0], [0.0]])
    inputs = [f32([[3e38], [-INF]]), weights, f32([[0.0]]), f32([0.0]), states, 0]
    output = compute(Op.RNN, inputs, f32(), f32())
    same(output, [[INF], [-INF]])


@FUSED
def test_pooling_ends_at_the_largest_number(compute, activation):
    low, high = ENDS[activation]

    def pooled(type, pixels):
        image = f32(np.array(pixels, float).reshape(1, 1, -1, 1))
        width = image.operand.dimensions[2]
        return compute(type, [image, VALID, 1, 1, width, 1, activation]).ravel()

    for pixels, goal in (
        ([3e38, 3e38], high),  # the sum exceeds float32, the average would not
        ([-3e38, -3e38], low),
        ([INF, 1], high),
        ([-INF, 1], low),
        ([NAN, 1], NAN),
        ([INF, -INF], NAN),
    ):
        same(pooled(Op.AVERAGE_POOL_2D, pixels), [goal])
    for pixels, goal in (
        ([1e20, 1], high),  # so does the square
        ([-INF, 1], high),
        ([NAN, 1], NAN),
    ):
        same(pooled(Op.L2_POOL_2D, pixels), [goal])
    for pixels, goal in (
        ([INF, 1], high),
        ([-INF, -INF], low),
        ([NAN, -INF, 7, NAN], min(7, high)),  # NaN exceeds nothing
        ([NAN] * 5, low),
    ):
        same(pooled(Op.MAX_POOL_2D, pixels), [goal])


def test_activations_of_their_own_let_no_nan_through(compute):
    many = 9
    for tensor, largest in ((f32, MAX), (f16, INF)):
        x = tensor([NAN, INF, -INF, 60000, -0.0, 0.5] * many)
        same(compute(Op.RELU, [x], tensor()), [0, largest, 0, 60000, 0, 0.5] * many)
        same(compute(Op.RELU1, [x], tensor()), [-1, 1, -1, 1, 0, 0.5] * many)
        same(compute(Op.RELU6, [x], tensor()), [0, 6, 0, 6, 0, 0.5] * many)


@pytest.mark.parametrize("type", [Op.RELU, Op.RELU6])
def test_a_zero_has_the_sign_of_the_bound(compute, type):
    actual = compute(type, [f32([-0.0, 0.0])])
    assert not np.signbit(actual).any()


def test_a_product_that_vanishes_keeps_its_sign(compute):
    """It is 0 before it is clamped, and not below the bound."""
    actual = compute(Op.MUL, [f32([-1e-45]), f32([1e-45]), int(RELU)])
    assert np.signbit(actual).all()


def test_quantize_has_no_nan(compute):
    for tensor in (f32, f16):
        x = tensor([NAN, INF, -INF, 60000, -60000, 0.3] * 7)
        unsigned = compute(Op.QUANTIZE, [x], qu8(None, 1.0, 7))
        same(unsigned, [255, 255, 0, 255, 0, 7] * 7)
        signed = compute(Op.QUANTIZE, [x], qs8(None, 1.0, 7))
        same(signed, [127, 127, -128, 127, -128, 7] * 7)


# Normalizations, softmax, reductions


AXES = pytest.mark.parametrize("axis", [0, 1])
"""Rows, and lanes side by side."""


def along(axis, rows):
    """Rows as they lie in a tensor that is normalized along an axis."""
    array = np.array(rows, float)
    return array if axis else np.ascontiguousarray(array.T)


@AXES
def test_l2_normalization(compute, axis):
    rows = [[INF, 1], [NAN, 1], [1e30, 1], [1e-30, 1e-30], [0, 0], [1e19, 0]]
    goal = [[NAN, 0], [NAN, NAN], [0, 0], [1e-24, 1e-24], [0, 0], [1, 0]]
    actual = compute(Op.L2_NORMALIZATION, [f32(along(axis, rows)), axis])
    near(actual, along(axis, goal))


@AXES
@pytest.mark.parametrize("radius", [1, 20])
def test_local_response_normalization(compute, axis, radius):
    """Behind what is not finite, and what is very large, comes a row that knows nothing of it."""
    length = 60
    for special, at_special in ((INF, NAN), (NAN, NAN), (1e25, 0), (1e18, 2e-18)):
        x = np.full((2, length), 2.0)
        x[0, 3] = special
        goal = np.empty(x.shape)
        for row in range(2):
            for i in range(length):
                seen = x[row, max(0, i - radius) : i + radius + 1]
                with np.errstate(invalid="ignore", over="ignore"):
                    total = (seen.astype(np.float32) ** 2).sum()
                    goal[row, i] = x[row, i] / (1 + np.float32(0.5) * total)
        if np.isinf(goal[0, 3]) or special != 1e18:
            goal[0, 3] = at_special
        inputs = [f32(along(axis, x)), radius, 1.0, 0.5, 1.0, axis]
        actual = compute(Op.LOCAL_RESPONSE_NORMALIZATION, inputs)
        near(actual, along(axis, goal))


def test_squares_that_vanish(compute):
    """They do in float32: 0^-0.5 is infinite."""
    x = f32([[[[0, 1e-30, 2e-25, -1e-30]]]])
    actual = compute(Op.LOCAL_RESPONSE_NORMALIZATION, [x, 0, 0.0, 1.0, 0.5])
    same(actual, [[[[NAN, INF, INF, -INF]]]])
    pooled = compute(Op.L2_POOL_2D, [f32([[[[1e-23]]]]), VALID, 1, 1, 1, 1, int(NONE)])
    same(pooled, [[[[0]]]])


@pytest.mark.parametrize("nchw", [False, True])
def test_instance_normalization(compute, nchw):
    """What is not finite, or overflows the sum, leaves no number; squares that do leave beta."""
    pixels = [[1, 3], [INF, 1], [NAN, 1], [3e38, 3e38], [1e25, -1e25], [1, -INF]]
    goal = [[0.75, 1.25], *[[NAN] * 2] * 3, [1, 1], [NAN] * 2]
    shape = (1, 6, 1, 2)
    image, result = np.array(pixels, float).reshape(shape), np.array(goal).reshape(shape)
    if not nchw:
        image, result = (np.ascontiguousarray(np.moveaxis(x, 1, 3)) for x in (image, result))
    actual = compute(Op.INSTANCE_NORMALIZATION, [f32(image), 0.25, 1.0, 1e-9, nchw])
    near(actual, result)


SOFT = [[INF, 1, 2], [NAN, 1, 2], [-INF, 1, 1], [-INF] * 3, [INF, -INF, 0], [3e38, -3e38, 3e38]]


@AXES
def test_softmax(compute, axis):
    goal = [[NAN] * 3, [NAN] * 3, [0, 0.5, 0.5], [NAN] * 3, [NAN] * 3, [0.5, 0, 0.5]]
    actual = compute(Op.SOFTMAX, [f32(along(axis, SOFT)), 1.0, axis])
    near(actual, along(axis, goal))


@AXES
def test_log_softmax(compute, axis):
    half = -np.log(2)
    goal = [[NAN] * 3, [NAN] * 3, [-INF, half, half], *[[NAN] * 3] * 2, [half, -INF, half]]
    actual = compute(Op.LOG_SOFTMAX, [f32(along(axis, SOFT)), 1.0, axis])
    near(actual, along(axis, goal))


@AXES
def test_reductions(compute, axis):
    rows = [[3e38, 3e38], [INF, 1], [INF, -INF], [NAN, 1], [-INF, 2]]

    def reduced(type, keep=False):
        x = f32(along(axis, rows))
        return compute(type, [x, i32([axis]), keep])

    same(compute(Op.MEAN, [f32(along(axis, rows)), i32([axis]), 0]), [INF, INF, NAN, NAN, -INF])
    same(reduced(Op.REDUCE_SUM), [INF, INF, NAN, NAN, -INF])
    same(reduced(Op.REDUCE_PROD), [INF, INF, -INF, NAN, -INF])
    same(reduced(Op.REDUCE_MAX), [np.float32(3e38), INF, INF, 1, 2])
    same(reduced(Op.REDUCE_MIN), [np.float32(3e38), 1, -INF, 1, -INF])


@pytest.mark.parametrize("nchw", [False, True])
def test_resize_bilinear(compute, nchw):
    """Where a position falls on a row or column, that counts once more with a share of 0, and an
    infinite pixel times 0 is NaN.
    """
    pixels = [[INF, 1, 5, NAN, 3, 7], [1, 1, 5, 5, 3, 7]]
    image = np.array(pixels).reshape((1, 1, 2, 6) if nchw else (1, 2, 6, 1))
    actual = compute(Op.RESIZE_BILINEAR, [f32(image), 12, 4, nchw]).reshape(4, 12)
    below = [1, 1, 1, 3, 5, 5, 5, 4, 3, 5, 7, 7]
    same(actual[0], [NAN, NAN, 1, 3, 5, NAN, NAN, NAN, 3, 5, 7, 7])
    same(actual[1], [NAN, INF, 1, 3, 5, NAN, NAN, NAN, 3, 5, 7, 7])
    same(actual[2:], [below, below])


# Other tiers


@pytest.mark.parametrize(
    "tier", [t for t in library.processor_tiers() if t != library.current().tier]
)
def test_on_tier(tier):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    command += ["-k", "not on_tier"]
    done = subprocess.run(
        command,
        env=os.environ | {TIER: tier},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_signaling_nan_is_no_number_either(compute):
    """Maxima and minima pass over it, as over every NaN; as a byte it is 0."""
    signaling = np.array([0x7F800001, 0xFFA00000], np.uint32).view(np.float32)
    x = np.float32([[2, 3, 1] * 11] * 4)
    x[0, :2] = x[1, 5:7] = x[2, -2:] = x[3, 16:18] = signaling
    image, axis = f32(x), i32([1])
    same(compute(Op.REDUCE_MAX, [image, axis, False]), [3] * 4)
    same(compute(Op.REDUCE_MIN, [image, axis, False]), [1] * 4)
    same(compute(Op.CAST, [image], qu8()), np.nan_to_num(x))
