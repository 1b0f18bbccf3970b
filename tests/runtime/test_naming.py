"""Names and numbers of operands in what a part of a model, on one of several devices, refuses."""

import pytest

from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, Place, bad_data
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.naming import named, renumbered
from tests.runtime.partial_devices import PartialDevice

F32 = "TENSOR_FLOAT32"


def three_steps() -> Model:
    """Its last operation, on another device, has operands of other numbers there."""
    with Model() as model:
        x = model.input(F32, [2, 2], name="x")
        for _ in range(3):
            x = model.relu(x)
        y = model.input(F32, [None, 3], name="y")
        model.outputs(model.concatenation([model.abs(x), y], 1, name="joined"))
    return model


def refusal(call) -> NnapiError:
    with pytest.raises(NnapiError) as caught:
        call()
    return caught.value


def test_a_device_that_refuses_to_prepare_its_part() -> None:
    model = three_steps()
    first, second = PartialDevice("first", "RELU"), PartialDevice("second", "ABS CONCATENATION")

    def prepare(*arguments):
        raise bad_data("operand 2 is not to my liking", "operand.index").about(Place("operand", 2))

    second.prepare = prepare
    compilation = Compilation(model.runtime, [first, second])
    error = refusal(compilation.finish)
    (part,) = second.prepared
    (abs_, concatenation) = part.main.operations
    assert len(part.main.operands) < len(model.operands)
    whole = model.operations[-1]
    index = {
        **dict(zip(concatenation.inputs, (o.index for o in whole.inputs), strict=True)),
        **dict(zip(concatenation.outputs, (o.index for o in whole.outputs), strict=True)),
        **dict(zip(abs_.inputs, (o.index for o in model.operations[-2].inputs), strict=True)),
    }[2]
    name = model.operands[index].name
    messages = f"operand {index} '{name}'" if name else f"operand {index}"
    assert error.message == f"second: {messages} is not to my liking"
    assert error.place("operand") == Place("operand", index)


def test_numbers_of_a_graph_within_stay() -> None:
    error = bad_data("operand 1 is wrong", "operand.index").at(
        "IF (operation 2), else: ADD (operation 0)"
    )
    assert renumbered(error, (7, 8, 9)) is error
    other = bad_data("operand 1 is wrong", "operand.index").at(Place("operation", 2, "ADD"))
    result = renumbered(other, (7, 8, 9))
    assert result.message == "ADD (operation 2): operand 8 is wrong"
    assert (result.rule, result.code) == (other.rule, other.code)
    assert (
        renumbered(bad_data("operand 5 is wrong", "operand.index"), (7,)).message
        == "operand 5 is wrong"
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("operand 1 is wrong", "operand 1 'one' is wrong"),
        ("x (input 0, operand 1) is wrong", "x (input 0, operand 1 'one') is wrong"),
        ("operand 11, operand 1", "operand 11, operand 1 'one'"),
        ("operand 1 'one' is wrong", "operand 1 'one' is wrong"),
        ("suboperand 1, operand one, operand ", "suboperand 1, operand one, operand "),
        ("operand 123456789012345", "operand 123456789012345"),
    ],
)
def test_where_names_stand(message: str, expected: str) -> None:
    error = bad_data(f"{message}; be right", "operand.index")
    result = named(error, {1: "one"})
    assert (result.message, result.said) == (f"{expected}; be right",) * 2
    assert (result is error) == (message == expected)
