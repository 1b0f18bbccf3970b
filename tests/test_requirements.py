"""What a run needs: neither numpy nor numba on nnapi-cpu, and words for who lacks one of them.

The client (cold_start.c) is a library in a Python in which these packages cannot be imported.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim.extras import install_command
from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"

PRELUDE = """
import ctypes, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
STAGES = "client = ctypes.CDLL(sys.argv[1])\nprint(client.count_devices(), client.compute_once())"


def compiled(folder, *options):
    assert LIBRARY.exists(), f"{LIBRARY} is missing: run make"
    path = folder / "libclient.so"
    command = ["cc", "-shared", "-fPIC", *options, f"-I{ROOT / 'include'}"]
    command += [ROOT / "tests" / "cold_start.c", "-o", path, LIBRARY]
    subprocess.run([*command, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    return path


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("requirements"))


def run(code, *arguments, **environment):
    """Python code without the packages: what it prints, and its lines on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *arguments],
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    return done.stdout.strip(), done.stderr.splitlines()


def test_nnapi_cpu_runs_without_them(client):
    assert run(STAGES, client) == ("0 0", [])


def test_nnapi_reference_is_listed_and_says_what_it_needs(tmp_path):
    client = compiled(tmp_path, '-DDEVICE="nnapi-reference"')
    printed, (line,) = run(STAGES, client)
    counted, computed = printed.split()
    assert counted == "0" and computed != "0"
    start = "nnapi_shim error: ANeuralNetworksCompilation_finish: OP_FAILED: "
    assert line.startswith(f"{start}nnapi-reference needs numpy")
    assert "`pip install numpy`" in line


@pytest.mark.parametrize("name", ["Model", "Compilation", "Execution", "lint"])
def test_the_python_face_says_what_it_needs(name):
    code = (
        f"try:\n    from nnapi_shim import {name}\nexcept ImportError as error:\n    print(error)"
    )
    printed, lines = run(code)
    assert printed.startswith(f"nnapi_shim.{name} needs numpy") and "`pip install numpy`" in printed
    assert lines == []


def test_devices_are_listed_without_them():
    printed, lines = run("import nnapi_shim\nprint([d.name for d in nnapi_shim.devices()])")
    assert (printed, lines) == ("['nnapi-cpu', 'nnapi-reference']", [])


def test_a_missing_kernel_without_a_compiler(client, tmp_path):
    only = {"NNAPI_SHIM_KERNELS": str(tmp_path), "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"}
    _, (line,) = run(STAGES, client, **only)
    start = "nnapi_shim error: ANeuralNetworksCompilation_finish: OP_FAILED: kernel "
    assert line.startswith(start) and str(tmp_path) in line
    assert f"`{install_command('jit')}`" in line and "`make kernels`" in line


def test_a_missing_kernel_is_compiled_with_a_line_before(client, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", f"import ctypes, sys\n{STAGES}", client],
        env={"NNAPI_SHIM_KERNELS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert done.stdout == "0 0\n"
    assert line.startswith("nnapi_shim warning: kernel ") and "compiled now" in line
