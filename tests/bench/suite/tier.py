"""Holds all runtimes of the benchmark to an instruction-set tier below the processor's best one.

Runtimes choose their kernels by the instruction CPUID, and few of them have a setting for it.
`cpuid.c`, preloaded, clears the bits of what lies above the tier. Where the processor or the
compiler cannot do this, OpenVINO has its setting and the other peers are left out.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.bench.suite.contestants import MADE

SOURCE = Path(__file__).with_name("cpuid.c")
ONEDNN_ISA = {"v3vnni": "AVX2_VNNI", "v3": "AVX2", "v2": "SSE41"}
"""What OpenVINO's kernels may use at most, by tier."""


def wanted() -> str:
    """The tier that TIER names, or "" for the best one; ends the program on any other name."""
    tier = os.environ.get("TIER", "")
    tiers = processor_tiers()
    if tier in ("", *tiers[:1]):
        return ""
    allowed = [name for name in tiers if name in ONEDNN_ISA]
    if tier not in allowed:
        sys.exit(f"bench-models: TIER is {tier!r}; this processor has {', '.join(tiers)}")
    return tier


def environment(tier: str) -> dict[str, str]:
    """The variables that hold a process to a tier; none for "".

    Only OpenVINO obeys them, and nnapi_shim, where LD_PRELOAD is not among them.
    """
    if not tier:
        return {}
    held = {"NNAPI_SHIM_TIER": tier, "ONEDNN_MAX_CPU_ISA": ONEDNN_ISA[tier]}
    library = _preloaded()
    return held if library is None else {**held, "CPUID_TIER": tier, "LD_PRELOAD": str(library)}


def held_runtimes(runtimes: Sequence[str], variables: dict[str, str]) -> list[str]:
    """Those that the variables hold to the tier; the others are named in a line."""
    if not variables or "LD_PRELOAD" in variables:
        return list(runtimes)
    held = [name for name in runtimes if name in ("nnapi_shim", "openvino")]
    for name in runtimes:
        if name not in held:
            print(f"{name} cannot be held to the tier on this processor: without it")
    return held


def _preloaded() -> Path | None:
    """The compiled `cpuid.c`, or None if the processor or the compiler cannot do it."""
    MADE.mkdir(parents=True, exist_ok=True)
    probe, library = MADE / "cpuid", MADE / "cpuid.so"
    try:
        subprocess.run(["cc", "-DPROBE", str(SOURCE), "-o", str(probe)], check=True)
        if subprocess.run([probe], capture_output=True, check=True).stdout != b"yes\n":
            return None
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return library
