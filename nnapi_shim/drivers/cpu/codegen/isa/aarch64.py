"""Instructions of AArch64, a class per tier."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.isa.portable import Portable
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    HALFWORD,
    LONG,
    WORD,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa import aarch64


class Neon(Portable):
    """Vectors of 128 bits, in 32 registers."""

    lookup_bytes = 16
    has_rounding_products = True

    def dot_pairs(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """SMULL, SMULL2, and ADDP, which adds neighbours."""
        lanes = total.type.count
        products = []
        for first in (0, lanes):
            half = range(first, first + lanes)
            parts = [builder.pick(operand, half) for operand in (x, y)]
            products.append(self._products(builder, total.type, *parts))
        name = f"llvm.aarch64.neon.addp.v{lanes}i32"
        return builder.add(total, builder.call_by_name(name, total.type, *products))

    def dot_pairs_by_lane(self, builder: Any, total: Any, words: Any, number: int, y: Any) -> Any:
        """SMLAL by a lane; LLVM separates y into first and second elements once for all words."""
        lanes = total.type.count
        halves = builder.bitcast(words, vector(HALFWORD, 2 * words.type.count))
        for part in (0, 1):
            a = builder.pick(halves, [2 * number + part] * lanes)
            b = builder.pick(y, range(part, 2 * lanes, 2))
            total = builder.add(total, self._products(builder, total.type, b, a))
        return total

    def dot_pairs_of_two(
        self, builder: Any, totals: Sequence[Any], x: Any, y: Any
    ) -> Sequence[Any]:
        """SMLAL of first elements and of second ones, which LD2 separates in operands that have
        just been loaded.
        """
        lanes = totals[0].type.count
        results = list(totals)
        for part in (0, 1):
            a, b = (builder.pick(each, range(part, each.type.count, 2)) for each in (x, y))
            for at, total in enumerate(results):
                own = range(at * lanes, (at + 1) * lanes)
                product = self._products(
                    builder, total.type, builder.pick(a, own), builder.pick(b, own)
                )
                results[at] = builder.add(total, product)
        return results

    def _products(self, builder: Any, kind: Any, a: Any, b: Any) -> Any:
        """Of int16, as int32."""
        return builder.call_by_name(f"llvm.aarch64.neon.smull.v{kind.count}i32", kind, a, b)

    def rounded(self, builder: Any, value: Any) -> Any:
        """FCVTNS: what does not fit becomes the nearest int32, NaN 0."""
        lanes = value.type.count
        name = f"llvm.aarch64.neon.fcvtns.v{lanes}i32.v{lanes}f32"
        return builder.call_by_name(name, vector(WORD, lanes), value)

    def shifted_left(self, builder: Any, value: Any, count: Any) -> Any:
        """SQSHL."""
        return self._call("sqshl", builder, value, count)

    def requantized(
        self, builder: Any, total: Any, mantissa: Any, right: Any, is_shifted: bool = False
    ) -> Any:
        """SQRDMULH and SRSHL."""
        product = self.high_product(builder, total, mantissa, None if is_shifted else right)
        return self.shifted_right(builder, product, right)

    def high_product(self, builder: Any, total: Any, mantissa: Any, right: Any = None) -> Any:
        """SQRDMULH is SRDHM; SRSHL rounds halves up, but RDPOT negative ones down."""
        high = self._call("sqrdmulh", builder, total, mantissa)
        signs = high if right is None else builder.and_(high, right)
        return builder.add(high, builder.ashr(signs, constant(total.type, 31)))

    def shifted_right(self, builder: Any, product: Any, right: Any) -> Any:
        """SRSHL."""
        return self._call("srshl", builder, product, right)

    def rounded_product(self, builder: Any, x: Any, y: Any) -> Any:
        """SQRDMULH."""
        return self._call("sqrdmulh", builder, x, y)

    def _call(self, instruction: str, builder: Any, *operands: Any) -> Any:
        """An instruction for vectors of int32 or int16."""
        kind = operands[0].type
        name = f"llvm.aarch64.neon.{instruction}.v{kind.count}i{kind.element.width}"
        return builder.call_by_name(name, kind, *operands)

    def clamp(self, builder: Any, value: Any, low: Any, high: Any) -> Any:
        """FMIN keeps NaN; not FMAX, of which -0 and 0 is 0."""
        value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
        return builder.call_same("llvm.minimum", value, high)

    def narrowed(self, builder: Any, a: Any, b: Any) -> Any:
        """SQXTN and SQXTN2."""
        return self._narrowed_by("sqxtn", builder, a, b)

    def narrowed_unsigned(self, builder: Any, a: Any, b: Any) -> Any:
        """SQXTUN and SQXTUN2."""
        return self._narrowed_by("sqxtun", builder, a, b)

    def _narrowed_by(self, instruction: str, builder: Any, a: Any, b: Any) -> Any:
        count, bits = a.type.count, a.type.element.width // 2
        name = f"llvm.aarch64.neon.{instruction}.v{count}i{bits}"
        kind = vector(ir.IntType(bits), count)
        return builder.join([builder.call_by_name(name, kind, part) for part in (a, b)])

    def sums_of_8_bytes(self, builder: Any, value: Any) -> Any:
        """UADDLP three times."""
        for element, count in ((HALFWORD, 8), (WORD, 4), (LONG, 2)):
            before, kind = value.type, vector(element, count)
            name = f"llvm.aarch64.neon.uaddlp.v{count}i{element.width}"
            name += f".v{before.count}i{before.element.width}"
            value = builder.call_by_name(name, kind, value)
        return value

    def sum_of_16_bytes(self, builder: Any, value: Any) -> Any:
        """UADDLV."""
        total = builder.call_by_name("llvm.aarch64.neon.uaddlv.i32.v16i8", WORD, value)
        return builder.zext(total, LONG)

    def lookup(self, builder: Any, table: Any, value: Any) -> Any:
        """TBL of four registers has 64 entries, and 0 beyond; TBX leaves what is beyond."""
        kind = vector(BYTE, 16)
        result = None
        for quarter in range(4):
            index = builder.sub(value, constant(kind, 64 * quarter)) if quarter else value
            addresses = [builder.add(table, long(64 * quarter + 16 * at)) for at in range(4)]
            entries = [builder.load_from(address, kind, 1) for address in addresses]
            if result is None:
                name, more = "llvm.aarch64.neon.tbl4.v16i8", entries
            else:
                name, more = "llvm.aarch64.neon.tbx4.v16i8", [result, *entries]
            result = builder.call_by_name(name, kind, *more, index)
        return result


class DotProd(Neon):
    """With dot products of bytes of the same sign."""

    def dot_quads(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """SDOT; LLVM takes a lane of the second operand only."""
        lanes = total.type.count
        name = f"llvm.aarch64.neon.sdot.v{lanes}i32.v{4 * lanes}i8"
        return builder.call_by_name(name, total.type, total, y, x)


class I8mm(DotProd):
    """With dot products of uint8 and int8, and products of matrices of them."""

    has_block_products = True

    def dot_quads(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """USDOT, by a lane SUDOT."""
        lanes = total.type.count
        name = f"llvm.aarch64.neon.usdot.v{lanes}i32.v{4 * lanes}i8"
        return builder.call_by_name(name, total.type, total, x, y)

    def block_product(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """USMMLA."""
        name = "llvm.aarch64.neon.usmmla.v4i32.v16i8"
        return builder.call_by_name(name, total.type, total, x, y)


INSTRUCTIONS: dict[str, type[Portable]] = {
    aarch64.NEON.name: Neon,
    aarch64.DOTPROD.name: DotProd,
    aarch64.I8MM.name: I8mm,
}
