"""EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL by hand."""

from math import nan

import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import bool8, f32, i32, qs8, qu8


@pytest.mark.parametrize(
    ("type", "below", "same", "above", "unordered"),
    [
        (Op.EQUAL, 0, 1, 0, 0),
        (Op.NOT_EQUAL, 1, 0, 1, 1),
        (Op.GREATER, 0, 0, 1, 0),
        (Op.GREATER_EQUAL, 0, 1, 1, 0),
        (Op.LESS, 1, 0, 0, 0),
        (Op.LESS_EQUAL, 1, 1, 0, 0),
    ],
)
def test_order(compute, type, below, same, above, unordered):
    expected = [below, same, above]
    assert compute(type, [f32([1, 2, 3, nan]), f32([2])], bool8()) == [*expected, unordered]
    assert compute(type, [i32([-(2**31), 7, 2**31 - 1]), i32([7])], bool8()) == expected
    assert compute(type, [qs8([-128, 0, 127]), qs8([0])], bool8()) == expected


def test_booleans_are_compared_as_bytes(compute):
    assert compute(Op.EQUAL, [bool8([0, 1, 2]), bool8([2])], bool8()) == [0, 0, 1]
    assert compute(Op.GREATER, [bool8([0, 1, 2]), bool8([1])], bool8()) == [0, 0, 1]


def test_quantized_numbers_are_compared_in_float32(compute):
    # real: -0.5, 0, 0.5 against 0
    assert compute(Op.LESS, [qu8([9, 10, 11], 0.5, 10), qu8([3], 2, 3)], bool8()) == [1, 0, 0]
    # 3 * float32(0.1) is not float32(0.3), and rounds to it.
    assert compute(Op.EQUAL, [qu8([3], 0.1), qu8([1], 0.3)], bool8()) == [1]
