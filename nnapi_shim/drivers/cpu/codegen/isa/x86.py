"""Instructions of x86-64, a class per tier; each has those of the tier below, mostly in wider
vectors.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.isa.portable import Portable
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    HALFWORD,
    LONG,
    POINTER,
    VOID,
    WORD,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa import x86

ALL_LANES, CURRENT_ROUNDING = ir.Constant(HALFWORD, -1), ir.Constant(WORD, 4)
"""Operands of AVX-512: a mask that excludes nothing, and the rounding mode of the processor."""


ROUNDING_MODE, ROUNDING_DOWN = 3 << 13, 1 << 13
"""Bits of MXCSR."""


class V2(Portable):
    """Vectors of 128 bits."""

    dot_pairs_name = "llvm.x86.sse2.pmadd.wd"
    byte_pairs_name = "llvm.x86.ssse3.pmadd.ub.sw.128"
    round_name = "llvm.x86.sse2.cvtps2dq"
    narrow_names = {32: "llvm.x86.sse2.packssdw.128", 16: "llvm.x86.sse2.packsswb.128"}  # noqa: RUF012
    narrow_unsigned_name = "llvm.x86.sse2.packuswb.128"
    rounded_product_name = "llvm.x86.ssse3.pmul.hr.sw.128"
    lookup_bytes, lookup_name = 16, "llvm.x86.ssse3.pshuf.b.128"

    def dot_pairs(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """PMADDWD, and an addition."""
        return builder.add(total, builder.call_by_name(self.dot_pairs_name, total.type, x, y))

    def dot_byte_pairs(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """PMADDUBSW, whose sums of pairs PMADDWD adds up, and an addition."""
        lanes = total.type.count
        halfwords = vector(HALFWORD, 2 * lanes)
        pairs = builder.call_by_name(self.byte_pairs_name, halfwords, x, y)
        return self.dot_pairs(builder, total, pairs, constant(halfwords, 1))

    def sums_of_8_bytes(self, builder: Any, value: Any) -> Any:
        """PSADBW with 0."""
        zero = ir.Constant(value.type, None)
        return builder.call_by_name("llvm.x86.sse2.psad.bw", vector(LONG, 2), value, zero)

    def sum_of_16_bytes(self, builder: Any, value: Any) -> Any:
        """PSADBW with 0, and an addition."""
        halves = self.sums_of_8_bytes(builder, value)
        low, high = (builder.extract_element(halves, ir.Constant(WORD, at)) for at in (0, 1))
        return builder.add(low, high)

    def rounded(self, builder: Any, value: Any) -> Any:
        """What does not fit becomes -2^31."""
        return builder.call_by_name(self.round_name, vector(WORD, value.type.count), value)

    def narrowed(self, builder: Any, a: Any, b: Any) -> Any:
        """128 bits of a, 128 bits of b, and so on."""
        return self._narrowed_by(self.narrow_names[a.type.element.width], builder, a, b)

    def narrowed_unsigned(self, builder: Any, a: Any, b: Any) -> Any:
        """PACKUSWB."""
        return self._narrowed_by(self.narrow_unsigned_name, builder, a, b)

    def _narrowed_by(self, name: str, builder: Any, a: Any, b: Any) -> Any:
        kind = vector(ir.IntType(a.type.element.width // 2), 2 * a.type.count)
        return builder.call_by_name(name, kind, a, b)

    def narrowing_order(self, a: Sequence[int], b: Sequence[int], bits: int) -> list[int]:
        """As `narrowed` says."""
        size = 128 // bits
        return [
            number
            for start in range(0, len(a), size)
            for part in (a, b)
            for number in part[start : start + size]
        ]

    def upper_halves(self, builder: Any, a: Any, b: Any) -> Any:
        """PSRLD, and PBLENDW: elements of a and b alternate."""
        lanes = a.type.count
        lower = builder.lshr(a, constant(a.type, 16))
        kind = vector(HALFWORD, 2 * lanes)
        order = [at + (2 * lanes if at % 2 else 0) for at in range(2 * lanes)]
        return builder.pick_of_two(builder.bitcast(lower, kind), builder.bitcast(b, kind), order)

    def upper_halves_order(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """As `upper_halves` says."""
        return [number for pair in zip(a, b, strict=True) for number in pair]

    def rounded_product(self, builder: Any, x: Any, y: Any) -> Any:
        """PMULHRSW."""
        return builder.call_by_name(self.rounded_product_name, x.type, x, y)

    def lookup(self, builder: Any, table: Any, value: Any) -> Any:
        """PSHUFB looks up 16 entries by the lower four bits, in each sixteenth of the table; the
        upper four bits select one of the results.
        """
        bits = [value]
        for _ in range(3):
            bits.append(builder.add(bits[-1], bits[-1]))
        low = builder.and_(value, constant(value.type, 15))
        return self._entries(builder, table, low, bits, 0)

    def _entries(self, builder: Any, table: Any, low: Any, bits: Sequence[Any], number: int) -> Any:
        """Entries whose upper bits, except those in `bits`, are `number`.

        low: the lower four bits. bits: vectors whose top bits are upper bits, highest first.
        """
        if not bits:
            address = builder.add(table, long(16 * number))
            entries = builder.load_from(address, vector(BYTE, 16), 1)
            part = builder.pick(entries, [*range(16)] * (self.lookup_bytes // 16))
            return builder.call_by_name(self.lookup_name, part.type, part, low)
        highest, *others = bits
        clear, is_set = (
            self._entries(builder, table, low, others, 2 * number + bit) for bit in (0, 1)
        )
        negative = builder.icmp_signed("<", highest, constant(highest.type, 0))
        return builder.select(negative, is_set, clear)


class V3(V2):
    """Vectors of 256 bits."""

    dot_pairs_name = "llvm.x86.avx2.pmadd.wd"
    byte_pairs_name = "llvm.x86.avx2.pmadd.ub.sw"
    round_name = "llvm.x86.avx.cvt.ps2dq.256"
    narrow_names = {32: "llvm.x86.avx2.packssdw", 16: "llvm.x86.avx2.packsswb"}  # noqa: RUF012
    narrow_unsigned_name = "llvm.x86.avx2.packuswb"
    rounded_product_name = "llvm.x86.avx2.pmul.hr.sw"
    lookup_bytes, lookup_name = 32, "llvm.x86.avx2.pshuf.b"

    def float_environment(self, builder: Any) -> Any:
        """STMXCSR: rounding mode, masks and flags of exceptions."""
        slot = builder.variable(WORD)
        builder.call_by_name("llvm.x86.sse.stmxcsr", VOID, builder.bitcast(slot, POINTER))
        return builder.load(slot)

    def set_float_environment(self, builder: Any, environment: Any) -> None:
        """LDMXCSR."""
        slot = builder.variable(WORD, environment)
        builder.call_by_name("llvm.x86.sse.ldmxcsr", VOID, builder.bitcast(slot, POINTER))

    def downward(self, builder: Any, environment: Any) -> Any:
        """Of the two bits of the rounding mode, the lower one."""
        others = builder.and_(environment, WORD(~ROUNDING_MODE))
        return builder.or_(others, WORD(ROUNDING_DOWN))


class V3Vnni(V3):
    """With dot products of bytes."""

    def dot_quads(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """VPDPBUSD."""
        return builder.call_by_name("llvm.x86.avx512.vpdpbusd.256", total.type, total, x, y)


class V4(V3):
    """Vectors of 512 bits; byte lookups keep to 256, which take as long."""

    dot_pairs_name = "llvm.x86.avx512.pmaddw.d.512"
    narrow_names = {  # noqa: RUF012
        32: "llvm.x86.avx512.packssdw.512",
        16: "llvm.x86.avx512.packsswb.512",
    }
    narrow_unsigned_name = "llvm.x86.avx512.packuswb.512"
    rounded_product_name = "llvm.x86.avx512.pmul.hr.sw.512"
    has_reciprocal_root = True

    def upper_halves(self, builder: Any, a: Any, b: Any) -> Any:
        """VPERMT2W."""
        return Portable.upper_halves(self, builder, a, b)

    def upper_halves_order(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """As they come."""
        return Portable.upper_halves_order(self, a, b)

    def dot_quads(self, builder: Any, total: Any, x: Any, y: Any) -> Any:
        """VPDPBUSD."""
        return builder.call_by_name("llvm.x86.avx512.vpdpbusd.512", total.type, total, x, y)

    def rounded(self, builder: Any, value: Any) -> Any:
        """What does not fit becomes -2^31."""
        kind = vector(WORD, value.type.count)
        masked_off = ir.Constant(kind, None)
        name = "llvm.x86.avx512.mask.cvtps2dq.512"
        return builder.call_by_name(name, kind, value, masked_off, ALL_LANES, CURRENT_ROUNDING)

    def can_scale(self, kind: Any) -> bool:
        """Whole vectors."""
        return isinstance(kind, ir.VectorType)

    def scaled(self, builder: Any, value: Any, exponent: Any) -> Any:
        """VSCALEFPS."""
        name, kind = "llvm.x86.avx512.mask.scalef.ps.512", value.type
        return builder.call_by_name(name, kind, value, exponent, value, ALL_LANES, CURRENT_ROUNDING)

    def reciprocal_root_estimate(self, builder: Any, value: Any) -> Any:
        """VRSQRT14PS."""
        name, kind = "llvm.x86.avx512.rsqrt14.ps.512", value.type
        return builder.call_by_name(name, kind, value, value, ALL_LANES)

    def words_in_order(
        self, builder: Any, words: Any, order: Sequence[int], order_address: Any
    ) -> Any:
        """VPERMD. The order comes from memory: for a constant order LLVM emits three instructions
        on half vectors.
        """
        indices = builder.load_from(order_address, words.type, 4)
        name = "llvm.x86.avx512.permvar.si.512"
        return builder.call_by_name(name, words.type, words, indices)


INSTRUCTIONS: dict[str, type[Portable]] = {
    x86.V2.name: V2,
    x86.V3.name: V3,
    x86.V3VNNI.name: V3Vnni,
    x86.V4.name: V4,
}
