"""The rules of the C API, above all for wrong input; each group of tests in a process of its own.

The groups are the files in rules/. A crash of the library there is a failure here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parent / "rules"
# Their tests do not run models, or name the device themselves.
DEVICE_DOES_NOT_MATTER = (
    "operands",
    "counts",
    "models",
    "compilations",
    "devices",
    "signatures",
    "several_devices",
    "delegate",
)
DEVICE_MATTERS = (
    "fast_path",
    "handles",
    "arguments",
    "executions",
    "events",
    "fences",
    "memories",
    "memory_descs",
    "device_memories",
    "hardware_buffers",
    "everywhere",
    "control_flow",
    "overlaps",
)
# Also run on what the library chooses.
ANSWERS = ("answers_models", "answers_executions", "answers_operations", "deviations")
ENVIRONMENTS = {
    "without_kernels": {"NNAPI_SHIM_JIT": "off", "NNAPI_SHIM_KERNELS": "/nowhere"},
    "without_devices": {"DEBUG_NN_ENABLED_DEVICES": "nnapi"},
    "invalid_pattern": {"DEBUG_NN_ENABLED_DEVICES": "nnapi-("},
    "extensions": {"NNAPI_SHIM_DRIVERS": str(RULES.parent / "extension_driver")},
}
HELPERS = {"capi", "conftest", "graph", "sample"}


def run_group(group, *options, env=None):
    """Runs the tests of a file in rules/; every one of them has to pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NNAPI_", "DEBUG_NN"))}
    result = subprocess.run(
        [*command, RULES / f"{group}.py", *options],
        env=inherited | (env or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.fullmatch(r"[1-9]\d* passed in .*", result.stdout.splitlines()[-1]), result.stdout


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(group, marks=pytest.mark.slow if group == "signatures" else ())
        for group in DEVICE_DOES_NOT_MATTER
    ],
)
def test_rules(group):
    run_group(group)


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("group", DEVICE_MATTERS)
def test_rules_on(group, device):
    run_group(group, f"--device={device}")


@pytest.mark.parametrize(
    "device", ["nnapi-cpu", "nnapi-reference", pytest.param("default", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("group", ANSWERS)
def test_answers_on(group, device):
    run_group(group, f"--device={device}")


@pytest.mark.parametrize("group", ENVIRONMENTS)
def test_rules_in_another_environment(group):
    run_group(group, env=ENVIRONMENTS[group])


def test_no_group_is_left_out():
    groups = {path.stem for path in RULES.glob("*.py")} - HELPERS
    assert groups == {*DEVICE_DOES_NOT_MATTER, *DEVICE_MATTERS, *ANSWERS, *ENVIRONMENTS}
