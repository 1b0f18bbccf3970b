"""CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D and TRANSPOSE_CONV_2D as steps.

All except DEPTHWISE_CONV_2D are matrix products of input rows, one per output pixel and addressed
through a table (indirect convolution), and a filter.
"""

from nnapi_shim.drivers.cpu.lowering.byte_pairs import further_terms
from nnapi_shim.drivers.cpu.lowering.depthwise import depthwise
from nnapi_shim.drivers.cpu.lowering.gemm import product, product_with
from nnapi_shim.drivers.cpu.lowering.im2row import folded, is_foldable
from nnapi_shim.drivers.cpu.lowering.packing import (
    Filter,
    is_quantized,
    multipliers,
    prepared_input,
    whole_filter,
)
from nnapi_shim.drivers.cpu.lowering.rearrange import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, tiling
from nnapi_shim.drivers.cpu.lowering.windows import window_rows, window_tile_rows
from nnapi_shim.drivers.cpu.lowering.winograd import pays, winograd
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, At, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.operations.convolution import convolution_window
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import Window

JOIN_GROUPS = record(
    filter=ADDRESS, output=ADDRESS,
    columns=INT64, group_columns=INT64, taps=INT64, bytes=INT64, joined=INT64, fill=INT64,
)  # fmt: skip


def lower_conv_2d(op: BoundOperation) -> list[Step]:
    """An im2row product for few channels, Winograd for 3x3, otherwise an indirect product."""
    geometry = tiling()
    window = convolution_window(op)
    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    if is_foldable(op, window):
        whole = whole_filter(op, op.filter)
        return steps + folded(op, whole, window, source, target, geometry) + after
    if pays(op, window, geometry):
        columns = op.filter.dimensions[0]
        return steps + winograd(op, window, source, target, columns, geometry) + after
    pixels = window.batch * window.in_height * window.in_width
    terms = further_terms(op.filter, window_tile_rows(window, geometry), geometry)
    input = prepared_input(op, source, pixels, window.in_depth, geometry, terms)
    table, rows = window_rows(op, window, input, geometry)
    steps += table
    return steps + product(op, op.filter, input, rows, window.in_depth, target, geometry) + after


def lower_depthwise_conv_2d(op: BoundOperation) -> list[Step]:
    """Direct depthwise convolution; with one input channel, an im2row product."""
    window = convolution_window(op)
    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    _, height, width, columns = op.filter.dimensions
    factors = multipliers(op, op.filter, columns) if is_quantized(op) else ()
    filter = Filter(op.filter, op.bias, columns, height * width, op.filter, factors)
    if is_foldable(op, window) and window.in_depth == 1:
        moved, filter = _columns_first(op, filter)
        return [*steps, moved, *folded(op, filter, window, source, target, tiling()), *after]
    return steps + depthwise(op, filter, window, source, target, tiling()) + after


def _columns_first(op: BoundOperation, filter: Filter) -> tuple[Step, Filter]:
    """The filter [taps, columns] as [columns, taps]."""
    taps, columns, size = filter.taps, filter.columns, ELEMENT_BYTES[op.filter.type]
    turned = Buffer(byte_size(op.filter))
    axes = [Axis(columns, size, taps * size), Axis(taps, columns * size, size)]
    step = copied(filter.source, turned, axes, size, once=True)
    return step, filter._replace(source=turned)


def lower_grouped_conv_2d(op: BoundOperation) -> list[Step]:
    """A matrix product per group; groups of one channel are a depthwise convolution."""
    window = convolution_window(op)
    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    lowered = _single_channels if op.num_groups == window.in_depth else _groups
    return steps + lowered(op, window, source, target, tiling()) + after


def _single_channels(
    op: BoundOperation, window: Window, source: Any, target: Any, geometry: Tiling
) -> list[Step]:
    """The filter [columns, taps] becomes [taps, columns]."""
    whole, size = whole_filter(op, op.filter), ELEMENT_BYTES[op.filter.type]
    columns, taps = whole.columns, whole.taps
    filter = Buffer(byte_size(op.filter))
    axes = [Axis(taps, size, columns * size), Axis(columns, taps * size, size)]
    step = copied(op.filter, filter, axes, size, once=True)
    whole = whole._replace(source=filter)
    return [step, *depthwise(op, whole, window, source, target, geometry)]


def _groups(
    op: BoundOperation, window: Window, source: Any, target: Any, geometry: Tiling
) -> list[Step]:
    """Small groups are joined until they fill a vector."""
    steps, whole, groups = _joined_groups(op, geometry)
    columns, depth = whole.columns // groups, window.in_depth // groups
    pixels = window.batch * window.in_height * window.in_width
    # One row per pixel and group, so that each group starts at a whole word.
    input = prepared_input(op, source, pixels * groups, depth, geometry)
    table, rows = window_rows(op, window, input, geometry, groups)
    steps += [*input.steps, *table]
    filter_bytes = columns * whole.taps * depth * ELEMENT_BYTES[op.filter.type]
    bias_bytes = columns * ELEMENT_BYTES[op.bias.type]
    for group in range(groups):
        part = Filter(
            At(whole.source, group * filter_bytes),
            At(op.bias, group * bias_bytes),
            columns,
            whole.taps,
            op.filter,
            whole.multipliers[group * columns : (group + 1) * columns],
        )
        steps += product_with(
            op,
            part,
            input._replace(steps=[]),
            rows._replace(source=At(input.source, group * input.row_bytes)),
            depth,
            At(target, group * columns * (1 if is_quantized(op) else 4)),
            geometry,
            op.activation,
            output_columns=whole.columns,
        )
    return steps


def _joined_groups(op: BoundOperation, geometry: Tiling) -> tuple[list[Step], Filter, int]:
    """(steps before, filter of all groups, number of groups after joining).

    A group with fewer columns than vector lanes leaves lanes idle. Joined groups read each other's
    channels with weights of 0, at no extra cost. This is exact for integers only: for floats, 0
    times infinity or NaN would be NaN.
    """
    whole = whole_filter(op, op.filter)
    groups: int = op.num_groups
    columns = whole.columns // groups
    joined = max(
        n
        for n in range(1, groups + 1)
        if n == 1 or (is_quantized(op) and groups % n == 0 and n * columns <= geometry.lanes)
    )
    if joined == 1:
        return [], whole, groups
    buffer = Buffer(byte_size(op.filter) * joined)
    step = Step(
        JOIN_GROUPS,
        "join_groups",
        once=True,
        filter=op.filter,
        output=buffer,
        columns=whole.columns,
        group_columns=columns,
        taps=whole.taps,
        bytes=op.filter.dimensions[3] * ELEMENT_BYTES[op.filter.type],
        joined=joined,
        fill=op.filter.zero_point & 0xFF,
    )
    return [step], whole._replace(source=buffer), groups // joined


def lower_transpose_conv_2d(op: BoundOperation) -> list[Step]:
    """Convolutions with stride 1, one per phase of the output pixels."""
    from nnapi_shim.drivers.cpu.lowering.transposed import transposed

    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    return steps + transposed(op, source, target, tiling()) + after
