"""Objects that several threads use at once; the scenarios are in threads.c."""

import pytest

SCENARIOS = [
    "separate_executions",
    "separate_compilations",
    "in_flight",
    "race_once",
    "race_reusable",
    "busy_burst",
    "waiters",
    "fenced_waiters",
    "fence_waiters",
    "device_memory",
    "freed_in_flight",
    "last_errors",
]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(compile_c, run_well, scenario, device):
    # Some calls have to be refused; their messages are not what is tested here.
    run_well(compile_c("threads"), scenario, device, env={"NNAPI_SHIM_LOG": "silent"})
