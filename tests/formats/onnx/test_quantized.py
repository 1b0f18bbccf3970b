"""Models that ONNX Runtime's tools quantize, next to ONNX Runtime."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

from onnxruntime import quantization as tools

import nnapi_shim
from tests.formats import peers

SHAPE = (1, 3, 32, 32)
STEP = 1 / 255
"""Of the outputs of the SOFTMAX at the end."""

WEIGHTS = {
    "w1": (16, 3, 3, 3),
    "b1": (16,),
    "wd": (16, 1, 3, 3),
    "bd": (16,),
    "w2": (16, 16, 1, 1),
    "b2": (16,),
    "wf": (10, 32),
    "bf": (10,),
    "wm": (10, 7),
    "gain": (16,),
    "mean": (16,),
}
NODES = [
    helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
    helper.make_node("BatchNormalization", ["c1", "gain", "mean", "mean", "gain"], ["n1"]),
    helper.make_node("Relu", ["n1"], ["r1"]),
    helper.make_node("Conv", ["r1", "wd", "bd"], ["d1"], pads=[1, 1, 1, 1], group=16),
    helper.make_node("Relu", ["d1"], ["rd"]),
    helper.make_node("Conv", ["rd", "w2", "b2"], ["c2"]),
    helper.make_node("Add", ["c2", "r1"], ["a1"]),
    helper.make_node("Relu", ["a1"], ["ra"]),
    helper.make_node("MaxPool", ["ra"], ["mp"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Concat", ["mp", "mp"], ["cc"], axis=1),
    helper.make_node("GlobalAveragePool", ["cc"], ["gp"]),
    helper.make_node("Flatten", ["gp"], ["fl"]),
    helper.make_node("Gemm", ["fl", "wf", "bf"], ["lo"], transB=1),
    helper.make_node("MatMul", ["lo", "wm"], ["mm"]),
    helper.make_node("Softmax", ["mm"], ["y"]),
]


class Pictures(tools.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self) -> None:
        rng = np.random.default_rng(1)  # not of the module: tests run in any order
        self._left = iter([rng.normal(size=SHAPE).astype(np.float32) for _ in range(4)])

    def get_next(self) -> Any:
        picture = next(self._left, None)
        return None if picture is None else {"x": picture}


@pytest.fixture(scope="module")
def real(tmp_path_factory: Any) -> Path:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=shape) * 0.3 for name, shape in WEIGHTS.items()}
    values["gain"] = np.abs(values["gain"]) + 0.5
    graph = helper.make_graph(
        NODES,
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 7])],
        [numpy_helper.from_array(v.astype(np.float32), name) for name, v in values.items()],
    )
    path: Path = tmp_path_factory.mktemp("models") / "float.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def compared(path: Path) -> Counter[str]:
    """The operations of the imported model, whose results are those of ONNX Runtime."""
    x = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)
    (expected,) = peers.in_onnxruntime(path.read_bytes(), [x])
    model = nnapi_shim.load(path)
    result = nnapi_shim.Compilation(model, devices=["nnapi-cpu"]).run(x)
    assert np.abs(result - expected).max() <= 1.1 * STEP
    assert result.max() > 0.15
    return Counter(item.name for item in model.operations)


def test_float(real: Path) -> None:
    operations = compared(real)
    assert operations["MUL"] == 0  # the normalization is a part of the convolution
    assert operations["TRANSPOSE"] == 1


U8, S8 = tools.QuantType.QUInt8, tools.QuantType.QInt8


@pytest.mark.parametrize(("activations", "weights"), [(U8, U8), (U8, S8), (S8, S8)])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("format", list(tools.QuantFormat))
def test_static(
    real: Path, tmp_path: Path, activations: Any, weights: Any, per_channel: bool, format: Any
) -> None:
    path = tmp_path / "quantized.onnx"
    tools.quantize_static(
        real,
        path,
        Pictures(),
        quant_format=format,
        activation_type=activations,
        weight_type=weights,
        per_channel=per_channel,
    )
    operations = compared(path)
    assert operations["CONV_2D"] >= 2
    assert operations["DEPTHWISE_CONV_2D"] == 1


@pytest.mark.parametrize("weights", [U8, S8])
def test_dynamic(real: Path, tmp_path: Path, weights: Any) -> None:
    path = tmp_path / "dynamic.onnx"
    tools.quantize_dynamic(real, path, weight_type=weights)
    compared(path)
