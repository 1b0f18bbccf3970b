"""Dimensions whose elements no INT32 has indexes for; both devices resolve operations before they
read a byte of them.
"""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Operand, Operation
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.resolve import resolve

MOST = 2**31
OUTPUTS = {
    O.ARGMAX: [T.TENSOR_INT32],
    O.ARGMIN: [T.TENSOR_INT32],
    O.TOPK_V2: [T.TENSOR_QUANT8_ASYMM, T.TENSOR_INT32],
}


def resolved(type, dimensions, scalar):
    """The outputs' dimensions. scalar: the axis, or how many elements."""
    source = Operand(T.TENSOR_QUANT8_ASYMM, dimensions, 1.0)
    outputs = [Operand(kind, (), 1.0 if kind != T.TENSOR_INT32 else 0.0) for kind in OUTPUTS[type]]
    operands = [source, Operand(T.INT32), *outputs]
    item = Operation(type, (0, 1), tuple(range(2, len(operands))))
    bound = [bound_operand(index, operand) for index, operand in enumerate(operands)]
    op = bound_operation(
        item,
        operands,
        lambda index, is_value: scalar if is_value else bound[index],
        bound.__getitem__,
    )
    resolve(op)
    return [output.dimensions for output in op.outputs]


@pytest.mark.parametrize("type", [O.ARGMAX, O.ARGMIN], ids=lambda type: type.name)
def test_extremes(type):
    for dimensions, axis in (((MOST + 1,), 0), ((1, MOST + 1), -1), ((2**32 - 1, 1), 0)):
        with pytest.raises(NnapiError, match=f"a dimension of {max(dimensions)};") as caught:
            resolved(type, dimensions, axis)
        assert caught.value.code is ResultCode.OP_FAILED
    assert resolved(type, (MOST, 1), 0) == [(1,)]
    with pytest.raises(NnapiError, match="larger than 2\\^32 - 1 bytes"):
        resolved(type, (MOST + 1, 1), 1)  # of another axis: what it gives is too large


def test_the_largest():
    with pytest.raises(NnapiError, match=f"a dimension of {MOST + 1};") as caught:
        resolved(O.TOPK_V2, (1, MOST + 1), 2)
    assert caught.value.code is ResultCode.OP_FAILED
    assert resolved(O.TOPK_V2, (1, MOST), 2) == [(1, 2), (1, 2)]
