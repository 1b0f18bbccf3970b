"""What a build needs is looked for before the long part, and told of in one line each."""

import os
import platform
import sysconfig
from collections import namedtuple
from types import SimpleNamespace

import pytest

import build_ffi
import check_build
from nnapi_shim import folders


def test_nothing_is_missing_here(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["check_build.py", str(tmp_path / "build" / "lib")])
    assert check_build.main() == 0
    assert capsys.readouterr() == ("", "")


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(check_build, "OLDEST", (4, 0))
    (line,) = check_build.missing_python()
    assert "CPython 4.0 or newer is needed" in line


def test_headers(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    (line,) = check_build.missing_python()
    assert line.startswith("/nowhere/Python.h is missing") and "python3-dev" in line


@pytest.mark.parametrize(
    ("command", "said"), [("no-such-cc -O2", "no compiler no-such-cc"), ("false", "cannot compile")]
)
def test_a_compiler(monkeypatch, command, said):
    monkeypatch.setenv("CC", command)
    (line,) = check_build.missing_compiler("CC", "cc", ".c")
    assert said in line and "apt install gcc" in line


def test_a_compiler_for_another_architecture_is_in_another_package(monkeypatch):
    monkeypatch.setenv("ARCH", "ppc64le")
    monkeypatch.setenv("CC", "no-such-cc")
    (line,) = check_build.missing_compiler("CC", "cc", ".c")
    assert "apt install gcc-powerpc64le-linux-gnu)" in line and "libc6-dev" not in line


def test_a_compiler_has_to_compile_for_the_architecture(monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="s390x"))
    machine = platform.machine()
    other = "riscv64" if machine != "riscv64" else "x86_64"
    assert check_build.wrong_compiler(machine, "CC", ["cc"]) is None
    assert check_build.wrong_compiler(other, "CC", ["cc"]).startswith(
        f"CC=cc compiles for {machine}, not for {other}: name one for {other} with CC"
    )
    line = check_build.wrong_compiler("aarch64", "CXX", ["no-such-c++", "-O2"])
    assert line.startswith("there is no compiler no-such-c++: name one for aarch64 with CXX")
    assert "apt install g++-aarch64-linux-gnu)" in line
    assert "cannot compile an empty file" in check_build.wrong_compiler(other, "CC", ["false"])
    assert check_build.wrong_compiler("s390x", "CC", ["cc"]) is None  # its ELF number is not known


def test_names_of_architectures():
    line = check_build.wrong_compiler("arm64", "CC", ["cc"])
    assert line == "the architecture arm64 is called aarch64: ARCH=aarch64"
    line = check_build.wrong_compiler("nonsense", "CC", ["cc"])
    assert line.startswith("there is no architecture nonsense: choose ARCH from x86_64, aarch64, ")


def test_nothing_is_built_with_a_wrong_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(build_ffi, "MACHINE", "nonsense")
    with pytest.raises(SystemExit, match="there is no architecture nonsense"):
        build_ffi.build(tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


def test_a_compiler_that_fails_is_one_line():
    with pytest.raises(SystemExit, match=r"^build_ffi.py: false failed with 1 \(see above\)$"):
        build_ffi.run_compiler(["false"])


def test_a_place(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    (line,) = check_build.missing_place(tmp_path / "file" / "lib")
    assert line.startswith(f"{tmp_path / 'file'} cannot be written")
    monkeypatch.setattr("shutil.disk_usage", lambda location: namedtuple("Usage", "free")(5 << 20))
    (line,) = check_build.missing_place(tmp_path)
    assert "has 5 MB free" in line


def test_architectures_are_those_that_the_library_knows():
    """check_build.py runs before there is an environment, so it has the numbers, too."""
    assert {name: at for at, name in folders._ARCHITECTURES.items()} == check_build.ELF_MACHINES
