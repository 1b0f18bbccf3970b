"""x86-64: v2 (x86-64-v2), v3 (AVX2, FMA, F16C), v3vnni (v3 with AVX-VNNI) and v4 (AVX-512 F, BW,
DQ, VL and VNNI).

native/processor.c says which of them a processor runs.
"""

from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier, Tiling

V4 = Tier(
    name="v4",
    tiling=Tiling(
        lanes=16,
        rows=6,
        few_rows=4,
        vectors=4,
        cache=512 << 10,
        odd_rows=7,
        odd_vectors=2,
        group=4,
        masked=True,
        channel_vectors=1,
    ),
    cpu="x86-64-v4",
    features="+avx512vnni",
    registers=32,
    fused=True,
    float16=True,
    rounds_down=True,
    byte_weights=True,
    large_patches=True,
)
V3 = Tier(
    name="v3",
    tiling=Tiling(
        lanes=8, rows=6, few_rows=4, vectors=2, cache=256 << 10, odd_rows=5, odd_vectors=2
    ),
    cpu="x86-64-v3",
    fused=True,
    float16=True,
    rounds_down=True,
    byte_pairs=True,
    byte_weights=True,
    large_patches=True,
)
V3VNNI = V3._replace(
    name="v3vnni",
    tiling=V3.tiling._replace(group=4),
    features="+avxvnni",
    byte_pairs=False,
    base=V3.name,
    own_families=(
        "depthwise",
        "depthwise_quantized",
        "digit_products",
        "gemm",
        "lstm",
        "reduction",
        "rnn",
    ),
)
V2 = Tier(name="v2", cpu="x86-64-v2", byte_pairs=True, large_patches=True)

MODULE_FLAGS = """
!llvm.module.flags = !{!0, !1, !2}
!0 = !{i32 4, !"cf-protection-branch", i32 1}
!1 = !{i32 4, !"cf-protection-return", i32 1}
!2 = !{i32 4, !"RtLibUseGOT", i32 1}
"""
"""CET: functions begin with endbr64, one instruction per call of a kernel, and objects are marked
for it. Functions of the C library are called through a read-only table and not through stubs:
profilers cannot name stubs where there is CET. There are no stack protectors: arrays on the stack
(sums of micro-kernels, a time, random numbers) have a fixed size, and no data chooses an index
into them."""

ARCHITECTURE = Architecture(
    machine="x86_64",
    baseline="x86-64",
    tiers=(V4, V3VNNI, V3, V2),
    module_flags=MODULE_FLAGS,
    # LLVM's machine combiner splits dot-product instructions from their accumulation to shorten
    # the dependency. The accumulators of our loops already hide that latency, and the loops grow.
    llvm_options=("--x86-machine-combiner=0",),
)
