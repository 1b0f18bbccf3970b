"""Models in parts: what NNAPI cannot express runs through ONNX Runtime."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytest.importorskip("onnxruntime")

import nnapi_shim
from nnapi_shim.cli import main
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.partial import PartialModel
from nnapi_shim.formats.onnx.importing.table import LOWERINGS
from nnapi_shim.formats.onnx.model import loaded_partially
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.run import run
from tests.formats import peers
from tests.formats.onnx import random_graphs
from tests.formats.onnx.partially import compared, peer
from tests.formats.onnx.test_graphs import FLOAT, INT64, file, node, numbers, value

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "shapes"
X = np.array([[0.5, -1, 2], [0.25, 3, -0.125]], np.float32)
IN, OUT = value("x", FLOAT, [2, 3]), value("y", FLOAT, None)


def kinds(model: PartialModel) -> list[tuple[str, bool]]:
    """The operators of each part, and whether it is a model."""
    return [
        (" ".join(operator.name for operator in part.operators), part.model is not None)
        for part in model.parts
    ]


def equal(data: bytes, *inputs: Any, tolerance: float = 1e-5) -> PartialModel:
    """A file in parts, whose outputs are those of ONNX Runtime."""
    model = loaded_partially(data, None)
    results = model.compile("nnapi-cpu").run(*inputs)
    results = list(results) if isinstance(results, tuple) else [results]
    expected = peer(data, dict(zip(model.inputs, inputs, strict=True)))
    assert expected is not None
    assert not compared(results, expected, tolerance, tolerance)
    return model


@pytest.mark.parametrize(
    "use",
    [
        nnapi_shim.Compilation,
        nnapi_shim.lint,
        nnapi_shim.compliance,
        nnapi_shim.Predictor,
        explain,
    ],
)
def test_a_partial_model_is_no_model(use: Any) -> None:
    model = loaded_partially(chain("Relu"), None)
    words = r"it must be a nnapi_shim.Model; PartialModel.compile\(\) compiles this one$"
    with pytest.raises(TypeError, match=words):
        use(model)


def chain(*names: str) -> bytes:
    """Operators of one input, one after the other, without names."""
    values = ["x", *(f"v{at}" for at in range(1, len(names))), "y"]
    nodes = [node(name, [values[at]], [values[at + 1]]) for at, name in enumerate(names)]
    return file(nodes, [IN], [OUT])


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("Atan Relu Exp", [("Atan", False), ("Relu Exp", True)]),
        ("Relu Atan Sinh Exp", [("Relu", True), ("Atan Sinh", False), ("Exp", True)]),
        ("Relu Exp Atan", [("Relu Exp", True), ("Atan", False)]),
        (
            "Tanh Atan Tanh Sinh Tanh Atan",
            [(name, name == "Tanh") for name in ["Tanh", "Atan", "Tanh", "Sinh", "Tanh", "Atan"]],
        ),
        ("Atan Sinh", [("Atan Sinh", False)]),
        ("Relu Exp", [("Relu Exp", True)]),
    ],
)
def test_parts(names: str, parts: list[tuple[str, bool]]) -> None:
    model = equal(chain(*names.split()), X)
    assert kinds(model) == parts
    refused = [at for at, name in enumerate(names.split()) if name in ("Atan", "Sinh")]
    assert [reason.number for reason in model.reasons] == refused


def test_what_the_parts_say() -> None:
    model = loaded_partially(chain("Relu", "Atan", "Exp"), None)
    assert repr(model) == (
        "<PartialModel: 1 operators on NNAPI, 1 operators on ONNX Runtime, 1 operators on NNAPI>"
    )
    assert "no combination of NNAPI operations" in model.reasons[0].why
    compiled = model.compile("nnapi-cpu")
    assert compiled.devices == ("nnapi-cpu", "ONNX Runtime")
    assert compiled.input_names == ("x",)
    (arguments,), (result,) = compiled.inputs, compiled.outputs
    assert (arguments.type.name, arguments.dimensions) == ("TENSOR_FLOAT32", (2, 3))
    assert (result.name, result.dimensions) == ("y", (2, 3))
    np.testing.assert_array_equal(compiled.run(x=X), compiled.run(X))
    compiled.reset()
    with pytest.raises(NnapiError, match="input 'x' is not given"):
        compiled.run()
    with pytest.raises(NnapiError, match="the model has the inputs 'x'"):
        compiled.run(X, y=X)
    with pytest.raises(NnapiError, match="ONNX Runtime refuses operator 0 Atan or what follows"):
        loaded_partially(chain("Atan"), None).compile().run(X[:1])


def test_outputs_that_are_read_inside() -> None:
    """Values of both kinds of parts, an input and a constant are outputs, too."""
    data = file(
        [node("Relu", ["x"], ["a"]), node("Atan", ["a"], ["b"]), node("Exp", ["b"], ["y"])],
        [IN],
        [value(name, FLOAT, None) for name in ("y", "b", "x", "a", "c")],
        initializer=[numbers("c", 1, 2)],
    )
    equal(data, X)


def test_a_value_that_both_kinds_of_parts_read() -> None:
    data = file(
        [
            node("Tanh", ["x"], ["a"]),
            node("Atan", ["a"], ["b"]),
            node("Neg", ["a"], ["c"]),
            node("Mul", ["b", "c"], ["d"]),
            node("Sinh", ["a"], ["e"]),
            node("Add", ["d", "e"], ["y"]),
        ],
        [IN],
        [OUT],
    )
    model = equal(data, X)
    assert kinds(model) == [("Tanh Neg", True), ("Atan Sinh", False), ("Mul Add", True)]


def test_results_that_nothing_reads() -> None:
    data = file([node("Relu", ["x"], ["y"]), node("Atan", ["x"], ["unread"])], [IN], [OUT])
    assert kinds(equal(data, X)) == [("Relu", True)]


def test_images_between_parts() -> None:
    """NNAPI computes them with the channels last; parts pass them as ONNX has them."""
    random = np.random.default_rng(1)
    weights = random.uniform(-1, 1, (4, 3, 3, 3)).astype(np.float32)
    more = random.uniform(-1, 1, (2, 4, 1, 1)).astype(np.float32)
    data = file(
        [
            node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
            node("Atan", ["a"], ["b"]),
            node("Conv", ["b", "v"], ["y"]),
        ],
        [value("x", FLOAT, [1, 3, 5, 6])],
        [OUT],
        initializer=[
            onnx.numpy_helper.from_array(weights, "w"),
            onnx.numpy_helper.from_array(more, "v"),
        ],
    )
    model = equal(data, random.random((1, 3, 5, 6), np.float32))
    assert [is_model for _, is_model in kinds(model)] == [True, False, True]


def test_normalization_after_a_refused_convolution() -> None:
    """Both would be one operation."""
    random = np.random.default_rng(1)
    arrays = {"w": random.random((2, 3, 3, 3, 3), np.float32)}
    arrays |= {name: random.random(2, np.float32) for name in "smbv"}
    data = file(
        [
            node("Conv", ["x", "w"], ["a"]),
            node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"]),
            node("ReduceMean", ["c"], ["d"], axes=[2], keepdims=0),
            node("Relu", ["d"], ["y"]),
        ],
        [value("x", FLOAT, [1, 3, 4, 4, 4])],
        [OUT],
        initializer=[onnx.numpy_helper.from_array(v, name) for name, v in arrays.items()],
    )
    model = equal(data, random.random((1, 3, 4, 4, 4), np.float32))
    assert kinds(model)[-1] == ("Relu", True)


def branches(inner: str) -> dict[str, Any]:
    """Branches that read values of both kinds of parts, and constants around them."""
    then = helper.make_graph(
        [node(inner, ["a"], ["t0"]), node("Mul", ["t0", "two"], ["t"])],
        "then",
        [],
        [value("t", FLOAT, [2, 3])],
    )
    nested = {
        name: helper.make_graph([node(kind, ["b"], [name])], name, [], [value(name, FLOAT, [2, 3])])
        for name, kind in (("then_branch", "Neg"), ("else_branch", inner))
    }
    other = helper.make_graph(
        [node("If", ["no"], ["e"], **nested)], "else", [], [value("e", FLOAT, [2, 3])]
    )
    return {"then_branch": then, "else_branch": other}


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("inner", ["Atan", "Abs"])
def test_if(inner: str, yes: bool) -> None:
    data = file(
        [
            node("Tanh", ["x"], ["a"]),
            node("Sinh", ["a"], ["b"]),
            node("Not", ["c"], ["no"]),
            node("If", ["c"], ["d"], **branches(inner)),
            node("Relu", ["d"], ["y"]),
        ],
        [value("c", TensorProto.BOOL, []), IN],
        [OUT],
        initializer=[numbers("two", 2)],
    )
    model = equal(data, np.array(yes), X)
    is_model = {name: kind for names, kind in kinds(model) for name in names.split()}
    assert is_model == {
        "Tanh": True,
        "Not": True,
        "Sinh": False,
        "If": inner == "Abs",
        "Relu": True,
    }


def test_loop() -> None:
    """Until the sum exceeds 10; it stacks a number of results that depends on the data."""
    body = helper.make_graph(
        [
            node("Add", ["v", "step"], ["u"]),
            node("Atan", ["u"], ["stacked"]),
            node("ReduceSum", ["u"], ["s"], keepdims=0),
            node("Less", ["s", "ten"], ["more"]),
        ],
        "body",
        [value("i", INT64, []), value("go", TensorProto.BOOL, []), value("v", FLOAT, [2])],
        [value("more", TensorProto.BOOL, []), value("u", FLOAT, [2]), value("stacked", FLOAT, [2])],
    )
    data = file(
        [
            node("Exp", ["x"], ["step"]),
            node("Loop", ["", "yes", "x"], ["z", "all"], body=body),
            node("Neg", ["z"], ["y"]),
            node("ReduceMax", ["all"], ["top"], axes=[0], keepdims=0),
            node("Neg", ["top"], ["t"]),
        ],
        [value("x", FLOAT, [2])],
        [OUT, value("t", FLOAT, None), value("all", FLOAT, None)],
        initializer=[
            helper.make_tensor("ten", FLOAT, [], [10]),
            helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
        ],
    )
    for x in ([0, 1], [0.25, -3], [20, 20]):
        model = equal(data, np.array(x, np.float32))
    assert kinds(model)[0] == ("Exp", True)


def test_functions_of_the_file() -> None:
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function(
        "own", "Odd", ["a"], ["c"], [node("Atan", ["a"], ["b"]), node("Exp", ["b"], ["c"])], opsets
    )
    data = file(
        [
            node("Relu", ["x"], ["a"]),
            node("Odd", ["a"], ["b"], domain="own"),
            node("Neg", ["b"], ["y"]),
        ],
        [IN],
        [OUT],
        functions=[function],
    )
    assert kinds(equal(data, X)) == [("Relu", True), ("own.Odd", False), ("Neg", True)]


def test_open_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(
        file(
            [node("Atan", ["x"], ["a"]), node("Exp", ["a"], ["y"])],
            [value("x", FLOAT, ["batch", 3])],
            [OUT],
        )
    )
    with pytest.raises(NnapiError, match=r"\[batch, 3\].*shapes=\{'x': \(1, 3\)\}"):
        nnapi_shim.load(path, partial=True)
    model = nnapi_shim.load(path, partial=True, shapes={"x": (2, 3)})
    np.testing.assert_allclose(model.compile("nnapi-cpu").run(X), np.exp(np.arctan(X)), 1e-5)
    actual = run(f"{path}@x=2,3", partial=True, device="nnapi-cpu")
    assert [item.dimensions for item in actual.inputs] == [(2, 3)]


def test_constants_in_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another folder is the current one, with a file of that name."""
    weights = np.random.default_rng(1).random((3, 300), np.float32)
    made = onnx.load_from_string(
        file(
            [
                node("Atan", ["x"], ["a"]),
                node("MatMul", ["a", "w"], ["b"]),
                node("Sinh", ["w"], ["c"]),
                node("Add", ["b", "d"], ["y"]),
                node("ReduceMean", ["c"], ["d"], axes=[0]),
            ],
            [IN],
            [OUT],
            initializer=[onnx.numpy_helper.from_array(weights, "w")],
        )
    )
    made.graph.node.insert(3, made.graph.node.pop())
    path = tmp_path / "model.onnx"
    expected = peers.in_onnxruntime(made.SerializeToString(), [X])
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    other = tmp_path / "other"
    other.mkdir()
    (other / "w.bin").write_bytes(bytes((tmp_path / "w.bin").stat().st_size))
    monkeypatch.chdir(other)
    model = nnapi_shim.load(path, partial=True)
    np.testing.assert_allclose(model.compile("nnapi-cpu").run(X), expected[0], 1e-4)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(chain("Relu", "Atan", "Exp"))
    actual = run(path, partial=True, device="nnapi-cpu")
    assert actual.devices == ("nnapi-cpu", "ONNX Runtime")
    with pytest.raises(NnapiError, match="run --partial leave them to ONNX Runtime"):
        run(path)
    assert main(["run", str(path), "--partial", "--device", "nnapi-cpu"]) == 0
    assert "run on nnapi-cpu, ONNX Runtime" in capsys.readouterr().out
    assert main(["explain", str(path)]) == 2
    assert "load(path, partial=True) and nnapi-shim run --partial" in capsys.readouterr().err


def test_without_onnxruntime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"need ONNX Runtime; `.* pip install onnxruntime=="):
        loaded_partially(chain("Relu", "Atan"), None)
    whole = loaded_partially(chain("Relu", "Exp"), None)
    np.testing.assert_allclose(whole.compile("nnapi-cpu").run(X), np.exp(np.maximum(X, 0)), 1e-5)
    path = tmp_path / "model.onnx"
    path.write_bytes(chain("Relu", "Atan"))
    assert main(["run", str(path), "--partial"]) == 2
    assert "needs the package onnxruntime" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nodes", "rule"),
    [
        ([node("Atan", ["b"], ["y"]), node("Atan", ["x"], ["b"])], "order"),
        ([node("Atan", ["y"], ["b"]), node("Atan", ["b"], ["y"])], "order"),
        ([node("Atan", ["x"], ["y"]), node("Neg", ["x"], ["y"])], "twice"),
        ([node("Atan", ["x"], ["b"])], "output"),
    ],
)
def test_graphs_without_an_order(nodes: list[Any], rule: str) -> None:
    with pytest.raises(NnapiError) as error:
        loaded_partially(file(nodes, [IN], [OUT]), None)
    assert error.value.rule == f"import.onnx.part.{rule}"


def test_operators_that_nobody_knows(capfd: pytest.CaptureFixture[str]) -> None:
    """ONNX Runtime would write lines about some of them to stdout."""
    data = file([node("Secret", ["x"], ["y"], domain="own")], [IN], [OUT])
    with pytest.raises(NnapiError, match=r"ONNX Runtime refuses operator 0 own\.Secret"):
        loaded_partially(data, None)
    with pytest.raises(NnapiError, match="ONNX Runtime refuses operator 0"):
        loaded_partially(data.replace(b"Secret", b"Secre\xf9"), None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "bound"), [("float", 1e-4), ("int8", 0.02)])
def test_any_operator_left_to_onnxruntime(
    name: str, bound: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Trained models, with each kind of their operators in turn taken for one that NNAPI lacks."""
    path = tmp_path / "model.onnx"
    nnapi_shim.load(EXAMPLES / f"{name}.tflite").save(path)
    data = path.read_bytes()
    (arguments,) = onnx.load_from_string(data).graph.input
    shape = [dim.dim_value for dim in arguments.type.tensor_type.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(arguments.type.tensor_type.elem_type)
    random = np.random.default_rng(1)
    x = random.random(shape) if dtype == np.float32 else random.integers(-128, 128, shape)
    (expected,) = peers.in_onnxruntime(data, [x.astype(dtype)])
    names = {item.op_type for item in onnx.load_from_string(data).graph.node} & LOWERINGS.keys()
    split = 0
    for kind in names:
        with monkeypatch.context() as patch:
            patch.delitem(LOWERINGS, kind)
            model = loaded_partially(data, None)
        split += any(part.model is None for part in model.parts)
        result = model.compile("nnapi-cpu").run(x.astype(dtype))
        steps = 1 if expected.dtype.itemsize == 1 else bound
        assert not compared([result], [expected], steps, 0), kind
    assert split > 3  # a few are computed as a part of other operators


def test_random_graphs() -> None:
    counts = random_graphs.outcomes(range(40), "nnapi-cpu")
    assert set(counts) == {"split", "peer"}
    assert counts["split"] >= 30
