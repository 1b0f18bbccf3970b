"""Every conformance vector passes through the C ABI, on each device."""

import os
import subprocess
import sys

import pytest

from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.conformance.vectors import FOLDER, ROOT, WHY_SKIPPED, examples

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=WHY_SKIPPED)

LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"
COUNTED = 6301
"""How many vectors there are: a loss of some is no success."""


EXACT = "1760 passed, 0 failed, 0 skipped"
"""Of models of one quantized operation, with the reference's own bytes; their tolerance is 0."""


def run_vectors(device, *options, **settings):
    """The last line that the runner prints; what failed is in the message of the assertion."""
    command = [sys.executable, FOLDER / "run.py", "--lib", LIBRARY, "-j", "2", "--fail-list"]
    command += options
    result = subprocess.run(
        command,
        env=os.environ | {"DEBUG_NN_ENABLED_DEVICES": device} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("checks", ["static", pytest.param("all", marks=pytest.mark.slow)])
def test_every_vector(device, checks):
    assert len(examples()) == COUNTED
    # With NNAPI_SHIM_JIT=off a kernel that was not built is a failure.
    last = run_vectors(device, "--checks", checks, NNAPI_SHIM_JIT="off")
    assert last == f"{COUNTED} passed, 0 failed, 0 skipped"


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_events_and_bursts(device):
    chosen = [example for example in examples() if example.name.startswith("V1_0/")]
    # The runner skips those that have to fail: they get the check `static` alone.
    skipped = sum(example.entry["expect_failure"] for example in chosen)
    passed = len(chosen) - skipped
    assert passed > 0
    last = run_vectors(device, "--file", "V1_0", "--checks", "async,burst")
    assert last == f"{passed} passed, 0 failed, {skipped} skipped"


@pytest.mark.parametrize("tier", processor_tiers())
def test_bytes_of_the_reference_on_nnapi_cpu(tier):
    options = "--vectors", FOLDER / "exact", "--checks", "static"
    assert run_vectors("nnapi-cpu", *options, NNAPI_SHIM_TIER=tier) == EXACT


def test_bytes_of_the_reference_on_nnapi_reference():
    options = "--vectors", FOLDER / "exact", "--checks", "static"
    assert run_vectors("nnapi-reference", *options) == EXACT
