"""`nnapi-shim config`, in a checkout and below a prefix."""

import subprocess
from pathlib import Path

import pytest

from nnapi_shim import folders
from tests.cli.command import Command

PROGRAM = """
#include <android/NeuralNetworks.h>
int main(void) { ANeuralNetworksModel *model = 0; return ANeuralNetworksModel_create(&model); }
"""


def test_compiles_a_program(command: Command, tmp_path: Path) -> None:
    flags = command.succeeds("config", "--cflags", "--libs").out.split()
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "program.c", *flags, "-o", "program"], cwd=tmp_path, check=True)
    libdir = command.succeeds("config", "--libdir").out.strip()
    subprocess.run([tmp_path / "program"], env={"LD_LIBRARY_PATH": libdir}, check=True)


def test_folders_are_there(command: Command) -> None:
    result = command.succeeds("config", "--json").json
    for name in ("libdir", "includedir", "cmakedir", "pkgconfigdir"):
        assert Path(result[name]).is_dir()
    assert Path(result["cmakedir"], "NeuralNetworksConfig.cmake").exists()


def test_below_a_prefix(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that all programs see, also where its name has a space."""
    public = tmp_path / "my prefix" / "lib"
    private = public / "nnapi-shim" / "nnapi_shim" / "lib"
    for folder in (private, public):
        (folder / "pkgconfig").mkdir(parents=True)
    (private / folders.LIBRARY).touch()
    (public / folders.LIBRARY).symlink_to(private / folders.LIBRARY)
    (public / "pkgconfig" / "neuralnetworks.pc").write_text(
        "libdir=${pcfiledir}/..\nincludedir=${libdir}/../include\n\nName: neuralnetworks\n"
        "Cflags: -I${includedir}\nLibs: -L${libdir} -lneuralnetworks\n"
    )
    monkeypatch.setattr(folders, "get_library_dir", lambda: str(private))
    result = command.succeeds("config", "--json").json
    prefix = tmp_path / "my prefix"
    assert result["libdir"] == str(prefix / "lib")
    assert result["includedir"] == str(prefix / "include")
    assert result["cflags"] == f"'-I{prefix}/include'"
    assert result["libs"] == f"'-L{prefix}/lib' -lneuralnetworks"


def test_nothing_built(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(folders, "library_folders", lambda: [str(tmp_path)])
    assert "run `make`" in command.refuses("config", "--libs")
