"""GROUPED_CONV_2D and TRANSPOSE_CONV_2D on the CPU device: sizes that the plans do not reach."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.lowering import strided
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import close, same_outputs
from tests.single import Value, i32

SAME, VALID = 1, 2
VARIANTS = ("f32", "f16", "qu8", "qu8_qc8", "qs8", "qs8_qc8")


def operands_of(variant: str, image: Any, filter: Any) -> tuple[list[Value], Value]:
    """Random [input, filter, bias], and an output for which they are not too large."""
    random = np.random.default_rng(sum(image) + sum(filter))
    kind, _, filter_kind = variant.partition("_")
    columns = filter[0]
    if kind in ("f32", "f16"):
        make = single.f32 if kind == "f32" else single.f16
        shapes = image, filter, (columns,)
        return [make(random.uniform(-1, 1, shape)) for shape in shapes], make()
    make = single.qu8 if kind == "qu8" else single.qs8
    low = 0 if kind == "qu8" else -128
    values = make(random.integers(low, low + 256, image), 0.05, low + 100)
    raw = random.integers(-128, 128, filter)
    if filter_kind:
        weights = single.qc8(raw, random.uniform(0.01, 0.02, columns), 0)
        scale = 0.0
    else:
        weights = make(raw + low + 128, 0.015, low + 120)
        scale = float(np.float32(0.05) * np.float32(0.015))
    bias = i32(random.integers(-2000, 2000, columns), scale)
    return [values, weights, bias], make(None, 0.06 * np.sqrt(np.prod(filter[1:])), low + 128)


def check(
    variant: str, type: Op, image: Any, filter: Any, tail: Any, dynamic: Any = (),
    misaligned: int = 0,
) -> None:  # fmt: skip
    """Both devices agree; quantized numbers are equal."""
    operands, output = operands_of(variant, image, filter)
    operands += tail
    tolerance = 1e-5 if variant == "f32" else 5e-3
    close(type, operands, output, tolerance, tolerance, dynamic, misaligned)


GROUPS = (
    # image, filter, stride, groups
    ((1, 6, 5, 64), (64, 3, 3, 1), 1, 64),
    ((2, 5, 5, 48), (96, 3, 3, 1), 2, 48),
    ((1, 4, 4, 60), (30, 2, 2, 6), 1, 10),
    ((1, 7, 6, 64), (32, 1, 1, 16), 1, 4),
    ((1, 1, 1, 36), (36, 1, 1, 4), 1, 9),
    ((3, 3, 3, 10), (140, 3, 2, 5), 1, 2),
    ((1, 5, 5, 21), (14, 3, 3, 3), 1, 7),
    ((1, 4, 4, 9), (5, 2, 2, 9), 1, 1),
)
"""Few and many columns per group, odd depths, one pixel."""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("image", "filter", "stride", "groups"), GROUPS)
def test_groups(variant, image, filter, stride, groups):
    tail = [SAME, stride, stride, groups, 0, False]
    check(variant, Op.GROUPED_CONV_2D, image, filter, tail)


@pytest.mark.parametrize("variant", ("f32", "qu8", "qs8_qc8"))
def test_groups_with_a_filter_that_is_no_constant(variant):
    dynamic = (1, 2) if "qc8" not in variant else (2,)
    tail = [1, 0, 0, 1, 1, 1, 8, 3, False]
    how = {"dynamic": dynamic, "misaligned": 1}
    check(variant, Op.GROUPED_CONV_2D, (1, 5, 5, 24), (16, 3, 3, 3), tail, **how)


TRANSPOSED = (
    # image, filter, strides (width, height), paddings (left, right, top, bottom)
    ((1, 5, 4, 3), (7, 3, 3, 3), (2, 2), (1, 0, 0, 1)),
    ((2, 3, 4, 20), (3, 4, 4, 20), (2, 2), (1, 1, 1, 1)),
    ((1, 3, 3, 5), (40, 3, 3, 5), (2, 2), (0, 0, 2, 1)),
    ((1, 4, 4, 4), (2, 2, 2, 4), (5, 3), (0, 0, 0, 0)),
    ((1, 2, 3, 4), (3, 1, 1, 4), (4, 1), (0, -3, 0, -2)),
    ((1, 3, 2, 4), (3, 7, 5, 4), (1, 2), (4, 1, 5, 3)),
    ((1, 1, 1, 9), (17, 5, 5, 9), (3, 3), (4, 0, 4, 0)),
    ((1, 6, 6, 8), (16, 3, 3, 8), (1, 1), (1, 1, 1, 1)),
    ((1, 3, 3, 2), (2, 2, 2, 2), (9, 30), (0, -5, 0, 0)),
    ((1, 2, 2, 3), (2, 3, 3, 3), (2, 2), (0, -40, 3, -40)),
)
"""Phases together and apart, phases without taps, paddings beyond the first pixels, one phase."""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("image", "filter", "strides", "pads"), TRANSPOSED)
def test_transposed(variant, image, filter, strides, pads):
    tail = [*pads, *strides, 0, False]
    check(variant, Op.TRANSPOSE_CONV_2D, image, filter, tail)


@pytest.mark.parametrize("variant", ("f32", "qu8", "qs8_qc8"))
def test_transposed_with_a_filter_that_is_no_constant(variant):
    dynamic = (1, 2) if "qc8" not in variant else (2,)
    tail = [0, 1, 1, 0, 2, 3, 1, False]
    how = {"dynamic": dynamic, "misaligned": 1}
    check(variant, Op.TRANSPOSE_CONV_2D, (1, 5, 4, 6), (5, 4, 4, 6), tail, **how)


@pytest.mark.parametrize("columns", [3, 40])
def test_pixels_are_interleaved_in_several_tiles(columns, monkeypatch):
    monkeypatch.setattr(strided, "TILE_BYTES", 2000)
    tail = [0, 0, 0, 0, 2, 2, 0, False]
    check("f32", Op.TRANSPOSE_CONV_2D, (2, 7, 6, 3), (columns, 3, 3, 3), tail)


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_what_is_not_finite_stays_where_it_is_seen(stride):
    """Other groups and other phases see nothing of it, not even with a weight of 0."""
    image = np.ones((1, 3, 3, 4), np.float32)
    image[0, 1, 1, 2] = np.inf
    for type, filter, tail in (
        (Op.GROUPED_CONV_2D, (8, 2, 2, 1), [SAME, 1, 1, 4, 0, False]),
        (Op.GROUPED_CONV_2D, (8, 2, 2, 2), [SAME, 1, 1, 2, 0, False]),
        (Op.TRANSPOSE_CONV_2D, (2, 3, 3, 4), [0, 0, 0, 0, stride, stride, 0, False]),
    ):
        operands = [single.f32(image), single.f32(np.full(filter, 0.5))]
        operands += [single.f32(np.ones(filter[0])), *tail]
        same_outputs(type, operands, [single.f32()])
