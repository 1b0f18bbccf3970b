"""Values between the parts of a model: dimensions, constants, types and sequences."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytest.importorskip("onnxruntime")

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.onnx.model import loaded_partially
from tests.formats.onnx.test_graphs import FLOAT, INT64, file, node, value
from tests.formats.onnx.test_partial import IN, OUT, X, equal, kinds


def test_sizes_that_depend_on_the_data() -> None:
    """They stay with ONNX Runtime up to values of known dimensions."""
    data = file(
        [
            node("Relu", ["x"], ["a"]),
            node("NonZero", ["a"], ["b"]),
            node("Cast", ["b"], ["c"], to=FLOAT),
            node("Neg", ["c"], ["d"]),
            node("ReduceSum", ["d", "axes"], ["e"], keepdims=0),
            node("Exp", ["e"], ["y"]),
        ],
        [IN],
        [OUT, value("d", FLOAT, None)],
        initializer=[helper.make_tensor("axes", INT64, [1], [1])],
    )
    for x in (X, -X, 0 * X):
        model = equal(data, x)
    assert kinds(model) == [("Relu", True), ("NonZero Cast Neg ReduceSum", False), ("Exp", True)]
    assert "'c' has unknown dimensions before a run" in model.reasons[2].why
    outputs = model.compile("nnapi-cpu").outputs
    assert [item.dimensions for item in outputs] == [(2,), (2, 0)]


def test_values_of_unknown_rank() -> None:
    """ONNX Runtime lists them like scalars."""
    data = file(
        [
            node("Cast", ["x"], ["i"], to=INT64),
            node("NonZero", ["i"], ["n"]),
            node("Shape", ["n"], ["s"]),
            node("ConstantOfShape", ["s"], ["z"]),
            node("Exp", ["z"], ["y"]),
            node("ReduceMax", ["x"], ["m"], keepdims=0),
            node("Atan", ["m"], ["k"]),
            node("Neg", ["k"], ["scalar"]),
        ],
        [value("x", FLOAT, [3])],
        [OUT, value("scalar", FLOAT, None)],
    )
    model = equal(data, X[0])
    assert kinds(model)[-1] == ("Neg", True)  # of a scalar


def test_shapes_are_known_in_all_parts() -> None:
    """What follows from dimensions is a constant of every part, at both sides."""
    data = file(
        [
            node("Shape", ["x"], ["s"]),
            node("Atan", ["x"], ["a"]),
            node("Gather", ["s", "one"], ["n"]),
            node("Concat", ["n", "rest"], ["t"], axis=0),
            node("Reshape", ["a", "t"], ["b"]),
            node("Reshape", ["x", "t"], ["c"]),
            node("Tile", ["c", "t"], ["d"]),
            node("Sinh", ["d"], ["e"]),
            node("Relu", ["e"], ["y"]),
            node("Identity", ["s"], ["dims"]),
        ],
        [IN],
        [OUT, value("b", FLOAT, None), value("dims", INT64, None)],
        initializer=[
            helper.make_tensor("one", INT64, [1], [1]),
            helper.make_tensor("rest", INT64, [1], [2]),
        ],
    )
    model = equal(data, X)
    assert {name for part, _ in kinds(model) for name in part.split()}.isdisjoint(
        ("Shape", "Gather", "Concat")
    )


def test_quantized_weights_in_parts() -> None:
    """A DequantizeLinear of weights stays one, so that its convolution computes in bytes."""
    random = np.random.default_rng(1)
    tensors = {
        "w": random.integers(-90, 90, (4, 3)).astype(np.int8),
        "ws": np.float32(0.01),
        "wz": np.int8(0),
        "s": np.float32(0.05),
        "z": np.uint8(120),
        "t": np.float32(0.1),
    }
    data = file(
        [
            node("Atan", ["x"], ["a"]),
            node("DequantizeLinear", ["w", "ws", "wz"], ["wf"]),
            node("QuantizeLinear", ["a", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["f"]),
            node("MatMul", ["f", "wf"], ["m"]),
            node("QuantizeLinear", ["m", "t", "z"], ["r"]),
            node("DequantizeLinear", ["r", "t", "z"], ["y0"]),
            node("Sinh", ["y0"], ["y1"]),
            node("MatMul", ["y1", "u"], ["y2"]),
            node("Mul", ["y2", "ws"], ["y3"]),
            node("Atan", ["wf"], ["other"]),
            node("Sub", ["y3", "other"], ["y"]),
        ],
        [value("x", FLOAT, [4, 4])],
        [OUT, value("r", TensorProto.UINT8, None)],
        initializer=[
            *(onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()),
            onnx.numpy_helper.from_array(random.random((3, 3), np.float32), "u"),
        ],
    )
    x = random.uniform(-1, 1, (4, 4)).astype(np.float32)
    model = equal(data, x, tolerance=2e-3)
    inner = [item.name for part in model.parts if part.model for item in part.model.operations]
    assert "FULLY_CONNECTED" in inner
    assert inner.count("DEQUANTIZE") <= 1
    result = model.compile("nnapi-cpu").outputs[1]
    assert (round(result.scale, 6), result.zero_point) == (0.1, 120)


FOREIGN: dict[str, tuple[int, Any]] = {
    "double": (TensorProto.DOUBLE, np.array([1.1, -2, 3e300])),
    "uint32": (TensorProto.UINT32, np.array([1, 2, 2**31 + 5], np.uint32)),
    "string": (TensorProto.STRING, np.array(["a", "bc", ""], object)),
}


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_types_that_nnapi_lacks(name: str) -> None:
    """At inputs, at outputs and between parts."""
    type, arguments = FOREIGN[name]
    data = file(
        [
            node("Unsqueeze", ["f", "zero"], ["g"]),
            node("Exp", ["x"], ["e"]),
            node("Concat", ["g", "g"], ["h"], axis=0),
        ],
        [value("f", type, [3]), IN],
        [value("h", type, None), value("e", FLOAT, None), value("f", type, None)],
        initializer=[helper.make_tensor("zero", INT64, [1], [0])],
    )
    model = loaded_partially(data, None)
    h, e, f = model.compile("nnapi-cpu").run(arguments, X)
    np.testing.assert_array_equal(h, [arguments, arguments])
    np.testing.assert_array_equal(f, arguments)
    assert h.dtype == arguments.dtype
    np.testing.assert_allclose(e, np.exp(X), 1e-5)


def test_descriptions_of_types_that_nnapi_lacks() -> None:
    data = file(
        [node("Cast", ["x"], ["y"], to=FLOAT)], [value("x", TensorProto.DOUBLE, [3])], [OUT]
    )
    compiled = loaded_partially(data, None).compile()
    assert compiled.outputs[0].type.name == "TENSOR_FLOAT32"
    with pytest.raises(NnapiError, match="'x' is DOUBLE, which has no type in NNAPI"):
        assert compiled.inputs


def test_integers_of_64_bits_between_parts() -> None:
    """NNAPI computes them in 32 bits, ONNX Runtime what could exceed those."""
    data = file(
        [
            node("Concat", ["x", "x"], ["a"], axis=0),
            node("Mul", ["a", "a"], ["b"]),
            node("Concat", ["b", "a"], ["c"], axis=0),
            node("Mul", ["c", "c"], ["y"]),
        ],
        [value("x", INT64, [3])],
        [value("y", INT64, None), value("c", INT64, None)],
    )
    model = equal(data, np.array([1, -2, 30000]))
    assert kinds(model) == [("Concat", True), ("Mul", False), ("Concat", True), ("Mul", False)]
    with pytest.raises(NnapiError, match="'x' is INT64, and the value is not"):
        model.compile("nnapi-cpu").run(np.array([1.5, 2, 3]))
    with pytest.raises(NnapiError, match="not all values"):
        model.compile("nnapi-cpu").run(np.array([1, 2, 2**20]))


def test_sequences() -> None:
    data = file(
        [
            node("Relu", ["x"], ["a"]),
            node("SequenceConstruct", ["a", "x"], ["s"]),
            node("Neg", ["a"], ["n"]),
            node("Tanh", ["n"], ["m"]),
            node("SequenceInsert", ["s", "m"], ["all"]),
            node("SequenceAt", ["all", "last"], ["z"]),
            node("Exp", ["z"], ["y"]),
        ],
        [IN],
        [OUT, helper.make_tensor_sequence_value_info("all", FLOAT, None)],
        initializer=[helper.make_tensor("last", INT64, [], [2])],
    )
    equal(data, X)


def test_sequences_as_inputs() -> None:
    data = file(
        [node("SequenceAt", ["s", "at"], ["a"]), node("Add", ["x", "x"], ["y"])],
        [helper.make_tensor_sequence_value_info("s", FLOAT, [3]), IN],
        [OUT, value("a", FLOAT, None)],
        initializer=[helper.make_tensor("at", INT64, [], [1])],
    )
    equal(data, [X[0], X[1]], X)


def test_tests_for_infinities_keep_what_they_read() -> None:
    """NNAPI's operations clamp infinities, so that a part would hide them from ONNX Runtime."""
    data = file(
        [
            node("Exp", ["x"], ["a"]),
            node("IsInf", ["a"], ["b"]),
            node("Where", ["b", "x", "a"], ["c"]),
            node("Neg", ["c"], ["y"]),
        ],
        [value("x", FLOAT, [3])],
        [OUT],
    )
    model = equal(data, np.array([1, 500, -1000], np.float32))
    assert kinds(model) == [("Exp IsInf", False), ("Where Neg", True)]
    assert "operator 1 IsInf tests values that follow from its results" in model.reasons[0].why


def test_opsets_that_the_import_does_not_know() -> None:
    opsets = [helper.make_opsetid("ai.onnx.ml", 3)]
    binarizer = node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=0.5)
    graph = helper.make_graph([binarizer], "graph", [IN], [OUT])
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    model = equal(made.SerializeToString(), X)
    assert "it uses opset 1" in model.reasons[0].why
