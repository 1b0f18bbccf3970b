"""Options of IREE's compiler for a device, by what its driver says of it."""

import re

PROCESSOR = "local-task"
VULKAN = "vulkan"
CUDA = "cuda"
HIP = "hip"
GPUS = (VULKAN, CUDA, HIP)
"""Drivers of IREE's runtime."""

ANY = {
    PROCESSOR: (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    ),
    VULKAN: ("--iree-hal-target-device=vulkan",),
    CUDA: ("--iree-hal-target-device=cuda",),
    HIP: ("--iree-hal-target-device=hip",),
}
"""Driver -> options for any of its devices. Code for Vulkan needs nothing of a GPU but 32-bit
numbers then, and code for CUDA runs on all GPUs from Pascal on; for HIP none runs on all.
"""

VULKAN_TARGETS = (
    (r"\bRTX [45]0\d\d|\bRTX \d000 Ada|^NVIDIA L4", "ada"),
    (r"\bRTX 30\d\d|\bRTX A\d+|^NVIDIA [AH]\d+", "ampere"),
    (r"\bRTX 20\d\d|\bGTX 16\d\d|\bQuadro RTX|\bTITAN RTX|^(NVIDIA|Tesla) T4", "turing"),
    (r"\bGTX 10\d\d|^Tesla P\d", "pascal"),
    (r"\bNAVI4\d|\bGFX12\d\d|\bRX 90\d\d", "rdna4"),
    (r"\bNAVI3\d|\bPHOENIX|\bGFX11\d\d|\bRX 7\d00", "rdna3"),
    (r"\bNAVI2\d|\bREMBRANDT|\bVANGOGH|\bRX 6\d[05]0", "rdna2"),
    (r"\bNAVI1\d|\bRX 5[3567]00", "rdna1"),
    (r"\bMali-G(57|68|77|78|[3567]1\d)", "valhall"),
    (r"\bAdreno", "adreno"),
)
"""What the name of a device has in it -> the compiler's name for its kind. Other devices get code
for any.
"""

_MATRICES = ("turing", "ampere", "ada", "rdna3", "rdna4")
"""Those for which the compiler uses cooperative matrices."""

_NUMBERS = ("storageBuffer8BitAccess", "storageBuffer16BitAccess", "shaderInt8", "shaderFloat16")
"""Features that the compiler expects of all of them."""


def options_of(driver: str, info: str) -> tuple[str, ...]:
    """Options for a device. info: what the driver says of it (dump_device_info)."""
    target = _TARGETS[driver](info)
    return (*ANY[driver], *([target] if target else []))


def _vulkan_target(info: str) -> str:
    """Of a device whose driver has all features that the code needs; else ""."""
    name = _value(info, "name")
    found = [target for pattern, target in VULKAN_TARGETS if re.search(pattern, name)]
    if not found:
        return ""
    needed = [*_NUMBERS, *(["cooperativeMatrix"] if found[0] in _MATRICES else [])]
    has = _value(info, "features").split()
    return f"--iree-vulkan-target={found[0]}" if {f"{n}=yes" for n in needed} <= {*has} else ""


def _cuda_target(info: str) -> str:
    """Code for one kind of GPU runs on later ones, too."""
    capability = _value(info, "gpu-compute-capability").replace(".", "")
    return f"--iree-cuda-target=sm_{capability}" if capability.isdecimal() else ""


def _hip_target(info: str) -> str:
    name = _value(info, "gpu-arch-name")
    return f"--iree-rocm-target={name}" if name else ""


_TARGETS = {VULKAN: _vulkan_target, CUDA: _cuda_target, HIP: _hip_target}


def _value(info: str, key: str) -> str:
    """The value of a line `key: value`, which some drivers begin with a dash; "" without one."""
    found = re.search(rf"^(?:- )?{key}: (.*)$", info, re.MULTILINE)
    return found[1].strip() if found else ""
