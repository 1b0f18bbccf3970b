"""Rules of the operations that move data: what addOperation refuses, and the level it asks for."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import UNSET, BoundOperand

QU8 = T.TENSOR_QUANT8_ASYMM


def tensor(type, dimensions=(), scale=0.0, zero_point=0):
    return BoundOperand(0, type, dimensions, scale, zero_point)


def level(type, inputs, output):
    """The level that a use needs; its values are not known, as while a model is built."""
    declaration = operation(type)
    match = declaration.match(tuple(o.type for o in inputs), (output.type,))
    arguments = [UNSET if at in match.value_positions else o for at, o in enumerate(inputs)]
    op = declaration.bind(match, arguments, [output], inputs.__getitem__)
    return declaration.required_level(op)


def refused(type, inputs, output, words):
    with pytest.raises(NnapiError, match=words) as error:
        level(type, inputs, output)
    assert error.value.code is ResultCode.BAD_DATA


def test_the_output_of_pack_has_one_dimension_more():
    axis, unknown, pair = tensor(T.INT32), tensor(T.TENSOR_FLOAT32), (2, 3)
    one, two = tensor(T.TENSOR_FLOAT32, pair), tensor(T.TENSOR_FLOAT32, (2, 2, 3))
    assert level(Op.PACK, [axis, one, one], two) == 6
    assert level(Op.PACK, [axis, unknown, one], unknown) == 6
    refused(Op.PACK, [axis, one, one], one, "one more")
    refused(Op.PACK, [axis, one, two], unknown, "same rank")


@pytest.mark.parametrize("scale", [0.5, 0.25])
@pytest.mark.parametrize("zero_point", [3, 4])
def test_parameters_are_the_same_where_the_reference_compares_them(scale, zero_point):
    first, other = tensor(QU8, (2,), 0.5, 3), tensor(QU8, (2,), scale, zero_point)
    axis, scalar = tensor(T.TENSOR_INT32), tensor(T.INT32)
    uses = (
        (Op.PACK, [scalar, first, other], tensor(QU8, (), 0.5, 3)),
        (Op.PACK, [scalar, first], tensor(QU8, (), scale, zero_point)),
        (Op.REVERSE, [first, axis], other),
        (Op.MIRROR_PAD, [first, axis, scalar], other),
    )
    for type, inputs, output in uses:
        if (scale, zero_point) == (0.5, 3):
            level(type, inputs, output)
        else:
            refused(type, inputs, output, "they must be equal")


@pytest.mark.parametrize("type", [Op.PAD, Op.SPACE_TO_BATCH_ND])
def test_padding_around_another_zero_point_needs_level_3(type):
    more = [tensor(T.TENSOR_INT32)] * (2 if type is Op.SPACE_TO_BATCH_ND else 1)
    for zero_point, needed in ((0, 2), (1, 3)):
        arguments = tensor(QU8, (), 0.5, zero_point)
        assert level(type, [arguments, *more], arguments) == needed


@pytest.mark.parametrize("type", [Op.TRANSPOSE, Op.SQUEEZE, Op.PAD])
def test_known_ranks_above_4(type):
    axes, five = tensor(T.TENSOR_INT32), tensor(T.TENSOR_FLOAT32, (1,) * 5)
    refused(type, [five, axes], five, "rank")


def test_the_tensors_of_paddings_and_axes_have_their_dimensions():
    matrix, unknown = tensor(T.TENSOR_FLOAT32, (2, 3)), tensor(T.TENSOR_FLOAT32)

    def integers(*dimensions):
        return tensor(T.TENSOR_INT32, dimensions)

    mode = tensor(T.INT32)
    for good in (integers(2, 2), integers(0, 2), integers(2, 0), integers()):
        assert level(Op.MIRROR_PAD, [matrix, good, mode], unknown) == 7
    assert level(Op.MIRROR_PAD, [unknown, integers(3, 2), mode], unknown) == 7
    for bad in (integers(4), integers(3, 2), integers(2, 3), integers(2, 2, 1)):
        refused(Op.MIRROR_PAD, [matrix, bad, mode], unknown, "paddings has dimensions")
    for good in (integers(1), integers(0), integers()):
        assert level(Op.REVERSE, [matrix, good], matrix) == 7
    for bad in (integers(2), integers(1, 1)):
        refused(Op.REVERSE, [matrix, bad], matrix, "axis has dimensions")
