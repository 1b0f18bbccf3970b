"""Padding, and moves of blocks between batch and space."""

from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input
from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import BYTES, Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.tensors import real_values
from nnapi_shim.hal.enums import OperandType as T

_MODES = {0: 0, 1: 1}
"""REFLECT and SYMMETRIC, as in NNAPI."""


def _paddings(graph: Importing, index: int | None) -> Input:
    value = graph.value(index)
    if value is None:
        return graph.operand(index)
    return graph.sizes(value.reshape(-1).tolist()).reshape(-1, 2)


def pad(graph: Importing, operator: Operator) -> None:
    """PAD with zeros."""
    operands = [graph.operand(operator.inputs[0]), _paddings(graph, operator.inputs[1])]
    graph.add("PAD", operands, operator)


def pad_with(graph: Importing, operator: Operator) -> None:
    """PADV2 with a constant value."""
    data = graph.operand(operator.inputs[0])
    value = graph.value(operator.inputs[2])
    if value is None:
        raise reason("the number that it pads with is no constant", "import.tflite.not-constant")
    number = value.reshape(-1)[0].item()
    if data.type is T.TENSOR_FLOAT32:
        number = real_values(graph.tensor(operator.inputs[2]), value).item()
    fill: Input = int(number) if data.type in BYTES else float(number)
    graph.add("PAD_V2", [data, _paddings(graph, operator.inputs[1]), fill], operator)


def mirror(graph: Importing, operator: Operator) -> None:
    """MIRROR_PAD."""
    mode = operator.options.get("Mode", 0)
    if mode not in _MODES:
        raise reason(
            f"mode {mode} is neither REFLECT nor SYMMETRIC", "import.tflite.mirror-pad.mode"
        )
    data, paddings = graph.operand(operator.inputs[0]), _paddings(graph, operator.inputs[1])
    graph.add("MIRROR_PAD", [data, paddings, _MODES[mode]], operator)


def _image(graph: Importing, data: Operand, block: list[int]) -> tuple[Operand, bool]:
    """A tensor of rank 3 as an image of width 1."""
    if len(block) == 1 and len(data.dimensions) == 3:
        batch, size, depth = data.dimensions
        return graph.reshaped(data, [batch or -1, size, 1, depth]), True
    if len(block) != 2:
        raise reason(
            f"blocks of {len(block)} dimensions of rank {len(data.dimensions)}",
            "import.tflite.block-shape",
        )
    return data, False


def space_to_batch(graph: Importing, operator: Operator) -> None:
    """SPACE_TO_BATCH_ND with block shapes of one or two dimensions."""
    block = graph.numbers(operator.inputs[1], "its block")
    paddings = graph.numbers(operator.inputs[2], "its paddings")
    data, is_line = _image(graph, graph.operand(operator.inputs[0]), block)
    if is_line:
        block, paddings = [*block, 1], [*paddings, 0, 0]
    around = graph.sizes(paddings).reshape(-1, 2)
    tensor = graph.tensor(operator.outputs[0])
    result = graph.like("SPACE_TO_BATCH_ND", [data, graph.sizes(block), around], tensor)
    _give(graph, operator, result, is_line)


def batch_to_space(graph: Importing, operator: Operator) -> None:
    """BATCH_TO_SPACE_ND; cropping is a SLICE of the result."""
    block = graph.numbers(operator.inputs[1], "its block")
    crops = graph.numbers(operator.inputs[2], "its crops")
    data, is_line = _image(graph, graph.operand(operator.inputs[0]), block)
    if is_line:
        block, crops = [*block, 1], [*crops, 0, 0]
    result = graph.make("BATCH_TO_SPACE_ND", [data, graph.sizes(block)])
    if any(crops):
        require_known(result)
        batch, height, width, depth = result.dimensions
        top, bottom, left, right = crops
        size = [batch, height - top - bottom, width - left - right, depth]
        result = graph.part(result, [0, top, left, 0], size)
    _give(graph, operator, result, is_line)


def _give(graph: Importing, operator: Operator, result: Operand, is_line: bool) -> None:
    if is_line:
        batch, size, _, depth = result.dimensions
        result = graph.reshaped(result, [batch or -1, size, depth])
    graph.give(operator, result)


def _blocks(type: str) -> Lowering:
    def lower(graph: Importing, operator: Operator) -> None:
        size = int(operator.options.get("BlockSize", 0))
        graph.add(type, [graph.operand(operator.inputs[0]), size], operator)

    return lower


LOWERINGS: dict[str, Lowering] = {
    "BATCH_TO_SPACE_ND": batch_to_space,
    "DEPTH_TO_SPACE": _blocks("DEPTH_TO_SPACE"),
    "MIRROR_PAD": mirror,
    "PAD": pad,
    "PADV2": pad_with,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "SPACE_TO_DEPTH": _blocks("SPACE_TO_DEPTH"),
}
