"""SOFTMAX and LOG_SOFTMAX by hand."""

from math import log

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qs8, qu8, scalar


def test_float(compute):
    # 1 : 3, also far from 0, where exponentials alone overflow
    assert compute(Op.SOFTMAX, [f32([0, log(3)]), 1.0], f32()) == pytest.approx([0.25, 0.75])
    assert compute(Op.SOFTMAX, [f32([1000, 1000 + 2 * log(3)]), 0.5], f32()) == pytest.approx(
        [0.25, 0.75], rel=1e-4
    )
    beta = scalar(OperandType.FLOAT16, 1)
    assert compute(Op.SOFTMAX, [f16([0, 0, 0, 0]), beta], f16()) == [0.25] * 4


def test_axis(compute):
    values = f32([[0, 0], [log(3), 0]])
    along_0 = [pytest.approx([0.25, 0.5]), pytest.approx([0.75, 0.5])]
    along_1 = [pytest.approx([0.5, 0.5]), pytest.approx([0.75, 0.25])]
    assert compute(Op.SOFTMAX, [values, 1.0, 0], f32()) == along_0
    assert compute(Op.SOFTMAX, [values, 1.0, -2], f32()) == along_0
    assert compute(Op.SOFTMAX, [values, 1.0, 1], f32()) == along_1
    assert compute(Op.SOFTMAX, [values, 1.0], f32()) == along_1


def test_quantized(compute):
    unsigned, signed = qu8(None, 1 / 256), qs8(None, 1 / 256, -128)
    assert compute(Op.SOFTMAX, [qu8([7, 7]), 1.0], unsigned) == [128, 128]
    assert compute(Op.SOFTMAX, [qu8([9, 9, 9]), 1.0], unsigned) == [85, 85, 85]
    assert compute(Op.SOFTMAX, [qu8([0, 255]), 1.0], unsigned) == [0, 255]
    # 1 : e is 0.2689 : 0.7311, or 68.8 : 187.2 steps
    assert compute(Op.SOFTMAX, [qs8([0, 4], 0.25), 1.0], signed) == [-59, 59]


@pytest.mark.parametrize(
    ("tail", "output"),
    [
        ((0.0,), qu8(None, 1 / 256)),
        ((1.0, 1), qu8(None, 1 / 256)),
        ((1.0, -2), qu8(None, 1 / 256)),
        ((1.0,), qu8(None, 1 / 128)),
    ],
    ids=["beta", "axis", "negative axis", "output scale"],
)
def test_values_that_are_refused(compute, tail, output):
    with pytest.raises(NnapiError) as error:
        compute(Op.SOFTMAX, [qu8([1, 2]), *tail], output)
    assert error.value.code is ResultCode.OP_FAILED


def test_log(compute):
    # 1 : 3
    assert compute(Op.LOG_SOFTMAX, [f32([0, log(3)]), 1.0, 0], f32()) == pytest.approx(
        [log(1 / 4), log(3 / 4)]
    )
    assert compute(Op.LOG_SOFTMAX, [f32([[0, 5], [log(3), 5]]), 1.0, -2], f32()) == [
        pytest.approx([log(1 / 4), log(1 / 2)]),
        pytest.approx([log(3 / 4), log(1 / 2)]),
    ]
    # exponentials of these alone overflow; beta turns the order round
    assert compute(Op.LOG_SOFTMAX, [f32([1000, 1000 + log(3)]), -1.0, 0], f32()) == pytest.approx(
        [log(3 / 4), log(1 / 4)], rel=1e-4
    )
    assert compute(Op.LOG_SOFTMAX, [f32([0, -1000]), 1.0, 0], f32()) == [0, -1000]
    beta = scalar(OperandType.FLOAT16, 0)
    assert compute(Op.LOG_SOFTMAX, [f16([1, 2]), beta, 0], f16()) == pytest.approx(
        [log(1 / 2)] * 2, rel=1e-3
    )
    with pytest.raises(NnapiError) as error:
        compute(Op.LOG_SOFTMAX, [f32([1, 2]), 1.0, 1], f32())
    assert error.value.code is ResultCode.OP_FAILED
