"""Image resizing."""

from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering


def _resize(type: str) -> Lowering:
    def lower(graph: Importing, operator: Operator) -> None:
        sizes = graph.numbers(operator.inputs[1], "its size")
        if len(sizes) != 2:
            raise reason(f"its size has {len(sizes)} numbers", "import.tflite.resize.size")
        height, width = sizes
        options = operator.options
        flags = [bool(options.get(name, False)) for name in ("AlignCorners", "HalfPixelCenters")]
        data = graph.operand(operator.inputs[0])
        graph.add(type, [data, width, height, False, *flags], operator)

    return lower


LOWERINGS = {
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
}
