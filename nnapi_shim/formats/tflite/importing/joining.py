"""Concatenation, packing, unpacking and splitting."""

import math

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.reshape import to_shape
from nnapi_shim.hal.enums import OperandType as T

MOST_PARTS = 4096
"""The most parts that integers are split into."""


def axis_of(axis: int, rank: int) -> int:
    """A non-negative axis."""
    if not -rank <= axis < rank:
        raise reason(f"axis {axis} of rank {rank}", "import.tflite.axis")
    return axis % rank


def concatenation(graph: Importing, operator: Operator) -> None:
    """CONCATENATION; integers, which NNAPI does not concatenate, are packed from equal parts."""
    if operator.options.get("FusedActivationFunction", 0):
        raise reason(
            "NNAPI does not fuse an activation into it", "import.tflite.no-fused-activation"
        )
    inputs = [graph.operand(i) for i in operator.inputs]
    rank = max((len(operand.dimensions) for operand in inputs), default=0)
    rank = rank or len(graph.tensor(operator.outputs[0]).shape)
    axis = axis_of(int(operator.options.get("Axis", 0)), rank or 1)
    filled = [operand for operand in inputs if 0 not in operand.dimensions or not operand.is_known]
    if inputs and inputs[0].type is T.TENSOR_INT32:
        joined(graph, operator, filled, axis)
    elif len(inputs) == 1:
        graph.give(operator, graph.copy(inputs[0]))
    else:
        graph.add("CONCATENATION", [*inputs, axis], operator)


def joined(graph: Importing, operator: Operator, inputs: list[Operand], axis: int) -> None:
    """Split the inputs into parts of one size and pack them; all values stay exact."""
    require_known(*inputs)
    sizes = [operand.dimensions[axis] for operand in inputs]
    unit = math.gcd(*sizes) or 1
    if sum(sizes) // unit > MOST_PARTS:
        raise reason(
            f"it has integers and would need {sum(sizes) // unit} parts",
            "import.tflite.concatenation.parts",
        )
    dimensions = inputs[0].dimensions
    outer, inner = math.prod(dimensions[:axis]), math.prod(dimensions[axis + 1 :])
    parts: list[Operand] = []
    for operand, size in zip(inputs, sizes, strict=True):
        flat = graph.reshaped(operand, [outer, size * inner])
        count = size // unit
        parts += graph.several("SPLIT", [flat, 1, count], output_count=count)
    packed = graph.make("PACK", [1, *parts])
    shape = [*dimensions[:axis], sum(sizes), *dimensions[axis + 1 :]]
    to_shape(graph, operator, packed, shape)


def pack(graph: Importing, operator: Operator) -> None:
    """PACK; scalars, which have rank 1 in NNAPI, are packed and reshaped."""
    inputs = graph.operands(operator.inputs)
    if graph.is_rank_0(operator.inputs[0]):
        count = len(inputs)
        packed = graph.make("PACK", [0, *inputs])
        graph.give(operator, graph.reshaped(packed, [count]))
        return
    rank = len(inputs[0].dimensions)
    axis = axis_of(int(operator.options.get("Axis", 0)), rank + 1)
    graph.add("PACK", [axis, *inputs], operator)


def unpack(graph: Importing, operator: Operator) -> None:
    """UNPACK: SPLIT, then remove the axis of size 1."""
    data = graph.operand(operator.inputs[0])
    require_known(data)
    axis = axis_of(int(operator.options.get("Axis", 0)), len(data.dimensions))
    count = len(operator.outputs)
    parts = graph.several("SPLIT", [data, axis, count], output_count=count)
    shape = data.dimensions[:axis] + data.dimensions[axis + 1 :]
    for at, part in enumerate(parts):
        graph.give(operator, graph.reshaped(part, shape), at)


def split(graph: Importing, operator: Operator) -> None:
    """SPLIT into equal parts."""
    (axis,) = graph.numbers(operator.inputs[0], "its axis")
    data = graph.operand(operator.inputs[1])
    count = len(operator.outputs)
    sizes = graph.tensor(operator.outputs[0]).dimensions
    parts = graph.several("SPLIT", [data, axis, count], dimensions=sizes, output_count=count)
    for at, part in enumerate(parts):
        graph.give(operator, part, at)


def split_by_sizes(graph: Importing, operator: Operator) -> None:
    """SPLIT_V: one SLICE for each part."""
    data = graph.operand(operator.inputs[0])
    sizes = graph.numbers(operator.inputs[1], "the sizes of its parts")
    (axis,) = graph.numbers(operator.inputs[2], "its axis")
    require_known(data)
    axis = axis_of(axis, len(data.dimensions))
    total = data.dimensions[axis]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = total - sum(sizes) - 1
    if min(sizes, default=0) < 0 or sum(sizes) != total or len(sizes) != len(operator.outputs):
        raise reason(f"parts of {sizes} of {total} elements", "import.tflite.split-v.sizes")
    start = 0
    for at, size in enumerate(sizes):
        begin, extent = [0] * len(data.dimensions), list(data.dimensions)
        begin[axis], extent[axis] = start, size
        start += size
        graph.give(operator, graph.part(data, begin, extent), at)


LOWERINGS: dict[str, Lowering] = {
    "CONCATENATION": concatenation,
    "PACK": pack,
    "SPLIT": split,
    "SPLIT_V": split_by_sizes,
    "UNPACK": unpack,
}
