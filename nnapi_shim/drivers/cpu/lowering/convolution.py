"""CONV_2D and DEPTHWISE_CONV_2D as steps."""

from typing import Any

from nnapi_shim.drivers.cpu.lowering.depthwise import depthwise
from nnapi_shim.drivers.cpu.lowering.gemm import OFFSETS, Rows, consecutive_rows, product
from nnapi_shim.drivers.cpu.lowering.packing import Input, prepared_input
from nnapi_shim.drivers.cpu.lowering.rearrange import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.drivers.cpu.record import At, Buffer, Step
from nnapi_shim.operations.convolution import convolution_window
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import Window


def lower_conv_2d(op: BoundOperation) -> list[Step]:
    """A matrix product whose input rows are found through a table; a 1x1 filter needs none."""
    geometry = tiling()
    window = convolution_window(op)
    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    pixels = window.batch * window.in_height * window.in_width
    outputs = window.batch * window.vertical.output * window.horizontal.output
    input = prepared_input(op, source, pixels, window.in_depth, geometry)
    if outputs == pixels and window.filter_height == window.filter_width == 1:
        tile_rows = geometry.tile_rows(pixels)
        rows = consecutive_rows(input.source, pixels, input.row_bytes, tile_rows)
    else:
        tile_rows = geometry.tile_rows(outputs // window.batch)
        table, rows = _window_rows(op, window, input, tile_rows)
        steps.append(table)
    return steps + product(op, op.filter, input, rows, window.in_depth, target, geometry) + after


def _window_rows(
    op: BoundOperation, window: Window, input: Input, tile_rows: int
) -> tuple[Step, Rows]:
    """The step that writes the table of one image, and the rows it describes."""
    taps = window.filter_height * window.filter_width
    image_rows = window.vertical.output * window.horizontal.output
    tiles = -(-image_rows // tile_rows)
    table_step = 8 * taps * tile_rows
    table = Buffer(tiles * table_step)
    step = Step(
        OFFSETS,
        "row_offsets",
        once=True,
        output=table,
        tile_rows=tile_rows,
        out_height=window.vertical.output,
        out_width=window.horizontal.output,
        in_height=window.in_height,
        in_width=window.in_width,
        filter_height=window.filter_height,
        filter_width=window.filter_width,
        stride_height=op.stride_height,
        stride_width=op.stride_width,
        dilation_height=op.dilation_height,
        dilation_width=op.dilation_width,
        pad_top=window.vertical.head,
        pad_left=window.horizontal.head,
        pixel_bytes=input.row_bytes,
    )
    image_bytes = window.in_height * window.in_width * input.row_bytes
    tail: Any = At(table, (tiles - 1) * table_step)
    return step, Rows(
        input.source,
        table,
        tail,
        taps,
        window.batch,
        image_rows,
        image_bytes,
        tile_bytes=0,
        table_step=table_step,
        tile_rows=tile_rows,
    )


def lower_depthwise_conv_2d(op: BoundOperation) -> list[Step]:
    """Every channel has filters of its own."""
    window = convolution_window(op)
    steps, source = image_in(op.input, op.nchw)
    target, after = image_out(op.output, op.nchw)
    return steps + depthwise(op, window, source, target, tiling()) + after
