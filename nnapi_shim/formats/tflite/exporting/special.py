"""Recurrent cells, control flow, detection, and operations without a counterpart."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.expansion import boxes, recurrent
from nnapi_shim.formats.graph.rule import RefusedError, Rule, anything, graph_inputs
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.tflite.exporting import cells
from nnapi_shim.formats.tflite.exporting.kinds import ints
from nnapi_shim.hal.enums import OperandType as T

STEPS = "FULLY_CONNECTED, ADD, MUL, LOGISTIC, TANH, unrolled by steps"
IN_FLOAT = "in float32, without layer normalisation"
CHOSEN = "TensorFlow Lite has no suppression with a data-dependent number of boxes"


def _if(b: Any, op: Node) -> None:
    inputs = graph_inputs(op)
    first = b.subgraph(op.then_model, f"then_{op.number}")
    second = b.subgraph(op.else_model, f"else_{op.number}")
    b.emit(
        "IF",
        [op.condition, *inputs],
        op.outputs,
        ThenSubgraphIndex=first,
        ElseSubgraphIndex=second,
    )


def _while(b: Any, op: Node) -> None:
    """WHILE; the body also returns the inputs that it does not change."""
    inputs = graph_inputs(op)
    condition = b.subgraph(op.condition_model, f"condition_{op.number}")
    body = b.subgraph(op.body_model, f"body_{op.number}", len(inputs))
    unused = [t.like() for t in inputs[len(op.outputs) :]]
    b.emit(
        "WHILE",
        inputs,
        [*op.outputs, *unused],
        CondSubgraphIndex=condition,
        BodySubgraphIndex=body,
    )


def _lsh_projection(b: ExportBuilder, op: Node) -> None:
    """DENSE is 2 in both; SPARSE is 3 in NNAPI and 1 in TensorFlow Lite. NNAPI's deprecated SPARSE
    (1) equals SPARSE without the row offsets.
    """
    inputs = [b.real(op.hash), op.input] + ([] if op.weight is None else [b.real(op.weight)])
    is_bare = op.type == 1
    result = op.output.like() if is_bare else op.output
    b.emit(
        "LSH_PROJECTION",
        inputs,
        [result],
        Type=2 if op.type == 2 else 1,
    )
    if is_bare:
        rows, bits = op.hash.dimensions
        b.sub(result, constant((np.arange(rows) << bits).astype(np.int32)), op.output)


def _multinomial(b: ExportBuilder, op: Node) -> None:
    if op.seeds.value is None:
        raise RefusedError("seeds is not a constant of the model")
    seeds = [*op.seeds.value.ravel().tolist(), 0][:2]
    b.emit(
        "MULTINOMIAL",
        [op.logits, ints(op.sample_count)],
        [op.samples],
        Seed=int(seeds[0]),
        Seed2=int(seeds[1]),
    )


def _detection(b: ExportBuilder, op: Node) -> None:
    """TFLite_Detection_PostProcess for one image; its classes are float32."""
    from flatbuffers import flexbuffers

    batch, _, classes = op.scores.dimensions
    if batch != 1:
        raise RefusedError(f"TFLite_Detection_PostProcess takes one image, not {batch}")
    options = {
        "max_detections": op.max_num_detections,
        "max_classes_per_detection": op.max_classes_per_detection,
        "detections_per_class": op.max_detections_per_class,
        "nms_score_threshold": float(op.score_threshold),
        "nms_iou_threshold": float(op.iou_threshold),
        "num_classes": classes - 1,
        "y_scale": float(op.scale_dy),
        "x_scale": float(op.scale_dx),
        "h_scale": float(op.scale_dh),
        "w_scale": float(op.scale_dw),
        "use_regular_nms": bool(op.use_regular_nms),
    }
    rows = op.max_num_detections * op.max_classes_per_detection
    expected = op.out_scores.dimensions[1]
    is_full = op.out_scores.dimensions == (1, rows)
    boxes, scores = (
        (op.out_boxes, op.out_scores)
        if is_full
        else (op.out_boxes.like((1, rows, 4)), op.out_scores.like((1, rows)))
    )
    labels = Tensor(T.TENSOR_FLOAT32, (1, rows))
    count = Tensor(T.TENSOR_FLOAT32, (1,))
    b.emit(
        "TFLite_Detection_PostProcess",
        [op.deltas, op.scores, op.anchors],
        [boxes, labels, scores, count],
        custom=bytes(flexbuffers.Dumps(options)),
    )
    if not is_full:
        b.slice(boxes, (0, 0, 0), (1, expected, 4), op.out_boxes)
        b.slice(scores, (0, 0), (1, expected), op.out_scores)
        labels = b.slice(labels, (0, 0), (1, expected))
    if op.is_background_in_label:
        labels = b.add(labels, 1.0)
    each = min(op.max_classes_per_detection, classes - 1)
    if not op.use_regular_nms and each > 1:  # the kernel limits boxes, NNAPI pairs of box and class
        count = b.mul(count, float(each))
    b.cast(labels, op.out_classes)
    b.cast(count, op.num_detections)


def _joined_weights(groups: list[list[Tensor]], like: Tensor) -> Tensor:
    """Constants joined to one matrix: each list horizontally, the lists vertically."""
    value = np.vstack([np.hstack([part.value for part in row]) for row in groups])  # type: ignore[misc]
    return Tensor(like.type, value.shape, like.scale, like.zero_point, value=value)


def _quantized_16bit_lstm(b: ExportBuilder, op: Node) -> None:
    """The basic LSTM kernel with one weight matrix; its gate order is input, cell, forget, output.

    NNAPI joins the input with the recurrent weights, and the previous output with the input
    weights.
    """
    order = ("input", "cell", "forget", "output")
    names = [f"{kind}_to_{gate}_weights" for kind in ("input", "recurrent") for gate in order]
    biases = [op.named[f"{gate}_bias" if gate == "cell" else f"{gate}_gate_bias"] for gate in order]
    if any(op.named[name].value is None for name in names) or any(o.value is None for o in biases):
        raise RefusedError("its weights are not constants of the model")
    rows = [
        [op.named[f"recurrent_to_{gate}_weights"], op.named[f"input_to_{gate}_weights"]]
        for gate in order
    ]
    weights = _joined_weights(rows, op.input_to_input_weights)
    joined = np.concatenate([bias.value for bias in biases])
    bias = Tensor(T.TENSOR_INT32, joined.shape, biases[0].scale, value=joined)
    x, old = op.input, op.prev_output
    scratch = Tensor(x.type, (x.dimensions[0], weights.dimensions[1]), x.scale, x.zero_point)
    gates = Tensor(T.TENSOR_QUANT16_SYMM, (x.dimensions[0], weights.dimensions[0]), 1 / 4096, 0)
    b.emit(
        "LSTM",
        [x, old, weights, bias, op.prev_cell_state],
        [op.output, op.cell_state_out, scratch, gates],
        FusedActivationFunction=4,
        CellClip=0.0,
        ProjClip=0.0,
        KernelType=1,
    )


RULES = {
    "LSTM": Rule(STEPS, recurrent.lstm),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Rule(
        f"UNIDIRECTIONAL_SEQUENCE_LSTM if its states are only carried; else {STEPS}",
        cells.sequence,
    ),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Rule(STEPS, recurrent.bidirectional_sequence_lstm),
    "RNN": Rule(STEPS, recurrent.rnn),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Rule(STEPS, recurrent.unidirectional_sequence_rnn),
    "BIDIRECTIONAL_SEQUENCE_RNN": Rule(STEPS, recurrent.bidirectional_sequence_rnn),
    "SVDF": Rule("FULLY_CONNECTED, CONCATENATION, MUL, SUM", recurrent.svdf),
    "QUANTIZED_16BIT_LSTM": Rule("LSTM, the basic kernel", _quantized_16bit_lstm, native=anything),
    "QUANTIZED_LSTM": Rule(STEPS, recurrent.quantized_lstm, IN_FLOAT, native=anything),
    "IF": Rule("IF", _if, native=anything),
    "WHILE": Rule("WHILE", _while, native=anything),
    "LSH_PROJECTION": Rule("LSH_PROJECTION", _lsh_projection, native=anything),
    "RANDOM_MULTINOMIAL": Rule(
        "MULTINOMIAL", _multinomial, "same distribution, another sequence of random numbers"
    ),
    "DETECTION_POSTPROCESSING": Rule(
        "TFLite_Detection_PostProcess (custom), CAST", _detection, "one image only"
    ),
    "AXIS_ALIGNED_BBOX_TRANSFORM": Rule(
        "SLICE, SUB, MUL, EXP, ADD, MINIMUM, MAXIMUM, CONCATENATION",
        boxes.axis_aligned_bbox_transform,
    ),
    "BOX_WITH_NMS_LIMIT": Rule("", None, CHOSEN),
    "GENERATE_PROPOSALS": Rule("", None, CHOSEN),
    "HEATMAP_MAX_KEYPOINT": Rule("", None, "TensorFlow Lite has no operator for it"),
    "ROI_ALIGN": Rule("", None, "TensorFlow Lite has no operator that samples regions"),
    "ROI_POOLING": Rule("", None, "TensorFlow Lite has no operator that pools regions"),
}
