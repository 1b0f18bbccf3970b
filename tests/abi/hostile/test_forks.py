"""Children use the library, at whatever moment they were forked."""

import subprocess
from pathlib import Path

import pytest

from tests.emulation import is_emulated

HERE = Path(__file__).parent


@pytest.mark.parametrize(("device", "step"), [("nnapi-cpu", 5000), ("nnapi-reference", 15000)])
def test_a_child_of_every_moment_of_the_start(compile_c, run_bare, device, step):
    program = compile_c("forks_at_start", source=HERE / "forks.c")
    result = run_bare(program, device, 12, step)
    assert (result.returncode, result.stdout, result.stderr) == (0, "12 of 12\n", "")


@pytest.mark.parametrize(("device", "layers"), [("nnapi-cpu", 250), ("nnapi-reference", 20)])
def test_a_child_does_not_wait_for_what_its_parent_does(compile_c, run_bare, device, layers):
    program = compile_c("fork_in_flight", source=HERE / "fork_in_flight.c")
    layers //= 10 if is_emulated() else 1  # each takes that much longer
    result = run_bare(program, device, layers, env={"NNAPI_SHIM_LOG": "silent"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(("device", "step"), [("nnapi-cpu", 4000), ("nnapi-reference", 20000)])
def test_a_handler_forks_in_the_midst_of_a_call(compile_c, run_bare, device, step):
    program = compile_c("forks_in_handlers", source=HERE / "forks_in_handlers.c")
    result = run_bare(program, device, 12, step)
    assert (result.returncode, result.stdout, result.stderr) == (0, "12 of 12\n", "")


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_a_thread_that_is_cancelled_while_it_forks_keeps_no_lock(compile_c, run_well, device):
    run_well(compile_c("cancelled_forks", source=HERE / "cancelled_forks.c"), device)


def test_a_library_that_forks_while_the_start_loads_it(compile_c, run_bare, tmp_path):
    """The lock stays with the thread that has it: others wait, and one line tells."""
    python = tmp_path / "libpython3.11.so"
    command = ["cc", "-shared", "-fPIC", HERE / "forking_library.c", "-o", python]
    subprocess.run(command, check=True)
    result = run_bare(compile_c("race"), env={"NNAPI_SHIM_PYTHON": str(python)})
    messages = [line for line in result.stderr.splitlines() if "it has no Py_GetVersion" in line]
    assert len(messages) == 1
