"""The custom operator TFLite_Detection_PostProcess."""

import struct
from typing import Any

import numpy as np

from nnapi_shim.extras import install_command
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.hal.enums import OperandType as T

_DAMAGED = (
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of the FlexBuffers reader."""


class _Options:
    """The operator's options, a FlexBuffers map."""

    def __init__(self, data: bytes) -> None:
        try:
            from flatbuffers import flexbuffers
        except ImportError as error:
            raise ImportError(
                "TFLite_Detection_PostProcess needs the package flatbuffers; "
                f"`{install_command('tflite')}`"
            ) from error
        self._reader = flexbuffers
        try:
            self._map = flexbuffers.GetRoot(bytearray(data)).AsMap
            self._names = {str(key.AsString): at for at, key in enumerate(self._keys())}
        except _DAMAGED:
            raise reason(
                "its options are damaged", "import.tflite.detection-postprocess.options"
            ) from None

    def _keys(self) -> list[Any]:
        keys = self._map.Keys
        if len(keys) > _MOST_OPTIONS:
            raise reason(
                f"it has {len(keys)} options", "import.tflite.detection-postprocess.option-count"
            )
        return list(keys)

    def number(self, name: str, default: float | None = None) -> float:
        """A numeric option; raises if it is missing and has no default."""
        if name not in self._names:
            if default is None:
                raise reason(
                    f"it has no option {name}", "import.tflite.detection-postprocess.option-missing"
                )
            return default
        try:
            value = self._map.Values[self._names[name]]
            if value.IsBool:
                return int(value.AsBool)
            number = float(value.AsFloat) if value.IsFloat else int(value.AsInt)
        except _DAMAGED:
            raise reason(
                f"its option {name} is damaged",
                "import.tflite.detection-postprocess.option-damaged",
            ) from None
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise reason(
                f"its option {name} is {number}", "import.tflite.detection-postprocess.option-value"
            )
        return number


_MOST_OPTIONS = 64


LEAST = 2.0**-126
"""The smallest normal float32."""

_NON_NEGATIVE = {"LOGISTIC", "RELU", "RELU6", "RELU_0_TO_1", "SOFTMAX"}
_MOVES = """CONCATENATION DEQUANTIZE QUANTIZE RESHAPE SLICE SQUEEZE STRIDED_SLICE TRANSPOSE"""


def _is_non_negative(graph: Importing, index: int | None) -> bool:
    """Whether all values of a tensor are 0 or more, by their producer or their quantization."""
    origins = {output: item for item in graph.graph.operators for output in item.outputs}
    waiting, visited = [index], set[int | None]()
    while waiting:
        index = waiting.pop()
        if index in visited:
            continue
        visited.add(index)
        tensor, item = graph.tensor(index), origins.get(index) if index is not None else None
        low = {"INT8": -128, "UINT8": 0}.get(tensor.type)
        if tensor.scale and low == tensor.zero_point:
            continue
        if item is not None and item.name in _MOVES.split():
            waiting += item.inputs if item.name == "CONCATENATION" else item.inputs[:1]
        elif item is None or item.name not in _NON_NEGATIVE:
            return False
    return True


def detections(graph: Importing, operator: Operator) -> None:
    """DETECTION_POSTPROCESSING of dequantized boxes, scores and anchors; classes and their count
    become float32.
    """
    options = _Options(operator.custom or b"")
    if len(operator.inputs) != 3 or len(operator.outputs) != 4:
        raise reason(
            "it must have three inputs and four outputs",
            "import.tflite.detection-postprocess.operands",
        )
    deltas, scores, anchors = (graph.reals(index) for index in operator.inputs)
    if not scores.is_known or len(scores.dimensions) != 3:
        raise reason(
            f"its scores have dimensions {list(scores.dimensions)}",
            "import.tflite.detection-postprocess.rank",
        )
    threshold = float(options.number("nms_score_threshold"))
    if threshold < 0:
        if not _is_non_negative(graph, operator.inputs[1]):
            raise reason(
                f"its score threshold is {threshold}, and scores may be below 0",
                "import.tflite.detection-postprocess.score-threshold",
            )
        # LiteRT keeps scores >= 0; NNAPI's comparison is strict, so zero scores are raised above 0.
        threshold = 0.0
        scores = graph.make("MAXIMUM", [scores, np.full(1, LEAST, np.float32)])
    most = int(options.number("max_detections"))
    values: list[Any] = [float(options.number(f"{axis}_scale")) for axis in "yxhw"]
    values += [
        bool(options.number("use_regular_nms", 0)),
        most,
        int(options.number("max_classes_per_detection")),
        int(options.number("detections_per_class", 100)),
        threshold,
        float(options.number("nms_iou_threshold")),
        scores.dimensions[2] <= options.number("num_classes"),
    ]
    scored, boxes, classes, number = graph.several(
        "DETECTION_POSTPROCESSING", [scores, deltas, anchors, *values]
    )
    for at, result in enumerate((boxes, classes, scored, number)):
        if result.type is T.TENSOR_INT32:
            result = graph.make("CAST", [result], output=T.TENSOR_FLOAT32)
        graph.define(operator.outputs[at], result)


LOWERINGS: dict[str, Lowering] = {"TFLite_Detection_PostProcess": detections}
