"""The wheel: for any Linux, any CPython from 3.10 on, with all that one compiles with."""

import importlib
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor, TimeoutError

import pytest

import build_methods
from nnapi_shim.drivers.cpu.isa import DEFAULT_TIERS
from tests.install.trees import ROOT, finished
from tests.native.elf import imported, lacks

pytestmark = pytest.mark.installed


@pytest.fixture(scope="session")
def files(wheel):
    """Name -> content."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_tag(wheel):
    assert re.search(r"-cp310-abi3-manylinux_2_\d+_\w+\.whl$", wheel.name)
    report = finished(sys.executable, "-m", "auditwheel", "show", wheel)
    tag = re.search(r'platform tag: "manylinux_2_(\d+)_', report.replace("\n", " "))
    assert int(tag[1]) <= 28, report


def test_what_is_in_it(files):
    libraries = {name.rpartition("/")[2] for name in files if name.startswith("nnapi_shim/lib/")}
    assert libraries == {
        *("libneuralnetworks.so", "libneuralnetworks.location", "nnapi_shim_callbacks.abi3.so"),
        *("libandroid.so", "liblog.so", "libnativewindow.so"),
        *(f"libnnapi_kernels_{tier}.so" for tier in DEFAULT_TIERS),
        *("neuralnetworks.pc", "libandroid.pc", "liblog.pc", "libnativewindow.pc"),
        *("NeuralNetworksConfig.cmake", "NeuralNetworksConfigVersion.cmake"),
        "AndroidProject.cmake",
    }
    headers = {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.h")}
    assert {name.partition("/")[2] for name in files if name.endswith(".h")} == headers
    assert "nnapi_shim/py.typed" in files
    methods = {name for name in files if name.startswith("nnapi_shim/api/methods/")}
    assert methods == {f"nnapi_shim/api/methods/{name}" for name in build_methods.files()}
    assert not [name for name in files if name.endswith((".c", ".o", ".pyc"))]


def test_no_path_of_the_build_machine(files):
    paths = (str(ROOT).encode(), sys.base_prefix.encode(), sys.prefix.encode())
    actual = [name for name, data in files.items() if any(path in data for path in paths)]
    assert actual == []


def test_libraries_are_hardened(files, tmp_path):
    """The tarball and the Debian packages hold the same files."""
    names = [name for name in files if name.endswith(".so")]
    assert len(names) == 5 + len(DEFAULT_TIERS)
    for name in names:
        path = tmp_path / name.rpartition("/")[2]
        path.write_bytes(files[name])
        assert (path.name, lacks(path)) == (path.name, [])
        if "kernels" not in name and "nativewindow" not in name:
            assert "__stack_chk_fail" in imported(path)
        if path.name in ("libneuralnetworks.so", "libandroid.so", "liblog.so"):
            assert [symbol for symbol in imported(path) if symbol.endswith("_chk")]


def test_requirements(files):
    (metadata,) = (data.decode() for name, data in files.items() if name.endswith("/METADATA"))
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    plain = [line for line in required if "extra ==" not in line]
    assert {re.split(r"[ ><=]", line.partition(": ")[2])[0] for line in plain} == {"cffi", "numpy"}
    assert not [line for line in plain if "==" in line]
    assert any(line.startswith("Requires-Dist: numba") and "jit" in line for line in required)


def test_one_build_at_a_time(tmp_path, monkeypatch):
    """Of the builds of a checkout, which share a folder; the lock goes with whoever has it."""
    monkeypatch.syspath_prepend(str(ROOT))
    hatch_build = importlib.import_module("hatch_build")
    first = hatch_build.waited_for(tmp_path / "wheel")
    with ThreadPoolExecutor() as threads:
        second = threads.submit(hatch_build.waited_for, tmp_path / "wheel")
        with pytest.raises(TimeoutError):
            second.result(0.2)
        first.close()
        second.result().close()


def test_what_python_says(environment):
    tree, python = environment
    code = (
        "import nnapi_shim as n, os; print(n.__version__);"
        "print(os.path.exists(n.get_include() + '/android/NeuralNetworks.h'));"
        "print(os.path.exists(n.get_library_dir() + '/libneuralnetworks.so'))"
    )
    assert finished(python, "-c", code, cwd="/").split()[1:] == ["True", "True"]
    size = sum(path.stat().st_size for path in tree.prefix.rglob("*") if path.is_file())
    print(f"nnapi_shim installed: {size / 1e6:.1f} MB")


def test_an_exact_version_of_cffi_is_not_needed(environment):
    """The half that cffi made loads with an older cffi, too: no pin is needed."""
    _, python = environment
    old = "1.15.1" if sys.version_info < (3, 12) else "1.16.0"
    result = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--quiet", "--python", python),
            *("install", "--only-binary", ":all:", f"cffi=={old}"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    finished(python, "-c", "from nnapi_shim import capi; assert capi.lib", cwd="/")
    code = (
        "import numpy as np, nnapi_shim as n, nnapi_shim.capi as c\n"
        "count = c.ffi.new('uint32_t *'); assert c.ANeuralNetworks_getDeviceCount(count) == 0\n"
        "assert count[0] == 2"
    )
    finished(python, "-c", code, cwd="/")
