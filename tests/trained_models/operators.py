"""Operators of TensorFlow Lite as NNAPI operations, the way its NNAPI delegate puts them.

What the delegate leaves to the processor and NNAPI can express all the same is here, too: UNPACK,
GATHER_ND, FLOOR_DIV of integers, the requantizing QUANTIZE, detections.
"""

import math
from collections.abc import Callable
from itertools import accumulate
from operator import mul

from nnapi_shim import FuseCode, Model, OperandType, PaddingCode
from nnapi_shim.api.operand import Operand
from tests.trained_models.flat_model import FlatModel, Operator
from tests.trained_models.graph import Graph

NONE = int(FuseCode.NONE)
PADDINGS = (int(PaddingCode.SAME), int(PaddingCode.VALID))
"""By the codes of the schema."""

Lowering = Callable[[Graph, Operator], None]


def whole_model(flat: FlatModel) -> Model:
    """The finished NNAPI model of a flat model. Raises KeyError: what no operation expresses."""
    graph = Graph(flat)
    for operator in flat.operators:
        OPERATORS[operator.name](graph, operator)
    inputs, outputs = ([graph.operand(i) for i in side] for side in (flat.inputs, flat.outputs))
    graph.model.identify_inputs_and_outputs(inputs, outputs)
    graph.model.finish()
    return graph.model


def not_expressed(flat: FlatModel) -> list[str]:
    """Names of the operators that stand in no table here."""
    return sorted({o.name for o in flat.operators} - OPERATORS.keys())


def _inputs(graph: Graph, op: Operator) -> list[Operand]:
    return [graph.operand(i) for i in op.inputs]


def _outputs(graph: Graph, op: Operator) -> list[Operand]:
    return [graph.operand(i) for i in op.outputs]


def _activation(op: Operator) -> int:
    code: int = op.options.FusedActivationFunction()
    assert code <= FuseCode.RELU6, "codes are those of NNAPI up to RELU6"
    return code


def plain(type: str) -> Lowering:
    """An operation with the same operands and nothing more."""

    def lower(graph: Graph, op: Operator) -> None:
        graph.add(type, _inputs(graph, op), _outputs(graph, op))

    return lower


def binary(type: str) -> Lowering:
    """Two inputs and an activation; FLOOR_DIV has none."""

    def lower(graph: Graph, op: Operator) -> None:
        fused = hasattr(op.options, "FusedActivationFunction")
        activation = _activation(op) if fused else NONE
        graph.add(type, [*_inputs(graph, op), activation], _outputs(graph, op))

    return lower


def convolution(graph: Graph, op: Operator) -> None:
    options = op.options
    strides = options.StrideW(), options.StrideH()
    dilations = options.DilationWFactor(), options.DilationHFactor()
    scalars = [PADDINGS[options.Padding()], *strides, _activation(op), False, *dilations]
    graph.add("CONV_2D", [*_inputs(graph, op), *scalars], _outputs(graph, op))


def depthwise(graph: Graph, op: Operator) -> None:
    options = op.options
    strides = options.StrideW(), options.StrideH()
    dilations = options.DilationWFactor(), options.DilationHFactor()
    # The multiplier of the file is not to be trusted: the sizes say what it is.
    filter = graph.tensor(op.inputs[1]).shape
    multiplier = filter[3] // graph.tensor(op.inputs[0]).shape[3]
    scalars = [PADDINGS[options.Padding()], *strides, multiplier, _activation(op), False]
    graph.add("DEPTHWISE_CONV_2D", [*_inputs(graph, op), *scalars, *dilations], _outputs(graph, op))


def average_pool(graph: Graph, op: Operator) -> None:
    options = op.options
    scalars = [PADDINGS[options.Padding()], options.StrideW(), options.StrideH()]
    scalars += [options.FilterWidth(), options.FilterHeight(), _activation(op)]
    graph.add("AVERAGE_POOL_2D", [*_inputs(graph, op), *scalars], _outputs(graph, op))


def fully_connected(graph: Graph, op: Operator) -> None:
    assert not op.options.KeepNumDims()
    graph.add("FULLY_CONNECTED", [*_inputs(graph, op), _activation(op)], _outputs(graph, op))


def softmax(graph: Graph, op: Operator) -> None:
    graph.add("SOFTMAX", [*_inputs(graph, op), float(op.options.Beta())], _outputs(graph, op))


def reshape(graph: Graph, op: Operator) -> None:
    _reshape(graph, graph.operand(op.inputs[0]), graph.operand(op.outputs[0]))


def _reshape(graph: Graph, source: Operand, target: Operand) -> None:
    graph.add("RESHAPE", [source, _shape(graph, target.dimensions)], [target])


def _shape(graph: Graph, shape: tuple[int, ...]) -> Operand:
    return graph.model.constant(list(shape), "TENSOR_INT32")


def mean(graph: Graph, op: Operator) -> None:
    """With the parameters of its input, as NNAPI has it; then with those of the file."""
    source, output = graph.tensor(op.inputs[0]), graph.tensor(op.outputs[0])
    inputs = [*_inputs(graph, op), int(op.options.KeepDims())]
    if (source.scales, source.zero_point) == (output.scales, output.zero_point):
        graph.add("MEAN", inputs, _outputs(graph, op))
    else:
        own = graph.temporary(source, output.shape)
        graph.add("MEAN", inputs, [own])
        _requantize(graph, own, graph.operand(op.outputs[0]))


def concatenation(graph: Graph, op: Operator) -> None:
    rank = len(graph.tensor(op.outputs[0]).shape)
    axis = op.options.Axis() % rank
    inputs, (output,) = _inputs(graph, op), _outputs(graph, op)
    if output.type is not OperandType.TENSOR_INT32:
        graph.add("CONCATENATION", [*inputs, axis], [output])
        return
    # Not of integers: by way of real numbers, which hold the small ones of these files exactly.
    *reals, joined = (
        graph.model.add_operand("TENSOR_FLOAT32", operand.dimensions)
        for operand in (*inputs, output)
    )
    for operand, real in zip(inputs, reals, strict=True):
        graph.add("CAST", [operand], [real])
    graph.add("CONCATENATION", [*reals, axis], [joined])
    graph.add("CAST", [joined], [output])


def split(graph: Graph, op: Operator) -> None:
    axis, source = op.inputs
    inputs = [graph.operand(source), _number(graph, axis), len(op.outputs)]
    graph.add("SPLIT", inputs, _outputs(graph, op))


def _number(graph: Graph, index: int) -> int:
    value = graph.tensor(index).value
    assert value is not None
    return int(value.item())


def pack(graph: Graph, op: Operator) -> None:
    graph.add("PACK", [op.options.Axis(), *_inputs(graph, op)], _outputs(graph, op))


def unpack(graph: Graph, op: Operator) -> None:
    """Equal parts, and the axis of size 1 taken off each."""
    tensor = graph.tensor(op.inputs[0])
    axis = op.options.Axis() % len(tensor.shape)
    shape = tensor.shape[:axis] + (1,) + tensor.shape[axis + 1 :]
    parts = [graph.temporary(tensor, shape) for _ in op.outputs]
    graph.add("SPLIT", [graph.operand(op.inputs[0]), axis, len(parts)], parts)
    for part, output in zip(parts, _outputs(graph, op), strict=True):
        _reshape(graph, part, output)


def arg_max(graph: Graph, op: Operator) -> None:
    source, axis = op.inputs
    graph.add("ARGMAX", [graph.operand(source), _number(graph, axis)], _outputs(graph, op))


def resize_bilinear(graph: Graph, op: Operator) -> None:
    _, height, width, _ = graph.tensor(op.outputs[0]).shape
    flags = bool(op.options.AlignCorners()), bool(op.options.HalfPixelCenters())
    inputs = [graph.operand(op.inputs[0]), width, height, False, *flags]
    graph.add("RESIZE_BILINEAR", inputs, _outputs(graph, op))


def quantize(graph: Graph, op: Operator) -> None:
    source, output = graph.operand(op.inputs[0]), graph.operand(op.outputs[0])
    if graph.tensor(op.inputs[0]).type == "FLOAT32":
        graph.add("QUANTIZE", [source], [output])
    else:
        _requantize(graph, source, output)


def _requantize(graph: Graph, source: Operand, output: Operand) -> None:
    real = _real(graph, source)
    graph.add("QUANTIZE", [real], [output])


def _real(graph: Graph, source: Operand) -> Operand:
    real = graph.model.add_operand("TENSOR_FLOAT32", source.dimensions)
    graph.add("DEQUANTIZE", [source], [real])
    return real


def gather_nd(graph: Graph, op: Operator) -> None:
    """Index columns times the strides of their dimensions, and a GATHER of rows."""
    source, indexes = (graph.tensor(i) for i in op.inputs)
    *lead, count = indexes.shape
    sizes = source.shape[:count]
    strides = list(accumulate((1,) + sizes[:0:-1], mul))[::-1]
    columns = [graph.temporary(indexes, (*lead, 1)) for _ in strides]
    graph.add("SPLIT", [graph.operand(op.inputs[1]), len(lead), count], columns)
    total = None
    for column, stride in zip(columns, strides, strict=True):
        product = graph.temporary(indexes, (*lead, 1))
        factor = graph.model.constant([stride], "TENSOR_INT32")
        graph.add("MUL", [column, factor, NONE], [product])
        if total is not None:
            sum = graph.temporary(indexes, (*lead, 1))
            graph.add("ADD", [total, product, NONE], [sum])
            product = sum
        total = product
    assert total is not None
    flat = graph.temporary(indexes, lead)
    _reshape(graph, total, flat)
    rows = graph.temporary(source, (math.prod(sizes), *source.shape[count:]))
    _reshape(graph, graph.operand(op.inputs[0]), rows)
    graph.add("GATHER", [rows, 0, flat], _outputs(graph, op))


def detections(graph: Graph, op: Operator) -> None:
    """Of dequantized boxes, scores and anchors; classes and their number become real numbers."""
    options = op.options
    deltas, scores, anchors = (_real(graph, operand) for operand in _inputs(graph, op))
    most = options["max_detections"]
    has_background = graph.tensor(op.inputs[1]).shape[2] > options["num_classes"]
    values: list[float | int | bool] = [float(options[f"{axis}_scale"]) for axis in "yxhw"]
    values += [
        bool(options.get("use_regular_nms", False)),
        most,
        options["max_classes_per_detection"],
        options.get("detections_per_class", 100),
        float(options["nms_score_threshold"]),
        float(options["nms_iou_threshold"]),
        not has_background,
    ]
    rows = most * options["max_classes_per_detection"]
    # The file says nothing of the outputs' dimensions.
    for index, shape in zip(op.outputs, ((1, rows, 4), (1, rows), (1, rows), (1,)), strict=True):
        graph.define(index, graph.temporary(graph.tensor(index), shape))
    boxes, classes, scored, number = _outputs(graph, op)
    integers = [graph.model.add_operand("TENSOR_INT32", i.dimensions) for i in (classes, number)]
    results = [scored, boxes, *integers]
    graph.add("DETECTION_POSTPROCESSING", [scores, deltas, anchors, *values], results)
    for integer, real in zip(integers, (classes, number), strict=True):
        graph.add("CAST", [integer], [real])


OPERATORS: dict[str, Lowering] = {
    "ADD": binary("ADD"),
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": average_pool,
    "CAST": plain("CAST"),
    "CONCATENATION": concatenation,
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEQUANTIZE": plain("DEQUANTIZE"),
    "DIV": binary("DIV"),
    "FLOOR_DIV": binary("DIV"),
    "FULLY_CONNECTED": fully_connected,
    "GATHER_ND": gather_nd,
    "LOGISTIC": plain("LOGISTIC"),
    "MEAN": mean,
    "MUL": binary("MUL"),
    "PACK": pack,
    "QUANTIZE": quantize,
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize_bilinear,
    "SOFTMAX": softmax,
    "SPLIT": split,
    "SQRT": plain("SQRT"),
    "SUB": binary("SUB"),
    "TFLite_Detection_PostProcess": detections,
    "UNPACK": unpack,
}
"""What is here is tried; a model that needs more is named in the table that the test prints."""
