"""RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qs8, qu8, scalar

NEAREST, BILINEAR = Op.RESIZE_NEAREST_NEIGHBOR, Op.RESIZE_BILINEAR
PLAIN, ALIGNED, CENTRED = (False, False), (True, False), (False, True)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (PLAIN, [0, 2 / 3, 1]),  # at 0, 2/3, 4/3
        (ALIGNED, [0, 1 / 2, 1]),
        (CENTRED, [0, 1 / 2, 1]),  # at -1/6, 1/2, 7/6
    ],
)
def test_bilinear_from_two_to_three(compute, flags, expected):
    row = f32([[[[0], [1]]]])
    (((*result,),),) = compute(BILINEAR, [row, 3, 1, False, *flags], f32())
    assert [x for (x,) in result] == pytest.approx(expected)
    column = f32([[[[0], [1]]]])  # NCHW: [1, 1, 2, 1]
    ((rows,),) = compute(BILINEAR, [column, 1, 3, True, *flags], f32())
    assert [x for (x,) in rows] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (PLAIN, [0, 0, 1]),  # at 0, 2/3, 4/3
        (ALIGNED, [0, 1, 1]),  # at 0, 1/2, 1, rounded
        (CENTRED, [0, 1, 1]),  # at 1/3, 1, 5/3: half a pixel more than RESIZE_BILINEAR
    ],
)
def test_nearest_from_two_to_three(compute, flags, expected):
    row = f32([[[[0], [1]]]])
    assert compute(NEAREST, [row, 3, 1, False, *flags], f32()) == [[[[x] for x in expected]]]


def test_between_four_pixels(compute):
    image = [[[[1], [3]], [[5], [11]]]]
    reference = [[[[1], [2], [3]], [[3], [5], [7]], [[5], [8], [11]]]]
    assert compute(BILINEAR, [f32(image), 3, 3, False, True, False], f32()) == reference
    assert compute(BILINEAR, [f16(image), 3, 3, False, True, False], f16()) == reference


def test_stored_numbers_are_rounded(compute):
    # Between 10 and 13 in quarters: 10.75, 11.5, 12.25
    output = [[[[10], [11], [12], [12], [13]]]]
    row = qu8([[[[10], [13]]]], 0.5, 100)
    assert compute(BILINEAR, [row, 5, 1, False, True, False], qu8(None, 0.5, 100)) == output
    # -13, -12.25, -11.5, -10.75, -10; half more, toward zero: those below 0 are rounded up.
    row = qs8([[[[-13], [-10]]]], 0.5, 100)
    result = compute(BILINEAR, [row, 5, 1, False, True, False], qs8(None, 0.5, 100))
    assert result == [[[[-12], [-11], [-11], [-10], [-9]]]]


def test_stored_numbers_are_computed_with_in_float32(compute):
    # 253 * 0.4 and 253 * 0.8 above the first: -26.8 and 74.4.
    output = [[[[-127], [-26], [74], [125], [125]]]]
    assert compute(BILINEAR, [qs8([[[[-128], [125]]]]), 5, 1, False], qs8()) == output
    output = [[[[0], [101], [202], [253], [253]]]]
    assert compute(BILINEAR, [qu8([[[[0], [253]]]]), 5, 1, False], qu8()) == output
    # The second is 6.5, or, with 5/6 and 1/6 as float32 has them, less.
    for tensor in (qu8, qs8):
        result = compute(BILINEAR, [tensor([[[[7], [4]]]]), 12, 1, False], tensor())
        assert result[0][0][:4] == [[7], [6], [6], [6]]


def test_width_comes_first_and_scales_are_rounded_down(compute):
    image = f32([[[[1], [2], [3]]]])
    assert compute(NEAREST, [image, 1, 2, False], f32()) == [[[[1]], [[1]]]]
    assert compute(NEAREST, [image, 0.9, 2.9, False], f32()) == [[[[1], [2]], [[1], [2]]]]
    half, one = (scalar(OperandType.FLOAT16, scale) for scale in (0.5, 1))
    assert compute(BILINEAR, [f16([[[[1], [2], [3]]]]), half, one], f16()) == [[[[1]]]]


@pytest.mark.parametrize("type", [NEAREST, BILINEAR], ids=lambda type: type.name)
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([1, 1, False, True, True], "align_corners .*and half_pixel_centers"),
        ([0, 1, False], "output .*has width 0"),
        ([1, -1, False], "output .*has height -1"),
        ([0.9, 1.0, False], "output .*has width 0"),
        ([1.0, float("nan"), False], "height_scale .*is nan"),
        ([1e30, 1.0, False], "width_scale .*is 1e\\+30"),
    ],
)
def test_values_that_make_no_sense(compute, type, inputs, message):
    with pytest.raises(NnapiError, match=message) as error:
        compute(type, [f32([[[[1]]]]), *inputs], f32())
    assert error.value.code is ResultCode.OP_FAILED
