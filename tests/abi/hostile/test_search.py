"""The library takes code from where it was built or moved to, not from where others can write."""

import os
import shutil
import subprocess
import sysconfig

import pytest

import build_ffi
import nnapi_shim

MARK = "open({!r}, 'w').close()\n"
OTHER_HALF = """
#include <fcntl.h>
__attribute__((constructor)) static void run(void) {{ open("{path}", O_CREAT, 0600); }}
"""
NOBODY = 65534


@pytest.fixture
def ran(tmp_path):
    """The file that a stranger's code makes when it is run."""
    return tmp_path / "ran"


@pytest.fixture
def position(tmp_path, ran):
    """A folder with a stranger's code in it, under the names that are looked for."""
    folder = tmp_path / "place"
    package = folder / "nnapi_shim"
    package.mkdir(parents=True)
    version = f"__version__ = {nnapi_shim.__version__!r}\n"
    (package / "__init__.py").write_text(MARK.format(str(ran)) + version)
    (folder / "_cffi_backend.py").write_text(MARK.format(str(ran)))
    return folder


def put(library, folder, *, location=None, half=True):
    """The library in a folder, with its location file or with this text in it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, folder)
    if half:
        shutil.copy(library.with_name(build_ffi.CALLBACKS_FILE), folder)
    text = library.with_name(build_ffi.LOCATION).read_text() if location is None else location
    (folder / build_ffi.LOCATION).write_text(text)
    return folder / library.name


@pytest.fixture
def call(compile_c, run_bare):
    def run(library):
        return run_bare(compile_c("dlopen_local"), library)

    return run


def test_a_package_that_happens_to_lie_two_folders_above_is_not_taken(library, position, ran, call):
    result = call(put(library, position / "a" / "b"))
    assert (result.returncode, result.stderr) == (0, "")
    assert not ran.exists()


def test_a_place_that_others_can_write_to_is_passed_over(library, position, ran, call):
    position.chmod(0o1777)  # as /tmp
    put(library, position / "build" / "lib")  # what is missing there can be copied to it
    result = call(put(library, position / "a" / "b"))
    assert result.returncode == 0, result.stderr
    assert not ran.exists()
    assert result.stderr == (
        f"libneuralnetworks: {position} is passed over: others can write to it (mode 1777)\n"
    )


@pytest.mark.parametrize("below", [".", "nnapi_shim", "nnapi_shim/__init__.py"])
def test_without_another_place_it_says_why(library, position, ran, call, below):
    (position / below).chmod(0o777)
    result = call(put(library, position / "a" / "b", location="path=../..\n"))
    assert result.returncode == 1
    assert not ran.exists()
    first, second, *_ = result.stderr.splitlines()
    assert "others can write to it (mode 0777)" in first
    assert str((position / below).resolve()) in first
    assert "there is no Python package nnapi_shim" in second


def test_modules_are_not_taken_from_where_others_can_write(library, position, ran, call, tmp_path):
    (position / "nnapi_shim" / "__init__.py").unlink()
    position.chmod(0o777)
    folders = [build_ffi.ROOT, position, sysconfig.get_path("platlib")]
    paths = "".join(f"path={os.path.relpath(folder, tmp_path / 'lib')}\n" for folder in folders)
    result = call(put(library, tmp_path / "lib", location=paths))
    assert result.returncode == 0, result.stderr
    assert not ran.exists()
    assert f"{position} is passed over" in result.stderr


def test_the_half_of_another_build_does_not_run(library, ran, call, tmp_path):
    copy = put(library, tmp_path / "lib", half=False)
    source = tmp_path / "half.c"
    source.write_text(OTHER_HALF.format(path=ran))
    half = copy.with_name(build_ffi.CALLBACKS_FILE)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", half], check=True)
    result = call(copy)  # takes that beside the original
    assert (result.returncode, result.stderr) == (0, "")
    assert not ran.exists()


def test_the_only_half_is_of_another_build(library, ran, call, tmp_path):
    copy = put(library, tmp_path / "lib", half=False, location="path=../package\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "nnapi_shim").symlink_to(build_ffi.ROOT / "nnapi_shim")
    source = tmp_path / "half.c"
    source.write_text(OTHER_HALF.format(path=ran))
    half = copy.with_name(build_ffi.CALLBACKS_FILE)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", half], check=True)
    result = call(copy)
    assert result.returncode == 1
    assert f"{half} is not of the same build as the library" in result.stderr
    assert not ran.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("name", [build_ffi.LOCATION, build_ffi.CALLBACKS_FILE])
def test_a_file_of_a_stranger_beside_the_library(library, position, ran, call, tmp_path, name):
    copy = put(library, tmp_path / "lib")
    if name == build_ffi.LOCATION:
        copy.with_name(name).write_text("path=../place\n")
    os.chown(copy.with_name(name), NOBODY, NOBODY)
    result = call(copy)
    assert not ran.exists()
    assert f"{copy.with_name(name)} is passed over: it belongs to user {NOBODY}" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("ours", ["lib", "common/lib"])
def test_a_strangers_folder_below_one_that_all_write_to(
    library, position, ran, call, tmp_path, ours
):
    """As when a build in /tmp is gone, and a stranger makes a folder of that name."""
    common = tmp_path / "common"
    common.mkdir()
    common.chmod(0o1777)
    theirs = position.rename(common / "place")
    os.chown(theirs, NOBODY, NOBODY)
    folder = tmp_path / ours
    location = f"path={os.path.relpath(theirs, folder)}\norigin={folder}\n"
    result = call(put(library, folder, location=location))
    assert result.returncode == 1
    assert not ran.exists()
    assert f"{theirs} is passed over: it belongs to user {NOBODY}" in result.stderr


def test_a_python_beside_the_library_that_others_can_write(library, position, ran, call, tmp_path):
    """What runs before the package is looked at as the package is."""
    source = tmp_path / "python.c"
    source.write_text(OTHER_HALF.format(path=ran))
    python = position / "libpython3.11.so"
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", python], check=True)
    position.chmod(0o777)
    original = library.with_name(build_ffi.LOCATION).read_text()
    paths = [build_ffi.ROOT, sysconfig.get_path("platlib")]
    location = "".join(f"path={os.path.relpath(path, tmp_path / 'lib')}\n" for path in paths)
    assert "python=/" in original
    copy = put(library, tmp_path / "lib", location=location + f"python=../place/{python.name}\n")
    result = call(copy)
    assert not ran.exists()
    assert f"{position} is passed over: others can write to it" in result.stderr


def test_paths_that_are_too_long_are_told(library, call, tmp_path):
    long = "x/" * 2045
    result = call(put(library, tmp_path / "lib", location=f"path={long}\n"))
    assert result.returncode == 1
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("libneural"))
    assert "there is no Python package nnapi_shim" in line


def test_a_path_that_is_too_long_is_not_taken_in_part(library, ran, call, tmp_path):
    """What is left of the name of a libpython may be the name of another file."""
    folder = tmp_path / "lib"
    paths = [build_ffi.ROOT, sysconfig.get_path("platlib")]
    location = "".join(f"path={os.path.relpath(path, folder)}\n" for path in paths)
    source = tmp_path / "python.c"
    source.write_text(OTHER_HALF.format(path=ran))
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / "python.so"], check=True)
    name = "../python.so"
    dots = 4095 - len(f"{folder.resolve()}/") - len(name)
    python = "./" * (dots // 2) + "/" * (dots % 2) + name + ".of_another_name"
    result = call(put(library, folder, location=f"{location}python={python}\n"))
    assert (result.returncode, result.stderr) == (0, "")
    assert not ran.exists()
