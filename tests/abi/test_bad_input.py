"""The rules of the C API, above all for wrong input, in processes of their own.

The groups are the files in rules/; those that share a process, which takes longer to start than
most groups to run, have a name here. A crash of the library there is a failure here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parent / "rules"
# Their tests do not run models, or name the device themselves.
DEVICE_DOES_NOT_MATTER = {
    "objects": "operands counts models compilations devices delegate",
    "several_devices": "several_devices",  # it registers devices before the library starts
    "signatures": "signatures",
}
DEVICE_MATTERS = {
    "calls": "fast_path handles arguments executions events fences everywhere control_flow",
    "memories": "memories memory_descs device_memories hardware_buffers overlaps",
}
# Also run on what the library chooses.
ANSWERS = "answers_models answers_executions answers_operations deviations"
ENVIRONMENTS = {
    "without_kernels": {"NNAPI_SHIM_JIT": "off", "NNAPI_SHIM_KERNELS": "/nowhere"},
    "without_devices": {"DEBUG_NN_ENABLED_DEVICES": "nnapi"},
    "invalid_pattern": {"DEBUG_NN_ENABLED_DEVICES": "nnapi-("},
    "extensions": {"NNAPI_SHIM_DRIVERS": str(RULES.parent / "extension_driver")},
}
HELPERS = {"capi", "conftest", "graph", "sample"}


def run_groups(groups, *options, env=None):
    """Runs the tests of files in rules/; every one of them has to pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NNAPI_", "DEBUG_NN"))}
    result = subprocess.run(
        [*command, *(RULES / f"{group}.py" for group in groups.split()), *options],
        env=inherited | (env or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.fullmatch(r"[1-9]\d* passed in .*", result.stdout.splitlines()[-1]), result.stdout


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "signatures" else ())
        for name in DEVICE_DOES_NOT_MATTER
    ],
)
def test_rules(name):
    run_groups(DEVICE_DOES_NOT_MATTER[name])


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("name", DEVICE_MATTERS)
def test_rules_on(name, device):
    run_groups(DEVICE_MATTERS[name], f"--device={device}")


def test_rules_of_memories_on_a_device_that_allocates():
    env = {"NNAPI_SHIM_DRIVERS": str(RULES.parent / "allocating_driver")}
    run_groups("memory_descs device_memories overlaps", "--device=allocator", env=env)


@pytest.mark.parametrize(
    "device", ["nnapi-cpu", "nnapi-reference", pytest.param("default", marks=pytest.mark.slow)]
)
def test_answers_on(device):
    run_groups(ANSWERS, f"--device={device}")


@pytest.mark.parametrize("group", ENVIRONMENTS)
def test_rules_in_another_environment(group):
    run_groups(group, env=ENVIRONMENTS[group])


def test_no_group_is_left_out():
    together = [*DEVICE_DOES_NOT_MATTER.values(), *DEVICE_MATTERS.values(), ANSWERS]
    groups = {path.stem for path in RULES.glob("*.py")} - HELPERS
    assert groups == {*ENVIRONMENTS, *" ".join(together).split()}
