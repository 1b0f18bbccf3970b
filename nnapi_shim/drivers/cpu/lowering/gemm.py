"""The matrix product (GEMM) of convolutions and FULLY_CONNECTED as steps.

Output rows are pixels (or rows of a batch), columns are output channels. Input rows are addressed
through a table of offsets, one per output row and filter tap, without im2col copies.
"""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDEND
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import Work, split, tiles_of
from nnapi_shim.drivers.cpu.lowering.packing import (
    Filter,
    Input,
    Shifted,
    Terms,
    packed_filter,
    whole_filter,
)
from nnapi_shim.drivers.cpu.lowering.requantization import (
    FINISH,
    finish,
    floored_steps,
    signed_zero,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, enough_tiles, tier
from nnapi_shim.drivers.cpu.lowering.weight_format import FLOAT16, FLOAT32, INT8, weight_bytes
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, At, Buffer, Space, Step, record
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand

ROWS = {
    "table": ADDRESS,
    "tail_table": ADDRESS,
    "taps": INT64,
    "depth": INT64,
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
"""The addresses of the input rows: see Rows. depth: elements that are read of each row."""

GEMM = record(
    Space.MATRIX,
    **ROWS,
    filter=ADDRESS,
    output=ADDRESS,
    output_stride=INT64,
    **ADDEND,
    columns=INT64,
    panels=INT64,
    panel_bytes=INT64,
    image_filter=INT64,
    correction=ADDRESS,
    correction_stride=INT64,
    flip=ADDRESS,
    flip_step=INT64,
    **FINISH,
    block_tiles=INT64,
    groups=INT64,
    group_panels=INT64,
    prefetched=INT64,
)
"""prefetched: panels of a group behind which the next one is prefetched."""
ROW_NS, SUMMED_PER_NS = 2, 16
"""Nanoseconds per row of a row sum, and elements summed per nanosecond."""
ROW_SUMS = record(**ROWS, output=ADDRESS, parts=INT64, tile_rows=INT64, factor=INT64, flip=INT64)
OFFSETS = record(
    output=ADDRESS,
    tile_rows=INT64,
    out_height=INT64,
    out_width=INT64,
    in_height=INT64,
    in_width=INT64,
    filter_height=INT64,
    filter_width=INT64,
    stride_height=INT64,
    stride_width=INT64,
    dilation_height=INT64,
    dilation_width=INT64,
    pad_top=INT64,
    pad_left=INT64,
    pixel_bytes=INT64,
    outside=INT64,
)

ADDING = (
    *("gemm_f32", "gemm_odd_f32", "gemm_q8", "gemm_odd_q8", "gemm_pairs_q8", "gemm_odd_pairs_q8"),
    *("gemm_pairs_together_q8", "gemm_odd_pairs_together_q8", "gemm_words_q8", "gemm_odd_words_q8"),
)
"""Kernels with an `addend` epilogue; kernels for few rows have none, to save build time."""

SUFFIXES = {FLOAT32: "", FLOAT16: "_half"}

FINISH_STEPS = {"f32": 2, "q8": 6}
"""Cost of the epilogue of a vector of sums, in vector multiplications."""


OUTSIDE, SKIPPED = -1, -2
"""The offsets of taps outside of the image. Where all rows of a tile have SKIPPED, the micro-kernel
does not multiply; otherwise it reads the row `zero` for both.
"""


class Rows(NamedTuple):
    """The addresses of the input rows of `images` times `image_rows` output rows.

    The input row of tap t for row m of tile n of image i starts at
    source + i * image_bytes + n * tile_bytes + table[n * table_step][t][m]. The last tile of an
    image uses `tail_table`, which repeats the last row.
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

    def fields(self, depth: int, zero: bytes) -> dict[str, Any]:
        """Values for the fields ROWS; `zero` is the row for taps outside of the image."""
        return {
            "table": self.table,
            "tail_table": self.tail_table,
            "taps": self.taps,
            "depth": depth,
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
    """Contiguous rows: all tiles share one small table."""
    table = _row_table(count - (-(-count // tile_rows) - 1) * tile_rows, row_bytes, tile_rows)
    return Rows(
        source,
        table,
        At(table, 8 * tile_rows),
        taps=1,
        images=1,
        image_rows=count,
        image_bytes=0,
        tile_bytes=tile_rows * row_bytes,
        table_step=0,
        tile_rows=tile_rows,
    )


def _row_table(tail: int, row_bytes: int, tile_rows: int) -> bytes:
    """Offsets of the rows of a tile, then of the last one, which has `tail` rows."""
    offsets = [row * row_bytes for row in range(tile_rows)]
    offsets += offsets[:tail] + offsets[tail - 1 : tail] * (tile_rows - tail)
    return pack(f"<{2 * tile_rows}q", *offsets)


def in_bytes(
    filter: BoundOperand, tile_rows: int, tiling: Tiling
) -> tuple[Terms | None, Shifted | None]:
    """How a constant filter [columns, ..., depth] is multiplied as bytes without dot products:
    by words (shifted_words.py), or else in pairs (byte_pairs.py); two None for neither.
    """
    if not tier().byte_pairs or tile_rows not in (tiling.rows, tiling.odd_rows):
        return None, None
    from nnapi_shim.drivers.cpu.lowering.byte_pairs import further_terms
    from nnapi_shim.drivers.cpu.lowering.shifted_words import shifted_words

    shifted = shifted_words(filter, tiling)
    return further_terms(filter, tiling) if shifted is None else None, shifted


def multiplied(
    product: ProductDescriptor,
    filter: BoundOperand,
    input: Input,
    rows: Rows,
    depth: int,
    target: Any,
    tiling: Tiling,
) -> list[Step]:
    """act(rows x filter [columns, ..., depth] + bias) with the product's bias and activation."""
    whole = whole_filter(product, filter)
    return multiplied_with(product, whole, input, rows, depth, target, tiling)


def multiplied_with(
    product: ProductDescriptor,
    filter: Filter,
    input: Input,
    rows: Rows,
    depth: int,
    target: Any,
    tiling: Tiling,
    output_columns: int = 0,
) -> list[Step]:
    """Pack a filter and multiply: act(rows x filter + bias).

    output_columns: columns of a row of the target, if more than those of the filter.
    """
    format = FLOAT32
    if not product.quantized:
        format = weight_bytes(filter.operand, rows.tile_rows, rows.images * rows.image_rows)
    if format == INT8:
        from nnapi_shim.drivers.cpu.lowering.digit_products import digit_product

        count = rows.images * rows.image_rows
        return digit_product(
            product, filter, rows.source, count, depth, target, tiling, output_columns
        )
    floored = 0
    if product.quantized and tiling.floors(rows.tile_rows) and filter.matrices == 1:
        floored = floored_steps(product, filter.operand, rows.images * rows.image_rows)
    if input.terms is not None:
        from nnapi_shim.drivers.cpu.lowering.byte_pairs import packed_terms

        packed = packed_terms(product, filter, input, depth, tiling, floored)
    elif input.shifted is not None:
        from nnapi_shim.drivers.cpu.lowering.shifted_words import packed_words

        packed = packed_words(product, filter, input, depth, tiling, floored)
    else:
        packed = packed_filter(
            product, filter, input, depth, rows.tile_rows, tiling, format, floored
        )
    steps = [*input.steps, packed.step]
    fields: dict[str, Any]
    stems = {1: "gemv", tiling.few_rows: "gemm_few", tiling.odd_rows: "gemm_odd"}
    stem = stems.get(rows.tile_rows, "gemm") + SUFFIXES[format]
    if input.terms is not None:
        stem += "_pairs" if input.terms.together == 1 else "_pairs_together"
    elif input.shifted is not None:
        stem += "_words"
    if product.quantized:
        kind, size = "q8", 1
        fields = finish(product.activation, product.output)
        fields |= {"correction": None, "correction_stride": 0}
        if not packed.corrected:
            step, fields["correction"] = _row_sums(filter.operand, input, rows, depth)
            fields["correction_stride"] = 4
            steps.append(step)
    else:
        kind, size = "f32", 4
        low, high = float_bounds(product.activation)
        fields = dict.fromkeys([*FINISH, "correction_stride"], 0)
        fields |= {"low": low, "high": high, "correction": None}
    work = Work(
        rows.images * rows.image_tiles,
        rows.tile_rows,
        packed.panels,
        packed.columns,
        rows.taps * input.words,
        rows.tile_rows * input.row_bytes,
        packed.panel_bytes,
        FINISH_STEPS[kind],
    )
    width = tiling.panel_columns(rows.tile_rows)
    number = threads.count()
    tiles, shares = split(work, width, tiling, enough_tiles(number), number)
    fields |= {**rows.fields(input.words, input.outside), **shares}
    steps.append(
        Step(
            GEMM,
            f"{stem}_{kind}",
            tiles=tiles,
            filter=packed.buffer,
            output=target,
            output_stride=(output_columns or packed.columns) * size,
            addend=None,
            addend_stride=0,
            addition=None,
            columns=packed.columns,
            panels=packed.panels,
            panel_bytes=packed.panel_bytes,
            image_filter=packed.image_bytes,
            flip=input.shifted.lists if input.shifted else bytes([input.flip]) * 64,
            flip_step=len(input.shifted.lists) // packed.panels if input.shifted else 0,
            **fields,
        )
    )
    return steps


def _row_sums(filter: BoundOperand, input: Input, rows: Rows, depth: int) -> tuple[Step, Buffer]:
    """The step that computes the correction of every row for the filter's zero point."""
    count = rows.images * rows.image_rows
    sums = Buffer(4 * count)
    parts = min(
        rows.images * rows.image_tiles,
        tiles_of(count * rows.taps * (ROW_NS + depth // SUMMED_PER_NS)),
    )
    step = Step(
        ROW_SUMS,
        input.sums,
        tiles=parts,
        parts=parts,
        **rows.fields(depth, input.outside),
        output=sums,
        tile_rows=rows.tile_rows,
        factor=-signed_zero(filter)[1],
        flip=input.flip,
    )
    return step, sums
