"""Instruction sets as plain data: the tiers of kernels, their geometry, their names in LLVM.

A file per architecture; `codegen/isa/` has the instructions that emitters write for each tier. What
starts C programs imports this, so it imports neither numpy nor numba. To add an architecture: a
file here, one in `codegen/isa/`, an entry in both tables, and its detection in native/processor.c.
"""

import os

from nnapi_shim.drivers.cpu.isa import aarch64, portable, x86
from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier

ARCHITECTURES = (x86.ARCHITECTURE, aarch64.ARCHITECTURE, *portable.OTHERS)
PORTABLE = portable.TIER.name


def platform_machine() -> str:
    """Architecture as the kernel names it, such as x86_64."""
    return os.uname().machine


def architecture_of(machine: str) -> Architecture:
    """The architecture of a machine; one without a file of its own has the portable tier."""
    known = {architecture.machine: architecture for architecture in ARCHITECTURES}
    return known.get(machine) or portable.ARCHITECTURE._replace(machine=machine)


ARCHITECTURE = architecture_of(platform_machine())
"""That of this machine."""

TIERS: dict[str, Tier] = {
    tier.name: tier
    for architecture in (*ARCHITECTURES, portable.ARCHITECTURE)
    for tier in architecture.tiers
}
"""All tiers, by name."""


def own_tiers(architecture: Architecture) -> tuple[str, ...]:
    """Names of an architecture's own tiers, best first; all of them are built by default."""
    return tuple(tier.name for tier in architecture.tiers)


DEFAULT_TIERS = own_tiers(ARCHITECTURE)
"""Those of this machine's architecture."""

NATIVE_TIERS = tuple(dict.fromkeys((*DEFAULT_TIERS, PORTABLE)))
"""Names of the tiers that can be built for this architecture, best first."""


def processor(tier: Tier, architecture: Architecture = ARCHITECTURE) -> tuple[str, str]:
    """Processor and features to compile a tier for, as LLVM names them."""
    return tier.cpu or architecture.baseline, tier.features or architecture.features
