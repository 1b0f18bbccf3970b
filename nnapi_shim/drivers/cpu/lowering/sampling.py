"""RANDOM_MULTINOMIAL as steps."""

from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied, filled
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, At, Buffer, Step, record
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation

CUMULATE = record(logits=ADDRESS, output=ADDRESS, rows=INT64, classes=INT64, tile_rows=INT64)
SAMPLE = record(
    sums=ADDRESS, seeds=ADDRESS, output=ADDRESS,
    samples=INT64, row_samples=INT64, classes=INT64, tile_samples=INT64,
)  # fmt: skip

TILE_CLASSES = 1 << 14
"""Exponentials of a tile, about."""

TILE_SAMPLES = 1 << 12
"""Samples of a tile; even, because the generator produces pairs."""


def lower_random_multinomial(op: BoundOperation) -> list[Step]:
    """Cumulative sums of the exponentials per class, then a search in them per sample."""
    batch, classes, *_ = op.logits.dimensions  # further dimensions are ignored
    sums = Buffer(8 * batch * classes)
    tile_rows = max(1, TILE_CLASSES // classes)
    samples = batch * op.sample_count
    seeds: Any = op.seeds
    more: list[Step] = []
    if element_count(seeds.dimensions) == 1:  # the kernel reads two seeds
        seeds = Buffer(8)
        more = [
            copied(op.seeds, seeds, [Axis(1, 4, 4)], 4),
            *filled(At(seeds, 4), (1,), (4,), bytes(4)),
        ]
    return [
        *more,
        Step(
            CUMULATE,
            f"cumulate_{op.variant}",
            tiles=-(-batch // tile_rows),
            logits=op.logits,
            output=sums,
            rows=batch,
            classes=classes,
            tile_rows=tile_rows,
        ),
        Step(
            SAMPLE,
            "random_multinomial",
            tiles=-(-samples // TILE_SAMPLES),
            sums=sums,
            seeds=seeds,
            output=op.samples,
            samples=samples,
            row_samples=op.sample_count,
            classes=classes,
            tile_samples=TILE_SAMPLES,
        ),
    ]
