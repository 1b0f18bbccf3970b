"""TRANSPOSE_CONV_2D as steps: convolutions with stride 1 whose output pixels are interleaved.

Along each axis, output y reads input h with tap i if h * stride + i = y + head. All outputs of a
phase, (y + head) % stride, use the same taps (phase, phase + stride, ...) on consecutive inputs.
The outputs of a phase form a grid; the grid index (y + head) // stride is the input of the first of
these taps.
"""

from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor, described_product
from nnapi_shim.drivers.cpu.lowering.gemm import multiplied_with
from nnapi_shim.drivers.cpu.lowering.packing import (
    Filter,
    Input,
    multipliers,
    prepared_input,
)
from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.lowering.windows import View, view_rows
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.convolution import transpose_spans
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.shapes import Span, nhwc


class Side(NamedTuple):
    """One axis. size: of the input. extent: taps of the filter."""

    size: int
    extent: int
    stride: int
    span: Span

    @property
    def phases(self) -> int:
        """The number of phases with at least one tap: the first ones."""
        return min(self.stride, self.extent)

    def taps(self, phase: int) -> int:
        """The number of taps of a phase."""
        return -(-(self.extent - phase) // self.stride)

    def grid(self, phase: int) -> tuple[int, int]:
        """(first grid index within the output, number of grid indexes within it) of a phase."""
        first = -(-max(0, self.span.head - phase) // self.stride)
        end = (self.span.output - 1 + self.span.head - phase) // self.stride + 1
        return first, max(0, end - first)

    @property
    def whole_grid(self) -> tuple[int, int]:
        """The same for the union of all phases."""
        first = self.span.head // self.stride
        return first, (self.span.output - 1 + self.span.head) // self.stride + 1 - first


class Task(NamedTuple):
    """The common parameters of all convolutions of an operation."""

    product: ProductDescriptor
    filter: BoundOperand
    batch: int
    input: Input
    down: Side
    across: Side
    geometry: Tiling

    @property
    def pixel_bytes(self) -> int:
        """Bytes of an output pixel."""
        columns: int = self.filter.dimensions[0]
        return columns * (1 if self.product.quantized else 4)


def transposed(op: BoundOperation, source: Any, target: Any, geometry: Tiling) -> list[Step]:
    """The steps of a TRANSPOSE_CONV_2D; `source` and `target` are NHWC, float32 or quantized.

    If all phases have equally many taps, they are columns of one convolution, which fills vectors
    even with few channels. Otherwise each phase is a convolution: padding with taps of weight 0
    would turn non-finite inputs into NaN.
    """
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    vertical, horizontal = transpose_spans(op)
    down = Side(height, op.filter.dimensions[1], op.stride_height, vertical)
    across = Side(width, op.filter.dimensions[2], op.stride_width, horizontal)
    product = described_product(op)
    input = prepared_input(product, source, batch * height * width, depth, geometry)
    task = Task(product, op.filter, batch, input._replace(steps=[]), down, across, geometry)
    steps = input.steps
    if down.stride == across.stride == 1:
        return steps + _convolution(task, (0, 0), (1, 1), down.grid(0), across.grid(0), target)
    if down.stride > down.extent or across.stride > across.extent:
        steps += _fill_without_input(task, target)
    phases = [(p, q) for p in range(down.phases) for q in range(across.phases)]
    if down.extent % down.stride == across.extent % across.stride == 0:
        pixels = batch * down.whole_grid[1] * across.whole_grid[1]
        results = Buffer(pixels * len(phases) * task.pixel_bytes)
        grids = down.whole_grid, across.whole_grid
        steps += _convolution(task, (0, 0), (down.phases, across.phases), *grids, results)
        for number, phase in enumerate(phases):
            phase_results = At(results, number * task.pixel_bytes)
            steps.append(_copy_phase(task, phase, phase_results, len(phases), *grids, target))
        return steps
    for phase in phases:
        grids = down.grid(phase[0]), across.grid(phase[1])
        pixels = batch * grids[0][1] * grids[1][1]
        if pixels:
            results = Buffer(pixels * task.pixel_bytes)
            steps += _convolution(task, phase, (1, 1), *grids, results)
            steps.append(_copy_phase(task, phase, results, 1, *grids, target))
    return steps


def _convolution(
    task: Task,
    phase: tuple[int, int],
    phases: tuple[int, int],
    rows: tuple[int, int],
    columns: tuple[int, int],
    target: Any,
) -> list[Step]:
    """Compute several phases: [batch, grid rows, grid columns, phases, channels]."""
    down, across = task.down, task.across
    channels, _, filter_width, depth = task.filter.dimensions
    taps_down, taps_across = down.taps(phase[0]), across.taps(phase[1])
    taps, count = taps_down * taps_across, phases[0] * phases[1]
    size = ELEMENT_BYTES[task.filter.type]
    tap = depth * size
    line = filter_width * tap
    # Taps are in reverse order: the last tap belongs to the first input.
    start = (phase[0] + (taps_down - 1) * down.stride) * line
    start += (phase[1] + (taps_across - 1) * across.stride) * tap
    filter = Buffer(count * channels * taps * tap)
    axes = [
        Axis(phases[0], line, phases[1] * channels * taps * tap),
        Axis(phases[1], tap, channels * taps * tap),
        Axis(channels, down.extent * line, taps * tap),
        Axis(taps_down, -down.stride * line, taps_across * tap),
        Axis(taps_across, -across.stride * tap, tap),
        Axis(depth, size, size),
    ]
    steps = [copied(At(task.filter, start), filter, axes, size, once=True)]
    view = View(
        rows[1],
        columns[1],
        down.size,
        across.size,
        taps_down,
        taps_across,
        pad_top=taps_down - 1 - rows[0],
        pad_left=taps_across - 1 - columns[0],
    )
    return steps + _product(task, filter, count, taps, view, task.batch, target)


def _product(
    task: Task, filter: Any, phases: int, taps: int, view: View, batch: int, target: Any
) -> list[Step]:
    """The product of the window rows of `view` and a filter [phases, channels, taps, depth]."""
    product = task.product
    channels, _, _, depth = task.filter.dimensions
    steps = []
    bias: Any = product.bias
    if phases > 1:
        size = ELEMENT_BYTES[product.bias.type]
        bias = Buffer(phases * channels * size)
        axes = [Axis(phases, 0, channels * size), Axis(channels, size, size)]
        steps.append(copied(product.bias, bias, axes, size, once=True))
    factors = [*multipliers(product, task.filter, channels)] * phases if product.quantized else ()
    part = Filter(filter, bias, phases * channels, taps, task.filter, factors)
    table, rows = view_rows(view, task.input, batch, task.geometry)
    return [
        *steps,
        *table,
        *multiplied_with(product, part, task.input, rows, depth, target, task.geometry),
    ]


def _copy_phase(
    task: Task,
    phase: tuple[int, int],
    results: Any,
    phases: int,
    rows: tuple[int, int],
    columns: tuple[int, int],
    target: Any,
) -> Step:
    """Copy a phase to the output, from grid pixels that hold `phases` phases."""
    down, across, pixel = task.down, task.across, task.pixel_bytes
    height, width = down.span.output, across.span.output
    first_row, row_count = down.grid(phase[0])
    first_column, column_count = across.grid(phase[1])
    skipped = (first_row - rows[0]) * columns[1] + first_column - columns[0]
    y = first_row * down.stride + phase[0] - down.span.head
    x = first_column * across.stride + phase[1] - across.span.head
    size = 1 if task.product.quantized else 4
    grid_pixel_bytes = phases * pixel
    axes = [
        Axis(
            task.batch,
            rows[1] * columns[1] * grid_pixel_bytes,
            height * width * pixel,
        ),
        Axis(row_count, columns[1] * grid_pixel_bytes, down.stride * width * pixel),
        Axis(column_count, grid_pixel_bytes, across.stride * pixel),
        Axis(pixel // size, size, size),
    ]
    source = At(results, skipped * grid_pixel_bytes)
    return copied(source, At(target, (y * width + x) * pixel), axes, size)


def _fill_without_input(task: Task, target: Any) -> list[Step]:
    """Fill all output pixels with the value of a pixel without input; the phases overwrite it."""
    pixel = Buffer(task.pixel_bytes)
    channels, _, _, depth = task.filter.dimensions
    size = ELEMENT_BYTES[task.filter.type]
    tap = depth * size
    filter = Buffer(channels * tap)
    axes = [
        Axis(channels, task.down.extent * task.across.extent * tap, tap),
        Axis(depth, size, size),
    ]
    # A filter with a single tap, outside of the image.
    view = View(1, 1, task.down.size, task.across.size, 1, 1, pad_top=1)
    size = task.pixel_bytes // channels
    pixels = task.batch * task.down.span.output * task.across.span.output
    return [
        copied(task.filter, filter, axes, ELEMENT_BYTES[task.filter.type], once=True),
        *_product(task, filter, 1, 1, view, 1, pixel),
        copied(
            pixel, target, [Axis(pixels, 0, task.pixel_bytes), Axis(channels, size, size)], size
        ),
    ]
