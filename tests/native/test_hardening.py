"""Everything that is built has the flags that make it harder to attack (native/hardening/)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.elf import imported, lacks, producers

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = sorted((ROOT / "build" / "lib").glob("*.so"))
OF_C = [path for path in LIBRARIES if "kernels" not in path.name]
PROGRAMS = [
    path
    for path in sorted((ROOT / "build" / "c_examples").glob("*"))
    if path.is_file() and not path.suffix
]


def name(path: Path) -> str:
    return path.name


def test_something_is_looked_at():
    assert {"libneuralnetworks.so", "nnapi_shim_callbacks.abi3.so"} <= {p.name for p in OF_C}
    assert {"libandroid.so", "liblog.so", "libnativewindow.so"} <= {p.name for p in OF_C}
    assert {path.name for path in LIBRARIES} > {path.name for path in OF_C}
    assert len(PROGRAMS) > 1


@pytest.mark.parametrize("path", LIBRARIES, ids=name)
def test_a_library(path):
    assert lacks(path) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_a_program(path):
    start = {"_init", "_fini", "_start", "DT_INIT", "DT_FINI"}  # those of the C library
    assert [line for line in lacks(path, marked=False) if line.split()[0] not in start] == []


@pytest.mark.parametrize("path", OF_C + PROGRAMS, ids=name)
def test_flags_of_every_c_file(path):
    """Where there is debug information, it has the flags, of every file."""
    messages = producers(path) - {line for line in producers(path) if "GNU AS" in line}
    if path in OF_C and shutil.which("gcc"):
        assert messages
    expected = ("-fstack-protector-strong", "-fcf-protection", "-O2")
    assert [
        line for line in messages if "GNU C" in line and not all(f in line for f in expected)
    ] == []


@pytest.mark.parametrize("path", [p for p in OF_C if "nativewindow" not in p.name], ids=name)
def test_arrays_on_the_stack_are_guarded(path):
    assert "__stack_chk_fail" in imported(path)


@pytest.mark.parametrize("library", ["libneuralnetworks", "libandroid", "liblog"])
def test_lengths_are_looked_at_where_the_compiler_knows_them(library):
    names = imported(ROOT / "build" / "lib" / f"{library}.so")
    assert [name for name in names if name.endswith("_chk")], names


def test_what_is_missing_is_seen(tmp_path):
    """The checks themselves: a library that has none of it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = tmp_path / "bad.c"
    source.write_text("int elsewhere(void); int bad(void) { return elsewhere(); }\n")
    flags = ["-shared", "-fPIC", "-fcf-protection=none", "-Wl,-z,execstack,-z,norelro,-z,lazy"]
    flags += ["-Wl,-rpath,/nowhere,-z,noseparate-code", "-Wl,--no-warn-execstack"]
    command = ["gcc", *flags, source, "-o", tmp_path / "bad.so"]
    subprocess.run(command, check=True)
    assert set(lacks(tmp_path / "bad.so")) >= {
        "no RELRO",
        "an executable stack",
        "functions are bound late: their table stays writable",
        "DT_RUNPATH",
        "code shares pages of the file with data",
        "elsewhere was found nowhere when it was linked",
        "bad does not begin with endbr64",
        "not marked for CET: 3",
    }
