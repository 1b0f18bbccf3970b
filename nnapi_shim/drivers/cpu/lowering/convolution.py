"""CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D and TRANSPOSE_CONV_2D as steps.

All except DEPTHWISE_CONV_2D are matrix products of input rows, one per output pixel and addressed
through a table (indirect convolution), and a filter.
"""

from nnapi_shim.drivers.cpu.lowering.depthwise import depthwise
from nnapi_shim.drivers.cpu.lowering.descriptor import (
    ConvolutionDescriptor,
    described_convolution,
    is_quantized,
)
from nnapi_shim.drivers.cpu.lowering.gemm import in_bytes, multiplied, multiplied_with
from nnapi_shim.drivers.cpu.lowering.im2row import folded, has_few_words, is_foldable
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.packing import (
    Filter,
    multipliers,
    prepared_input,
    whole_filter,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, tiling
from nnapi_shim.drivers.cpu.lowering.windows import window_rows, window_tile_rows
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, At, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.operations.convolution import convolution_window
from nnapi_shim.operations.declare import BoundOperation

JOIN_GROUPS = record(
    filter=ADDRESS, output=ADDRESS,
    columns=INT64, group_columns=INT64, taps=INT64, bytes=INT64, joined=INT64, fill=INT64,
)  # fmt: skip


def lower_conv_2d(op: BoundOperation) -> list[Step]:
    """An im2row product for few channels, Winograd for 3x3, otherwise an indirect product."""
    conv = described_convolution(op, convolution_window(op))
    product, window = conv.product, conv.window
    geometry = tiling(product.quantized)
    steps, source = image_in(product.input, conv.nchw)
    target, after = image_out(product.output, conv.nchw)

    def joined() -> list[Step]:
        return folded(conv, whole_filter(product, conv.filter), source, target, geometry)

    if is_foldable(conv):
        return steps + joined() + after
    tile_rows = window_tile_rows(window, geometry)
    as_bytes = None
    if conv.is_dense_3x3:
        fewer, as_bytes = _by_winograd(conv, source, target, tile_rows, geometry)
        if fewer:
            return steps + fewer + after
    pixels = window.batch * window.in_height * window.in_width
    depth = window.in_depth
    terms, shifted = as_bytes or in_bytes(conv.filter, tile_rows, geometry)
    if terms is None and shifted is None and has_few_words(conv, geometry):
        return steps + joined() + after
    input = prepared_input(product, source, pixels, depth, geometry, terms, shifted)
    table, rows = window_rows(conv, input, geometry)
    steps += table
    return steps + multiplied(product, conv.filter, input, rows, depth, target, geometry) + after


def _by_winograd(
    conv: ConvolutionDescriptor, source: Any, target: Any, tile_rows: int, tiling: Tiling
) -> tuple[list[Step], Any]:
    """The steps with fewer products; none where they do not pay. Then `in_bytes` of the filter, if
    that had to be known.
    """
    from nnapi_shim.drivers.cpu.lowering import winograd_quantized
    from nnapi_shim.drivers.cpu.lowering.winograd import pays, winograd

    if pays(conv, tiling):
        return winograd(conv, source, target, tiling), None
    form, as_bytes = winograd_quantized.form_of(conv, tiling), None
    if form and winograd_quantized.is_behind_words(conv, tiling, form):
        as_bytes = in_bytes(conv.filter, tile_rows, tiling)
        if as_bytes[1] is not None:
            form = None
    if form is None:
        return [], as_bytes
    return winograd_quantized.winograd_quantized(conv, source, target, tiling, form), as_bytes


def lower_depthwise_conv_2d(op: BoundOperation) -> list[Step]:
    """Direct depthwise convolution; with one input channel, an im2row product."""
    conv = described_convolution(op, convolution_window(op))
    product, operand = conv.product, conv.filter
    geometry = tiling(product.quantized)
    steps, source = image_in(product.input, conv.nchw)
    target, after = image_out(product.output, conv.nchw)
    _, height, width, columns = operand.dimensions
    factors = multipliers(product, operand, columns) if product.quantized else ()
    filter = Filter(operand, product.bias, columns, height * width, operand, factors)
    if is_foldable(conv) and conv.window.in_depth == 1:
        moved, filter = _columns_first(filter)
        return [*steps, moved, *folded(conv, filter, source, target, geometry), *after]
    return steps + depthwise(conv, filter, source, target, geometry) + after


def _columns_first(filter: Filter) -> tuple[Step, Filter]:
    """The filter [taps, columns] as [columns, taps]."""
    from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied

    taps, columns, size = filter.taps, filter.columns, ELEMENT_BYTES[filter.operand.type]
    turned = Buffer(byte_size(filter.operand))
    axes = [Axis(columns, size, taps * size), Axis(taps, columns * size, size)]
    step = copied(filter.source, turned, axes, size, once=True)
    return step, filter._replace(source=turned)


def lower_grouped_conv_2d(op: BoundOperation) -> list[Step]:
    """A matrix product per group; groups of one channel are a depthwise convolution."""
    conv, groups = described_convolution(op, convolution_window(op)), op.num_groups
    geometry = tiling(conv.product.quantized)
    steps, source = image_in(conv.product.input, conv.nchw)
    target, after = image_out(conv.product.output, conv.nchw)
    if groups == conv.window.in_depth:
        return steps + _single_channels(conv, source, target, geometry) + after
    return steps + _groups(conv, groups, source, target, geometry) + after


def _single_channels(
    conv: ConvolutionDescriptor, source: Any, target: Any, geometry: Tiling
) -> list[Step]:
    """The filter [columns, taps] becomes [taps, columns]."""
    from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied

    whole, size = whole_filter(conv.product, conv.filter), ELEMENT_BYTES[conv.filter.type]
    columns, taps = whole.columns, whole.taps
    filter = Buffer(byte_size(conv.filter))
    axes = [Axis(taps, size, columns * size), Axis(columns, taps * size, size)]
    step = copied(conv.filter, filter, axes, size, once=True)
    whole = whole._replace(source=filter)
    return [step, *depthwise(conv, whole, source, target, geometry)]


def _groups(
    conv: ConvolutionDescriptor, groups: int, source: Any, target: Any, geometry: Tiling
) -> list[Step]:
    """Small groups are joined until they fill a vector."""
    product, window = conv.product, conv.window
    steps, whole, groups = _joined_groups(conv, groups, geometry)
    columns, depth = whole.columns // groups, window.in_depth // groups
    pixels = window.batch * window.in_height * window.in_width
    # One row per pixel and group, so that each group starts at a whole word.
    input = prepared_input(product, source, pixels * groups, depth, geometry)
    table, rows = window_rows(conv, input, geometry, groups)
    steps += [*input.steps, *table]
    filter_bytes = columns * whole.taps * depth * ELEMENT_BYTES[conv.filter.type]
    bias_bytes = columns * ELEMENT_BYTES[product.bias.type]
    for group in range(groups):
        part = Filter(
            At(whole.source, group * filter_bytes),
            At(product.bias, group * bias_bytes),
            columns,
            whole.taps,
            conv.filter,
            whole.multipliers[group * columns : (group + 1) * columns],
        )
        steps += multiplied_with(
            product,
            part,
            input._replace(steps=[]),
            rows._replace(source=At(input.source, group * input.row_bytes)),
            depth,
            At(target, group * columns * (1 if product.quantized else 4)),
            geometry,
            output_columns=whole.columns,
        )
    return steps


def _joined_groups(
    conv: ConvolutionDescriptor, groups: int, geometry: Tiling
) -> tuple[list[Step], Filter, int]:
    """(steps before, filter of all groups, number of groups after joining).

    A group with fewer columns than vector lanes leaves lanes idle. Joined groups read each other's
    channels with weights of 0, at no extra cost. This is exact for integers only: for floats, 0
    times infinity or NaN would be NaN.
    """
    product, filter = conv.product, conv.filter
    whole = whole_filter(product, filter)
    columns = whole.columns // groups
    joined = max(
        n
        for n in range(1, groups + 1)
        if n == 1 or (product.quantized and groups % n == 0 and n * columns <= geometry.lanes)
    )
    if joined == 1:
        return [], whole, groups
    buffer = Buffer(byte_size(filter) * joined)
    step = Step(
        JOIN_GROUPS,
        "join_groups",
        once=True,
        filter=filter,
        output=buffer,
        columns=whole.columns,
        group_columns=columns,
        taps=whole.taps,
        bytes=filter.dimensions[3] * ELEMENT_BYTES[filter.type],
        joined=joined,
        fill=filter.zero_point & 0xFF,
    )
    return [step], whole._replace(source=buffer), groups // joined


def lower_transpose_conv_2d(op: BoundOperation) -> list[Step]:
    """Convolutions with stride 1, one per phase of the output pixels."""
    from nnapi_shim.drivers.cpu.lowering.transposed import transposed

    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    return steps + transposed(op, source, target, tiling(is_quantized(op))) + after
