"""The kernel library that is used, and what is said of one that cannot be."""

import pytest

from nnapi_shim.drivers.cpu import library
from nnapi_shim.drivers.cpu.library import KernelLibrary, allowed_tiers, library_name
from nnapi_shim.errors import NnapiError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_KERNELS", str(tmp_path))
    monkeypatch.setenv("NNAPI_SHIM_JIT", "off")
    return tmp_path


def test_a_missing_kernel_is_named_with_what_to_do(folder):
    with pytest.raises(NnapiError, match=r"kernel walk is not in .*make kernels"):
        KernelLibrary().address("walk")


def test_a_damaged_library_is_passed_over_with_a_message(folder, capfd):
    for tier in allowed_tiers():
        (folder / library_name(tier)).write_bytes(b"")
    with pytest.raises(NnapiError, match="kernel walk is not in"):
        KernelLibrary().address("walk")
    assert "cannot be loaded and is not used" in capfd.readouterr().err


def test_a_library_of_another_version_is_passed_over(capfd, monkeypatch):
    monkeypatch.setattr(library, "VERSION_SYMBOL", "nnk_version_of_yesterday")
    monkeypatch.setenv("NNAPI_SHIM_JIT", "off")
    with pytest.raises(NnapiError, match="kernel walk is not in"):
        KernelLibrary().address("walk")
    assert "is not of version" in capfd.readouterr().err


@pytest.mark.parametrize("tier", ["bogus", "v5", "V3", "generic"])
def test_a_tier_that_does_not_exist(monkeypatch, capfd, tier):
    if tier in library.processor_tiers():
        pytest.skip(f"{tier} is a tier of this processor")
    monkeypatch.setenv("NNAPI_SHIM_TIER", tier)
    assert KernelLibrary().tier == library.processor_tiers()[0]
    assert f"NNAPI_SHIM_TIER is '{tier}', which is not used; allowed are" in capfd.readouterr().err
