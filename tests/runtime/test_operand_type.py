"""Sizes of operands: the limit holds for any rank, in words that can be read."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.runtime.operand_type import checked_type


@pytest.mark.parametrize("rank", [2, 4, 500])
def test_more_bytes_than_there_can_be(rank):
    with pytest.raises(NnapiError, match="more than the 4294967295 bytes") as caught:
        checked_type(OperandType.TENSOR_FLOAT32, [0xFFFFFFFF] * rank, rank, 0.0, 0)
    assert caught.value.code is ResultCode.BAD_DATA


def test_the_largest_size_and_unknown_dimensions_pass():
    code = OperandType.TENSOR_BOOL8
    assert checked_type(code, [0xFFFFFFFF, 0, 1], 3, 0.0, 0) == (code, (0xFFFFFFFF, 0, 1))
