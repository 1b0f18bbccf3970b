"""The input rows of a convolution's windows: a table of offsets for the matrix product."""

from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm import OFFSETS, OUTSIDE, SKIPPED, Rows, consecutive_rows
from nnapi_shim.drivers.cpu.lowering.packing import Input
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.shapes import Window


class View(NamedTuple):
    """The geometry of a convolution: output (y, x) and tap (i, j) read the pixel in row
    y * stride_height - pad_top + i * dilation_height, and in the corresponding column.
    """

    out_height: int
    out_width: int
    in_height: int
    in_width: int
    filter_height: int
    filter_width: int
    stride_height: int = 1
    stride_width: int = 1
    dilation_height: int = 1
    dilation_width: int = 1
    pad_top: int = 0
    pad_left: int = 0


def window_tile_rows(window: Window, geometry: Tiling) -> int:
    """Rows of the micro-kernel for the output pixels of a window."""
    pixels = window.vertical.output * window.horizontal.output
    return geometry.tile_rows(pixels * window.batch if _is_pointwise(window) else pixels)


def _is_pointwise(window: Window) -> bool:
    """Whether every output pixel reads the input pixel at its position."""
    is_one_by_one = window.filter_height == window.filter_width == 1
    outputs = window.vertical.output * window.horizontal.output
    return is_one_by_one and outputs == window.in_height * window.in_width


def window_rows(
    conv: ConvolutionDescriptor, input: Input, geometry: Tiling, groups: int = 1
) -> tuple[list[Step], Rows]:
    """(steps before, input rows of the windows); a 1x1 filter needs no table."""
    window = conv.window
    if _is_pointwise(window):
        pixels = window.batch * window.in_height * window.in_width
        tile_rows = window_tile_rows(window, geometry)
        return [], consecutive_rows(input.source, pixels, groups * input.row_bytes, tile_rows)
    view = View(
        window.vertical.output,
        window.horizontal.output,
        window.in_height,
        window.in_width,
        window.filter_height,
        window.filter_width,
        conv.stride_height,
        conv.stride_width,
        conv.dilation_height,
        conv.dilation_width,
        window.vertical.head,
        window.horizontal.head,
    )
    return view_rows(view, input, window.batch, geometry, groups)


def view_rows(
    view: View, input: Input, batch: int, geometry: Tiling, groups: int = 1
) -> tuple[list[Step], Rows]:
    """(step that fills the offset table of one image, input rows).

    groups: input rows per pixel; a product reads the first of them.
    """
    taps = view.filter_height * view.filter_width
    image_rows = view.out_height * view.out_width
    tile_rows = geometry.tile_rows(image_rows)
    tiles = -(-image_rows // tile_rows)
    table_step = 8 * taps * tile_rows
    pixel_bytes = groups * input.row_bytes
    table = Buffer(tiles * table_step)
    step = Step(
        OFFSETS,
        "row_offsets",
        once=True,
        output=table,
        tile_rows=tile_rows,
        pixel_bytes=pixel_bytes,
        outside=SKIPPED if input.adds_nothing_outside else OUTSIDE,
        **view._asdict(),
    )
    rows = Rows(
        input.source,
        table,
        At(table, (tiles - 1) * table_step),
        taps,
        batch,
        image_rows,
        view.in_height * view.in_width * pixel_bytes,
        tile_bytes=0,
        table_step=table_step,
        tile_rows=tile_rows,
    )
    return [step], rows
