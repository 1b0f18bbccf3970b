"""diff: from which operation on two devices differ, and where the error is made."""

import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.tools.array_difference import Tolerance
from nnapi_shim.tools.diff import diff
from tests.runtime.partial_devices import PartialDevice
from tests.tools.models import conv_log_softmax, of_unknown_size, quantized


class Wrong(PartialDevice):
    """Takes one operation for another."""

    def __init__(self, name, values, taken) -> None:
        super().__init__(name)
        prepare = self.prepare

        def wrongly(model, *arguments):
            items = tuple(
                item._replace(type=OperationType[taken])
                if item.type is OperationType[values]
                else item
                for item in model.main.operations
            )
            return prepare(model._replace(main=model.main._replace(operations=items)), *arguments)

        self.prepare = wrongly


def beyond(result):
    return [item.operation for item in result.operands if item.is_beyond]


def test_the_same() -> None:
    result = diff(quantized(), "nnapi-cpu", "nnapi-reference")
    assert result.is_same
    assert (result.first, result.first_unequal) == (None, None)
    assert [item.operation for item in result.operands] == ["ADD", "LOGISTIC"]
    assert [item.is_model_output for item in result.operands] == [False, True]


@pytest.mark.parametrize("isolated", [False, True])
def test_where_it_begins(listed, isolated) -> None:
    """An error goes on to what follows, unless every operation has the same inputs."""
    listed(Wrong("wrong", "LOG", "SQRT"))
    result = diff(conv_log_softmax(), "wrong", "nnapi-reference", isolated=isolated)
    assert result.first == 1
    assert result.operands[1].operation == "LOG"
    assert beyond(result) == (["LOG"] if isolated else ["LOG", "SOFTMAX"])


def test_steps_have_the_scale_of_the_operation(listed) -> None:
    listed(Wrong("wrong", "ADD", "SUB"))
    result = diff(quantized(), "wrong", "nnapi-cpu")
    first = result.operands[0]
    assert result.first == 0
    assert first.difference.largest == first.difference.steps * 0.5
    loose = diff(quantized(), "wrong", "nnapi-cpu", tolerance=Tolerance(steps=255))
    assert loose.is_same
    assert loose.first_unequal == 0


@pytest.mark.parametrize("isolated", [False, True])
def test_unknown_sizes(isolated) -> None:
    result = diff(of_unknown_size(), "nnapi-cpu", "nnapi-reference", isolated=isolated)
    assert [item.operation for item in result.operands] == ["RELU", "LOG"]


def test_an_operation_that_fails_alone(listed) -> None:
    device = Wrong("wrong", "LOG", "CONV_2D")
    listed(device)
    result = diff(conv_log_softmax(), "nnapi-cpu", "wrong", isolated=True)
    assert [item.difference is None for item in result.operands] == [False, True, False]
    assert result.operands[1].problem.startswith("wrong: ")


@pytest.mark.parametrize("isolated", [False, True])
def test_graphs_inside(isolated) -> None:
    with Model() as branch:
        branch.outputs(branch.operation("LOG", [branch.input("TENSOR_FLOAT32", [2])]))
    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [2])
        model.outputs(model.operation("IF", [condition, branch, branch, x]))
    result = diff(model, "nnapi-cpu", "nnapi-reference", isolated=isolated)
    assert [item.operation for item in result.operands] == ["IF"]
    assert "IF (operation 0)" in result.left_out[0]


def test_bad_devices() -> None:
    with pytest.raises(NnapiError, match="with itself"):
        diff(quantized(), "nnapi-cpu", "nnapi-cpu")
    with pytest.raises(NnapiError, match="nnapi-cpu"):
        diff(quantized(), "nnapi-cpu", "nnapi-cp")
