"""All architectures and their tiers, to build for any of them."""

from nnapi_shim.drivers.cpu.isa import WITH_OWN_TIERS, architecture_of, portable
from nnapi_shim.drivers.cpu.isa.tier import Tier

ARCHITECTURES = (*map(architecture_of, WITH_OWN_TIERS), *portable.OTHERS)

TIERS: dict[str, Tier] = {
    tier.name: tier
    for architecture in (*ARCHITECTURES, portable.ARCHITECTURE)
    for tier in architecture.tiers
}
"""All tiers, by name."""
