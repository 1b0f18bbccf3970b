"""A C program with no Python of its own runs conformance vectors; numba and numpy stay away."""

import subprocess

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from tests.conformance.flatten import flatten
from tests.conformance.vectors import FOLDER, ROOT, WHY_SKIPPED, examples, present_operations
from tests.examples.devices import DEVICES, DRIVERS

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=WHY_SKIPPED)

HERE = ROOT / "tests" / "conformance"
LIBRARIES = ROOT / "build" / "lib"


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The compiled replay.c."""
    path = tmp_path_factory.mktemp("replay") / "replay"
    command = ["cc", "-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'abi'}", HERE / "replay.c"]
    command += ["-o", path, f"-L{LIBRARIES}", "-lneuralnetworks", "-lm"]
    subprocess.run(command, check=True)
    return path


def replayable():
    """All examples but those that draw random numbers: replay.c compares no distributions."""
    return [example for example in examples() if not example.entry["multinomial_tolerance"]]


PLAIN_TYPES = {T.FLOAT32, T.INT32, T.TENSOR_FLOAT32, T.TENSOR_INT32}


def replay(program, folder, device, chosen, *how, **settings):
    """Runs the program in a bare environment; its output by lines.

    Some examples are there to be refused; beyond that, the library says nothing.
    """
    file = folder / "vectors.flat"
    file.write_bytes(flatten(chosen))
    env = {"LD_LIBRARY_PATH": str(LIBRARIES), **settings}
    if device == "nnapi-cpu":
        env["NNAPI_SHIM_JIT"] = "off"  # a kernel that was not built is a failure
    result = subprocess.run(
        [program, file, device, *how], env=env, capture_output=True, text=True, check=False
    )
    refused = "nnapi_shim error: ANeuralNetworks"
    other = [line for line in result.stderr.splitlines() if not line.startswith(refused)]
    assert (result.returncode, other) == (0, []), result.stdout + result.stderr
    return result.stdout.splitlines()


def require_every_operation(chosen):
    replayed = {code for e in chosen for code in e.operations}
    assert set(present_operations()) - replayed == {OperationType.RANDOM_MULTINOMIAL}


def of_each_type():
    """The first example of each operation with each type of its first input."""
    firsts = {}
    for example in replayable():
        for graph in example.graphs:
            for code, inputs, _ in graph["operations"]:
                firsts.setdefault((code, graph["operands"][inputs[0]]["type"]), example)
    return list({example.name: example for example in firsts.values()}.values())


@pytest.mark.parametrize(
    "examples", [pytest.param(replayable, marks=pytest.mark.slow), of_each_type]
)
def test_cpu_from_c(program, tmp_path, examples):
    chosen = examples()
    require_every_operation(chosen)
    lines = replay(program, tmp_path, "nnapi-cpu", chosen)
    assert lines == ["mapped:", f"{len(chosen)} passed, 0 failed"]


def test_reference_from_c(program, tmp_path):
    chosen = of_each_type()
    require_every_operation(chosen)
    lines = replay(program, tmp_path, "nnapi-reference", chosen)
    # The reference device computes with numpy, which shows that replay.c would find it above.
    assert lines == ["mapped: numpy", f"{len(chosen)} passed, 0 failed"]


@pytest.mark.parametrize(
    "device", ["nnapi-cpu", pytest.param("nnapi-reference", marks=pytest.mark.slow)]
)
def test_without_files(program, tmp_path, device):
    """After nnapi_shim_loadEverything(), every operation runs in a program that can open none."""
    chosen = of_each_type()
    require_every_operation(chosen)
    lines = replay(program, tmp_path, device, chosen, "sandbox")
    assert lines == [f"{len(chosen)} passed, 0 failed"]


@pytest.mark.parametrize(("device", "level", "operations"), DEVICES)
def test_example_devices_from_c(program, tmp_path, device, level, operations):
    """Vectors of its level run on a device of HAL 1.0 or 1.1 alone."""
    known = {OperationType[name] for name in operations.split(",")}
    folders = tuple(f"V1_{minor}/" for minor in range(level))
    chosen = [
        example
        for example in replayable()
        if example.name.startswith(folders)
        and example.operations <= known
        and {operand["type"] for operand in example.model["main"]["operands"]} <= PLAIN_TYPES
    ]
    replayed = {code for example in chosen for code in example.operations}
    assert replayed == known - {OperationType.TRANSPOSE}  # which has no vectors of level 2
    lines = replay(program, tmp_path, device, chosen, NNAPI_SHIM_DRIVERS=str(DRIVERS))
    assert lines == ["mapped: numpy", f"{len(chosen)} passed, 0 failed"]


def test_wrong_results_are_found(program, tmp_path):
    good = next(example for example in replayable() if example.name.startswith("V1_0/add/"))
    data = good.data.copy()
    data[good.entry["outputs"][0][0] + 2] ^= 1 << 6  # bits of the first number
    wrong = good._replace(data=data)
    failing = good._replace(entry=good.entry | {"expect_failure": True})
    lines = replay(program, tmp_path, "nnapi-reference", [good, wrong, failing, good])
    name = good.name
    assert lines[0].startswith(f"FAIL {name}: output 0: element 0 is ")
    assert lines[1].startswith(f"FAIL {name} (dynamic): output 0: element 0 is ")
    assert lines[2] == f"FAIL {name}: succeeded, but has to fail"
    assert lines[-1] == "2 passed, 2 failed"
