"""The values of all operands in a run."""

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError


def network() -> Model:
    """relu(2 * x + 1), and its negative."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2], name="x")
        doubled = model.operation("MUL", [x, [2.0, 2.0], 0], name="doubled")
        more = model.operation("ADD", [doubled, [1.0, 1.0], 0], name="more")
        positive = model.operation("RELU", [more], name="positive")
        model.outputs(positive, model.operation("NEG", [positive], name="negative"))
    return model


def test_every_operand_has_its_value(device: str) -> None:
    model = network()
    compilation = model.compile(device)
    values = compilation.run([1.0, -3.0], intermediates=True)
    assert values["x"].tolist() == [1, -3]
    assert values["doubled"].tolist() == [2, -6]
    assert values["more"].tolist() == [3, -5]
    assert values["positive"].tolist() == [3, 0]
    assert values["negative"].tolist() == [-3, 0]
    assert values[1].tolist() == [2, 2]  # a constant
    more = next(operand for operand in model.operands if operand.name == "more")
    assert values[more] is values["more"] is values[more.index]
    assert [operand.index for operand in values] == sorted(operand.index for operand in values)
    assert values.left_out == ()
    assert compilation.intermediates(x=[1.0, -3.0])["more"].tolist() == [3, -5]
    with pytest.raises(KeyError, match="lost"):
        values["lost"]
    with pytest.raises(KeyError):
        values[""]


def test_several_devices() -> None:
    compilation = network().compile(["nnapi-reference", "nnapi-cpu"])
    assert compilation.run([1.0, -3.0], intermediates=True)["doubled"].tolist() == [2, -6]


def test_quantized_operands_have_the_parameters_of_their_operations(device: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [3], 0.5, 10)
        reshaped = model.add_operand("TENSOR_QUANT8_ASYMM", [3], 0.25, 3)  # not what counts
        model.add_operation("RELU", [x], [reshaped])
        y = model.operation("LOGISTIC", [reshaped])
        model.outputs(y)
    compilation = model.compile(device)
    inputs = np.array([0, 10, 20], np.uint8)
    values = compilation.run(inputs, intermediates=True)
    assert values[reshaped].tolist() == [10, 10, 20]
    np.testing.assert_array_equal(values[y], compilation.run(inputs))


def test_sizes_that_only_a_run_tells(device: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None, 2])
        y = model.operation("RELU", [x])
        model.outputs(model.operation("NEG", [y]))
    compilation = model.compile(device)
    for rows in (1, 5, 2):
        inputs = np.ones((rows, 2), np.float32)
        np.testing.assert_array_equal(compilation.run(inputs, intermediates=True)[y], inputs)


def test_what_is_inside_a_branch_is_left_out(device: str) -> None:
    def branch(kind: str) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [1])
            model.outputs(model.operation("NEG", [model.operation(kind, [x])]))
        return model

    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [1])
        chosen = model.operation("IF", [condition, branch("EXP"), branch("ABS"), x])
        model.outputs(model.operation("ABS", [chosen]))
    values = model.compile(device).run([False], [-2.0], intermediates=True)
    assert values[chosen].tolist() == [-2]
    (left_out,) = values.left_out
    assert left_out == "operands inside the graphs that IF (operation 0) runs"


def test_states_are_carried(device: str) -> None:
    with Model() as model:
        total = model.input("TENSOR_FLOAT32", [1], name="total")
        x = model.input("TENSOR_FLOAT32", [1])
        new = model.operation("ADD", [total, x, 0])
        model.outputs(new, model.operation("NEG", [new], name="negative"))
        model.carry(total, new)
    compilation = model.compile(device)
    assert compilation.run([1]).tolist() == [-1]
    values = compilation.run([1], intermediates=True)
    assert (values["total"].tolist(), values["negative"].tolist()) == ([1], [-2])
    assert compilation.run([1]).tolist() == [-3]


def test_a_closed_compilation() -> None:
    compilation = network().compile()
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE: the compilation is closed"):
        compilation.run([1.0, 1.0], intermediates=True)
