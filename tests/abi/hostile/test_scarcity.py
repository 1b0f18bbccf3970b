"""A program that runs out of threads or memory is told, and goes on."""

from pathlib import Path

import pytest

from tests.emulation import NO_FILTERS, NO_LIMIT_OF_ADDRESSES, left_out_in_emulator

HERE = Path(__file__).parent
SILENT = {"NNAPI_SHIM_LOG": "silent"}


@pytest.fixture
def program(compile_c):
    return compile_c("scarcity", "-D_GNU_SOURCE", source=HERE / "scarcity.c")


@left_out_in_emulator(NO_FILTERS)
@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_without_threads(program, run_bare, device):
    """Nobody helps the thread that computes: it does all the work, and says so once."""
    result = run_bare(program, device, "threads", env={"NNAPI_SHIM_THREADS": "3"})
    assert (result.returncode, result.stdout) == (0, "")
    said = result.stderr.splitlines()
    assert len(said) == (device == "nnapi-cpu")
    assert all("no more threads can be started" in line for line in said)


@left_out_in_emulator(NO_LIMIT_OF_ADDRESSES)
@pytest.mark.parametrize(
    ("device", "when", "step", "most"),
    [
        ("nnapi-cpu", "start", 2, 40),
        ("nnapi-reference", "start", 40, 360),
        ("nnapi-reference", "memory", 32, 320),
    ],
)
def test_without_memory(program, run_bare, device, when, step, most):
    result = run_bare(program, device, when, step, most, env=SILENT)
    assert (result.returncode, result.stdout) == (0, "some of each\n"), result.stderr
