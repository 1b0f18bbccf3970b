"""Reductions, normalisation, sorting, recurrent cells."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import with_size
from nnapi_shim.formats.graph.expansion import images, recurrent
from nnapi_shim.formats.graph.rule import Rule, anything, known
from nnapi_shim.formats.graph.tensor import Node, Tensor
from nnapi_shim.formats.onnx.exporting import cells
from nnapi_shim.formats.onnx.exporting.constants import longs
from nnapi_shim.formats.onnx.exporting.types import INT64, code
from nnapi_shim.hal.enums import OperandType as T

STEPS = "Gemm, Add, Mul, Sigmoid, Tanh, unrolled by steps"


def _axes(b: Any, op: Node) -> Any:
    """The axes; constants from 0 up and once each, as NNAPI allows more than readers of ONNX do."""
    rank = op.input.rank
    if isinstance(op.axes, Tensor) or any(not -rank <= axis < rank for axis in op.axes):
        return b.integers(op.axes)
    return longs(sorted({axis % rank for axis in op.axes}))


def _reduction(kind: str) -> Rule:
    def lower(b: Any, op: Node) -> None:
        inputs = [op.input, _axes(b, op)]
        with_size(b, op, lambda out: b.emit(kind, inputs, [out], keepdims=int(bool(op.keep_dims))))

    return Rule(kind, lower, dynamic=("axes",))


def _truth(kind: str) -> Rule:
    """REDUCE_ALL or REDUCE_ANY as the minimum or maximum of 0 and 1."""

    def lower(b: Any, op: Node) -> None:
        numbers = b.cast(op.input, op.input.like(type=T.TENSOR_INT32))
        result = op.output.like(type=T.TENSOR_INT32)
        b.emit(kind, [numbers, _axes(b, op)], [result], keepdims=int(bool(op.keep_dims)))
        with_size(b, op, lambda out: b.cast(result, out))

    return Rule(f"Cast, {kind}, Cast", lower, dynamic=("axes",))


def _softmax(kind: str) -> Rule:
    def lower(b: Any, op: Node) -> None:
        x = op.input if op.beta == 1 else b.mul(op.input, float(op.beta))
        b.emit(kind, [x], [op.output], axis=op.axis)

    return Rule(f"{kind}; Mul if beta is not 1", lower)


def _l2_normalization(b: Any, op: Node) -> None:
    sizes = list(op.input.dimensions)
    sizes[op.axis] = 1
    length = b.node("ReduceL2", [op.input, longs([op.axis])], sizes=sizes, keepdims=1)
    b.binary("DIV", op.input, b.binary("MAXIMUM", length, 1e-6), op.output)


def _local_response(b: Any, op: Node) -> None:
    """LRN, which normalises over the second of four dimensions."""
    sizes = known(op.input, "input")
    axis = op.axis % len(sizes)
    if axis != len(sizes) - 1:
        images.along_last(b, op, axis, "LOCAL_RESPONSE_NORMALIZATION")
        return
    size = 2 * min(op.radius, sizes[-1]) + 1
    column = b.reshape(op.input, (int(np.prod(sizes[:-1])), sizes[-1], 1, 1))
    result = b.node(
        "LRN",
        [column],
        like=column,
        size=size,
        alpha=float(op.alpha * size),
        beta=float(op.beta),
        bias=float(op.bias),
    )
    b.reshape(result, sizes, op.output)


def _argument(kind: str) -> Rule:
    def lower(b: Any, op: Node) -> None:
        index = b.node(kind, [op.input], like=op.output, type=INT64, axis=op.axis, keepdims=0)
        with_size(b, op, lambda out: b.cast(index, out))

    return Rule(f"{kind}, Cast", lower)


def _topk(b: Any, op: Node) -> None:
    indices = op.indices.like(type=INT64)
    b.emit("TopK", [op.input, longs([op.k])], [op.values, indices], axis=-1)
    b.emit("Cast", [indices], [op.indices], to=code(T.TENSOR_INT32))


def _multinomial(b: Any, op: Node) -> None:
    seeds = op.seeds.value
    options = {} if seeds is None or not seeds.any() else {"seed": float(seeds.ravel()[0])}
    b.emit(
        "Multinomial",
        [op.logits],
        [op.samples],
        dtype=code(T.TENSOR_INT32),
        sample_size=op.sample_count,
        **options,
    )


RULES = {
    "MEAN": _reduction("ReduceMean"),
    "REDUCE_SUM": _reduction("ReduceSum"),
    "REDUCE_PROD": _reduction("ReduceProd"),
    "REDUCE_MAX": _reduction("ReduceMax"),
    "REDUCE_MIN": _reduction("ReduceMin"),
    "REDUCE_ALL": _truth("ReduceMin"),
    "REDUCE_ANY": _truth("ReduceMax"),
    "SOFTMAX": _softmax("Softmax"),
    "LOG_SOFTMAX": _softmax("LogSoftmax"),
    "L2_NORMALIZATION": Rule("ReduceL2, Max, Div", _l2_normalization),
    "LOCAL_RESPONSE_NORMALIZATION": Rule("LRN", _local_response),
    "INSTANCE_NORMALIZATION": Rule(
        "ReduceMean, Sub, Mul, Add, Sqrt, Reciprocal", images.instance_normalization
    ),
    "ARGMAX": _argument("ArgMax"),
    "ARGMIN": _argument("ArgMin"),
    "TOPK_V2": Rule(
        "TopK, Cast",
        _topk,
        "for equal elements ONNX Runtime returns the first index, NNAPI the last",
    ),
    "RANDOM_MULTINOMIAL": Rule(
        "Multinomial", _multinomial, "same distribution, another sequence of random numbers"
    ),
    "LSTM": Rule(STEPS, recurrent.lstm),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Rule(
        f"LSTM if it expresses the cell; else {STEPS}", cells.sequence
    ),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Rule(STEPS, recurrent.bidirectional_sequence_lstm),
    "RNN": Rule(STEPS, recurrent.rnn),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Rule(STEPS, recurrent.unidirectional_sequence_rnn),
    "BIDIRECTIONAL_SEQUENCE_RNN": Rule(STEPS, recurrent.bidirectional_sequence_rnn),
    "SVDF": Rule("Gemm, Concat, Mul, ReduceSum", recurrent.svdf),
    "QUANTIZED_16BIT_LSTM": Rule("", None, "ONNX has no integer LSTM cell"),
    "QUANTIZED_LSTM": Rule(
        STEPS,
        recurrent.quantized_lstm,
        "in float32, without layer normalisation",
        native=anything,
    ),
    "LSH_PROJECTION": Rule("", None, "ONNX has no hash function"),
}
