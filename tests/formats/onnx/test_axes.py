"""The axes of reductions in a .onnx file."""

import numpy as np
import onnx
import pytest

from nnapi_shim import savers
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.runtime.hal_models import Builder


def written(axes):
    """The axes that the file of a MEAN has."""
    b = Builder()
    x = b.input((2, 3, 4))
    out = b.temporary((0,))
    b.operation(
        O.MEAN, [x, b.constant(np.int32(axes), T.TENSOR_INT32), b.constant(0, T.INT32)], [out]
    )
    content, *_ = savers.exchange().written(b.model([x], [out]))
    model = onnx.load_from_string(content)
    (node,) = [each for each in model.graph.node if each.op_type == "ReduceMean"]
    (named,) = [each for each in model.graph.initializer if each.name == node.input[1]]
    return onnx.numpy_helper.to_array(named).tolist()


@pytest.mark.parametrize(
    ("axes", "expected"),
    [([1, 0, -3, -3], [0, 1]), ([-1], [2]), ([2, 0], [0, 2])],
)
def test_each_axis_once(axes, expected):
    """NNAPI lets axes be named twice; some readers of ONNX reduce twice, or end."""
    assert written(axes) == expected


def test_an_axis_that_is_none():
    """A reader says so; it must not become one that exists."""
    assert written([0, 3]) == [0, 3]
    assert written([-4]) == [-4]
