"""One wheel serves every Python: a C program runs with the one that the wheel is installed into."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.trees import PROJECTS, finished, install_wheel, make_environment, runs
from tests.waiting import HANGS_S

pytestmark = pytest.mark.slow


def pythons():
    """Every CPython from 3.10 on of this machine, each version once: name -> executable."""
    actual = {}
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    folders += [*Path.home().glob(".pyenv/versions/*/bin"), Path("/usr/bin")]
    for folder in folders:
        for path in sorted(folder.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and os.access(path, os.X_OK):
                code = "import sys; print(*sys.version_info[:2], sys.base_prefix)"
                told = subprocess.run([path, "-c", code], capture_output=True, text=True)
                words = told.stdout.split()
                if told.returncode == 0 and int(words[1]) >= 10:
                    actual.setdefault(f"{words[0]}.{words[1]} in {words[2]}", path)
    return actual


PYTHONS = pythons()


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """A C program, linked to the library in the wheel, that finds it by LD_LIBRARY_PATH."""
    folder = tmp_path_factory.mktemp("program")
    shutil.unpack_archive(wheel, folder / "wheel", "zip")
    package = folder / "wheel" / "nnapi_shim"
    flags = (f"-I{package / 'include'}", f"-L{package / 'lib'}", "-lneuralnetworks")
    finished("cc", PROJECTS / "add.c", *flags, "-o", folder / "add")
    return folder / "add"


def has_venv(python):
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def has_shared_library(python):
    code = "import sysconfig; print(sysconfig.get_config_var('Py_ENABLE_SHARED'))"
    return finished(python, "-c", code).strip() == "1"


@pytest.mark.installed
@pytest.mark.parametrize("name", PYTHONS)
def test_in_an_environment(name, wheel, program, tmp_path):
    python = PYTHONS[name]
    if not has_venv(python) or not has_shared_library(python):
        pytest.skip("without venv or a shared library")
    environment = tmp_path / "env"
    tree = install_wheel(wheel, make_environment(environment, python))
    runs(program, tree.libraries)
    # nnapi-reference, and with it numpy.
    env = {"LD_LIBRARY_PATH": str(tree.libraries), "DEBUG_NN_CPUONLY": "1"}
    assert subprocess.check_output([program], env=env, text=True) == "3.75\n"
    # Moved: scripts of a virtual environment break, the library does not.
    moved = tmp_path / "moved"
    environment.rename(moved)
    runs(program, moved / tree.libraries.relative_to(environment))


@pytest.mark.installed
@pytest.mark.parametrize("name", PYTHONS)
def test_a_host_that_is_python_uses_its_own(name, wheel, environment, tmp_path):
    """The library of one Python's environment, opened in another Python that has cffi."""
    tree, _ = environment
    python = PYTHONS[name]
    if not has_venv(python):
        pytest.skip("without venv")
    own = make_environment(tmp_path / "env", python)
    code = (
        "import ctypes\n"
        f"library = ctypes.CDLL({str(tree.libraries / 'libneuralnetworks.so')!r})\n"
        "count = ctypes.c_uint32()\n"
        "print(library.ANeuralNetworks_getDeviceCount(ctypes.byref(count)), count.value)\n"
    )
    same = finished(own, "-c", "import sys; print(*sys.version_info[:2])").split()
    if tuple(map(int, same)) != sys.version_info[:2]:
        without = subprocess.run([own, "-c", code], capture_output=True, text=True, cwd="/")
        assert without.stdout == "5 0\n"
        assert without.stderr.count("\n") == 1
        assert "cannot import from the package cffi" in without.stderr
        assert f"for Python {same[0]}.{same[1]}, which runs this program" in without.stderr
        assert "pip install cffi numpy" in without.stderr
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", own)
    finished(*pip, "install", "--only-binary", ":all:", "cffi")
    assert finished(own, "-c", code, cwd="/") == "0 2\n"


def copied_wheel(wheel, folder):
    """The wheel unpacked, as `pip install --target` leaves it, without anything else."""
    shutil.unpack_archive(wheel, folder, "zip")
    return folder / "nnapi_shim" / "lib"


def told(program, libraries, **env):
    """The one line that a program without a Python gets."""
    env = {"LD_LIBRARY_PATH": str(libraries), **env}
    result = subprocess.run(
        [program], env=env, capture_output=True, text=True, cwd="/", timeout=HANGS_S
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1, result.stderr
    assert "cannot open shared object file" not in result.stderr
    return result.stderr


def test_nothing_tells_the_version(wheel, program, tmp_path):
    libraries = copied_wheel(wheel, tmp_path / "somewhere")
    assert "tells which Python it is installed for" in told(program, libraries)


def test_a_python_without_shared_library(wheel, program, tmp_path):
    packages = tmp_path / "lib" / "python3.29" / "site-packages"
    message = told(program, copied_wheel(wheel, packages))
    assert "has no shared library libpython3.29.so.1.0" in message
    assert "apt install libpython3.29" in message


def test_an_environment_whose_python_is_gone(wheel, program, tmp_path):
    environment = tmp_path / "env"
    libraries = copied_wheel(wheel, environment / "lib" / "python3.29" / "site-packages")
    (environment / "pyvenv.cfg").write_text("home = /nowhere/bin\n")
    assert "which is not there any more; make the environment anew" in told(program, libraries)


@pytest.mark.parametrize("kind", ["library", "executable", "folder"])
def test_a_python_that_the_user_names(kind, wheel, environment, program, tmp_path):
    tree, python = environment
    packages = tmp_path / "target"
    libraries = copied_wheel(wheel, packages)
    site = tree.prefix.parent
    for path in site.glob("_cffi_backend*"):
        shutil.copy(path, packages)
    for path in packages.glob("_cffi_backend*"):  # a name that tells no version
        path.rename(packages / "_cffi_backend.so")
    from build_ffi import libpython

    named = {"library": libpython(), "executable": python, "folder": python.parents[1]}[kind]
    env = {"LD_LIBRARY_PATH": str(libraries), "NNAPI_SHIM_PYTHON": str(named)}
    assert subprocess.check_output([program], env=env, text=True, cwd="/") == "3.75\n"


def test_a_python_that_is_not_there(wheel, program, tmp_path):
    libraries = copied_wheel(wheel, tmp_path / "target")
    message = told(program, libraries, NNAPI_SHIM_PYTHON="/nowhere/python3")
    assert "NNAPI_SHIM_PYTHON is /nowhere/python3, which is not there" in message


def test_a_file_that_is_no_library(wheel, program, tmp_path):
    libraries = copied_wheel(wheel, tmp_path / "target")
    wrong = tmp_path / "libpython3.11.so.1.0"
    wrong.write_text("not ELF")
    message = told(program, libraries, NNAPI_SHIM_PYTHON=str(wrong))
    assert f"{wrong} cannot be used" in message
