"""Injected faults of events, caches and answers, and where rules come from."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.types import CacheHandles
from nnapi_shim.phones.fault_device import FaultyDevice
from nnapi_shim.phones.fault_injector import Injector
from nnapi_shim.phones.fault_rules import parsed
from nnapi_shim.phones.files import checked, read
from tests.phones.conftest import on_phone
from tests.phones.test_faults import ADD, run
from tests.phones.test_profile_files import written

Compiled = Callable[..., Path]
WITH, WITHOUT = "Execution_startComputeWithDependencies", "Execution_startCompute"
OWN = "Event_createFromSyncFenceFd"


# Events


@pytest.mark.parametrize(
    ("kind", "function", "printed"),
    [
        # 5: OP_FAILED; 6: BAD_STATE, as after any failed run. Errors of events without a fence do
        # not fail what depends on them; those of fences do.
        ("fenced", WITH, "error; wait 5; rank 6; after 5"),
        ("plain", WITHOUT, "no fence; wait 5; rank 6; after 0"),
        ("own", OWN, "error; wait 5; rank 6; after 5"),
        ("fenced", OWN, "no fence; wait 0; rank 0; after 0"),
    ],
)
def test_events_that_signal_errors(
    compiled: Compiled, kind: str, function: str, printed: str
) -> None:
    program = compiled("fences.c", "-lneuralnetworks", "-pthread")
    outcome = run(f"function={function} nth=1 do=error-signal", program, kind)
    assert (outcome.returncode, outcome.stdout) == (0, f"{printed}\n"), outcome.stderr
    is_hit = function != OWN or kind == "own"
    assert ("injected fault 1: ANeuralNetworks" in outcome.stderr) is is_hit
    assert ("no call has matched" in outcome.stderr) is not is_hit


@pytest.mark.parametrize(
    ("kind", "function", "printed"),
    [
        ("fenced", WITH, "pending; hangs"),
        ("plain", WITHOUT, "no fence; hangs"),
        ("own", OWN, "pending; hangs"),
        ("own", WITH, "signalled; ended"),
    ],
)
def test_events_that_never_signal(
    compiled: Compiled, kind: str, function: str, printed: str
) -> None:
    program = compiled("fences.c", "-lneuralnetworks", "-pthread")
    outcome = run(f"function={function} do=no-signal", program, kind, "wait")
    assert (outcome.returncode, outcome.stdout) == (0, f"{printed}\n"), outcome.stderr


# Caches


def sum_of(count: int = 1) -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        y = x
        for _ in range(count):
            y = model.add(y, x)
        model.outputs(y)
    return model


def prepare(rules: str, cache: Path | None) -> Injector:
    injector = Injector(parsed(rules))
    hal = sum_of().runtime.hal
    assert hal is not None
    handles = None if cache is None else CacheHandles(str(cache), bytes(32))
    device = FaultyDevice(CpuDevice(), injector)
    device.prepareModel(hal, ExecutionPreference.LOW_POWER, Priority.HIGH, None, handles)
    return injector


def test_caches(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o700)
    gone = "device=nnapi-cpu do=no-cache"
    prepare(gone, tmp_path)
    assert list(tmp_path.iterdir()) == []
    prepare("seed=1", tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    assert "damaged" not in capfd.readouterr().err
    prepare("device=nnapi-cpu do=damaged-cache nth=1", tmp_path)
    lines = capfd.readouterr().err
    assert "injected fault 1: nnapi-cpu, prepare, call 1" in lines
    assert "is damaged, or another model's" in lines
    assert path.read_bytes() == before
    prepare("seed=1", tmp_path)
    assert capfd.readouterr().err == ""


def test_a_compilation_without_a_cache_has_no_fault_of_caches(
    capfd: pytest.CaptureFixture[str],
) -> None:
    injector = prepare("device=any do=no-cache; device=any do=damaged-cache", None)
    assert capfd.readouterr().err == ""
    injector.finish()
    assert capfd.readouterr().err.count("no call has matched") == 2


# Answers


@pytest.mark.usefixtures("capsys")
def test_answers_that_change() -> None:
    hal = sum_of(40).runtime.hal
    assert hal is not None

    def answers(rules: str) -> list[list[bool]]:
        device = FaultyDevice(CpuDevice(), Injector(parsed(rules)))
        return [device.getSupportedOperations(hal) for _ in range(3)]

    first, second, third = answers("device=any do=fewer nth=2; seed=3")
    assert all(first)
    assert all(third)
    assert 8 < sum(second) < 32
    every = answers("device=any do=fewer; seed=3")
    assert len({tuple(answer) for answer in every}) == 3
    assert every == answers("device=any do=fewer; seed=3")
    assert every != answers("device=any do=fewer; seed=4")


# Rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "device=x do=no-signal",
            "do=no-signal belongs to function= ANeuralNetworksExecution_start",
        ),
        ("function=Model_create do=error-signal", "do=error-signal belongs to function= ANeural"),
        ("function=Execution_startCompute do=no-cache", "except do=no-signal and do=error-signal"),
        ("function=Execution_startCompute do=no-signal at=run", "takes no device=, at= and do="),
        ("function=Execution_startCompute do=no-signal code=OP_FAILED", "has code= and do="),
        ("device=x do=fewer at=run", "do=fewer belongs to at=supported"),
        ("file=no-such-file", "'file=no-such-file' cannot be read: No such file"),
    ],
)
def test_rules_that_are_none(text: str, message: str) -> None:
    with pytest.raises(NnapiError) as caught:
        parsed(text)
    assert message in caught.value.message
    assert caught.value.rule.startswith("fault.")


def test_rules_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(
        "# a comment\nseed=7\ndevice=npu do=nan  # another\n\ndevice=npu do=ulp; seed=8\n"
    )
    rules = parsed(f"device=gpu do=lost; file={path}")
    assert [rule.text for rule in rules.rules] == [
        "device=gpu do=lost",
        "device=npu do=nan",
        "device=npu do=ulp",
    ]
    assert rules.seed == 8
    path.write_text(f"seed=1\nfile={path}\n")
    with pytest.raises(NnapiError, match="has file=, which files of rules cannot have"):
        parsed(f"file={path}")
    path.write_text("function=Execution_compute code=DEAD_OBJECT\n")
    assert "result code 14 from" in run(f"file={path}").stderr


@pytest.mark.parametrize(
    ("fault", "message", "rule"),
    [
        ("device=gpu do=nan", "has device=gpu; the phone has npu, nnapi-reference", "fault-device"),
        ("device=npu do=explode", "faults[0]: 'device=npu do=explode': do is 'explode'", ""),
        ("function=Execution_setReusable code=OP_FAILED", "of API level 31; the phone has 29", ""),
        ("seed=1; report=/x", "a profile has no files of rules or for reports", "profile.fault"),
        ("file=/x", "a profile has no files of rules or for reports", "profile.fault"),
    ],
)
def test_wrong_faults_of_a_profile(tmp_path: Path, fault: str, message: str, rule: str) -> None:
    profile, problems = checked(written(tmp_path, {"faults": [fault]}))
    assert profile is None
    assert message in problems[0].message
    assert rule in problems[0].rule


def test_faults_of_a_profile(tmp_path: Path) -> None:
    faults = [
        "device=npu at=prepare code=OP_FAILED",
        "function=Memory_createFromFd code=UNMAPPABLE",
    ]
    profile = written(tmp_path, {"faults": faults})
    assert read(profile).faults == tuple(faults)
    outcome = on_phone(profile, ADD)
    assert outcome.returncode == 0, outcome.stderr
    assert "npu is passed over, nnapi-reference runs the model: injected fault 1" in outcome.stderr
    assert "no call has matched 'function=Memory_createFromFd" in outcome.stderr
    rules = "function=Execution_compute code=DEAD_OBJECT"
    both = run(rules, NNAPI_SHIM_PROFILE=profile)
    assert "injected fault 1: npu, prepare" in both.stderr
    assert "injected fault 2: ANeuralNetworksExecution_compute" in both.stderr


def test_a_python_program_tells_of_rules_without_a_match() -> None:
    code = "import nnapi_shim; print([it.name for it in nnapi_shim.devices()])"
    outcome = run("device=tpu do=nan; device=any do=ulp", sys.executable, "-c", code)
    assert outcome.returncode == 0
    for text in ("device=tpu do=nan", "device=any do=ulp"):
        assert outcome.stderr.count(f"no call has matched '{text}'") == 1
