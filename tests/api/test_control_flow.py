"""IF and WHILE through the Python face."""

import numpy as np
import pytest

from nnapi_shim import Compilation, FuseCode, Model
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode

VECTOR = ("TENSOR_FLOAT32", [2])


def arithmetic(type, dimensions=(2,)):
    with Model() as model:
        x, y = (model.input("TENSOR_FLOAT32", dimensions) for _ in range(2))
        model.outputs(model.operation(type, [x, y, FuseCode.NONE]))
    return model


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_if(device):
    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input(*VECTOR)
        ones = np.ones(2, np.float32)
        branches = [arithmetic("ADD"), arithmetic("SUB")]
        model.outputs(model.operation("IF", [condition, *branches, x, ones]))
    with Compilation(model, device) as compilation:
        for value, expected in [(True, [4, 6]), (False, [2, 4])]:
            result = compilation.run(np.array([value]), np.array([3, 5], np.float32))
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_while(device):
    with Model() as condition:
        i, _ = condition.input("TENSOR_INT32", [1]), condition.input(*VECTOR)
        condition.outputs(condition.operation("LESS", [i, np.array([5], np.int32)]))
    with Model() as body:
        i, x = body.input("TENSOR_INT32", [1]), body.input(*VECTOR)
        following = body.operation("ADD", [i, np.array([1], np.int32), FuseCode.NONE])
        body.outputs(following, body.operation("ADD", [x, x, FuseCode.NONE]))
    with Model() as model:
        x = model.input(*VECTOR)
        start = np.array([0], np.int32)
        i, y = model.operation("WHILE", [condition, body, start, x])
        model.outputs(i, y)
    with Compilation(model, device) as compilation:
        i, y = compilation.run(np.array([1, -3], np.float32))
    np.testing.assert_array_equal(y, [32, -96])
    assert i == [5]


def test_models_are_for_control_flow_alone():
    model = Model()
    x = model.input(*VECTOR)
    with pytest.raises(NnapiError) as error:
        model.operation("ADD", [x, arithmetic("ADD"), FuseCode.NONE])
    assert error.value.code is ResultCode.BAD_DATA
    with pytest.raises(NnapiError) as error:
        model.operation("IF", [x, arithmetic("ADD"), arithmetic("ADD"), x, x])
    assert "condition" in error.value.message
    with pytest.raises(NnapiError) as error:
        model.operation("IF", [x, arithmetic("ADD"), x])
    assert "models" in error.value.message
    with pytest.raises(NnapiError) as error:
        model.operation("IF", [x, Model(), arithmetic("ADD"), x, x])
    assert error.value.code is ResultCode.BAD_STATE
