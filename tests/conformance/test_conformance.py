"""Every conformance vector of the present operations passes through the C ABI, on each device."""

import os
import subprocess
import sys

import pytest

from tests.conformance.vectors import FOLDER, ROOT, WHY_SKIPPED, examples, present_operations

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=WHY_SKIPPED)

LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"
# How many vectors use these operations only: a loss of vectors is no success.
COUNTED = 1855
COUNTED_OPERATIONS = (
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE DIV FULLY_CONNECTED "
    "LOGISTIC MAX_POOL_2D MUL QUANTIZE RELU RELU1 RELU6 RESHAPE SOFTMAX SUB TANH"
)


def run_vectors(device, *options):
    """The last line that the runner prints; what failed is in the message of the assertion."""
    command = [sys.executable, FOLDER / "run.py", "--lib", LIBRARY, "-j", "2", "--fail-list"]
    command += ["--only-ops", ",".join(present_operations().values()), *options]
    result = subprocess.run(
        command,
        env=os.environ | {"DEBUG_NN_ENABLED_DEVICES": device},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.slow
def test_every_vector(device):
    expected = len(examples())
    assert expected > 0
    if sorted(present_operations().values()) == COUNTED_OPERATIONS.split():
        assert expected == COUNTED
    assert run_vectors(device) == f"{expected} passed, 0 failed, 0 skipped"


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_events_and_bursts(device):
    chosen = [example for example in examples() if example.name.startswith("V1_0/")]
    # The runner skips those that have to fail: they get the check `static` alone.
    skipped = sum(example.entry["expect_failure"] for example in chosen)
    passed = len(chosen) - skipped
    assert passed > 0
    last = run_vectors(device, "--file", "V1_0", "--checks", "async,burst")
    assert last == f"{passed} passed, 0 failed, {skipped} skipped"
