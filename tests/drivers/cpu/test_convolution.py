"""CONV_2D and DEPTHWISE_CONV_2D on the CPU device against the reference device."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.elements import close
from tests.drivers.cpu.single import Single
from tests.single import Value

SAME, VALID = 1, 2
VARIANTS = ("f32", "f16", "qu8", "qu8_qc8", "qs8", "qs8_qc8")


class Shape(NamedTuple):
    """A convolution. Pairs are (vertical, horizontal); `pads` (top, bottom, left, right) or a
    scheme. columns: output channels, of the depthwise operation the depth multiplier.
    """

    image: tuple[int, int, int, int]
    columns: int
    size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: Any = SAME
    dilation: tuple[int, int] = (1, 1)
    activation: int = 0


CONVOLUTIONS = (
    Shape((1, 5, 5, 1), 1, (1, 1)),
    Shape((1, 1, 1, 7), 24, (1, 1), activation=1),
    Shape((1, 1, 1, 9), 24, (3, 3)),
    Shape((1, 7, 7, 64), 16, (1, 1), pads=VALID),
    Shape((2, 9, 7, 3), 24, (3, 3)),
    Shape((1, 12, 13, 16), 65, (3, 3), stride=(2, 2), activation=3),
    Shape((3, 6, 5, 5), 3, (3, 2), pads=(2, 1, 0, 1), stride=(1, 2)),
    Shape((1, 11, 11, 4), 17, (3, 3), dilation=(2, 3), activation=2),
    Shape((2, 8, 8, 6), 33, (2, 5), pads=VALID, stride=(3, 1)),
    Shape((1, 9, 9, 2), 130, (1, 1), stride=(2, 2), pads=VALID),
    Shape((1, 3, 3, 40), 48, (3, 3), pads=VALID),
    Shape((1, 2, 2, 9), 8, (5, 5), pads=(4, 4, 4, 4)),
    Shape((1, 12, 16, 3), 8, (3, 3), stride=(2, 2), activation=3),
    Shape((2, 6, 12, 1), 5, (4, 7), pads=(3, 0, 6, 6)),
    Shape((1, 6, 3, 2), 4, (2, 9), stride=(1, 9), pads=(0, 0, 8, 7), dilation=(3, 1)),
    Shape((1, 7, 7, 20), 75, (1, 1), activation=1),
    # By Winograd: odd and even sizes, several panels, one share of the work and several.
    Shape((2, 9, 11, 16), 48, (3, 3)),
    Shape((1, 14, 13, 32), 80, (3, 3), pads=VALID, activation=1),
    Shape((1, 7, 8, 64), 144, (3, 3), pads=(2, 0, 1, 2), activation=3),
)
DEPTHWISE = (
    Shape((1, 5, 5, 1), 1, (3, 3)),
    Shape((1, 9, 9, 32), 1, (3, 3), activation=1),
    Shape((2, 8, 11, 24), 1, (3, 3), stride=(2, 2), activation=3),
    Shape((1, 7, 7, 19), 1, (5, 5)),
    Shape((1, 6, 9, 3), 1, (3, 3), stride=(2, 1)),
    Shape((1, 6, 6, 5), 7, (3, 3), pads=(2, 0, 1, 2), activation=2),
    Shape((2, 12, 10, 40), 1, (3, 3), dilation=(3, 2)),
    Shape((1, 10, 10, 17), 2, (2, 4), stride=(3, 2), pads=VALID),
    Shape((1, 4, 40, 33), 1, (3, 3), pads=VALID),
    Shape((1, 4, 3, 16), 1, (7, 7), pads=(6, 6, 6, 6)),
    Shape((1, 25, 20, 1), 8, (10, 8), stride=(2, 2)),
    Shape((2, 9, 8, 1), 1, (3, 4), pads=VALID),
    Shape((1, 7, 90, 8), 1, (3, 3), activation=3),
    Shape((2, 9, 50, 16), 1, (5, 5), stride=(2, 2)),
    Shape((1, 3, 11, 200), 1, (3, 3), stride=(1, 2)),
    Shape((1, 3, 90, 72), 1, (3, 3), stride=(2, 3), pads=(0, 1, 2, 2)),
    Shape((1, 5, 5, 40), 1, (3, 3)),
    Shape((1, 6, 13, 19), 1, (3, 3), stride=(2, 2), pads=(1, 1, 1, 1)),
    Shape((2, 5, 12, 9), 1, (3, 3), stride=(1, 2), pads=(0, 2, 0, 1)),
    Shape((1, 3, 9, 35), 1, (3, 3), pads=(1, 1, 0, 2)),
)
PIXELS_TOGETHER = (
    *(Shape((1, 3, width, 16), 1, (2, 3)) for width in (1, 2, 6, 7, 8, 15)),
    *(Shape((1, 2, width, 33), 1, (1, 5), activation=1) for width in (1, 7, 10, 14, 22)),
    *(Shape((1, 5, width, 8), 1, (3, 5), stride=(2, 2)) for width in (5, 13, 14, 29, 30)),
    Shape((2, 3, 15, 17), 1, (3, 3), stride=(1, 2), pads=VALID),
    Shape((1, 3, 3, 40), 1, (3, 5), pads=(1, 1, 4, 4)),
    Shape((1, 9, 33, 20), 1, (3, 3), dilation=(4, 4)),
    Shape((1, 4, 17, 7), 1, (3, 5), dilation=(1, 3), pads=(0, 2, 11, 7)),
    Shape((1, 3, 2, 16), 1, (3, 3), dilation=(1, 5), pads=(2, 2, 10, 10)),
    Shape((1, 3, 20, 16), 1, (3, 3), stride=(1, 2), dilation=(1, 2)),
)


def random_operands(
    shape: Shape, variant: str, depthwise: bool, nchw: bool
) -> tuple[list[Any], Value]:
    """Image, filter and bias, and the output."""
    random = np.random.default_rng(len(repr((shape, variant))))
    batch, height, width, depth = shape.image
    image = (batch, depth, height, width) if nchw else shape.image
    columns = depth * shape.columns if depthwise else shape.columns
    filter = (1, *shape.size, columns) if depthwise else (columns, *shape.size, depth)
    kind, _, filter_kind = variant.partition("_")
    make = getattr(single, kind)
    if kind in ("f32", "f16"):
        return [make(random.uniform(-1, 1, s)) for s in (image, filter, (columns,))], make()
    lowest, highest = (0, 255) if kind == "qu8" else (-128, 127)
    zeros = random.integers(lowest, highest + 1, 2).tolist()
    raw = random.integers(lowest, highest + 1, image)
    raw.flat[0], raw.flat[-1] = lowest, highest
    if filter_kind:
        scales = random.uniform(0.001, 0.004, columns)
        weights = single.qc8(random.integers(-128, 128, filter), scales, 3 if depthwise else 0)
        bias_scale = 0.0
    else:
        weights = make(random.integers(lowest, highest + 1, filter), 0.0023, zeros[1])
        bias_scale = float(np.float32(0.043) * np.float32(0.0023))
    bias = single.i32(random.integers(-3000, 3000, columns), bias_scale)
    return [make(raw, 0.043, zeros[0]), weights, bias], make(None, 0.37, lowest + 131)


def check(
    shape: Shape,
    variant: str,
    depthwise: bool,
    nchw: bool = False,
    dynamic: tuple[int, ...] = (),
    misaligned: int = 0,
) -> None:
    """Both devices agree; quantized numbers are equal."""
    operands, output = random_operands(shape, variant, depthwise, nchw)
    if isinstance(shape.pads, int):
        operands.append(shape.pads)
    else:
        top, bottom, left, right = shape.pads
        operands += [left, right, top, bottom]
    operands += [shape.stride[1], shape.stride[0]]
    operands += [shape.columns] if depthwise else []
    operands += [shape.activation, nchw, shape.dilation[1], shape.dilation[0]]
    operation = OperationType.DEPTHWISE_CONV_2D if depthwise else OperationType.CONV_2D
    tolerance = 1e-5 if variant == "f32" else 1e-3
    close(operation, operands, output, tolerance, tolerance, dynamic, misaligned)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", CONVOLUTIONS, ids=str)
def test_conv_2d(shape: Shape, variant: str) -> None:
    check(shape, variant, False)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", DEPTHWISE, ids=str)
def test_depthwise_conv_2d(shape: Shape, variant: str) -> None:
    check(shape, variant, True)


@pytest.mark.parametrize("columns", [3, 8, 9, 24, 37, 40, 71])
def test_columns_that_fill_half_a_vector(columns: int) -> None:
    """Or a part of that, or a little more; of a few words, and of so many that are summed apart."""
    for depth in (9, 300):
        check(Shape((1, 7, 7, depth), columns, (1, 1), activation=1), "f32", False)


@pytest.mark.parametrize("shape", PIXELS_TOGETHER, ids=str)
def test_pixels_together(shape: Shape) -> None:
    """Rows of fewer, as many and more pixels than float32 kernels of fixed widths take at once."""
    check(shape, "f32", True)


def test_columns_outside_are_not_read() -> None:
    """Not even to be multiplied by 0: what is infinite there would become NaN."""
    for width, size in itertools.product((4, 9), (3, 5)):
        weights = np.full((1, 1, size, 16), np.inf, np.float32)
        operands = [
            single.f32(np.ones((1, 1, width, 16), np.float32)),
            single.f32(weights),
            single.f32(np.zeros(16, np.float32)),
            *[SAME, 1, 1, 1, 0, False, 1, 1],
        ]
        shape = (1, 1, width, 16)
        run = Single(CpuDevice(), OperationType.DEPTHWISE_CONV_2D, operands, single.f32(), shape)
        assert not np.isnan(run.checked()).any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("depthwise", [False, True])
def test_layout_nchw(variant: str, depthwise: bool) -> None:
    check(Shape((2, 9, 20, 18), 1, (3, 3)), variant, depthwise, nchw=True)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("depthwise", [False, True])
def test_filter_that_is_no_constant(variant: str, depthwise: bool) -> None:
    shape = Shape((1, 8, 7, 9), 2, (3, 3), stride=(1, 2))
    dynamic = (1, 2) if "qc8" not in variant else (2,)
    check(shape, variant, depthwise, dynamic=dynamic)


@pytest.mark.parametrize("variant", ("f32", "qu8", "qs8_qc8"))
@pytest.mark.parametrize("depthwise", [False, True])
def test_memory_at_odd_addresses(variant: str, depthwise: bool) -> None:
    check(Shape((1, 8, 9, 20), 2, (3, 3)), variant, depthwise, misaligned=1)


@pytest.mark.parametrize("variant", ("f32", "qu8", "qs8_qc8"))
def test_work_in_several_tiles(variant: str) -> None:
    check(Shape((1, 60, 61, 20), 70, (3, 3)), variant, False)
    check(Shape((2, 70, 60, 100), 1, (3, 3)), variant, True)


def test_saturating_sums() -> None:
    """The largest products that there are: no step may saturate on the way."""
    image = np.full((1, 4, 4, 64), 255)
    for weight in (-128, 127):
        weights = np.full((16, 3, 3, 64), weight)
        scale = 255 * 128 * 64 * 9 / 120
        operands = [
            single.qu8(image, 1.0, 0),
            single.qc8(weights, [1.0] * 16, 0),
            single.i32(np.zeros(16, int)),
            VALID, 1, 1, 0,
        ]  # fmt: skip
        output = single.qu8(None, scale, 128)
        run = Single(CpuDevice(), OperationType.CONV_2D, operands, output, (1, 2, 2, 16))
        goal = round(255 * weight * 64 * 9 / scale) + 128
        assert (run.checked() == goal).all()


@pytest.mark.parametrize("depthwise", [False, True])
def test_weights_that_are_furthest_from_their_zero_point(depthwise: bool) -> None:
    """255 above it and 255 below: more than one or two int8 hold."""
    image = np.full((1, 4, 16, 8 if depthwise else 1), 200)
    for weight, zero in ((255, 0), (0, 255)):
        filter = single.qu8(np.full((1, 3, 3, 8) if depthwise else (8, 3, 3, 1), weight), 1.0, zero)
        operands = [single.qu8(image, 1.0, 0), filter, single.i32(np.zeros(8, int), 1.0), VALID]
        operands += [1, 1, 1, 0] if depthwise else [1, 1, 0]
        operation = OperationType.DEPTHWISE_CONV_2D if depthwise else OperationType.CONV_2D
        output = single.qu8(None, 5000.0, 128)
        run = Single(CpuDevice(), operation, operands, output, (1, 2, 14, 8))
        assert (run.checked() == round(9 * 200 * (weight - zero) / 5000) + 128).all()


def test_not_a_number_stays() -> None:
    """NaN is neither clamped away nor spread to other pixels."""
    image = np.ones((1, 1, 8, 8), np.float32)
    image[0, 0, 3, 2] = np.nan
    operands = [
        single.f32(image), single.f32(np.ones((8, 1, 1, 8), np.float32)), single.f32(np.zeros(8)),
        VALID, 1, 1, 3,
    ]  # fmt: skip
    run = Single(CpuDevice(), OperationType.CONV_2D, operands, single.f32(), (1, 1, 8, 8))
    result = run.checked()
    assert np.isnan(result[0, 0, 3]).all()
    assert (np.delete(result[0, 0], 3, axis=0) == 6).all()


def test_sums_of_thousands_of_products_keep_their_digits():
    """The tolerance is that of the conformance vectors; a plain float32 sum is far beyond it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (1, 7, 7, 512)).astype(np.float32)
    w = rng.uniform(0, 1, (16, 3, 3, 512)).astype(np.float32)
    exact = sum(
        x[:, i : i + 5, j : j + 5].astype(np.float64) @ w[:, i, j].T.astype(np.float64)
        for i in range(3)
        for j in range(3)
    )
    inputs = [single.f32(x), single.f32(w), single.f32(np.zeros(16)), VALID, 1, 1, 0]
    prepared = Single(CpuDevice(), OperationType.CONV_2D, inputs, single.f32(), (1, 5, 5, 16))
    np.testing.assert_allclose(prepared.checked(), exact, rtol=5 * 2**-23, atol=1e-5)


def test_averages_of_thousands_of_numbers_keep_their_digits():
    x = np.full((1, 112, 112, 3), 0.7, np.float32)
    scalars = (0, 0, 0, 0, 1, 1, 112, 112, 0)
    for operation in (OperationType.AVERAGE_POOL_2D, OperationType.L2_POOL_2D):
        prepared = Single(
            CpuDevice(), operation, [single.f32(x), *scalars], single.f32(), (1, 1, 1, 3)
        )
        expected = np.full((1, 1, 1, 3), x[0, 0, 0, 0], np.float64)
        np.testing.assert_allclose(prepared.checked(), expected, rtol=5 * 2**-23, atol=1e-5)
