"""Programs that round otherwise than to nearest."""

import pytest


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_results_of_every_mode(compile_c, run_well, device):
    """They are those of rounding to nearest, and programs keep their mode."""
    run_well(compile_c("rounding_mode", "-frounding-math", "-lm"), device)
