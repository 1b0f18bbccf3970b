"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, FULLY_CONNECTED."""

import struct
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator, Tensor
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.options import activation, dilations, padding, strides
from nnapi_shim.hal.enums import FuseCode, PaddingCode
from nnapi_shim.hal.enums import OperandType as T


def weights(graph: Importing, operator: Operator, at: int, data: Operand) -> Operand:
    """The weights of an operator. Quantized weights of a hybrid operator become float32: see
    byte_weights.py.
    """
    if data.type is T.TENSOR_FLOAT32:
        return graph.weights(operator.inputs[at])
    return graph.operand(operator.inputs[at])


def bias(
    graph: Importing, operator: Operator, at: int, data: Operand, filter: Operand, depth: int
) -> Operand:
    """The bias as NNAPI requires it: always present, with scale input scale * filter scale."""
    index = operator.inputs[at] if at < len(operator.inputs) else None
    if data.type in (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16):
        if index is not None:
            if graph.tensor(index).type in ("INT32", "INT64") and not graph.tensor(index).scales:
                raise reason("its bias has integers without a scale", "import.tflite.bias-scale")
            return graph.reals(index) if data.type is T.TENSOR_FLOAT32 else graph.operand(index)
        dtype = np.float32 if data.type is T.TENSOR_FLOAT32 else np.float16
        return graph.model.constant(graph.room.filled([depth], 0, dtype, "its bias"))
    scale = 0.0 if filter.channel_quant else data.scale * filter.scale
    value = (
        graph.room.filled([depth], 0, np.int32, "its bias") if index is None else graph.value(index)
    )
    if value is None:
        return graph.operand(index)
    if value.dtype == np.int64:
        value = _narrowed(graph.tensor(index), value)
    return graph.model.constant(value, T.TENSOR_INT32, scale)


def _narrowed(tensor: Tensor, value: Array) -> Array:
    if np.abs(value).max(initial=0) >= 2**31:
        raise reason(f"{tensor} has numbers beyond 32 bits", "import.tflite.int64-range")
    return value.astype(np.int32)


def _image_and_filter(graph: Importing, operator: Operator, at: int = 0) -> list[Operand]:
    """The image, input `at`, and the filter, both of rank 4."""
    data = graph.operand(operator.inputs[at])
    filter = weights(graph, operator, 1, data)
    if len(filter.dimensions) != 4 or len(data.dimensions) not in (0, 4):
        raise reason(
            f"its input has dimensions {list(data.dimensions)} and its filter "
            f"{list(filter.dimensions)}; both must have 4",
            "import.tflite.convolution.rank",
        )
    return [data, filter]


def convolution(graph: Importing, operator: Operator) -> None:
    """CONV_2D; grouped if the filter has less depth than the image."""
    data, filter = pair = _image_and_filter(graph, operator)
    groups = 1
    if filter.dimensions[3] and data.dimensions:
        groups = data.dimensions[3] // filter.dimensions[3]
    offset = bias(graph, operator, 2, data, filter, filter.dimensions[0])
    common: list[Any] = [*pair, offset, padding(operator), *strides(operator)]
    fused = activation(operator)
    if groups <= 1:
        graph.add("CONV_2D", [*common, fused, False, *dilations(operator)], operator)
        return
    if dilations(operator) != (1, 1):
        raise reason(
            "NNAPI has no dilation in grouped convolutions",
            "import.tflite.grouped-conv-2d.dilation",
        )
    graph.add("GROUPED_CONV_2D", [*common, groups, fused, False], operator)


def depthwise(graph: Importing, operator: Operator) -> None:
    """DEPTHWISE_CONV_2D; the multiplier follows from the shapes, the file's is ignored."""
    data, filter = pair = _image_and_filter(graph, operator)
    depth = filter.dimensions[3]
    if not data.dimensions or not data.dimensions[3]:
        raise reason(
            "the depth of its input is unknown before a run", "import.tflite.dynamic-dimensions"
        )
    offset = bias(graph, operator, 2, data, filter, depth)
    common: list[Any] = [*pair, offset, padding(operator), *strides(operator)]
    rest: list[Any] = [
        depth // data.dimensions[3],
        activation(operator),
        False,
        *dilations(operator),
    ]
    graph.add("DEPTHWISE_CONV_2D", [*common, *rest], operator)


def transposed(graph: Importing, operator: Operator) -> None:
    """TRANSPOSE_CONV; the filter layout equals NNAPI's."""
    data, filter = pair = _image_and_filter(graph, operator, 2)
    offset = bias(graph, operator, 3, data, filter, filter.dimensions[0])
    shape = graph.operand(operator.inputs[0])
    common: list[Any] = [*pair, offset, shape, padding(operator), *strides(operator)]
    graph.add("TRANSPOSE_CONV_2D", [*common, activation(operator), False], operator)


_STRIDES = struct.Struct("<iii")
_SAME, _VALID = 1, 2


def transposed_with_bias(graph: Importing, operator: Operator) -> None:
    """MediaPipe's custom operator Convolution2DTransposeBias. Its options are a C struct of padding
    and strides; the output size follows from them.
    """
    if operator.custom is None or len(operator.custom) < _STRIDES.size:
        raise reason(
            f"its options have {len(operator.custom or b'')} bytes",
            "import.tflite.convolution-2d-transpose-bias.option-size",
        )
    edges, stride_w, stride_h = _STRIDES.unpack_from(operator.custom)
    data, filter = _image_and_filter(graph, operator)
    if data.type is not T.TENSOR_FLOAT32 or not data.is_known:
        raise reason(
            "its input is no TENSOR_FLOAT32 of known dimensions",
            "import.tflite.convolution-2d-transpose-bias.type",
        )
    if edges not in (_SAME, _VALID) or min(stride_w, stride_h) < 1:
        raise reason(
            f"padding {edges}, strides {stride_w} and {stride_h}",
            "import.tflite.convolution-2d-transpose-bias.options",
        )
    batch, height, width, _ = data.dimensions
    depth, filter_h, filter_w, _ = filter.dimensions
    sizes = [height * stride_h, width * stride_w]
    if edges == _VALID:
        sizes = [(height - 1) * stride_h + filter_h, (width - 1) * stride_w + filter_w]
    biased = bias(graph, operator, 2, data, filter, depth)
    code = PaddingCode.SAME if edges == _SAME else PaddingCode.VALID
    operands: list[Any] = [data, filter, biased, graph.sizes([batch, *sizes, depth]), code]
    operands += [stride_w, stride_h, FuseCode.NONE, False]
    graph.add("TRANSPOSE_CONV_2D", operands, operator)


def fully_connected(graph: Importing, operator: Operator) -> None:
    """FULLY_CONNECTED; with per-channel weights it becomes a 1x1 convolution."""
    if operator.options.get("WeightsFormat", 0):
        raise reason("its weights are shuffled", "import.tflite.fully-connected.weights-format")
    data = graph.operand(operator.inputs[0])
    filter = weights(graph, operator, 1, data)
    if len(filter.dimensions) != 2:
        raise reason(
            f"its weights have dimensions {list(filter.dimensions)}",
            "import.tflite.fully-connected.weights-rank",
        )
    units, size = filter.dimensions
    shape = data.dimensions
    if filter.channel_quant:
        result = _by_pixels(graph, operator, data, filter)
    else:
        if len(shape) not in (0, 2, 3, 4):
            data = graph.reshaped(data, [-1, size])
        biased = bias(graph, operator, 2, data, filter, units)
        operands: list[Any] = [data, filter, biased, activation(operator)]
        result = graph.like("FULLY_CONNECTED", operands, graph.tensor(operator.outputs[0]))
    if operator.options.get("KeepNumDims", False) and len(shape) not in (0, 2):
        free = [size or -1 for size in shape[:-1]]
        if free.count(-1) > 1:
            raise reason(
                "more than one of its dimensions is unknown before a run",
                "import.tflite.dynamic-dimensions",
            )
        result = graph.reshaped(result, [*free, units])
    graph.give(operator, result)


def _by_pixels(graph: Importing, operator: Operator, data: Operand, filter: Operand) -> Operand:
    units, size = filter.dimensions
    assert filter.channel_quant is not None
    if filter.channel_quant.channel_dim != 0:
        raise reason(
            "its weights have a scale for each input, and not for each unit",
            "import.tflite.fully-connected.channel-dim",
        )
    image = graph.model.constant(
        filter.value.reshape(units, 1, 1, size), scales=filter.channel_quant.scales
    )
    data = graph.reshaped(data, [-1, 1, 1, size])
    biased = bias(graph, operator, 2, data, image, units)
    operands: list[Any] = [data, image, biased, PaddingCode.VALID, 1, 1, activation(operator)]
    pixels = graph.tensor(operator.outputs[0])._replace(dimensions=(0, 1, 1, units))
    result = graph.like("CONV_2D", operands, pixels)
    return graph.reshaped(result, [-1, units])


LOWERINGS = {
    "CONV_2D": convolution,
    "Convolution2DTransposeBias": transposed_with_bias,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transposed,
}
