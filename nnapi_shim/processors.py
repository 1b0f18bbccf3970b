"""Names and features of processors, of what the kernel says in /proc/cpuinfo."""

import os
import platform
from collections import Counter
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
MAKERS = {
    0x41: "Arm",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x51: "Qualcomm",
    0x61: "Apple",
    0xC0: "Ampere",
}
"""Implementer of an Arm processor, as its register MIDR_EL1 says."""
ARM = {
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse V1",
    0xD41: "Cortex-A78",
    0xD42: "Cortex-A78AE",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse N2",
    0xD4A: "Neoverse E1",
    0xD4B: "Cortex-A78C",
    0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3",
    0xD4F: "Neoverse V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
    0xD82: "Cortex-X4",
    0xD84: "Neoverse V3",
    0xD8E: "Neoverse N3",
}
"""Part of a processor of Arm itself."""
APPLE = {0x22: "M1", 0x23: "M1", 0x32: "M2", 0x33: "M2"}
PARTS = {0x41: ARM, 0x61: APPLE, 0xC0: {0xAC3: "Ampere-1"}, 0x4E: {0x004: "Carmel"}}
"""Implementer -> part -> name."""
NAME_KEYS = ("model name", "cpu", "uarch", "Model Name")
"""Keys of the name: on x86; on POWER, RISC-V and LoongArch."""
FEATURE_KEYS = ("flags", "Features", "isa")


def processor() -> tuple[str, frozenset[str]]:
    """The name of this machine's processors and the features of the first."""
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    name, features = described(text)
    return name or platform.processor() or os.uname().machine, features


def described(text: str) -> tuple[str, frozenset[str]]:
    """Name and features in the text of /proc/cpuinfo; "" if it has no name.

    Processors of several kinds are counted: `4 x Arm Cortex-A55, 4 x Arm Cortex-A76`.
    """
    kinds: Counter[str] = Counter()
    features = frozenset[str]()
    for part in text.split("\n\n"):
        pairs = (line.partition(":") for line in part.splitlines())
        values = {key.strip(): value.strip() for key, _, value in pairs}
        if not features:
            features = frozenset(
                next((values[key] for key in FEATURE_KEYS if key in values), "").split()
            )
        if "processor" in values:
            kinds[_name(values)] += 1
    if len(kinds) < 2:
        return next(iter(kinds), ""), features
    return ", ".join(f"{count} x {name or 'unknown'}" for name, count in kinds.items()), features


def _name(values: dict[str, str]) -> str:
    """The name of one processor."""
    if "CPU implementer" not in values:
        return next((values[key] for key in NAME_KEYS if key in values), "")
    try:
        maker, part = int(values["CPU implementer"], 0), int(values["CPU part"], 0)
    except (KeyError, ValueError):
        return ""
    name = PARTS.get(maker, {}).get(part) or f"processor {part:#05x}"
    return f"{MAKERS.get(maker, f'implementer {maker:#04x}')} {name}"
