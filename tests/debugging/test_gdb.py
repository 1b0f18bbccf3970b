"""gdb finds the line of the call that is refused, by a breakpoint and by NNAPI_SHIM_BREAK."""

import re
import shutil
import signal
import subprocess

import pytest

import build_ffi
from tests.debugging.conftest import LIBRARIES, gdb, line_of, need, run

BREAK = ("set breakpoint pending on", "break nnapi_shim_storeError")
TO_THE_CALLER = ("frame function ANeuralNetworksModel_addOperand", "up")


@pytest.fixture(scope="module")
def refused(compile_c):
    return compile_c("refused")


def the_call():
    """How gdb names the line of the call that is refused."""
    return f"refused.c:{line_of('refused.c', 'ANeuralNetworksModel_addOperand(')}"


def test_a_breakpoint_leads_to_the_caller(refused):
    messages = gdb(refused, *BREAK, "run", "bt", *TO_THE_CALLER, "print type", "continue")
    assert len(re.findall(r"^Breakpoint 1, nnapi_shim_storeError", messages, re.M)) == 1
    assert "operand type 99 does not exist" in messages
    assert re.search(rf"^#\d+ .*\bin add_operand .* at \S*{the_call()}$", messages, re.M)
    assert re.search(r"^#\d+ .*\bin ANeuralNetworksModel_addOperand \(model=", messages, re.M)
    assert re.search(r"^#\d+ .*\bmain \(\) at ", messages, re.M)
    assert re.search(r"^\$1 = \{type = 99,", messages, re.M)
    assert "exited normally" in messages


def test_the_breakpoint_is_one_place(refused):
    messages = gdb(refused, *BREAK, "run", "info breakpoints")
    assert "<MULTIPLE>" not in messages
    assert re.search(
        r"^1 +breakpoint .* in nnapi_shim_storeError at .*/native/message\.c", messages, re.M
    )


def test_the_setting_stops_in_a_debugger(refused):
    messages = gdb(refused, "run", "bt", "continue", NNAPI_SHIM_BREAK="1")
    assert len(re.findall(r"^Program received signal SIGTRAP", messages, re.M)) == 1
    assert re.search(r"^#\d+ .* in nnapi_shim_storeError \(message=", messages, re.M)
    assert re.search(rf"^#\d+ .*\bin add_operand .* at \S*{the_call()}$", messages, re.M)
    assert "exited normally" in messages


def test_the_setting_stops_at_a_failed_start(refused):
    messages = gdb(refused, "run", "bt", NNAPI_SHIM_BREAK="1", NNAPI_SHIM_HOME="/nowhere")
    assert len(re.findall(r"^Program received signal SIGTRAP", messages, re.M)) == 1
    assert re.search(r"^#\d+ .* in ANeuralNetworksModel_create ", messages, re.M)
    assert re.search(r"^#\d+ .*\bmain \(\) at ", messages, re.M)


def test_the_setting_ends_a_program_without_debugger(refused):
    done = run(refused, NNAPI_SHIM_BREAK="1")
    assert done.returncode == -signal.SIGTRAP
    assert done.stdout == ""
    assert re.fullmatch(r"nnapi_shim error: ANeuralNetworksModel_addOperand: .*\n", done.stderr)


@pytest.mark.parametrize("value", ["", "0"])
def test_without_the_setting(refused, value):
    done = run(refused, NNAPI_SHIM_BREAK=value)
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert done.stderr.count("\n") == 1


def test_a_correct_program_does_not_stop(mobilenet_block):
    done = run(mobilenet_block, NNAPI_SHIM_BREAK="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_value_that_is_none(refused):
    done = run(refused, NNAPI_SHIM_BREAK="yes")
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert done.stderr.startswith(
        "nnapi_shim error: NNAPI_SHIM_BREAK is 'yes', which is not used; allowed are 0, 1\n"
    )


def test_debug_information_can_be_separated(refused, tmp_path):
    """As the page says: in a file beside the library, which gdb finds by itself."""
    need("objcopy")
    libraries = tmp_path / "lib"
    shutil.copytree(LIBRARIES, libraries, ignore=shutil.ignore_patterns("*kernels*"))
    location = libraries / "libneuralnetworks.location"
    library, separate = libraries / "libneuralnetworks.so", libraries / "libneuralnetworks.so.debug"
    whole = library.stat().st_size
    for command in (
        ["objcopy", "--only-keep-debug", library, separate],
        ["objcopy", "--strip-unneeded", f"--add-gnu-debuglink={separate}", library],
    ):
        subprocess.run(command, check=True)
    assert location.exists()
    assert library.stat().st_size < whole / 2
    messages = gdb(refused, *BREAK, "run", "bt", libraries=libraries)
    assert re.search(
        r"^Breakpoint 1, nnapi_shim_storeError .*/native/message\.c:\d+$", messages, re.M
    )
    assert re.search(rf"^#\d+ .*\bin add_operand .* at \S*{the_call()}$", messages, re.M)
    separate.unlink()
    messages = gdb(refused, *BREAK, "run", libraries=libraries)
    assert "Breakpoint 1, " not in messages


@pytest.mark.parametrize("name", [build_ffi.LIBRARY, build_ffi.CALLBACKS_FILE])
def test_debug_information_names_no_folder_of_the_build(name):
    assert b"/.build-" not in (LIBRARIES / name).read_bytes()
