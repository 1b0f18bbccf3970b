"""TFLite_Detection_PostProcess, the custom operator that NNAPI has as an operation."""

from typing import Any

from nnapi_shim.formats.tflite.checked import DAMAGED
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing, reason
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.hal.enums import OperandType as T


class _Options:
    """What the operator is told, as FlexBuffers."""

    def __init__(self, data: bytes) -> None:
        from flatbuffers import flexbuffers

        self._reader = flexbuffers
        try:
            self._map = flexbuffers.GetRoot(bytearray(data)).AsMap
            self._names = {str(key.AsString): at for at, key in enumerate(self._keys())}
        except (*DAMAGED, AssertionError):
            raise reason("its options are damaged", "options") from None

    def _keys(self) -> list[Any]:
        keys = self._map.Keys
        if len(keys) > _MOST_OPTIONS:
            raise reason(f"it has {len(keys)} options", "options")
        return list(keys)

    def number(self, name: str, default: float | None = None) -> float:
        """A number; raises without one where there is no default."""
        if name not in self._names:
            if default is None:
                raise reason(f"it has no option {name}", "options")
            return default
        try:
            value = self._map.Values[self._names[name]]
            if value.IsBool:
                return int(value.AsBool)
            return float(value.AsFloat) if value.IsFloat else int(value.AsInt)
        except (*DAMAGED, AssertionError):
            raise reason(f"its option {name} is damaged", "options") from None


_MOST_OPTIONS = 64


def detections(graph: Importing, operator: Operator) -> None:
    """Of dequantized boxes, scores and anchors; classes and their number become real numbers."""
    options = _Options(operator.custom or b"")
    if len(operator.inputs) != 3 or len(operator.outputs) != 4:
        raise reason("it has not three inputs and four outputs", "operands")
    deltas, scores, anchors = (graph.reals(index) for index in operator.inputs)
    if not scores.is_known or len(scores.dimensions) != 3:
        raise reason(f"its scores have dimensions {list(scores.dimensions)}", "rank")
    most = int(options.number("max_detections"))
    values: list[Any] = [float(options.number(f"{axis}_scale")) for axis in "yxhw"]
    values += [
        bool(options.number("use_regular_nms", 0)),
        most,
        int(options.number("max_classes_per_detection")),
        int(options.number("detections_per_class", 100)),
        float(options.number("nms_score_threshold")),
        float(options.number("nms_iou_threshold")),
        scores.dimensions[2] <= options.number("num_classes"),
    ]
    scored, boxes, classes, number = graph.make(
        "DETECTION_POSTPROCESSING", [scores, deltas, anchors, *values]
    )
    for at, result in enumerate((boxes, classes, scored, number)):
        if result.type is T.TENSOR_INT32:
            result = graph.make("CAST", [result], output=T.TENSOR_FLOAT32)
        graph.define(operator.outputs[at], result)


LOWERINGS: dict[str, Lowering] = {"TFLite_Detection_PostProcess": detections}
