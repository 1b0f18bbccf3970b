"""The kernel library that is used, and what is said of one that cannot be."""

import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim import address, settings
from nnapi_shim.drivers.cpu.isa import NATIVE_TIERS, platform_machine
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.library import KernelLibrary, allowed_tiers, library_name
from nnapi_shim.errors import NnapiError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_KERNELS", str(tmp_path))
    monkeypatch.setenv("NNAPI_SHIM_JIT", "off")
    return tmp_path


def test_a_missing_kernel_is_named_with_what_to_do(folder):
    with pytest.raises(NnapiError, match=r"kernel bind is not in .*make kernels"):
        KernelLibrary().address("bind")


def test_the_portable_tier_has_a_command_of_its_own(folder, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_TIER", "portable")
    monkeypatch.setattr(library, "DEFAULT_TIERS", ("v2",))
    with pytest.raises(NnapiError, match=r"`make kernels TIERS=portable` builds it"):
        KernelLibrary().address("bind")


def test_a_folder_of_another_architecture_is_said_to_be_one(folder):
    machine = 183 if platform_machine() == "x86_64" else 62
    header = b"\x7fELF".ljust(18, b"\0") + machine.to_bytes(2, "little")
    (folder / library_name("other")).write_bytes(header)
    name = "aarch64" if machine == 183 else "x86_64"
    said = rf"for {platform_machine()} \({folder} has those for {name}\)"
    with pytest.raises(NnapiError, match=said):
        KernelLibrary().address("bind")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda contents: contents[:0x8000], "is cut off"),
        (lambda contents: contents[:-1], "is cut off"),
        (lambda contents: b"\0" + contents[1:], "cannot be loaded"),
        (lambda contents: b"", "is not of version"),
        (lambda contents: contents[:18] + b"\x08\0" + contents[20:], "another architecture"),
    ],
)
def test_a_damaged_library_is_passed_over_with_a_message(folder, capfd, damage, message):
    for tier in allowed_tiers():
        built = ROOT / "build" / "lib" / library_name(tier)
        (folder / built.name).write_bytes(damage(built.read_bytes()))
    with pytest.raises(NnapiError, match="kernel bind is not in"):
        KernelLibrary().address("bind")
    said = capfd.readouterr().err
    assert message in said
    assert "not used" in said


OTHER_ARCHITECTURE = b"\x7fELF" + bytes(14) + (8).to_bytes(2, "little") + bytes(44)
"""The header of a file for MIPS."""


def test_a_c_library_of_another_architecture(tmp_path, monkeypatch):
    (tmp_path / "libneuralnetworks.so").write_bytes(OTHER_ARCHITECTURE)
    monkeypatch.setattr(address, "loaded_function", lambda *_, **__: None)
    monkeypatch.setattr(library.folders, "library_folders", lambda: [str(tmp_path)])
    with pytest.raises(NnapiError, match=r"is for another architecture, number 8 of ELF; install"):
        library.c_function("nnapi_shim_getProcessorTiers", "const char *(*)(void)")


def test_the_c_api_of_another_architecture(tmp_path):
    (tmp_path / "libneuralnetworks.so").write_bytes(OTHER_ARCHITECTURE)
    code = f"""
from nnapi_shim import folders
folders.get_library_dir = lambda: {str(tmp_path)!r}
try:
    from nnapi_shim import capi
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "is for another architecture, number 8 of ELF: install nnapi_shim" in done.stdout


def test_a_library_of_another_version_is_passed_over(capfd, monkeypatch):
    monkeypatch.setattr(library, "VERSION_SYMBOL", "nnk_version_of_yesterday")
    monkeypatch.setenv("NNAPI_SHIM_JIT", "off")
    with pytest.raises(NnapiError, match="kernel bind is not in"):
        KernelLibrary().address("bind")
    assert "is not of version" in capfd.readouterr().err


@pytest.mark.parametrize("part", [1, 7, 8, 9, 64])
def test_a_file_is_looked_through_in_parts(tmp_path, monkeypatch, part):
    """What is looked for may lie in several of them, and at the very end."""
    monkeypatch.setattr(library, "_PART", part)
    path = tmp_path / "file"
    for before in range(20):
        path.write_bytes(b"x" * before + b"\0name\0")
        with path.open("rb", buffering=0) as file:
            assert library._contains(file, b"\0name\0")
        with path.open("rb", buffering=0) as file:
            assert not library._contains(file, b"\0names\0")


@pytest.mark.parametrize("whose", ["file", "folder"])
def test_a_library_that_others_can_write_is_passed_over(folder, capfd, whose):
    for tier in allowed_tiers():
        built = ROOT / "build" / "lib" / library_name(tier)
        (folder / built.name).write_bytes(built.read_bytes())
        if whose == "file":
            (folder / built.name).chmod(0o666)
    if whose == "folder":
        folder.chmod(0o777)
    assert not KernelLibrary().identity.count(" ")  # that of no file
    assert "others can write to" in capfd.readouterr().err


FOREIGN = """
#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open("ran", O_CREAT, 0600); }
"""


def test_nothing_runs_of_a_library_of_another_version(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "foreign.c").write_text(FOREIGN)
    for tier in allowed_tiers():
        subprocess.run(
            ["cc", "-shared", "-fPIC", "foreign.c", "-o", library_name(tier)], check=True
        )
    assert not KernelLibrary().identity.count(" ")  # that of no file
    assert not (folder / "ran").exists()


def test_tiers_of_the_processor():
    """All are of this architecture, best first; the first one is what C programs are told."""
    tiers = library.processor_tiers()
    assert tiers == [tier for tier in NATIVE_TIERS if tier in tiers]
    best = library.c_function("nnapi_shim_getProcessorTier", "const char *(*)(void)")
    assert address.text(best()).decode() == tiers[0]


@pytest.mark.skipif(platform_machine() != "x86_64", reason="tiers are those of x86-64")
@pytest.mark.parametrize(
    ("limit", "allowed", "said"),
    [
        ("", ["v4", "v3", "v2"], ""),
        # as on AVX-512 without AVX-VNNI: the best tier below it
        ("v3vnni", ["v3", "v2"], "is 'v3vnni', which is not used; this processor has v4, v3, v2"),
        ("v3", ["v3", "v2"], ""),
        ("portable", ["portable"], ""),
    ],
)
def test_a_limit_that_the_processor_lacks(monkeypatch, capfd, limit, allowed, said):
    monkeypatch.setattr(settings, "_refused", {})
    monkeypatch.setattr(library, "processor_tiers", lambda: ["v4", "v3", "v2"])
    monkeypatch.setenv("NNAPI_SHIM_TIER", limit)
    assert allowed_tiers() == allowed
    error = capfd.readouterr().err
    assert said in error and bool(said) == bool(error)


@pytest.mark.parametrize("tier", ["bogus", "v5", "V3", "generic"])
def test_a_tier_that_does_not_exist(monkeypatch, capfd, tier):
    if tier in library.processor_tiers():
        pytest.skip(f"{tier} is a tier of this processor")
    monkeypatch.setenv("NNAPI_SHIM_TIER", tier)
    assert KernelLibrary().tier == library.processor_tiers()[0]
    assert f"NNAPI_SHIM_TIER is '{tier}', which is not used; allowed are" in capfd.readouterr().err
