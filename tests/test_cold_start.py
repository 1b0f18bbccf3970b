"""What a program pays for its first result: neither numpy nor numba, and little else of Python.

The client (cold_start.c) runs once as a program, whose mapped files tell which packages with C code
are there, and once as a library within Python, which tells all modules. Compiling a kernel that was
not built is switched off: `make kernels` comes first.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"
SOURCE = Path(__file__).with_name("cold_start.c")

HEAVY = {"numpy", "numba", "llvmlite", "cffi", "pycparser"}
"""Packages that a program with built kernels does not need."""

SLOW = HEAVY | {
    "argparse",
    "ast",
    "asyncio",
    "concurrent",
    "ctypes",
    "dataclasses",
    "decimal",
    "difflib",
    "dis",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "pickle",
    "random",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "traceback",
    "unittest",
    "urllib",
}
if sys.version_info < (3, 14):  # hints.py says what is different since
    SLOW |= {"contextlib", "re", "typing"}
"""Those, and the modules of Python itself that take long to import."""

LIBRARIES = {"_blake2", "fcntl", "mmap"}
"""Modules of Python that may be libraries: each is a file to find, to map and to link."""

MAPPED = ("_multiarray_umath", "llvmlite", "libLLVM", "openblas", "/numba/", "_ctypes")

WITHIN_PYTHON = """
import ctypes, sys

before = set(sys.modules)
client = ctypes.CDLL(sys.argv[1])
stages = {}
for stage in ("count_devices", "compute_once"):
    line = getattr(client, stage)()
    assert line == 0, f"cold_start.c:{line} failed"
    stages[stage] = sorted(set(sys.modules) - before)
print(stages)
"""


def environment() -> dict[str, str]:
    """An empty one, but for where kernels are and that none may be compiled."""
    kept = {name: value for name, value in os.environ.items() if name == "NNAPI_SHIM_KERNELS"}
    return {"NNAPI_SHIM_JIT": "off"} | kept


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles the client as a program or as a library."""
    assert LIBRARY.exists(), f"{LIBRARY} is missing: run make"
    folder = tmp_path_factory.mktemp("cold_start")

    def compile_client(name: str, *options: str) -> Path:
        command = ["cc", "-std=c99", "-Wall", "-Wextra", *options, f"-I{ROOT / 'include'}"]
        command += [str(SOURCE), "-o", str(folder / name), str(LIBRARY)]
        subprocess.run([*command, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
        return folder / name

    return compile_client


def run(*command: str | Path) -> str:
    """What a program prints on stdout when it runs well and silently."""
    result = subprocess.run(
        command,
        env=environment(),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def stages(compiled: Callable[..., Path]) -> dict[str, list[str]]:
    """Stage -> modules loaded by then, beside those that a bare Python with ctypes has."""
    client = compiled("libclient.so", "-shared", "-fPIC")
    # -S: no site-packages, -I: no environment; the library finds what it needs by itself.
    printed = run(sys.executable, "-I", "-S", "-c", WITHIN_PYTHON, client)
    return ast.literal_eval(printed)


def needless(modules: list[str]) -> list[str]:
    """The modules that are, or belong to, one of those that are not to be loaded."""
    late = SLOW | LIBRARIES
    return [m for m in modules if any(m == name or m.startswith(f"{name}.") for name in late)]


@pytest.mark.parametrize("stage", ["count_devices", "compute_once"])
def test_modules(stages: dict[str, list[str]], stage: str) -> None:
    assert needless(stages[stage]) == []


def test_counting_devices_loads_no_operation(stages: dict[str, list[str]]) -> None:
    """The families of operations, and what imports numpy, wait until a model needs them."""
    late = ("nnapi_shim.operations.", "nnapi_shim.drivers.reference.prepared_model")
    shared = {
        f"nnapi_shim.operations.{name}"
        for name in ("bound_operand", "declare", "resolve", "trampoline")
    }
    early = [m for m in stages["count_devices"] if m.startswith(late) and m not in shared]
    assert early == []


def test_caching_is_not_loaded(stages: dict[str, list[str]]) -> None:
    """A program that has not asked for it does not need it."""
    parts = ("nnapi_shim.drivers.cpu.cache.cache", "nnapi_shim.drivers.cpu.program.digest")
    assert [m for m in stages["compute_once"] if m.startswith(parts)] == []


def test_the_face_is_not_loaded(stages: dict[str, list[str]]) -> None:
    faces = ("nnapi_shim.api", "nnapi_shim.cli", "nnapi_shim.capi")
    assert [m for m in stages["compute_once"] if m.startswith(faces)] == []


def test_mapped_files(compiled: Callable[..., Path]) -> None:
    lines = run(compiled("client")).splitlines()
    assert any("libnnapi_kernels_" in line for line in lines)
    assert [line for line in lines if any(name in line for name in MAPPED)] == []


def test_modules_of_a_program(compiled: Callable[..., Path]) -> None:
    """The Python that the library starts in a program has even less than a bare one."""
    modules = run(compiled("client"), "modules").split()
    assert "nnapi_shim.abi" in modules
    assert needless(modules) == []
    if sys.version_info < (3, 14):
        slow = {"collections", "enum", "functools", "importlib", "warnings"}
        assert slow & set(modules) == set()


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, nnapi_shim; print([m for m in sys.modules if m.startswith('nnapi_shim.')])"
    command = [sys.executable, "-S", "-c", code]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed == "['nnapi_shim.savers', 'nnapi_shim.version']\n"
