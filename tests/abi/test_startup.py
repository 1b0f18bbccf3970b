"""The library starts Python wherever it is loaded, and says so when it cannot."""

import importlib.util
import json
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

import build_ffi
import nnapi_shim
from tests.emulation import is_emulated

ROOT = Path(build_ffi.__file__).parent
OP_FAILED = 5


def copy_library(library, folder, location=None):
    """Copies both halves of the library and its location file, or writes another one."""
    folder.mkdir(parents=True)
    shutil.copy(library, folder)
    shutil.copy(library.with_name(build_ffi.CALLBACKS_FILE), folder)
    if location is None:
        shutil.copy(library.with_name(build_ffi.LOCATION), folder)
    else:
        (folder / build_ffi.LOCATION).write_text(location)
    return folder / library.name


def write_package(folder, abi, version=nnapi_shim.__version__):
    """A package nnapi_shim in `folder` whose abi is the given source."""
    package = folder / "nnapi_shim"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (package / "process.py").write_text("def begin(): pass\ndef is_importing(): return 0\n")
    (package / "abi.py").write_text(abi)
    return folder


# A C program.


def test_linked_program(compile_c, run_well):
    run_well(compile_c("first_call"))


def test_hostile_environment(compile_c, run_well, tmp_path):
    write_package(tmp_path, "raise Exception('from PYTHONPATH')")
    env = dict.fromkeys(("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP"), str(tmp_path))
    run_well(compile_c("first_call"), env=env | {"LANG": "tr_TR.UTF-8"}, cwd=tmp_path)


def test_opened_with_local_scope(compile_c, run_well, library):
    run_well(compile_c("dlopen_local"), library)


def test_threads_race_for_the_first_call(compile_c, run_well):
    program = compile_c("race")
    for _ in range(5):
        run_well(program)


@pytest.mark.parametrize("when", ["before", "idle", "busy", "starting", "ending"])
def test_fork(compile_c, run_well, when):
    count = ["200"] if is_emulated() else []  # each takes ten times as long
    run_well(compile_c("forks"), when, *count)


# A program that runs Python.

COUNT = """
count = ctypes.c_uint32()
assert library.ANeuralNetworks_getDeviceCount(ctypes.byref(count)) == 0 and count.value > 0
"""


@pytest.mark.parametrize("loader", ["CDLL", "PyDLL"])
@pytest.mark.parametrize(
    "first",
    [
        "pass",
        "import numpy",
        # Gives PyCapsule_Type a version tag, as `import torch` does; cffi waits for it to go.
        "import datetime; hasattr(datetime.datetime_CAPI, 'anything')",
    ],
)
def test_inside_python(run_python, loader, first):
    run_python(f"{first}\nlibrary = ctypes.{loader}(path)" + COUNT)


def test_inside_python_without_our_environment(run_python):
    code = "import sys\nbefore = list(sys.path)\nlibrary = ctypes.CDLL(path)" + COUNT
    code += "assert sys.path[:len(before)] == before"
    run_python(code, executable=sys._base_executable)


def test_inside_python_whose_bytecode_is_elsewhere(run_python, tmp_path):
    code = f"import sys\nsys.pycache_prefix = {str(tmp_path)!r}  # as PYTHONPYCACHEPREFIX does\n"
    run_python(code + "library = ctypes.CDLL(path)" + COUNT)


@pytest.mark.parametrize("loader", ["CDLL", "PyDLL"])
def test_python_threads_race_for_the_first_call(run_python, loader):
    run_python(f"""
library = ctypes.{loader}(path)
barrier = threading.Barrier(4)
results = []
def call():
    barrier.wait()
    results.append(library.ANeuralNetworks_getDeviceCount(ctypes.byref(ctypes.c_uint32())))
threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert results == [0, 0, 0, 0], results
""")


def test_a_python_without_a_search_path(library, run_bare):
    code = f"import ctypes, sys; del sys.path; library = ctypes.CDLL({str(library)!r})"
    code += "\ncode = library.ANeuralNetworks_getDeviceCount(ctypes.byref(ctypes.c_uint32()))"
    result = run_bare(sys.executable, "-c", code + "\nassert code == 5")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("\n") == 1
    assert "cannot extend sys.path" in result.stderr


def test_python_forks(run_python):
    run_python("""
import os, signal
library = ctypes.CDLL(path)
handler = signal.getsignal(signal.SIGINT)
def call():
    return library.ANeuralNetworks_getDeviceCount(ctypes.byref(ctypes.c_uint32()))
for _ in range(3):
    if (child := os.fork()) == 0:
        signal.alarm(20)
        os._exit(call())
    assert os.waitpid(child, 0)[1] == 0
    assert call() == 0
assert signal.getsignal(signal.SIGINT) is handler
""")


def test_program_ends_python(compile_c, run_bare):
    libpython = build_ffi.libpython()
    program = compile_c(
        "python_host",
        f"-I{sysconfig.get_config_var('INCLUDEPY')}",
        *(libpython, f"-Wl,-rpath,{libpython.parent}"),
    )
    result = run_bare(program)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_another_python_is_refused(compile_c, run_bare):
    result = run_bare(compile_c("other_python", "-rdynamic"))
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert "this program runs Python 3.7.0; 3.10 or newer is needed" in result.stderr


def test_a_libpython_of_another_architecture_is_named_as_such(failure, tmp_path):
    python = tmp_path / "libpython3.11.so.1.0"
    contents = bytearray(build_ffi.libpython().read_bytes())
    contents[18:20] = (8).to_bytes(2, "little")  # MIPS
    python.write_bytes(contents)
    message = failure({"NNAPI_SHIM_PYTHON": str(python)})
    assert f"{python} cannot be used: it is for another architecture" in message


# Where the library is, and where the package is.


def test_through_a_link(compile_c, run_well, library, tmp_path):
    link = tmp_path / "libother.so"
    link.symlink_to(library)
    run_well(compile_c("dlopen_local"), link)


def test_relative_path(compile_c, run_well, library):
    run_well(compile_c("dlopen_local"), f"./{library.name}", cwd=library.parent)


def test_copied_with_its_location_file(compile_c, run_well, library, tmp_path):
    copy = copy_library(library, tmp_path / "lib")
    run_well(compile_c("dlopen_local"), copy)


def test_moved_with_its_environment(compile_c, run_well, library, tmp_path):
    site_packages = tmp_path / "old" / "env" / "site-packages"
    site_packages.mkdir(parents=True)
    shutil.copy(importlib.util.find_spec("_cffi_backend").origin, site_packages)
    shutil.copytree(
        ROOT / "nnapi_shim",
        tmp_path / "old" / "nnapi_shim",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    location = f"path=../..\npath=../../env/site-packages\npython={build_ffi.libpython()}\n"
    copy = copy_library(library, tmp_path / "old" / "build" / "lib", location)
    run_well(compile_c("dlopen_local"), copy)
    (tmp_path / "old").rename(tmp_path / "new")
    run_well(compile_c("dlopen_local"), tmp_path / "new" / "build" / "lib" / copy.name)


def test_a_folder_that_is_called_like_a_python(run_python, library, tmp_path):
    """Only lib/python3.N/site-packages tells a version, not a folder above it."""
    version = f"python{sysconfig.get_python_version()}"
    packages = tmp_path / "python3.29" / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (packages / "nnapi_shim").symlink_to(ROOT / "nnapi_shim")
    location = f"path=../lib/{version}/site-packages\n"
    copy = copy_library(library, tmp_path / "python3.29" / "bin", location)
    run_python(
        f"import sys\nlibrary = ctypes.CDLL({str(copy)!r}){COUNT}"
        f"assert {str(packages)!r} in sys.path, sys.path"
    )


def test_home_instead_of_location_file(compile_c, run_well, library, tmp_path):
    copy = copy_library(library, tmp_path / "lib")
    location = copy.with_name(build_ffi.LOCATION)
    location.write_text(location.read_text().replace("path=", "path=nowhere/"))
    site_packages = tmp_path / ".venv" / "lib" / f"python{sysconfig.get_python_version()}"
    site_packages.mkdir(parents=True)
    (site_packages / "site-packages").symlink_to(sysconfig.get_path("platlib"))
    (tmp_path / "nnapi_shim").symlink_to(ROOT / "nnapi_shim")
    run_well(compile_c("dlopen_local"), copy, env={"NNAPI_SHIM_HOME": str(tmp_path)})


# When it cannot start.


@pytest.fixture(scope="session")
def call_everything(compile_c, tmp_path_factory):
    """A program that calls each function with zeros, and wants OP_FAILED and out-parameters NULL;
    then prints the reason.
    """
    _, functions = build_ffi.read_headers()
    calls = []
    for function in functions:
        arguments = ", ".join(
            f"(void *)&{parameter.name}" if parameter.name in function.outputs else "0"
            for parameter in function.parameters
        )
        if function.outputs:
            (name,) = function.outputs
            call = f"CHECK({function.name}({arguments}) == {OP_FAILED});"
            calls.append(f"{{ void *{name} = (void *)16; {call} CHECK({name} == NULL); }}")
        elif function.returns == "int":
            calls.append(f"CHECK({function.name}({arguments}) == {OP_FAILED});")
        elif function.returns == "void":
            calls.append(f"{function.name}({arguments.replace('0', '(void *)16')});")
    assert len(calls) > 70
    includes = "".join(f"#include <{header}>\n" for header in (*build_ffi.HEADERS, "stdio.h"))
    source = tmp_path_factory.mktemp("generated") / "call_everything.c"
    source.write_text(
        f'{includes}#include "check.h"\nint main(void) {{\n{chr(10).join(calls)}\n'
        "fputs(nnapi_shim_getLastError(), stdout); return 0; }\n"
    )
    return compile_c("call_everything", source=source)


@pytest.fixture
def failure(call_everything, run_bare):
    """Makes the library fail; gives the only line on stderr, which is the last error, too."""

    def run_and_read(env, program=call_everything):
        result = run_bare(program, env=env)
        assert result.returncode == 0, result.stderr
        assert result.stderr == f"libneuralnetworks: {result.stdout}\n"
        assert result.stderr.count("\n") == 1
        return result.stdout

    return run_and_read


CALLS_THE_LIBRARY = """
import ctypes
assert ctypes.CDLL("libneuralnetworks.so").ANeuralNetworks_getDeviceCount(None) == 5
raise Exception("came back")
"""


def attach_all_but(left_out):
    """Source of an attach() that leaves out some functions."""
    return f"""
from importlib.machinery import ExtensionFileLoader, ModuleSpec
def attach(callbacks, store_error, *others):
    loader = ExtensionFileLoader("nnapi_shim_callbacks", callbacks)
    module = loader.create_module(ModuleSpec("nnapi_shim_callbacks", loader, origin=callbacks))
    loader.exec_module(module)
    for name in dir(module.lib):
        if name.startswith("py_") and not name.startswith("py_{left_out}"):
            module.ffi.def_extern(name=name)(lambda *arguments: 0)
    return module.lib.calls_address()
"""


@pytest.mark.parametrize(
    ("abi", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise Exception('two\\nlines')", "Exception: two lines"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("", "AttributeError: module 'nnapi_shim.abi' has no attribute 'attach'"),
        ("def attach(*arguments): raise KeyError(1)", "KeyError: 1"),
        ("def attach(*arguments): return None", "TypeError: an integer is required"),
        (CALLS_THE_LIBRARY, "Exception: came back"),
        (attach_all_but(""), "has no function for"),
        (attach_all_but("ANeuralNetworksModel_finish"), "for ANeuralNetworksModel_finish"),
    ],
)
def test_broken_package(failure, tmp_path, abi, reason):
    write_package(tmp_path, abi)
    assert reason in failure({"NNAPI_SHIM_HOME": str(tmp_path)})


def test_debug_shows_the_traceback(call_everything, run_bare, tmp_path):
    write_package(tmp_path, "1 / 0")
    env = {"NNAPI_SHIM_HOME": str(tmp_path), "NNAPI_SHIM_LOG": "debug"}
    result = run_bare(call_everything, env=env)
    assert result.returncode == 0
    assert "Traceback" in result.stderr
    assert result.stderr.count("libneuralnetworks: ") == 1


@pytest.mark.parametrize("log", ["json", "debug,json"])
def test_a_line_of_json(call_everything, run_bare, tmp_path, log):
    write_package(tmp_path, "raise Exception('\"a\\\\b\"\\t' + chr(228) + '!')")
    env = {"NNAPI_SHIM_HOME": str(tmp_path), "NNAPI_SHIM_LOG": log}
    result = run_bare(call_everything, env=env)
    messages = json.loads(result.stderr)
    assert result.stderr.count("\n") == 1
    assert messages == {
        "level": "error",
        "code": "OP_FAILED",
        "rule": "library.start",
        "message": result.stdout,
    }
    assert 'Exception: "a\\b"\t\u00e4!' in messages["message"]


def test_silence(call_everything, run_bare, tmp_path):
    env = {"NNAPI_SHIM_HOME": str(tmp_path), "NNAPI_SHIM_LOG": "silent"}
    result = run_bare(call_everything, env=env)
    assert (result.returncode, result.stderr) == (0, "")
    assert str(tmp_path) in result.stdout


def test_package_of_another_version(failure, tmp_path):
    write_package(tmp_path, "", version="7.8.9")
    message = failure({"NNAPI_SHIM_HOME": str(tmp_path)})
    assert f"is version {nnapi_shim.__version__} and the Python package {tmp_path}/" in message
    assert "version 7.8.9; install one of them again" in message


def test_home_without_package(failure, tmp_path):
    assert f"NNAPI_SHIM_HOME is {tmp_path}" in failure({"NNAPI_SHIM_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("", "libneuralnetworks.location does not say where"),
        (
            "path=../elsewhere\n",
            "no Python package nnapi_shim in {}/lib/../elsewhere, where {}/lib/lib",
        ),
        (
            f"path=../package\npython={build_ffi.libpython()}\n",
            "No module named '_cffi_backend'",
        ),
        ("path=../package\n", "nothing in {}/package tells which Python it is installed for"),
    ],
)
def test_wrong_location(failure, call_everything, library, tmp_path, location, reason):
    write_package(tmp_path / "package", "")
    copy = copy_library(library, tmp_path / "lib", location)
    message = failure({"LD_PRELOAD": str(copy)}, call_everything)
    assert reason.replace("{}", str(tmp_path)) in message
