"""Executions of different models, mixed, from eight threads; `make stress` runs many more."""

import re

import pytest

EXECUTIONS = 200


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_mixed_executions(compile_c, run_bare, device):
    """Right results, and no growth of memory."""
    result = run_bare(compile_c("mixed", "-D_GNU_SOURCE"), EXECUTIONS, device)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"8 threads, 200 executions each: .* KiB after\n", result.stdout)
