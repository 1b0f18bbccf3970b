"""The types of this folder: a tier, its geometry, and the architecture that it belongs to."""

from nnapi_shim.hints import NamedTuple


class Tiling(NamedTuple):
    """Geometry of a tier: lowering packs for it, and kernels are compiled for it.

    A micro-kernel computes `rows` x `columns` outputs, one column per lane of `vectors` vectors. A
    step takes one 32-bit word of each input row: a float32, or `group` integers that are multiplied
    and summed at once.

    lanes: 32-bit lanes of a vector.
    cache: bytes of the second-level cache that a block of input rows and a panel may fill.
    rows, vectors: accumulators of the matrix kernels. few_rows: rows of those for inputs of few
    rows. odd_rows, odd_vectors: those that leave no or few rows of a tile empty where the others
    would, as with the 49 pixels of images of 7x7, or 0.
    group: integers per word and step: 4 for u8 x s8 (dot products), 2 for s16 x s16.
    signed_dots: dot products are s8 x s8.
    masked: vectors can be loaded and stored under a mask at no cost.
    channel_vectors: vectors of channels that the float32 depthwise kernel takes at once.
    words: words of an input row that matrix kernels load at once, for instructions that multiply by
    a lane of a vector.
    """

    lanes: int
    rows: int
    few_rows: int
    vectors: int
    cache: int
    odd_rows: int = 0
    odd_vectors: int = 0
    group: int = 2
    masked: bool = False
    channel_vectors: int = 2
    words: int = 1
    signed_dots: bool = False

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

    def floors(self, tile_rows: int) -> bool:
        """Whether the micro-kernel of so many rows has a shorter epilogue for outputs that are not
        below their zero point (codegen/floored.py). Few rows would not gain.
        """
        return tile_rows not in (1, self.few_rows)

    def panel_columns(self, tile_rows: int) -> int:
        """Columns of a panel for the micro-kernel of so many rows."""
        return self.lanes * (self.odd_vectors if tile_rows == self.odd_rows else self.vectors)


TILING_128 = Tiling(lanes=4, rows=4, few_rows=2, vectors=2, cache=128 << 10)
"""For 16 registers of 128 bits."""


class Tier(NamedTuple):
    """A set of instruction-set extensions that kernels are compiled for.

    tiling: of products of floats. byte_tiling: of quantized ones; None: the same.
    cpu, features: as LLVM names them; an empty cpu is the baseline of the architecture.
    registers: number of vector registers.
    fused: a multiplication and an addition are one instruction.
    float16: float16 and float32 are converted by instructions. Elsewhere LLVM would call a function
    per number.
    rounds_down: kernels can have float32 rounded down (codegen/float_environment.py), and `fused`.
    byte_pairs: an instruction multiplies uint8 by int8 and adds pairs of products, saturated to
    int16; constant filters that allow it are multiplied so (../lowering/byte_pairs.py).
    byte_weights: digit products of float32 and 8-bit weights are faster than products of float32
    weights (../lowering/digit_products.py).
    large_patches: 8-bit convolutions of 3x3 make 4x4 outputs at once where that is faster
    (../lowering/winograd_quantized.py).
    base: a tier with the same vectors, or "". own_families: families of kernels that gain from what
    this tier has more; the others are compiled for the base alone, once for both.
    """

    name: str
    tiling: Tiling = TILING_128
    cpu: str = ""
    features: str = ""
    registers: int = 16
    fused: bool = False
    float16: bool = False
    rounds_down: bool = False
    byte_pairs: bool = False
    byte_weights: bool = False
    large_patches: bool = False
    base: str = ""
    own_families: tuple[str, ...] = ()
    byte_tiling: Tiling | None = None

    def tiling_of(self, is_quantized: bool) -> Tiling:
        """The geometry of quantized products, or of those of floats."""
        return (self.byte_tiling if is_quantized else None) or self.tiling

    def compiled_for(self, family: str) -> str:
        """The name of the tier that a family of this tier's kernels is compiled for."""
        return self.base if self.base and family not in self.own_families else self.name


class Architecture(NamedTuple):
    """The processors that run the same object code, apart from extensions.

    machine: as the kernel names it. baseline: LLVM's name of the oldest processor. features: what
    Linux requires besides. abi: LLVM's name of how functions are called, where there are several.
    tiers: best first. module_flags: LLVM code that is linked into every module of kernels.
    function_attributes: of every function of kernels, as LLVM code.
    llvm_options: options of LLVM's command line.
    """

    machine: str
    baseline: str
    tiers: tuple[Tier, ...]
    module_flags: str = ""
    function_attributes: tuple[str, ...] = ()
    llvm_options: tuple[str, ...] = ()
    features: str = ""
    abi: str = ""
