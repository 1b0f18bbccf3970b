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
    "run_again",
    "last_errors",
]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(compile_c, run_well, scenario, device):
    """api-semantics 5: "of two threads racing on a non-reusable execution exactly one wins"
    api-semantics 5: "All 16 pairs of the 4 modes are tested"
    api-semantics 6: "burst busy in another thread -> BAD_STATE (execution stays usable)"
    api-semantics 13: "two threads may run one execution, one burst, one compilation"
    api-semantics 13: "tests call many other API functions before waiting".
    """
    # Some calls have to be refused; their messages are not what is tested here.
    run_well(compile_c("threads"), scenario, device, env={"NNAPI_SHIM_LOG": "silent"})
