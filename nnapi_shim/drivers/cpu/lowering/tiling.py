"""Tile shapes of the matrix kernels per instruction-set tier: lowering packs for them, kernels are
compiled for them.

A micro-kernel computes `rows` x `columns` outputs, one column per lane of `vectors` vectors, and
takes one 32-bit word of each input row per step: a float32, or `group` integers that are
multiplied and summed at once.
"""

from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.hints import NamedTuple


class Tiling(NamedTuple):
    """Geometry of a tier.

    lanes: 32-bit lanes of a vector. rows, vectors: accumulators of the matrix kernels; few_rows:
    of those for inputs of few rows; odd_rows, odd_vectors: of those for what 7 divides,
    as the images of many models, or 0.
    fused: multiply and add are one instruction. group: integers per word and step: 4 for u8 x s8
    (dot product instructions), 2 for s16 x s16. masked: stores can be masked at no cost.
    dot4, dot2: LLVM intrinsics that multiply and sum groups; empty: plain multiplications.
    named: whether other instructions of the tier are asked for by their names as well.
    channel_vectors: vectors of channels that the float32 depthwise kernel takes at once.
    cache: bytes of the second-level cache that a block of input rows and a panel may fill.
    """

    lanes: int
    rows: int
    few_rows: int
    vectors: int
    odd_rows: int
    odd_vectors: int
    fused: bool
    group: int
    masked: bool
    dot4: str
    dot2: str
    named: bool
    channel_vectors: int
    cache: int

    @property
    def columns(self) -> int:
        """Output columns of a whole panel."""
        return self.lanes * self.vectors

    def tile_rows(self, count: int) -> int:
        """Rows of the micro-kernel that has the least to do for `count` rows.

        A tile costs about as much as one row more than it has; one row has kernels of its own.
        """
        if count == 1:
            return 1
        shapes = filter(None, (self.rows, self.few_rows, self.odd_rows))
        return min(shapes, key=lambda rows: -(-count // rows) * (rows + 1))

    def panel_columns(self, tile_rows: int) -> int:
        """Columns of a panel for the micro-kernel of so many rows."""
        return self.lanes * (self.odd_vectors if tile_rows == self.odd_rows else self.vectors)


_DOT4 = "llvm.x86.avx512.vpdpbusd.512"

TILINGS = {
    "v4": Tiling(
        16, 6, 4, 4, 7, 2, True, 4, True, _DOT4, "llvm.x86.avx512.pmaddw.d.512", True, 1, 512 << 10
    ),
    "v3": Tiling(
        8, 6, 4, 2, 0, 0, True, 2, False, "", "llvm.x86.avx2.pmadd.wd", True, 2, 256 << 10
    ),
    "v2": Tiling(
        4, 4, 2, 2, 0, 0, False, 2, False, "", "llvm.x86.sse2.pmadd.wd", True, 2, 128 << 10
    ),
    "generic": Tiling(4, 4, 2, 2, 0, 0, False, 2, False, "", "", False, 2, 128 << 10),
}


def tiling() -> Tiling:
    """Geometry of the kernels that this process uses."""
    return TILINGS[library.current().tier]


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step
