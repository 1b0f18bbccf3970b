"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION by hand."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.fixed_point import inverse_square_root
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qs8, qu8, scalar


def test_l2(compute):
    rows = f32([[3, 4], [0, 0], [-5, 12], [6e-7, 8e-7]])
    assert compute(Op.L2_NORMALIZATION, [rows], f32()) == [
        pytest.approx([0.6, 0.8]),
        [0, 0],
        pytest.approx([-5 / 13, 12 / 13]),
        # a norm of 1e-6 is the smallest
        pytest.approx([0.6, 0.8]),
    ]
    assert compute(Op.L2_NORMALIZATION, [f32([[3, 4], [4, 3]]), 0], f32()) == [
        pytest.approx([0.6, 0.8]),
        pytest.approx([0.8, 0.6]),
    ]
    assert compute(Op.L2_NORMALIZATION, [f32([1e-7])], f32()) == [pytest.approx(0.1)]
    assert compute(Op.L2_NORMALIZATION, [f16([0, -2])], f16()) == [0, -1]


def test_quantized_l2(compute):
    unsigned, signed = qu8(None, 1 / 128, 128), qs8(None, 1 / 128)
    # 128 * (-0.6, 0.8) is (-76.8, 102.4); 128 itself is one too many
    assert compute(Op.L2_NORMALIZATION, [qu8([7, 14], 1, 10)], unsigned) == [51, 230]
    assert compute(Op.L2_NORMALIZATION, [qs8([-3, 4])], signed) == [-77, 102]
    assert compute(Op.L2_NORMALIZATION, [qu8([0, 255], 1, 0)], unsigned) == [128, 255]
    assert compute(Op.L2_NORMALIZATION, [qs8([5, 4], 1, 5)], signed) == [0, -128]
    assert compute(Op.L2_NORMALIZATION, [qu8([9, 9], 1, 9)], unsigned) == [128, 128]


def test_inverse_square_root():
    # semantics.md 15
    mantissa, shift = inverse_square_root(np.array([0, 1, 2, 100, 12345, 10**8]))
    assert mantissa.tolist() == [
        2**31 - 1, 2**31 - 1, 1518498372, 214748363, 309246148, 219902323,
    ]  # fmt: skip
    assert shift.tolist() == [0, 0, 0, 0, 4, 10]


def test_local_response(compute):
    def normalize(values, *tail):
        return compute(Op.LOCAL_RESPONSE_NORMALIZATION, [f32(values), *tail], f32())

    # sums of squares 5, 14, 13 and then 1 + 3 * sum
    assert normalize([1, 2, 3], 1, 1.0, 3.0, 0.5) == pytest.approx([0.25, 2 / 43**0.5, 3 / 40**0.5])
    assert normalize([1, 2, 3], 0, 0.0, 1.0, 1.0) == pytest.approx([1, 1 / 2, 1 / 3])
    everything = pytest.approx([1 / 14, 2 / 14, 3 / 14])
    assert normalize([1, 2, 3], 2, 0.0, 1.0, 1.0) == everything
    assert normalize([1, 2, 3], 2**31 - 1, 0.0, 1.0, 1.0) == everything
    assert normalize([[1, 2], [3, 4]], 1, 0.0, 1.0, 1.0, 0) == [
        pytest.approx([1 / 10, 2 / 20]),
        pytest.approx([3 / 10, 4 / 20]),
    ]
    half = OperandType.FLOAT16
    arguments = [f16([1, 2]), 0, *(scalar(half, x) for x in (1, 3, 0.5))]
    assert compute(Op.LOCAL_RESPONSE_NORMALIZATION, arguments, f16()) == pytest.approx(
        [0.5, 2 / 13**0.5], rel=1e-3
    )


def test_instance(compute):
    # channels 1 2 3 6 and 10 10 10 10: means 3 and 10, variances 3.5 and 0
    image = np.array([[[[1, 10], [2, 10]], [[3, 10], [6, 10]]]])
    expected = np.array([[[[-4, 0], [-2, 0]], [[0, 0], [6, 0]]]]) / 2 + 0.5
    tail = [2.0, 0.5, 0.5]
    result = compute(Op.INSTANCE_NORMALIZATION, [f32(image), *tail, False], f32())
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    turned = image.transpose(0, 3, 1, 2).tolist()
    result = compute(Op.INSTANCE_NORMALIZATION, [f32(turned), *tail, True], f32())
    np.testing.assert_allclose(result, expected.transpose(0, 3, 1, 2), rtol=1e-6)


@pytest.mark.parametrize(
    ("type", "inputs"),
    [
        (Op.L2_NORMALIZATION, [f32([1, 2]), 1]),
        (Op.L2_NORMALIZATION, [f32([1, 2]), -2]),
        (Op.LOCAL_RESPONSE_NORMALIZATION, [f32([1, 2]), -1, 1.0, 1.0, 1.0]),
        (Op.LOCAL_RESPONSE_NORMALIZATION, [f32([1, 2]), 1, 1.0, 1.0, 1.0, 1]),
        (Op.INSTANCE_NORMALIZATION, [f32([[1, 2]]), 1.0, 1.0, 1.0, False]),
    ],
    ids=["l2 axis", "negative l2 axis", "radius", "local response axis", "instance rank"],
)
def test_values_that_are_refused(compute, type, inputs):
    with pytest.raises(NnapiError) as error:
        compute(type, inputs, f32())
    assert error.value.code is ResultCode.OP_FAILED
