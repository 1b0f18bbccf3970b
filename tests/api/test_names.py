"""Names of operands: where they may be given, in messages, and in runs by name."""

import re

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError, lint


def gathering(named: bool = True) -> Model:
    """Rows of an image, by their numbers."""
    with Model() as model:
        image = model.input("TENSOR_FLOAT32", [2, 3], name="image" if named else "")
        rows = model.input("TENSOR_INT32", [1], name="rows" if named else "")
        model.outputs(model.operation("GATHER", [image, 0, rows], name="picked" if named else ""))
    return model


def test_names_are_seen() -> None:
    model = gathering()
    assert [operand.name for operand in model.input_operands] == ["image", "rows"]
    assert [operand.name for operand in model.output_operands] == ["picked"]
    assert "'image'" in repr(model.operands[0])
    compilation = model.compile("nnapi-reference")
    assert [argument.name for argument in compilation.inputs] == ["image", "rows"]
    assert compilation.outputs[0].name == "picked"


def test_all_that_makes_operands_takes_a_name() -> None:
    model = Model()
    bare = model.add_operand("TENSOR_FLOAT32", [4], name="bare")
    constant = model.constant([1.0, 2.0], name="constant")
    x = model.input("TENSOR_FLOAT32", [4], name="x")
    parts = model.operation("SPLIT", [x, 0, 2], output_count=2, name=["left", "right"])
    assert [o.name for o in (bare, constant, x, *parts)] == [
        "bare", "constant", "x", "left", "right",
    ]  # fmt: skip
    model.name_operand(bare, "renamed")
    assert model.operands[bare.index].name == bare.name == "renamed"
    model.name_operand(bare, "")
    assert model.operands[bare.index].name == ""
    with pytest.raises(NnapiError, match="BAD_DATA: 1 names given; the operation has 2 outputs"):
        model.operation("SPLIT", [x, 0, 2], output_count=2, name="both")
    with pytest.raises(TypeError, match="a name is 3"):
        model.name_operand(bare, 3)  # type: ignore[arg-type]


def said(call) -> str:
    """The message of the refusal that a call ends with."""
    with pytest.raises(NnapiError) as caught:
        call()
    return caught.value.message


def test_messages_of_a_model_that_is_built() -> None:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [2, 3], name="x")
    lost = model.add_operand("TENSOR_FLOAT32", [2], name="lost")
    weights = model.add_operand("TENSOR_FLOAT32", [5], name="weights")
    assert "operand 2 'weights' TENSOR_FLOAT32[5]" in said(
        lambda: model.set_operand_value(weights, np.zeros(4))
    )
    assert "shape (input 1, operand 1 'lost') is TENSOR_FLOAT32" in said(
        lambda: model.operation("RESHAPE", [x, lost])
    )
    assert "operand 1 'lost'" in said(lambda: model.add_operation("ADD", [x, x, lost], [weights]))
    model.runtime.add_operation(28, [0], [1])
    model.runtime.identify_inputs_and_outputs([0], [1])
    assert [e.message.partition(" has")[0] for e in lint(model)] == ["operand 2 'weights'"]
    assert "operand 2 'weights' has no value" in said(model.runtime.finish)


def test_messages_of_runs(device: str) -> None:
    compilation = gathering().compile(device)
    image = np.zeros((2, 3))
    assert said(lambda: compilation.run(image[:, :2], [0])).startswith("input 0 'image': ")
    plain = gathering(named=False).compile(device)
    arguments = (image, [7])
    assert said(lambda: compilation.run(*arguments)) == said(lambda: plain.run(*arguments))


@pytest.mark.parametrize("branch", ["then", "else"])
def test_names_of_the_model_that_a_branch_runs(device: str, branch: str) -> None:
    def concatenating(name: str) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [2, None], name=f"{name}-x")
            y = model.input("TENSOR_FLOAT32", [None, 2], name=f"{name}-y")
            model.outputs(model.operation("CONCATENATION", [x, y, 0]))
        return model

    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1], name="condition")
        x = model.input("TENSOR_FLOAT32", [2, None], name="outer-x")
        y = model.input("TENSOR_FLOAT32", [None, 2], name="outer-y")
        branches = [concatenating("then"), concatenating("else")]
        model.outputs(model.operation("IF", [condition, *branches, x, y]))
    compilation = model.compile(device)
    message = said(lambda: compilation.run([branch == "then"], np.zeros((2, 3)), np.zeros((1, 2))))
    assert "outer-" not in message
    about = "then" if "then: " in message else "else"  # whichever the device looks at first
    for number, name in re.findall(r"operand (\d) '([^']*)'", message):
        assert name == f"{about}-{'xy'[int(number)]}"


def test_runs_by_name(device: str) -> None:
    compilation = gathering().compile(device)
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = image[[1]]
    np.testing.assert_array_equal(compilation.run(image, rows=[1]), expected)
    np.testing.assert_array_equal(compilation.run(rows=[1], image=image), expected)
    result = compilation.run_named({"image": image, "rows": [1]})
    assert list(result) == ["picked"]
    np.testing.assert_array_equal(result["picked"], expected)
    assert "'rows' is given" not in said(lambda: compilation.run(image, row=[1]))
    assert "there is no input 'row'; did you mean rows?" in said(
        lambda: compilation.run(image, row=[1])
    )
    assert "input 'image' is given twice" in said(lambda: compilation.run(image, image=image))
    with pytest.raises(TypeError, match="it must be a mapping from names to values"):
        compilation.run_named([image])  # type: ignore[arg-type]
    assert "nothing is given for 'rows'" in said(lambda: compilation.run(image=image))


def test_arguments_without_names_of_their_own() -> None:
    with Model() as model:
        same = [model.input("TENSOR_FLOAT32", [1], name="same") for _ in range(2)]
        model.outputs(model.operation("ADD", [*same, 0]), *[])
    compilation = Compilation(model)
    assert compilation.input_names == ("input_0", "input_1")
    assert compilation.run_named({"input_0": [1], "input_1": [2]})["output_0"] == [3]


def test_a_name_makes_no_line_of_its_own() -> None:
    model = Model()
    image = model.input("TENSOR_FLOAT32", [1, 2], name="image\nfalse")
    with pytest.raises(NnapiError) as caught:
        model.conv_2d(image, np.zeros((1, 1, 1, 1), np.float32), [0.0], padding="SAME")
    assert "image\\nfalse" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["self", "out", "intermediates"])
def test_names_that_are_keywords_of_run(name: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2], name=name)
        model.outputs(model.relu(x, name=name))
    compilation = model.compile("nnapi-cpu")
    assert (compilation.input_names, compilation.output_names) == (("input_0",), (name,))
    assert compilation.run(input_0=[-1, 2]).tolist() == [0, 2]
