"""How models, operands and compilations look."""

from html.parser import HTMLParser

import numpy as np
import pytest

from nnapi_shim import Model


def network(name: str = "x") -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 8, 8, 2], name=name)
        w = model.constant(np.zeros((3, 3, 3, 2), np.float32), name="w")
        y = model.conv_2d(x, w, [0.0] * 3, padding="SAME", activation="RELU6", name="y")
        model.outputs(model.relu(model.squeeze(y)))
    return model


def test_a_line() -> None:
    model = network()
    assert repr(model) == (
        "<model, finished: 11 operands, 3 operations (1 CONV_2D, 1 SQUEEZE, 1 RELU); "
        "x: TENSOR_FLOAT32[1, 8, 8, 2] -> 10: TENSOR_FLOAT32[8, 8, 3]>"
    )
    compilation = model.compile("nnapi-cpu")
    assert repr(compilation) == (
        "<compilation for nnapi-cpu: x: TENSOR_FLOAT32[1, 8, 8, 2] -> 10: TENSOR_FLOAT32[8, 8, 3]>"
    )
    compilation.close()
    assert repr(compilation).startswith("<compilation, closed: ")
    building = Model()
    assert repr(building) == "<model, building: 0 operands, 0 operations; nothing -> nothing>"
    building.close()
    assert repr(building) == str(building) == "<model, closed>"


def test_a_table() -> None:
    lines = str(network()).splitlines()
    assert lines[1] == "inputs:  x: TENSOR_FLOAT32[1, 8, 8, 2]"
    assert lines[4].startswith(
        "0  CONV_2D    input = 0 'x' TENSOR_FLOAT32[1, 8, 8, 2], filter = 1 'w' TENSOR_FLOAT32[3, "
    )
    assert "padding = 1, stride_width = 1, stride_height = 1, activation = 3 -> 7 'y' " in lines[4]
    assert "axes = omitted" in lines[5]
    assert len(lines) == 7


class Tags(HTMLParser):
    """Checks that what is opened is closed, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(item: object) -> Tags:
    tags = Tags()
    tags.feed(item._repr_html_())  # type: ignore[attr-defined]
    assert tags.open == []
    return tags


@pytest.mark.parametrize("name", ["x", "<script>alert('x')</script>", 'a"b&c\n\x1b[31m'])
def test_html(name: str) -> None:
    model = network(name)
    for item in (model, model.compile(), model.operands[0], model._operands[0]):
        tags = shown(item)
        assert "script" not in tags.seen
        if "script" in name:
            assert name in tags.text
    assert "CONV_2D" in shown(model).text
    assert "SUBGRAPH_INPUT" in shown(model).text
    building = Model()
    shown(building)
    building.close()
    shown(building)


def test_control_characters_stay_out_of_lines() -> None:
    model = network("a\nb\x1b[31m")
    assert "\n" not in repr(model)
    assert "\x1b" not in str(model)
    assert len(str(model).splitlines()) == 7


def test_a_large_model_is_cut() -> None:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [1])
    for _ in range(600):
        x = model.relu(x)
    assert "and 100 more" in shown(model).text
    assert len(str(model).splitlines()) == 604


@pytest.mark.parametrize(
    ("names", "rest"), [(["abs"], "1 other kind)"), (["abs", "neg"], "2 other kinds)")]
)
def test_less_frequent_kinds_are_counted(names: list[str], rest: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        for name in ["relu", "relu6", "tanh", "logistic", *names]:
            x = getattr(model, name)(x)
        model.outputs(x)
    assert rest in str(model)


def test_models_within() -> None:
    with Model() as model:
        condition, x = model.input("TENSOR_BOOL8", [1]), model.input("TENSOR_FLOAT32", [1])
        branches = []
        for _ in range(2):
            with Model() as branch:
                branch.outputs(branch.relu(branch.input("TENSOR_FLOAT32", [1])))
            branches.append(branch)
        model.outputs(*model.if_(condition, *branches, [x]))
    assert "then_model = model of 1 operation," in str(model)
