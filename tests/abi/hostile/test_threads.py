"""Threads that are cancelled in a call, have hardly any stack, or call at their end."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SILENT = {"NNAPI_SHIM_LOG": "silent"}

pytestmark = pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])


def test_cancelled_in_the_middle_of_a_call(compile_c, run_well, device):
    run_well(compile_c("cancelled", source=HERE / "cancelled.c"), device)


def test_calls_while_threads_and_the_process_end(compile_c, run_well, device):
    run_well(compile_c("thread_ends", source=HERE / "thread_ends.c"), device)


@pytest.mark.parametrize("started", [[], ["started"]])
@pytest.mark.parametrize(
    ("kib", "outcome"),
    [(16, "refused"), (32, "refused"), (64, "refused"), (128, "computed"), (256, "computed")],
)
def test_a_small_stack(compile_c, run_bare, device, kib, outcome, started):
    program = compile_c("small_stacks", "-D_GNU_SOURCE", source=HERE / "small_stacks.c")
    result = run_bare(program, device, kib, *started, env=SILENT)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{outcome}\n", "")
