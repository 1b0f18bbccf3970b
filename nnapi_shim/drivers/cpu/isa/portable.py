"""The portable tier: vectors of 128 bits as LLVM has them on any processor.

It is the only tier of architectures that have no file of their own. Elsewhere it is compiled for
the architecture's baseline: `make kernels TIERS=portable`, `NNAPI_SHIM_TIER=portable`.
"""

from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier, Tiling

TIER = Tier(
    name="portable",
    cpu="",
    features="",
    registers=16,
    fused=False,
    float16=False,
    tiling=Tiling(
        lanes=4,
        rows=4,
        few_rows=2,
        vectors=2,
        odd_rows=0,
        odd_vectors=0,
        group=2,
        byte_pairs=False,
        masked=False,
        channel_vectors=2,
        cache=128 << 10,
    ),
)
ARCHITECTURE = Architecture(machine="", baseline="generic", tiers=(TIER,))
"""Any architecture without a file of its own."""
