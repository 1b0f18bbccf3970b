"""The portable tier: vectors of 128 bits as LLVM has them on any processor.

It is the only tier of architectures that have no file of their own. Elsewhere it is compiled for
the architecture's baseline: `make kernels TIERS=portable`, `NNAPI_SHIM_TIER=portable`.
"""

from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier

TIER = Tier(name="portable")
ARCHITECTURE = Architecture(machine="", baseline="generic", tiers=(TIER,))
"""Any architecture without a file of its own."""
OTHERS = (
    ARCHITECTURE._replace(
        machine="riscv64", baseline="generic-rv64", features="+m,+a,+f,+d,+c", abi="lp64d"
    ),
    ARCHITECTURE._replace(
        machine="loongarch64", baseline="generic-la64", features="+f,+d", abi="lp64d"
    ),
    ARCHITECTURE._replace(machine="ppc64le", baseline="pwr8", abi="elfv2"),
)
"""Those that can be built for: with what Linux distributions require of a processor."""
