"""AArch64: neon (Armv8.0), dotprod (dot products of bytes, 8.2) and i8mm (mixed signs, 8.6).

native/processor.c says which of them a processor runs. `generic` with features, because LLVM's
names of processors bring extensions (crc, crypto) that others of their generation lack.
"""

from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier, Tiling

# 16 accumulators, 8 vectors of input words and the weights keep to 32 registers.
TILING = Tiling(
    lanes=4,
    rows=8,
    few_rows=4,
    vectors=2,
    cache=256 << 10,
    odd_rows=7,
    odd_vectors=2,
    words=4,
)
DOTS = TILING._replace(group=4)
# The same accumulators with half the rows: each has an address per tap, and its own stores.
WIDE_DOTS = DOTS._replace(signed_dots=True, rows=4, few_rows=2, vectors=4, odd_rows=0)

NEON = Tier(name="neon", tiling=TILING, features="+neon", registers=32, fused=True, float16=True)
DOTPROD = NEON._replace(
    name="dotprod",
    tiling=DOTS._replace(signed_dots=True),
    byte_tiling=WIDE_DOTS,
    features="+neon,+v8.2a,+dotprod",
)
I8MM = NEON._replace(name="i8mm", tiling=DOTS, features="+neon,+v8.2a,+dotprod,+i8mm")

MODULE_FLAGS = """
!llvm.module.flags = !{!0, !1, !2}
!0 = !{i32 8, !"branch-target-enforcement", i32 1}
!1 = !{i32 8, !"sign-return-address", i32 1}
!2 = !{i32 8, !"sign-return-address-all", i32 0}
"""
FUNCTION_ATTRIBUTES = (
    '"branch-target-enforcement"="true"',
    '"sign-return-address"="non-leaf"',
    '"sign-return-address-key"="a_key"',
)
"""BTI and PAC: functions begin with a landing pad and sign the return address that they store; both
are no-operations on older processors. The flags mark objects for it."""

ARCHITECTURE = Architecture(
    machine="aarch64",
    baseline="generic",
    tiers=(I8MM, DOTPROD, NEON),
    module_flags=MODULE_FLAGS,
    function_attributes=FUNCTION_ATTRIBUTES,
)
