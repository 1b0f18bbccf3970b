"""Every conformance vector passes through the C ABI, on each device."""

import json
import os
import subprocess
import sys

import numpy as np
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


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("device", "checks"),
    [
        ("nnapi-cpu", "static"),
        pytest.param("nnapi-reference", "static", marks=SLOW),
        pytest.param("nnapi-cpu", "all", marks=SLOW),
        pytest.param("nnapi-reference", "all", marks=SLOW),
    ],
)
def test_every_vector(device, checks):
    assert len(examples()) == COUNTED
    # With NNAPI_SHIM_JIT=off a kernel that was not built is a failure.
    last = run_vectors(device, "--checks", checks, NNAPI_SHIM_JIT="off")
    assert last == f"{COUNTED} passed, 0 failed, 0 skipped"


INTERNAL = "_all_inputs_as_internal"
"""In the names of vectors that are others once more, with an ADD of 0 in front of each input."""


def test_vectors_on_nnapi_reference(tmp_path):
    """Those with inputs of the model; and of the groups 1.0 and 1.1, for whatever leads from
    operation to operation on this device, those with internal ones.
    """
    count = 0
    for path in (FOLDER / "vectors").glob("**/*.npz"):
        with np.load(path) as archive:
            index, data = json.loads(archive["index"].tobytes()), archive["data"]
        index["examples"] = [
            entry
            for entry in index["examples"]
            if INTERNAL not in entry["name"] or index["group"] in ("V1_0", "V1_1")
        ]
        count += len(index["examples"])
        target = tmp_path / path.relative_to(FOLDER)
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez(target, index=np.frombuffer(json.dumps(index).encode(), np.uint8), data=data)
    assert COUNTED / 2 < count < COUNTED
    options = "--vectors", tmp_path / "vectors", "--checks", "static"
    assert run_vectors("nnapi-reference", *options) == f"{count} passed, 0 failed, 0 skipped"


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
