"""Instruction sets as plain data: the tiers of kernels, their geometry, their names in LLVM.

A file per architecture; `codegen/isa/` has the instructions that emitters write for each tier. What
starts C programs imports this, so it imports neither numpy nor numba, and only the architecture of
this machine (all of them: every.py). To add one: a file here, one in `codegen/isa/`, their entries
in both __init__.py, and its detection in native/processor.c.
"""

import os

from nnapi_shim.drivers.cpu.isa import portable
from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier

WITH_OWN_TIERS = ("x86_64", "aarch64")
"""The architectures that have a file here."""
PORTABLE = portable.TIER.name


def platform_machine() -> str:
    """Architecture as the kernel names it, such as x86_64."""
    return os.uname().machine


def architecture_of(machine: str) -> Architecture:
    """The architecture of a machine; one without a file of its own has the portable tier."""
    if machine == "x86_64":
        from nnapi_shim.drivers.cpu.isa import x86

        return x86.ARCHITECTURE
    if machine == "aarch64":
        from nnapi_shim.drivers.cpu.isa import aarch64

        return aarch64.ARCHITECTURE
    known = {architecture.machine: architecture for architecture in portable.OTHERS}
    return known.get(machine) or portable.ARCHITECTURE._replace(machine=machine)


ARCHITECTURE = architecture_of(platform_machine())
"""That of this machine."""


def own_tiers(architecture: Architecture) -> tuple[str, ...]:
    """Names of an architecture's own tiers, best first; all of them are built by default."""
    return tuple(tier.name for tier in architecture.tiers)


DEFAULT_TIERS = own_tiers(ARCHITECTURE)
"""Those of this machine's architecture."""

NATIVE_TIERS: dict[str, Tier] = {tier.name: tier for tier in (*ARCHITECTURE.tiers, portable.TIER)}
"""The tiers that can be built for this architecture by name, best first."""


def processor(tier: Tier, architecture: Architecture = ARCHITECTURE) -> tuple[str, str]:
    """Processor and features to compile a tier for, as LLVM names them."""
    return tier.cpu or architecture.baseline, tier.features or architecture.features
