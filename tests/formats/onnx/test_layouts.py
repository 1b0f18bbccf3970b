"""Operators on values that are stored with their channels last, next to ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("onnxruntime")

import nnapi_shim
from nnapi_shim.formats.onnx.model import loaded
from tests.formats import peers

FLOAT = TensorProto.FLOAT
SHAPE = (2, 6, 5, 4)
"""Of `a` and `b`, which convolutions compute."""
RNG = np.random.default_rng(5)


def node(kind: str, inputs: str = "a", outputs: str = "y", **options: Any) -> Any:
    """A node; between two spaces stands an omitted input."""
    return helper.make_node(kind, inputs.split(" "), outputs.split(), **options)


CONSTANTS = {
    "w1": RNG.normal(size=(6, 3, 1, 1)).astype(np.float32),
    "w2": RNG.normal(size=(6, 3, 3, 3)).astype(np.float32),
    "channels": RNG.normal(size=(6, 1, 1)).astype(np.float32),
    "columns": RNG.normal(size=(4,)).astype(np.float32),
    "rows": RNG.normal(size=(5, 1)).astype(np.float32),
    "batch": RNG.normal(size=(2, 1, 1, 1)).astype(np.float32),
    "one": np.array(0.7, np.float32),
    "weights": RNG.normal(size=(4, 3)).astype(np.float32),
    "six": RNG.normal(size=(6,)).astype(np.float32) ** 2,
    "deep": RNG.normal(size=(4, 3, 3, 2)).astype(np.float32),
    "up": RNG.normal(size=(6, 2, 3, 3)).astype(np.float32),
    "axes1": np.array([1]),
    "axes13": np.array([1, 3]),
    "axes23": np.array([2, 3]),
    "axes0": np.array([0]),
    "shape": np.array([2, 3, 2, 20]),
    "flat": np.array([2, -1]),
    "starts": np.array([1, 3, -1]),
    "ends": np.array([5, 0, -10]),
    "steps": np.array([2, -1, -2]),
    "axes123": np.array([1, 2, 3]),
    "pads": np.array([0, 1, 2, 0, 0, 2, 0, 1]),
    "negative": np.array([0, -1, 1, 0, 0, 0, -2, 1]),
    "parts": np.array([1, 2, 3]),
    "index": np.array([[0, -1], [2, 1]]),
    "k": np.array([3]),
    "repeats": np.array([1, 2, 1, 3]),
    "wide": np.array([3, 2, 6, 5, 4]),
    "scales": np.array([1, 1, 2, 1.5], np.float32),
    "sizes": np.array([2, 6, 7, 9]),
    "perm5": np.array([2, 2, 3, 5, 4]),
}

CASES = {
    "add": [node("Add", "a b")],
    "add channels": [node("Add", "a channels")],
    "sub columns": [node("Sub", "columns a")],
    "mul rows": [node("Mul", "a rows")],
    "div batch": [node("Div", "a batch")],
    "max one": [node("Max", "a one b")],
    "input and image": [node("Slice", "x axes0 axes1 axes1", "s"), node("Mul", "s a")],
    "greater": [node("Greater", "a b", "g"), node("Where", "g a channels")],
    "where of an input": [
        node("Less", "x one", "l"),
        node("Slice", "l axes0 k axes1", "c"),
        node("Cast", "c", "y", to=FLOAT),
    ],
    "prelu": [node("PRelu", "a channels")],
    "pow": [node("Abs", "a", "p"), node("Pow", "p channels")],
    "concat 1": [node("Concat", "a b", axis=1)],
    "concat 3": [node("Concat", "a b a", axis=-1)],
    "concat with an input": [node("Concat", "a x", axis=1)],
    "split 1": [node("Split", "a parts", "p q r", axis=1), node("Concat", "r p q", axis=1)],
    "split 2": [node("Split", "a", "p q r", axis=1), node("Add", "p r")],
    "slice": [node("Slice", "a starts ends axes123 steps")],
    "pad": [node("Pad", "a pads one")],
    "pad edge": [node("Pad", "a pads", mode="edge")],
    "pad reflect": [node("Pad", "a pads", mode="reflect")],
    "pad negative": [node("Pad", "a negative")],
    "mean": [node("ReduceMean", "a", axes=[2, 3], keepdims=1)],
    "mean, not kept": [node("ReduceMean", "a", axes=[2, 3], keepdims=0)],
    "sum of channels": [node("ReduceSum", "a axes1", keepdims=0)],
    "sum": [node("ReduceSum", "a axes13", keepdims=0)],
    "max of rows": [node("ReduceMax", "a", axes=[2], keepdims=0)],
    "all": [node("ReduceMin", "a", keepdims=0)],
    "softmax 1": [node("Softmax", axis=1)],
    "softmax 3": [node("Softmax", axis=-1)],
    "log softmax": [node("LogSoftmax", axis=2)],
    "argmax": [node("ArgMax", "a", "i", axis=1), node("Cast", "i", to=FLOAT)],
    "top": [node("TopK", "a k", "y i", axis=1)],
    "transpose back": [node("Transpose", perm=[0, 2, 3, 1])],
    "transpose": [node("Transpose", perm=[3, 1, 0, 2])],
    "reshape": [node("Reshape", "a shape")],
    "flatten": [node("Flatten")],
    "pool and flatten": [node("GlobalAveragePool", "a", "p"), node("Flatten", "p")],
    "max pool": [node("GlobalMaxPool", "a", "p"), node("Reshape", "p flat")],
    "squeeze": [node("GlobalAveragePool", "a", "p"), node("Squeeze", "p axes23")],
    "unsqueeze": [node("Unsqueeze", "a axes0", "u"), node("ReduceSum", "u axes1", keepdims=0)],
    "matmul": [node("MatMul", "a weights")],
    "product": [node("Transpose", "b", "t", perm=[0, 1, 3, 2]), node("MatMul", "a t")],
    "norm": [node("BatchNormalization", "a six six six six")],
    "instance": [node("InstanceNormalization", "a six six")],
    "layer": [node("LayerNormalization", "a columns columns", axis=-1)],
    "lrn": [node("LRN", size=3)],
    "gather": [node("Gather", "a index", "g", axis=1), node("Reshape", "g flat")],
    "gather rows": [node("Gather", "a axes1", axis=2)],
    "tile": [node("Tile", "a repeats")],
    "expand": [node("ReduceMean", "a", "m", axes=[1]), node("Add", "m b")],
    "average": [node("AveragePool", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])],
    "average, pads counted": [
        node("AveragePool", kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1)
    ],
    "ceiling": [node("MaxPool", kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)],
    "same": [node("MaxPool", kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_LOWER")],
    "grouped": [node("Conv", "a deep2", group=3, pads=[1, 1, 0, 1])],
    "depthwise": [node("Conv", "a deep1", group=6, strides=[2, 1])],
    "transposed": [node("ConvTranspose", "a up", strides=[2, 2], output_padding=[1, 1])],
    "transposed, grouped": [node("ConvTranspose", "a up", group=2, pads=[1, 0, 0, 1])],
    "transposed, same": [node("ConvTranspose", "a up", strides=[2, 3], auto_pad="SAME_UPPER")],
    "transposed, dilated": [node("ConvTranspose", "a up", dilations=[2, 1], strides=[1, 2])],
    "nearest": [
        node("Resize", "a  scales", mode="nearest", coordinate_transformation_mode="asymmetric")
    ],
    "linear": [node("Resize", "a   sizes", mode="linear")],
    "linear, corners": [
        node("Resize", "a   sizes", mode="linear", coordinate_transformation_mode="align_corners")
    ],
    "shuffle": [
        node("Reshape", "a perm5", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "t like"),
    ],
    "gelu": [node("Gelu")],
    "clip": [node("Clip", "a one")],
}
CONSTANTS["deep1"] = RNG.normal(size=(12, 1, 3, 3)).astype(np.float32)
CONSTANTS["deep2"] = RNG.normal(size=(9, 2, 3, 3)).astype(np.float32)
CONSTANTS["like"] = np.array(SHAPE)


def model_of(nodes: list[Any]) -> bytes:
    """A file with the input x, its convolutions a and b, and the output y."""
    before = [
        node("Conv", "x w1", "a"),
        node("Conv", "x w2", "b", pads=[1, 1, 1, 1]),
    ]
    used = {name for item in (*before, *nodes) for name in item.input}
    graph = helper.make_graph(
        [*before, *nodes],
        "graph",
        [helper.make_tensor_value_info("x", FLOAT, [2, 3, 5, 4])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        initializer=[
            numpy_helper.from_array(value, name)
            for name, value in CONSTANTS.items()
            if name in used
        ],
    )
    opset = 20 if any(item.op_type == "Gelu" for item in nodes) else 17
    opsets = [helper.make_opsetid("", opset)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())


@pytest.mark.parametrize("name", CASES)
def test_channels_last(name: str) -> None:
    data = model_of(CASES[name])
    x = np.random.default_rng(1).normal(size=(2, 3, 5, 4)).astype(np.float32)
    (expected,) = peers.in_onnxruntime(data, [x])
    result = nnapi_shim.Compilation(loaded(data, None), devices=["nnapi-cpu"]).run(x)
    assert result.shape == (expected.shape or (1,))
    np.testing.assert_allclose(result, expected.reshape(result.shape), rtol=1e-4, atol=1e-5)
