"""LOGICAL_AND LOGICAL_OR LOGICAL_NOT by hand."""

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import bool8


def test_any_byte_but_0_is_true(compute):
    x, y = bool8([0, 0, 2, 1]), bool8([0, 255, 0, 2])
    assert compute(Op.LOGICAL_AND, [x, y], bool8()) == [0, 0, 0, 1]
    assert compute(Op.LOGICAL_OR, [x, y], bool8()) == [0, 1, 1, 1]
    assert compute(Op.LOGICAL_NOT, [y], bool8()) == [1, 0, 1, 0]


def test_shapes_are_broadcast(compute):
    column, row = bool8([[0], [1]]), bool8([0, 1])
    assert compute(Op.LOGICAL_AND, [column, row], bool8()) == [[0, 0], [0, 1]]
