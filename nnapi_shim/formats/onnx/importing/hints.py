"""Scales of tensors of bytes, which ONNX states where they are read."""

from nnapi_shim.formats.onnx.file import Graph

Hints = dict[str, tuple[float, int]]
"""Name of a tensor of bytes -> scale and zero point."""


def hints_of(graph: Graph) -> Hints:
    """The constant scale and zero point with which a tensor is first read."""
    hints: Hints = {}
    for node in graph.nodes:
        places = _PLACES.get(node.kind, ())
        for at, scale, zero in places:
            if scale >= len(node.inputs) or node.inputs[at] in hints:
                continue
            number = graph.constants.get(node.inputs[scale])
            point = graph.constants.get(node.inputs[zero]) if zero < len(node.inputs) else None
            if number is None or number.array is None or number.array.size != 1:
                continue
            if point is not None and (point.array is None or point.array.size != 1):
                continue
            value = float(number.array.reshape(-1)[0])
            if 0 < value < float("inf"):
                start = 0 if point is None or point.array is None else point.array
                hints[node.inputs[at]] = (
                    value,
                    int(start if isinstance(start, int) else start.reshape(-1)[0]),
                )
    return hints


_PLACES = {
    "DequantizeLinear": ((0, 1, 2),),
    "QLinearConv": ((0, 1, 2), (3, 4, 5)),
    "QLinearMatMul": ((0, 1, 2), (3, 4, 5)),
}
"""Operator -> positions of a tensor of bytes, its scale and its zero point."""
