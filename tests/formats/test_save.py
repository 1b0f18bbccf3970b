"""Model.save: formats by suffix, refusals before anything is written."""

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, FuseCode, Model, NnapiError
from nnapi_shim.extras import install_command
from nnapi_shim.formats.onnx.exporting.table import RULES as ONNX
from nnapi_shim.formats.save import FORMATS
from nnapi_shim.formats.tflite.exporting.table import RULES as TFLITE
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations import registry
from tests.formats import peers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model() -> Model:
    """A small model."""
    with Model() as made:
        x = made.input("TENSOR_FLOAT32", [1, 4], name="x")
        y = made.operation("ADD", [x, np.ones((1, 4), np.float32), FuseCode.RELU])
        made.outputs(y)
    return made


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_of_each_format(model: Model, tmp_path: Path, suffix: str) -> None:
    """Each suffix is written, not over another file, and over it on demand; always the same."""
    path = tmp_path / f"model{suffix}"
    model.save(path)
    first = path.read_bytes()
    with pytest.raises(NnapiError, match="is there already"):
        model.save(str(path))
    model.save(path, overwrite=True)
    assert path.read_bytes() == first


BY_THE_PACKAGE = """
import sys, nnapi_shim
own = {name for name in sys.modules if name.startswith("nnapi_shim.")}
assert own == {"nnapi_shim.savers", "nnapi_shim.version"}, own
with nnapi_shim.Model() as model:
    model.outputs(model.operation("RELU", [model.input("TENSOR_FLOAT32", [4])]))
assert "nnapi_shim.formats.save" not in sys.modules
model.save(sys.argv[1])
"""
UNPICKLED = "import pickle, sys; pickle.load(sys.stdin.buffer).save(sys.argv[1])"


@pytest.mark.parametrize("code", [BY_THE_PACKAGE, UNPICKLED], ids=["package", "unpickled"])
def test_the_format_is_imported_by_save(model: Model, tmp_path: Path, code: str) -> None:
    """Whether a program has imported the package alone, or pickle a module below it."""
    path = tmp_path / "model.tflite"
    command = [sys.executable, "-c", code, str(path)]
    subprocess.run(command, input=pickle.dumps(model), cwd=ROOT, check=True)
    assert path.stat().st_size


def test_another_suffix(model: Model, tmp_path: Path) -> None:
    """One line lists what is written."""
    with pytest.raises(NnapiError, match=r"the suffix '.pb'; allowed are .*\.tflite"):
        model.save(tmp_path / "model.pb")


def test_paths(model: Model, tmp_path: Path) -> None:
    model.save(bytes(tmp_path / "model.py"))
    assert (tmp_path / "model.py").exists()
    with pytest.raises(TypeError, match="path is None"):
        model.save(None)


def test_names_end_no_comment(tmp_path: Path) -> None:
    with Model() as made:
        x = made.input("TENSOR_FLOAT32", [1, 4], name='*/ int x; /* "\\ \n?>')
        made.outputs(made.operation("RELU", [x]))
    made.save(tmp_path / "model.c")
    command = ["gcc", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    subprocess.run([*command, tmp_path / "model.c"], check=True)


def test_a_model_that_is_not_finished(tmp_path: Path) -> None:
    """It is refused, and nothing is written."""
    with pytest.raises(NnapiError, match="BAD_STATE"):
        Model().save(tmp_path / "model.tflite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("suffix", "package"), [(".tflite", "tflite"), (".onnx", "onnx")])
def test_a_missing_package(
    model: Model, tmp_path: Path, suffix: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra that has it is named."""
    for name in [name for name in sys.modules if name.endswith("exporting.writing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NnapiError, match=re.escape(f"`{install_command(package)}` installs it")):
        model.save(tmp_path / f"model{suffix}")


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_operations_without_counterpart(tmp_path: Path, suffix: str) -> None:
    """All of them are listed with their reasons, and nothing is written."""
    with Model() as model:
        heatmaps = model.input("TENSOR_FLOAT32", [1, 4, 4, 2])
        boxes = model.input("TENSOR_FLOAT32", [1, 4])
        code = model.input("INT32")
        first = model.operation("HEATMAP_MAX_KEYPOINT", [heatmaps, boxes, False])
        total = model.operation("ADD", [boxes, boxes, code])
        second = model.operation("HEATMAP_MAX_KEYPOINT", [heatmaps, total, False])
        model.outputs(*first, *second)
    with pytest.raises(NnapiError) as caught:
        model.save(tmp_path / f"model{suffix}")
    said = caught.value.message
    assert said.startswith("3 operations have no counterpart in ")
    assert "operation 0 HEATMAP_MAX_KEYPOINT: " in said
    assert "operation 1 ADD: activation is not a constant" in said
    assert "operation 2 HEATMAP_MAX_KEYPOINT: " in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rules", [TFLITE, ONNX], ids=["tflite", "onnx"])
def test_every_operation_is_decided(rules: dict[str, Any]) -> None:
    """Each has a rule: what becomes of it, or why nothing does."""
    assert set(rules) == {operation.type.name for operation in registry()}
    for name, rule in rules.items():
        assert rule.target if rule.lower else rule.why, name


def recurrent() -> Model:
    """State = state / 2 + x, carried from run to run."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 2], name="x")
        state = model.input("TENSOR_FLOAT32", [1, 2], name="state")
        half = model.operation("MUL", [state, np.float32([[0.5, 0.5]]), FuseCode.NONE])
        total = model.operation("ADD", [half, x, FuseCode.NONE])
        twice = model.operation("ADD", [total, total, FuseCode.NONE])
        model.outputs(twice, total)
        model.carry(state, total, np.float32([[4, 8]]))
    return model


def test_carried_states_are_variables() -> None:
    """In TensorFlow Lite they are no arguments, and go from run to run."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=peers.exported(recurrent(), "tflite"))
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    actual = []
    for _ in range(3):
        interpreter.set_tensor(source["index"], np.float32([[1, 0]]))
        interpreter.invoke()
        actual.append(interpreter.get_tensor(result["index"])[0].tolist())
    assert actual == [[6, 8], [5, 4], [4.5, 2]]


def test_carried_states_are_named_in_onnx() -> None:
    """ONNX has no variables: the states stay arguments, and the file says which belong together."""
    import onnx

    content = peers.exported(recurrent(), "onnx")
    (entry,) = onnx.load_from_string(content).metadata_props
    assert entry.key == "nnapi_shim.carried"
    assert '"input": "state"' in entry.value
    results = peers.in_onnxruntime(content, [np.float32([[1, 0]]), np.float32([[4, 8]])])
    assert results[1].tolist() == [[3, 4]]


def test_names_are_those_of_the_model(model: Model) -> None:
    """In both formats."""
    import onnx
    from ai_edge_litert.interpreter import Interpreter

    signatures = Interpreter(model_content=peers.exported(model, "tflite")).get_signature_list()
    assert signatures["serving_default"]["inputs"] == ["x"]
    graph = onnx.load_from_string(peers.exported(model, "onnx")).graph
    assert [value.name for value in graph.input] == ["x"]


def test_a_batch_of_unknown_size() -> None:
    """Both formats take images in any number."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None, 4, 4, 1])
        weights = np.arange(18, dtype=np.float32).reshape(2, 3, 3, 1)
        y = model.operation(
            "CONV_2D", [x, weights, np.zeros(2, np.float32), 1, 1, 1, 1, 1, 1, FuseCode.RELU]
        )
        z = model.operation("RESHAPE", [y, np.int32([-1, 32])])
        model.outputs(z)
    for format in peers.RUNS:
        content = peers.exported(model, format)
        for batch in (1, 3):
            image = np.ones((batch, 4, 4, 1), np.float32)
            (result,) = peers.RUNS[format](content, [image])
            assert result.shape == (batch, 32)
            expected = Compilation(model, "nnapi-reference").run(image)
            assert np.allclose(result, expected)


def test_images_of_unknown_size() -> None:
    """Padding by a scheme needs no sizes."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, None, None, 1])
        weights = np.arange(18, dtype=np.float32).reshape(2, 3, 3, 1)
        y = model.operation("CONV_2D", [x, weights, np.zeros(2, np.float32), 1, 2, 2, 0])
        model.outputs(model.operation("MAX_POOL_2D", [y, 2, 1, 1, 2, 2, 0]))
    for format in peers.RUNS:
        content = peers.exported(model, format)
        for size in (5, 8):
            image = np.arange(size * size, dtype=np.float32).reshape(1, size, size, 1)
            (result,) = peers.RUNS[format](content, [image])
            assert np.allclose(result, Compilation(model, "nnapi-reference").run(image))


def test_weights_stay_quantized() -> None:
    """In ONNX a quantized model has its weights in whole numbers, and scales per channel."""
    import onnx

    with Model() as model:
        x = model.input(T.TENSOR_QUANT8_ASYMM_SIGNED, [1, 4, 4, 2], 0.5, 3)
        filter = model.constant(
            np.arange(-8, 8, dtype=np.int8).reshape(2, 2, 2, 2), scales=[0.25, 0.5]
        )
        bias = model.constant(np.int32([1, -2]), T.TENSOR_INT32)
        y = model.operation("CONV_2D", [x, filter, bias, 2, 1, 1, 0], scale=1.0, zero_point=-5)
        model.outputs(y)
    graph = onnx.load_from_string(peers.exported(model, "onnx")).graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("Conv") == 1
    assert kinds.count("QuantizeLinear") == 1
    types = {onnx.TensorProto.DataType.Name(i.data_type) for i in graph.initializer if i.dims}
    assert {"INT8", "INT32"} <= types
    filters = [i for i in graph.initializer if list(i.dims) == [2, 2, 2, 2]]
    assert [onnx.TensorProto.DataType.Name(i.data_type) for i in filters] == ["INT8"]


@pytest.mark.parametrize("suffix", ["tflite", "onnx"])
def test_a_name_that_is_no_text(suffix: str, tmp_path: Path) -> None:
    """C programs give names as bytes, which need not be UTF-8."""
    with Model() as made:
        made.outputs(made.neg(made.input("TENSOR_FLOAT32", [4], name="\udc80bad")))
    made.save(tmp_path / f"model.{suffix}")
    assert b"?bad" in (tmp_path / f"model.{suffix}").read_bytes()
