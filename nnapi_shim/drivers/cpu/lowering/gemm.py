"""The matrix product behind CONV_2D and FULLY_CONNECTED as steps: pack, prepare the input, multiply.

Output rows are pixels (or rows of a batch), columns are output channels. The filter is packed into
panels of as many columns as a micro-kernel computes; input rows are found through a table of
offsets, one per output row and filter tap, so that nothing is copied.
"""

from collections.abc import Sequence
from struct import pack
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, At, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import float32

ROWS = {
    "table": ADDRESS,
    "tail_table": ADDRESS,
    "taps": INT64,
    "input": ADDRESS,
    "zero": ADDRESS,
    "row_tiles": INT64,
    "image_tiles": INT64,
    "image_rows": INT64,
    "image_bytes": INT64,
    "tile_bytes": INT64,
    "table_step": INT64,
    "tail_rows": INT64,
}
"""How a kernel finds the input rows: see Rows."""

GEMM = record(
    **ROWS,
    depth=INT64,
    filter=ADDRESS,
    output=ADDRESS,
    output_stride=INT64,
    columns=INT64,
    panels=INT64,
    panel_bytes=INT64,
    correction=ADDRESS,
    correction_stride=INT64,
    flip=ADDRESS,
    zero_point=INT64,
    low=FLOAT32,
    high=FLOAT32,
    block_tiles=INT64,
    groups=INT64,
    group_panels=INT64,
)
ROW_SUMS = record(
    **ROWS, depth=INT64, output=ADDRESS, tile_rows=INT64, factor=INT64, flip=INT64
)
PACK_FLOAT = record(
    filter=ADDRESS, bias=ADDRESS, output=ADDRESS,
    columns=INT64, depth=INT64, width=INT64, lanes=INT64,
)  # fmt: skip
PACK_QUANTIZED = record(
    filter=ADDRESS, bias=ADDRESS, scales=ADDRESS, output=ADDRESS,
    columns=INT64, taps=INT64, depth=INT64, width=INT64, lanes=INT64, group=INT64,
    flip=INT64, filter_zero=INT64, input_zero=INT64,
)  # fmt: skip
PREPARE = record(
    input=ADDRESS, output=ADDRESS, parts=INT64,
    rows=INT64, depth=INT64, pitch=INT64, flip=INT64, zero=INT64,
)  # fmt: skip
OFFSETS = record(
    output=ADDRESS, tile_rows=INT64,
    out_height=INT64, out_width=INT64, in_height=INT64, in_width=INT64,
    filter_height=INT64, filter_width=INT64, stride_height=INT64, stride_width=INT64,
    dilation_height=INT64, dilation_width=INT64, pad_top=INT64, pad_left=INT64, pixel_bytes=INT64,
)  # fmt: skip

PRODUCTS_PER_TILE = {"f32": 4 << 20, "q8": 12 << 20}
"""Multiplications that are worth a tile of their own: about 100 us."""
BYTES_PER_TILE = 1 << 20
"""The same where weights are read only once: bytes."""
PREPARE_BYTES = 256 << 10
NO_CORRECTION = bytes(64)


class Rows(NamedTuple):
    """Where input rows lie, for `images` times `image_rows` output rows.

    The row that tap t reads for row m of tile n of image i starts at
    source + i * image_bytes + n * tile_bytes + table[n * table_step][t][m]; the last tile of an
    image has a table of its own, `tail_table`, and `tail_rows` rows.
    """

    source: Any
    table: Any
    tail_table: Any
    taps: int
    images: int
    image_rows: int
    image_bytes: int
    tile_bytes: int
    table_step: int
    tile_rows: int

    @property
    def image_tiles(self) -> int:
        """Row tiles per image."""
        return -(-self.image_rows // self.tile_rows)

    def fields(self, zero: Any) -> dict[str, Any]:
        """Values for the fields ROWS; `zero` is the row that lies outside every image."""
        return {
            "table": self.table,
            "tail_table": self.tail_table,
            "taps": self.taps,
            "input": self.source,
            "zero": zero,
            "row_tiles": self.images * self.image_tiles,
            "image_tiles": self.image_tiles,
            "image_rows": self.image_rows,
            "image_bytes": self.image_bytes,
            "tile_bytes": self.tile_bytes,
            "table_step": self.table_step,
            "tail_rows": self.image_rows - (self.image_tiles - 1) * self.tile_rows,
        }


def consecutive_rows(source: Any, count: int, row_bytes: int, tile_rows: int) -> Rows:
    """Rows that follow each other in memory: one small table serves all tiles."""
    tail = count - (-(-count // tile_rows) - 1) * tile_rows
    offsets = [row * row_bytes for row in range(tile_rows)]
    offsets += [min(row, tail - 1) * row_bytes for row in range(tile_rows)]
    table = pack(f"<{2 * tile_rows}q", *offsets)
    tile_bytes = tile_rows * row_bytes
    return Rows(
        source, table, At(table, 8 * tile_rows), 1, 1, count, 0, tile_bytes, 0, tile_rows
    )


class Input(NamedTuple):
    """Input rows as the micro-kernels read them: after `steps`, in `source`.

    zero: the zero point that is still in the values. flip: what is xor-ed to each byte of them.
    sums: kernel that sums rows.
    """

    steps: list[Step]
    source: Any
    row_bytes: int
    words: int
    zero: int
    flip: int
    outside: bytes
    sums: str


def is_quantized(op: BoundOperation) -> bool:
    """Whether inputs are 8-bit integers."""
    return op.variant.startswith("q")


def signed_zero(operand: BoundOperand) -> tuple[int, int]:
    """(what to xor to a stored value for an int8, the zero point of that)."""
    if operand.type is OperandType.TENSOR_QUANT8_ASYMM:
        return 0x80, operand.zero_point - 128
    return 0, operand.zero_point


def prepared_input(
    op: BoundOperation, source: Any, rows: int, depth: int, tiling: Tiling
) -> Input:
    """Bring rows of `depth` elements into the form that the micro-kernels of a tier read."""
    if not is_quantized(op):
        return Input([], source, 4 * depth, depth, 0, 0, bytes(4 * depth), "")
    words = -(-depth // tiling.group)
    row_bytes = 4 * words
    flip, zero = signed_zero(op.input)
    if tiling.group == 2:  # int16, less the zero point
        buffer, kernel = Buffer(rows * row_bytes), "prepare_s16"
        result = Input([], buffer, row_bytes, words, 0, 0, bytes(row_bytes), "row_sums_s16")
    else:  # uint8, or int8 that the micro-kernel flips; copied only to pad rows to whole words
        unsigned = 0x80 - flip
        outside = bytes([op.input.zero_point & 0xFF]) * row_bytes
        if depth % 4 == 0:
            return Input(
                [], source, row_bytes, words, zero + 128, unsigned, outside, "row_sums_u8"
            )
        buffer, kernel = Buffer(rows * row_bytes), "prepare_u8"
        result = Input(
            [], buffer, row_bytes, words, zero + 128, unsigned, outside, "row_sums_u8"
        )
    parts = max(1, rows * row_bytes // PREPARE_BYTES)
    step = Step(
        PREPARE,
        kernel,
        tiles=parts,
        parts=parts,
        input=source,
        output=buffer,
        rows=rows,
        depth=depth,
        pitch=row_bytes,
        flip=flip,
        zero=zero,
    )
    return result._replace(steps=[step])


def product(
    op: BoundOperation,
    filter: BoundOperand,
    input: Input,
    rows: Rows,
    depth: int,
    target: Any,
    tiling: Tiling,
) -> list[Step]:
    """Pack the filter [columns, taps, depth] and multiply: `rows` by filter plus bias, clamped."""
    columns = filter.dimensions[0]
    words = rows.taps * input.words
    single = rows.tile_rows == 1
    kind = "q8" if is_quantized(op) else "f32"
    word_bytes = tiling.group if single and kind == "q8" else 4
    head = 8 if kind == "q8" else 4
    width = tiling.columns
    panels = -(-columns // width)
    column_bytes = head + words * word_bytes
    packed = Buffer(round_up(columns, tiling.lanes) * column_bytes)
    steps = list(input.steps)
    if kind == "f32":
        steps.append(_pack_float(op, filter, packed, words, tiling))
        low, high = float_bounds(op.activation)
        fields = {"correction": None, "correction_stride": 0}
        zero_point = 0
    else:
        kernel = f"pack_s{8 * word_bytes // tiling.group}"
        steps.append(_pack_quantized(op, filter, packed, rows.taps, depth, input, kernel, tiling))
        smallest, largest = quantized_bounds(op.activation, op.output)
        zero_point = op.output.zero_point
        low, high = float(smallest - zero_point), float(largest - zero_point)
        more, fields = _correction(filter, kernel, input, rows, depth)
        steps += more
    block_tiles, groups, group_panels = split(rows, input, panels, width * column_bytes, kind, tiling)
    blocks = -(-rows.images * rows.image_tiles // block_tiles)
    steps.append(
        Step(
            GEMM,
            f"{'gemv' if single else 'gemm'}_{kind}",
            tiles=blocks * groups,
            **rows.fields(input.outside),
            **fields,
            depth=input.words,
            filter=packed,
            output=target,
            output_stride=columns * (1 if kind == "q8" else 4),
            columns=columns,
            panels=panels,
            panel_bytes=width * column_bytes,
            flip=bytes([input.flip]) * 64,
            zero_point=zero_point,
            low=low,
            high=high,
            block_tiles=block_tiles,
            groups=groups,
            group_panels=group_panels,
        )
    )
    return steps


def _pack_float(
    op: BoundOperation, filter: BoundOperand, packed: Buffer, depth: int, tiling: Tiling
) -> Step:
    return Step(
        PACK_FLOAT,
        f"pack_{op.variant}",
        once=True,
        filter=filter,
        bias=op.bias,
        output=packed,
        columns=filter.dimensions[0],
        depth=depth,
        width=tiling.columns,
        lanes=tiling.lanes,
    )


def _pack_quantized(
    op: BoundOperation,
    filter: BoundOperand,
    packed: Buffer,
    taps: int,
    depth: int,
    input: Input,
    kernel: str,
    tiling: Tiling,
) -> Step:
    flip, zero = signed_zero(filter)
    columns = filter.dimensions[0]
    return Step(
        PACK_QUANTIZED,
        kernel,
        once=True,
        filter=filter,
        bias=op.bias,
        scales=pack(f"<{columns}f", *multipliers(op, filter, columns)),
        output=packed,
        columns=columns,
        taps=taps,
        depth=depth,
        width=tiling.columns,
        lanes=tiling.lanes,
        group=tiling.group,
        flip=flip,
        filter_zero=zero,
        input_zero=input.zero,
    )


def multipliers(op: BoundOperation, filter: BoundOperand, columns: int) -> Sequence[float]:
    """Per output channel: the step of the sums in steps of the output (semantics.md 5.4)."""
    quant = filter.channel_quant
    scales = quant.scales if quant else [filter.scale] * columns
    return [float32(op.input.scale * scale) / op.output.scale for scale in scales]


def _correction(
    filter: BoundOperand, kernel: str, input: Input, rows: Rows, depth: int
) -> tuple[list[Step], dict[str, Any]]:
    """What is added to a row's sums because the packed weights still have a zero point."""
    zero = signed_zero(filter)[1]
    if zero == 0 or kernel == "pack_s16":
        return [], {"correction": NO_CORRECTION, "correction_stride": 0}
    count = rows.images * rows.image_rows
    sums = Buffer(4 * count)
    step = Step(
        ROW_SUMS,
        input.sums,
        **rows.fields(input.outside),
        depth=depth,
        output=sums,
        tile_rows=rows.tile_rows,
        factor=-zero,
        flip=input.flip,
    )
    return [step], {"correction": sums, "correction_stride": 4}


def split(
    rows: Rows, input: Input, panels: int, panel_bytes: int, kind: str, tiling: Tiling
) -> tuple[int, int, int]:
    """(row tiles per block, groups of panels, panels per group).

    The rows of a block and one panel fit into the second-level cache together.
    """
    tiles = rows.images * rows.image_tiles
    tile_bytes = rows.tile_rows * input.row_bytes
    block_tiles = max(1, min(tiles, (tiling.cache - panel_bytes) // tile_bytes))
    import os
    if os.environ.get("BLOCK"): block_tiles=min(tiles,int(os.environ["BLOCK"]))
    block_tiles = -(-tiles // -(-tiles // block_tiles))  # blocks of the same size
    products = block_tiles * rows.tile_rows * rows.taps * input.words * tiling.columns
    products *= tiling.group if kind == "q8" else 1
    group_panels = max(1, PRODUCTS_PER_TILE[kind] // products)
    if rows.tile_rows == 1:
        group_panels = max(1, BYTES_PER_TILE // panel_bytes)
    if os.environ.get("GROUP"): group_panels=int(os.environ["GROUP"])
    groups = -(-panels // group_panels)
    return block_tiles, groups, -(-panels // groups)
