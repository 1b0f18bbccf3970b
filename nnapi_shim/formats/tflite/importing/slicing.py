"""Slices, strided slices and gathers."""

import math
from itertools import accumulate
from operator import mul
from typing import Any, NamedTuple

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import NONE, require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.joining import axis_of
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.reshape import to_shape
from nnapi_shim.hal.enums import OperandType as T


def strided(graph: Importing, operator: Operator) -> None:
    """STRIDED_SLICE; ellipses and new axes are resolved into ranges."""
    data = graph.operand(operator.inputs[0])
    options = operator.options
    masks = [int(options.get(name, 0)) for name in _MASKS]
    is_plain = not masks[3] and not masks[4] and not options.get("Offset", False)
    if is_plain and not _needs_ranges(graph, operator, data):
        ranges = [graph.integers(index) for index in operator.inputs[1:4]]
        graph.add("STRIDED_SLICE", [data, *ranges, *masks[:3]], operator)
        return
    require_known(data)
    begin, end, strides = (graph.numbers(i, "its range") for i in operator.inputs[1:4])
    if options.get("Offset", False):
        end = [a + b for a, b in zip(begin, end, strict=True)]
    parts = _ranges(data.dimensions, begin, end, strides, masks)
    starts = [item.start for item in parts.ranges]
    if data.type is T.TENSOR_INT32:
        if any(item.step != 1 for item in parts.ranges):
            raise reason(
                "NNAPI has no strided slices of integers", "import.tflite.strided-slice.type"
            )
        sizes = [len(item) for item in parts.ranges]
        part = graph.part(data, starts, sizes)
    else:
        # An exclusive end of -1 (before element 0) would mean the last element: use -size - 1.
        ends = [
            item.stop if item.stop >= 0 else -size - 1
            for item, size in zip(parts.ranges, data.dimensions, strict=True)
        ]
        steps = [item.step for item in parts.ranges]
        part = graph.make(
            "STRIDED_SLICE", [data, *map(graph.sizes, (starts, ends, steps)), 0, 0, 0]
        )
    to_shape(graph, operator, part, parts.shape)


_MASKS = ("BeginMask", "EndMask", "ShrinkAxisMask", "EllipsisMask", "NewAxisMask")


def _needs_ranges(graph: Importing, operator: Operator, data: Operand) -> bool:
    """Whether the ranges must be resolved: always for INT32; with constant ranges and known
    dimensions, if there are fewer ranges than dimensions, if the result is wide, or if an axis is
    shrunk, whose end LiteRT takes into account and NNAPI ignores.
    """
    begin = graph.value(operator.inputs[1])
    if data.type is T.TENSOR_INT32:
        return True
    shrinks = bool(operator.options.get("ShrinkAxisMask", 0))
    is_short = begin is not None and begin.size != len(data.dimensions)
    is_wide = operator.outputs[0] in graph.wide  # their output shape must be known
    return begin is not None and data.is_known and (shrinks or is_short or is_wide)


class _Ranges(NamedTuple):
    """The range of each dimension, and the dimensions of the result."""

    ranges: list[range]
    shape: list[int]


def _ranges(
    dimensions: tuple[int, ...],
    begin: list[int],
    end: list[int],
    strides: list[int],
    masks: list[int],
) -> _Ranges:
    begin_mask, end_mask, shrink, ellipsis, new = masks
    result = _Ranges([], [])
    count = len(begin)
    if not len(end) == len(strides) == count:
        raise reason("its ranges are of different lengths", "import.tflite.strided-slice.ranges")
    for at in range(count):
        bit = 1 << at
        axis = len(result.ranges)
        if ellipsis & bit:
            following = sum(not new >> later & 1 for later in range(at + 1, count))
            for size in dimensions[axis : len(dimensions) - following]:
                result.ranges.append(range(size))
                result.shape.append(size)
        elif new & bit:
            result.shape.append(1)
        else:
            if axis >= len(dimensions):
                raise reason(
                    f"{count} ranges for {list(dimensions)}",
                    "import.tflite.strided-slice.range-count",
                )
            size, step = dimensions[axis], strides[at]
            if not step:
                raise reason("a stride is 0", "import.tflite.strided-slice.stride")
            if shrink & bit:
                if step < 0:
                    raise reason(
                        "a shrunk dimension has a stride below 0",
                        "import.tflite.strided-slice.shrink-stride",
                    )
                start = 0 if begin_mask & bit else axis_of(begin[at], size)
                result.ranges.append(range(start, start + 1))
                continue
            bounds = slice(
                None if begin_mask & bit else begin[at], None if end_mask & bit else end[at], step
            )
            result.ranges.append(range(*bounds.indices(size)))
            result.shape.append(len(result.ranges[-1]))
    for size in dimensions[len(result.ranges) :]:
        result.ranges.append(range(size))
        result.shape.append(size)
    if not all(map(len, result.ranges)):
        raise reason("its output has no elements", "import.tflite.strided-slice.empty")
    return result


def gather(graph: Importing, operator: Operator) -> None:
    """GATHER; a scalar index removes its dimension."""
    data, index = graph.operand(operator.inputs[0]), operator.inputs[1]
    if operator.options.get("BatchDims", 0):
        raise reason("it has batch dimensions", "import.tflite.gather.batch-dims")
    axis = axis_of(int(operator.options.get("Axis", 0)), len(data.dimensions) or 1)
    if not graph.is_rank_0(index):
        graph.add("GATHER", [data, axis, graph.operand(index)], operator)
        return
    part = graph.make("GATHER", [data, axis, graph.operand(index)])
    to_shape(graph, operator, part, data.dimensions[:axis] + data.dimensions[axis + 1 :])


def gather_nd(graph: Importing, operator: Operator) -> None:
    """GATHER_ND: index columns times strides, then GATHER of rows."""
    data, indices = graph.operands(operator.inputs)
    require_known(data, indices)
    *lead, count = indices.dimensions
    sizes = data.dimensions[:count]
    if count > len(data.dimensions):
        raise reason(
            f"indices of {count} numbers for dimensions {list(data.dimensions)}",
            "import.tflite.gather-nd.indices",
        )
    strides = list(accumulate((1, *sizes[:0:-1]), mul))[::-1]
    columns = graph.several("SPLIT", [indices, len(lead), count], output_count=count)
    total: Any = None
    for column, stride in zip(columns, strides, strict=True):
        product = graph.make("MUL", [column, graph.sizes([stride]), NONE])
        total = product if total is None else graph.make("ADD", [total, product, NONE])
    flat = graph.reshaped(total, lead)
    rows = graph.reshaped(data, [math.prod(sizes), *data.dimensions[count:]])
    gathered = graph.make("GATHER", [rows, 0, flat])
    graph.give(operator, graph.reshaped(gathered, [*lead, *data.dimensions[count:]]))


def top_k(graph: Importing, operator: Operator) -> None:
    """TOPK_V2; among equal elements NNAPI returns the last first."""
    (count,) = graph.numbers(operator.inputs[1], "the number of elements")
    values, indices = graph.several("TOPK_V2", [graph.operand(operator.inputs[0]), count])
    graph.give(operator, values, 0)
    graph.give(operator, indices, 1)


LOWERINGS: dict[str, Lowering] = {
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "STRIDED_SLICE": strided,
    "TOPK_V2": top_k,
}
