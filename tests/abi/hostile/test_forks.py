"""Children use the library, at whatever moment they were forked."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(("device", "step"), [("nnapi-cpu", 5000), ("nnapi-reference", 15000)])
def test_a_child_of_every_moment_of_the_start(compile_c, run_bare, device, step):
    program = compile_c("forks_at_start", source=HERE / "forks.c")
    result = run_bare(program, device, 12, step)
    assert (result.returncode, result.stdout, result.stderr) == (0, "12 of 12\n", "")


@pytest.mark.parametrize(("device", "layers"), [("nnapi-cpu", 250), ("nnapi-reference", 20)])
def test_a_child_does_not_wait_for_what_its_parent_does(compile_c, run_bare, device, layers):
    program = compile_c("fork_in_flight", source=HERE / "fork_in_flight.c")
    result = run_bare(program, device, layers, env={"NNAPI_SHIM_LOG": "silent"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
