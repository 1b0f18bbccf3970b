"""What IREE's compiler is told of a device; no driver is needed for it."""

import pytest

from nnapi_shim.drivers.engines import iree_targets
from nnapi_shim.drivers.engines.iree_targets import ANY, CUDA, HIP, VULKAN, options_of

ALL = "storageBuffer8BitAccess=yes storageBuffer16BitAccess=yes shaderInt8=yes shaderFloat16=yes"
MATRICES = f"{ALL} cooperativeMatrix=yes"


def vulkan(name, features=MATRICES):
    """What IREE's driver says of a device of Vulkan, in its form."""
    return (
        f"name: {name}\npath: GPU-0\napi: 1.3.230\ntype: discrete\n"
        f"features: bufferDeviceAddress=yes {features}\nsubgroup: size=32\n"
    )


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("NVIDIA GeForce RTX 4070 SUPER", "ada"),
        ("NVIDIA RTX 4000 Ada Generation", "ada"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "ampere"),
        ("NVIDIA RTX A2000", "ampere"),
        ("NVIDIA A100-SXM4-40GB", "ampere"),
        ("NVIDIA H200", "ampere"),
        ("NVIDIA GeForce GTX 1660", "turing"),
        ("NVIDIA GeForce GTX 1080 Ti", "pascal"),
        ("AMD Radeon RX 9070 XT (RADV GFX1201)", "rdna4"),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", "rdna3"),
        ("AMD Radeon 780M (RADV PHOENIX)", "rdna3"),
        ("AMD Custom GPU 0405 (RADV VANGOGH)", "rdna2"),
        ("AMD Radeon RX 5700 XT", "rdna1"),
        ("Mali-G78", "valhall"),
        ("Adreno (TM) 740", "adreno"),
    ],
)
def test_kinds_of_vulkan(name, target):
    assert options_of(VULKAN, vulkan(name)) == (*ANY[VULKAN], f"--iree-vulkan-target={target}")


@pytest.mark.parametrize(
    "info",
    [
        vulkan("llvmpipe (LLVM 15.0.6, 256 bits)"),
        vulkan("Intel(R) Arc(TM) A770 Graphics (DG2)"),
        vulkan("AMD Radeon RX 7900 XTX (RADV NAVI31)", ALL),
        vulkan("NVIDIA GeForce GTX 1080", MATRICES.replace("Float16=yes", "Float16=no")),
        "",
        "nonsense",
    ],
)
def test_code_for_any_device_of_vulkan(info):
    """An unknown device, or a driver that lacks what code for its kind needs."""
    assert options_of(VULKAN, info) == ANY[VULKAN]


def test_cuda_and_hip():
    cuda = "\n- gpu-compute-capability: 8.6\n- gpu-compute-unit-count: 28"
    assert options_of(CUDA, cuda) == (*ANY[CUDA], "--iree-cuda-target=sm_86")
    assert options_of(CUDA, "") == ANY[CUDA]
    hip = "\n- gpu-compute-capability: 11.0\n- gpu-arch-name: gfx1100\n"
    assert options_of(HIP, hip) == (*ANY[HIP], "--iree-rocm-target=gfx1100")


def test_each_kind_is_named_once():
    targets = [target for _, target in iree_targets.VULKAN_TARGETS]
    assert len({*targets}) == len(targets)
