"""The interface of an instruction set to emitters, implemented with generic LLVM vectors.

A class per tier overrides the methods for which its processors have instructions. Results are equal
bit by bit, unless a method's docstring leaves them open.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.vector import HALFWORD, LONG, WORD, constant, vector
from nnapi_shim.drivers.cpu.isa.tier import Tier


class Portable:
    """The instructions of a tier without a class of its own."""

    unpack_bytes = 16
    """Bytes of a vector within which interleaving two vectors is cheap."""

    lookup_bytes = 0
    """Bytes of the vectors that `lookup` takes; 0: there is none."""

    has_reciprocal_root = False
    """Whether there is `reciprocal_root_estimate`."""

    has_block_products = False
    """Whether there is `block_product`."""

    has_rounding_products = False
    """Whether there are `shifted_left`, `requantized` and its two halves."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier

    # The rounding mode, of tiers that round down

    def float_environment(self, builder: Any) -> Any:
        """Int32: the mode of instructions of floats, and what belongs to it."""
        return WORD(0)

    def set_float_environment(self, builder: Any, environment: Any) -> None:
        """Set what float_environment gives."""

    def downward(self, builder: Any, environment: Any) -> Any:
        """An environment in which results are the nearest float32 that is not above."""
        return environment

    # Sums of products

    def multiply_add(self, builder: Any, x: Any, y: Any, total: Any) -> Any:
        """X * y + total on vectors of float32, rounded once where the tier is `fused`."""
        if not self.tier.fused:
            return builder.fadd(builder.fmul(x, y), total)
        return builder.call_same("llvm.fma", x, y, total)

    def dot_pairs(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """Total plus pairs of products of int16: <n x i32>, <2n x i16>, <2n x i16> -> <n x i32>."""
        wide = total.type
        products = []
        for first in (0, 1):
            every_other = range(first, x.type.count, 2)
            a, b = (builder.sext(builder.pick(operand, every_other), wide) for operand in (x, y))
            products.append(builder.mul(a, b))
        return builder.add(total, builder.add(*products))

    def dot_pairs_by_lane(self, builder: Any, total: Any, words: Any, number: int, y: Any) -> Any:
        """`dot_pairs` with the two int16 of one of the words <m x i32> in all lanes of x."""
        x = builder.bitcast(builder.pick(words, [number] * total.type.count), y.type)
        return self.dot_pairs(builder, total, x, y)

    def dot_pairs_of_two(
        self, builder: Any, totals: Sequence[Any], x: Any, y: Any
    ) -> Sequence[Any]:
        """`dot_pairs` for two totals whose int16 follow each other in x and y."""
        count = x.type.count // 2
        halves = [range(first, first + count) for first in (0, count)]
        return [
            self.dot_pairs(builder, total, *(builder.pick(operand, half) for operand in (x, y)))
            for total, half in zip(totals, halves, strict=True)
        ]

    def dot_quads(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """Total plus sums of four products of uint8 x and int8 y: <n x i32>, <4n x i8>, <4n x i8>.

        x is int8 where the tiling has `signed_dots`. All is exact; sums that leave int32 wrap.
        """
        wide = total.type
        widened = builder.sext if self.tier.tiling.signed_dots else builder.zext
        for at in range(4):
            every_fourth = range(at, x.type.count, 4)
            a = widened(builder.pick(x, every_fourth), wide)
            b = builder.sext(builder.pick(y, every_fourth), wide)
            total = builder.add(total, builder.mul(a, b))
        return total

    def block_product(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """Total + x . y: two rows of eight uint8, two columns of eight int8, 2 x 2 int32."""
        raise NotImplementedError

    def dot_byte_pairs(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """As `dot_quads`, for operands whose sums of two neighbouring products fit int16."""
        return self.dot_quads(builder, total, x, y)

    def sums_of_8_bytes(self, builder: Any, value: Any) -> Any:
        """The sums of the halves of <16 x i8>, unsigned, as <2 x i64>."""
        wide = builder.zext(value, vector(HALFWORD, 16))
        while wide.type.count > 2:
            count = wide.type.count
            wide = builder.add(*(builder.pick(wide, range(part, count, 2)) for part in (0, 1)))
        return builder.zext(wide, vector(LONG, 2))

    def sum_of_16_bytes(self, builder: Any, value: Any) -> Any:
        """The sum of <16 x i8>, unsigned, as an i64."""
        wide = vector(WORD, 16)
        total = builder.call_by_name(
            "llvm.vector.reduce.add.v16i32", WORD, builder.zext(value, wide)
        )
        return builder.zext(total, LONG)

    # Conversions

    def rounded(self, builder: Any, value: Any) -> Any:
        """Vectors of float32 to the nearest int32, halves to even; |value| is below 2^22.

        What is larger becomes a number of that size and sign, or -2^31; NaN becomes 0 or -2^31.
        """
        lanes = value.type.count
        # A number this large has no bits behind the point.
        magic = constant(value.type, 1.5 * 2.0**23)
        whole = builder.fsub(builder.fadd(value, magic), magic)
        name = f"llvm.fptosi.sat.v{lanes}i32.v{lanes}f32"
        return builder.call_by_name(name, vector(WORD, lanes), whole)

    def shifted_left(self, builder: Any, value: Any, count: Any) -> Any:
        """Value << count on vectors of int32; what does not fit becomes the nearest int32."""
        raise NotImplementedError

    def requantized(
        self, builder: Any, total: Any, mantissa: Any, right: Any, is_shifted: bool = False
    ) -> Any:
        """RDPOT(SRDHM(total, mantissa), -right) (semantics.md 5.3) on vectors of int32.

        is_shifted: whether `right` is known to be below 0 in every lane.
        """
        raise NotImplementedError

    def high_product(self, builder: Any, total: Any, mantissa: Any, right: Any = None) -> Any:
        """The first half of `requantized`: SRDHM, less 1 where it is negative and will be shifted
        right. right: the shifts; None: they are below 0 in every lane.
        """
        raise NotImplementedError

    def shifted_right(self, builder: Any, product: Any, right: Any) -> Any:
        """The second half of `requantized`."""
        raise NotImplementedError

    def narrowed(self, builder: Any, a: Any, b: Any) -> Any:
        """The elements of two vectors, saturated to half their size, as one vector.

        `narrowing_order` says in which order.
        """
        limit = 1 << a.type.element.width // 2 - 1
        return self._narrowed_within(builder, a, b, -limit, limit - 1)

    def narrowed_unsigned(self, builder: Any, a: Any, b: Any) -> Any:
        """`narrowed`, of int16 to uint8."""
        return self._narrowed_within(builder, a, b, 0, 255)

    def _narrowed_within(self, builder: Any, a: Any, b: Any, least: int, most: int) -> Any:
        kind = vector(ir.IntType(a.type.element.width // 2), a.type.count)
        low, high = constant(a.type, least), constant(a.type, most)
        parts = [builder.clamp_integers(x, low, high) for x in (a, b)]
        return builder.join([builder.trunc(x, kind) for x in parts])

    def narrowing_order(self, a: Sequence[int], b: Sequence[int], bits: int) -> list[int]:
        """Numbers of the elements of `narrowed`; a, b: those of the elements of its operands."""
        return [*a, *b]

    def upper_halves(self, builder: Any, a: Any, b: Any) -> Any:
        """The upper 16 bits of the int32 of two vectors, as one vector.

        `upper_halves_order` says in which order.
        """
        kind = vector(HALFWORD, 2 * a.type.count)
        upper = range(1, 4 * a.type.count, 2)
        return builder.pick_of_two(builder.bitcast(a, kind), builder.bitcast(b, kind), upper)

    def upper_halves_order(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """As `narrowing_order`."""
        return [*a, *b]

    def rounded_product(self, builder: Any, x: Any, y: Any) -> Any:
        """(x * y + 2^14) >> 15 on vectors of int16, of which not both are -2^15."""
        wide = vector(WORD, x.type.count)
        product = builder.mul(*(builder.sext(each, wide) for each in (x, y)))
        product = builder.add(product, constant(wide, 1 << 14))
        return builder.trunc(builder.ashr(product, constant(wide, 15)), x.type)

    def clamp(self, builder: Any, value: Any, low: Any, high: Any) -> Any:
        """min(max(value, low), high) on vectors of floats; NaN stays NaN, and -0 where low is 0."""
        return builder.clamp(value, low, high)

    def can_scale(self, kind: Any) -> bool:
        """Whether `scaled` takes this type."""
        return False

    def scaled(self, builder: Any, value: Any, exponent: Any) -> Any:
        """Float32 value * 2^exponent for whole exponents of any size, rounded once."""
        raise NotImplementedError

    def reciprocal_root_estimate(self, builder: Any, value: Any) -> Any:
        """1 / sqrt(value) of a whole vector of float32, to 14 bits."""
        raise NotImplementedError

    # Bytes

    def lookup(self, builder: Any, table: Any, value: Any) -> Any:
        """Bytes of byte[256] at the address `table`, at the indices <lookup_bytes x i8>."""
        raise NotImplementedError

    def words_in_order(
        self, builder: Any, words: Any, order: Sequence[int], order_address: Any
    ) -> Any:
        """32-bit words of a vector in another order; int32[] of it are at an address, too."""
        return builder.pick(words, order)
