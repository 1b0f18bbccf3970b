"""Sums of rows that indices choose, in one step: embeddings of words, and their mean."""

from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT64, INT64, Step, record

GATHERED_SUM = record(
    input=ADDRESS, indices=ADDRESS, output=ADDRESS,
    size=INT64, groups=INT64, length=INT64, inner=INT64, tile_blocks=INT64, divisor=FLOAT64,
)  # fmt: skip
"""input: float32[size, inner], indices: int32[groups, length], output: float32[groups, inner], sums
divided by `divisor`. A tile is tile_blocks groups.
"""
GATHER, SUM = "gather", "reduce_sum_vectors_f32"
"""The kernels of the two steps that it replaces."""
MOST_INDICES = 512
"""Indices of a group, at most: as many as the kernel has copied at a time."""


def gathered_sum(gather: Step, total: Step) -> Step:
    """The step for a sum of all slices that a gathering step copies."""
    source, fields = gather.fields, total.fields
    return Step(
        GATHERED_SUM,
        "gathered_sum_f32",
        tiles=total.tiles,
        complaint=gather.complaint,
        input=source["input"],
        indices=source["indices"],
        output=fields["output"],
        size=source["size"],
        groups=fields["outer"] * fields["rows"],
        length=fields["length"],
        inner=fields["inner"],
        tile_blocks=fields["tile_blocks"],
        divisor=fields["divisor"],
    )
