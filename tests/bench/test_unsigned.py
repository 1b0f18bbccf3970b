"""Signed quantized models in ONNX: unsigned between the nodes, and the same numbers."""

import numpy as np
import pytest

from nnapi_shim import Model
from tests.bench.suite import unsigned

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

INT8 = "TENSOR_QUANT8_ASYMM_SIGNED"


def model() -> Model:
    """Two sums with what moves elements between them, a constant joined, and an inner output."""
    with Model() as made:
        x = made.input(INT8, [1, 2, 3], 0.1, -3, name="x")
        total = made.add(x, x, scale=0.2, zero_point=5)
        moved = made.transpose(total, [0, 2, 1])
        more = made.constant(np.full((1, 3, 2), 7, np.int8), INT8, 0.2, 5)
        joined = made.concatenation([moved, more], 1, scale=0.2, zero_point=5)
        last = made.mul(joined, joined, scale=0.3, zero_point=-9)
        seen = made.tanh(made.reshape(total, [6]))
        made.outputs(made.relu(last), seen)
    return made


def test_results_stay(tmp_path) -> None:
    made = model()
    unsigned.save(made, tmp_path / "model.onnx")
    x = np.arange(-60, 60, 20, dtype=np.int8).reshape(1, 2, 3)
    result = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x})
    for ours, theirs in zip(made.compile("nnapi-cpu").run(x), result, strict=True):
        assert theirs.dtype == np.int8
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1


def test_what_stays_signed(tmp_path) -> None:
    """Inputs, outputs, and what is joined with a constant; nothing else."""
    made = model()
    unsigned.save(made, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx").graph
    zeros = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    written = [zeros[node.input[2]] for node in graph.node if node.op_type == "QuantizeLinear"]
    kinds = [zero.dtype.name for zero in written]
    assert "uint8" in kinds
    outputs = {item.name for item in graph.output}
    for node, zero in zip(
        (node for node in graph.node if node.op_type == "QuantizeLinear"), written, strict=True
    ):
        assert zero.dtype == np.int8 or node.output[0] not in outputs
    signed = onnx.TensorProto.INT8
    assert {item.type.tensor_type.elem_type for item in (*graph.input, *graph.output)} == {signed}
