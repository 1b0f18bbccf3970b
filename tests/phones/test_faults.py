"""Injected faults: rules, functions, devices, repetition."""

import subprocess
import sys
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError, ResultCode
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.levels import FUNCTION_LEVELS
from nnapi_shim.phones.fault_device import FaultyDevice
from nnapi_shim.phones.fault_injector import Injector
from nnapi_shim.phones.fault_rules import FUNCTIONS, FaultRule, parsed
from nnapi_shim.recording.reading import read as read_capture
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from tests.phones.conftest import LIBRARIES, ROOT
from tests.waiting import HANGS_S

ADD = ROOT / "build" / "c_examples" / "simple_add"
SUMS = "1 + 0.5 = 1.5\n"


def run(faults: str, *command: object, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command or (ADD,)],
        env={"LD_LIBRARY_PATH": str(LIBRARIES), "NNAPI_SHIM_FAULTS": faults} | settings,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def test_rules() -> None:
    rules = parsed(
        "function=Execution_compute nth=2 code=DEAD_OBJECT; device=npu probability=0.25 do=nan ;"
        "seed=7; report=/x y; device=any at=prepare delay=20ms"
    )
    assert (rules.seed, rules.report) == (7, "/x y")
    first, second, third = rules.rules
    assert first == FaultRule(
        "function=Execution_compute nth=2 code=DEAD_OBJECT",
        *("ANeuralNetworksExecution_compute", "", "", 2, 1.0, ResultCode.DEAD_OBJECT, 0.0, ""),
    )
    assert (second.device, second.place, second.probability) == ("npu", "run", 0.25)
    assert (third.device, third.place, third.delay_s) == ("", "prepare", 0.02)
    assert parsed(" ; ").rules == ()
    delays = [parsed(f"device=company delay={text}").rules[0] for text in ("1.5s", "2us", "20ms")]
    assert [it.delay_s for it in delays] == [1.5, 2e-6, 0.02]
    assert delays[0].device == "company"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("function=Execution_compute", "does nothing; it needs code=, do= or delay="),
        ("code=OP_FAILED", "names no function= and no device="),
        ("function=Execution_computer code=OP_FAILED", "near are ANeuralNetworksExecution_compute"),
        ("function=Model_free code=OP_FAILED", "no function 'Model_free' that can fail"),
        ("function=Model_create code=FAILED", "code is 'FAILED'; allowed are OUT_OF_MEMORY"),
        ("function=Model_create code=NO_ERROR", "code is 'NO_ERROR'"),
        ("function=Model_create device=x code=OP_FAILED", "takes no device="),
        ("function=Model_create do=nan", "takes no device=, at= and do="),
        ("device=x do=explode", "allowed are unsupported, fewer, no-cache, damaged-cache, lost"),
        ("device=x do=nan at=prepare", "do=nan belongs to at=run"),
        ("device=x at=free code=OP_FAILED", "allowed are supported, prepare, run"),
        ("device=x do=nan code=OP_FAILED", "has code= and do="),
        ("device=x do=nan nth=0", "nth is '0'; it must be a number from 1"),
        ("device=x do=nan nth=1 nth=2", "has nth= twice"),
        ("device=x do=nan probability=0", "must be above 0 and at most 1"),
        ("device=x do=nan probability=nan", "must be above 0 and at most 1"),
        ("device=x do=nan nth=1 probability=0.5", "has nth= and probability="),
        ("device=x delay=5", "write 20ms, 5us or 1.5s"),
        ("device=x delay=3601s", "at most 3600s"),
        ("device=x delay=-5ms", "write 20ms, 5us or 1.5s"),
        ("device=x do=nan seed=1", "has more than seed=NUMBER"),
        ("seed=x", "seed is 'x'"),
        ("divice=x", "has 'divice=x'; allowed are function="),
        ("nonsense", "has 'nonsense'"),
    ],
)
def test_rules_that_are_none(text: str, message: str) -> None:
    with pytest.raises(NnapiError) as caught:
        parsed(text)
    assert message in caught.value.message
    assert caught.value.rule.startswith("fault.")


def test_every_function_with_a_result_code_can_fail() -> None:
    others = {name for name in FUNCTION_LEVELS if name not in FUNCTIONS}
    assert {name for name in others if not name.endswith("_free")} == {
        "ANeuralNetworks_getDefaultLoopTimeout",
        "ANeuralNetworks_getMaximumLoopTimeout",
        "ANeuralNetworks_getRuntimeFeatureLevel",
    }


def hits(text: str, calls: int = 1000) -> list[int]:
    injector = Injector(parsed(text))
    return [call for call in range(1, calls + 1) if injector.at_device("npu", "run")]


@pytest.mark.usefixtures("capsys")
def test_which_calls_get_a_fault() -> None:
    assert hits("device=npu do=nan nth=3") == [3]
    assert hits("device=npu do=nan", 4) == [1, 2, 3, 4]
    assert hits("device=other do=nan") == []
    some = hits("device=npu do=nan probability=0.1; seed=1")
    assert 60 < len(some) < 140
    assert some == hits("device=npu do=nan probability=0.1; seed=1")
    assert some != hits("device=npu do=nan probability=0.1; seed=2")
    assert len(hits("device=npu do=nan nth=2; device=npu do=ulp nth=2")) == 1


def test_a_function_fails() -> None:
    outcome = run("function=Execution_compute code=DEAD_OBJECT")
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert "result code 14 from ANeuralNetworksExecution_compute" in outcome.stderr
    assert "warning: injected fault 1: ANeuralNetworksExecution_compute, call 1" in outcome.stderr
    assert "DEAD_OBJECT: injected fault 1 at ANeuralNetworksExecution_compute" in outcome.stderr


PROGRAM = r"""
#include <android/NeuralNetworks.h>
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 4; ++i) {
    ANeuralNetworksModel* model = (ANeuralNetworksModel*)&i;
    int code = ANeuralNetworksModel_create(&model);
    printf("%d%s ", code, model == NULL ? " NULL" : "");
    ANeuralNetworksModel_free(model);
  }
}
"""


def test_results_of_a_constructor_that_fails(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    program = tmp_path / "program"
    flags = [f"-I{ROOT / 'include'}", f"-L{LIBRARIES}", "-lneuralnetworks"]
    subprocess.run(["cc", source, *flags, "-o", program], check=True)
    outcome = run("function=Model_create nth=3 code=OUT_OF_MEMORY", program)
    assert outcome.stdout == "0 0 1 NULL 0 "
    rare = "function=Model_create probability=0.5 code=OP_FAILED; seed=3"
    assert run(rare, program).stdout == run(rare, program).stdout


def test_nothing_happens_without_a_match() -> None:
    outcome = run("device=npu do=lost; function=Model_create nth=9 code=OP_FAILED")
    assert outcome.returncode == 0
    assert outcome.stdout.startswith(SUMS)
    assert "no call has matched 'device=npu do=lost'" in outcome.stderr
    text = "fewer calls than nth have matched 'function=Model_create nth=9 code=OP_FAILED': 1"
    assert text in outcome.stderr


def test_rules_that_are_not_valid_are_not_overlooked() -> None:
    outcome = run("function=Model_crate code=OP_FAILED")
    assert outcome.returncode == 1
    assert "there is no function 'Model_crate' that can fail" in outcome.stderr


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        ("device=nnapi-cpu do=lost", 14),
        ("device=nnapi-cpu do=too-small", 8),
        ("device=nnapi-cpu at=run code=RESOURCE_EXHAUSTED_TRANSIENT", 12),
        ("device=any do=unsupported", 4),
        ("device=any at=prepare code=UNAVAILABLE_DEVICE", 9),
    ],
)
def test_a_device_fails(faults: str, code: int) -> None:
    outcome = run(faults)
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert f"result code {code} from" in outcome.stderr


def test_another_device_takes_over() -> None:
    prepare = run("device=nnapi-cpu at=prepare code=RESOURCE_EXHAUSTED_TRANSIENT")
    assert (prepare.returncode, prepare.stdout[: len(SUMS)]) == (0, SUMS)
    assert "nnapi-reference runs the model: injected fault 1" in prepare.stderr
    lost = run("device=generic-gpu do=lost", NNAPI_SHIM_PROFILE="android-10-gpu")
    assert (lost.returncode, lost.stdout[: len(SUMS)]) == (0, SUMS)
    assert "a computation failed on generic-gpu and runs again on nnapi-reference" in lost.stderr


RUNS = """
import sys
import numpy as np
from nnapi_shim import Compilation, Model, NnapiError

kind = sys.argv[1]
scale = {"scale": 1.0, "zero_point": 0} if "QUANT8" in kind else {}
with Model() as model:
    x = model.input(kind, [2], **scale)
    model.outputs(model.add(x, x, **scale))
compilation = Compilation(model, devices=["nnapi-cpu"])
values = np.array([1, 2], {"TENSOR_FLOAT32": "f4", "TENSOR_FLOAT16": "f2"}.get(kind, "u1"))
for _ in range(3):
    try:
        print(compilation.run(values).tobytes().hex(), end=" ")
    except NnapiError as error:
        print(error.code.name, end=" ")
"""


@pytest.mark.parametrize(
    ("faults", "kind", "printed"),
    [
        ("do=nan nth=2", "TENSOR_FLOAT32", "0000004000008040 0000c07f00008040 0000004000008040 "),
        ("do=ulp nth=2", "TENSOR_FLOAT32", "0000004000008040 0100004000008040 0000004000008040 "),
        ("do=nan nth=1", "TENSOR_FLOAT16", "007e0044 00400044 00400044 "),
        ("do=ulp nth=1", "TENSOR_FLOAT16", "01400044 00400044 00400044 "),
        ("do=step nth=3", "TENSOR_QUANT8_ASYMM", "0204 0204 0304 "),
        ("do=ulp", "TENSOR_QUANT8_ASYMM", "0204 0204 0204 "),
        ("do=lost nth=2", "TENSOR_QUANT8_ASYMM", "0204 DEAD_OBJECT DEAD_OBJECT "),
    ],
)
def test_outputs_in_python(faults: str, kind: str, printed: str) -> None:
    outcome = run(f"device=nnapi-cpu {faults}", sys.executable, "-c", RUNS, kind)
    assert (outcome.returncode, outcome.stdout) == (0, printed)
    assert "injected fault 1: nnapi-cpu, run" in outcome.stderr


@pytest.mark.usefixtures("capsys")
def test_a_hang_ends_at_the_deadline() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        model.outputs(model.add(x, x))
    device = FaultyDevice(CpuDevice(), Injector(parsed("device=nnapi-cpu do=hang nth=1")))
    compilation = Compilation(model.runtime, [device])
    compilation.finish()
    execution = Execution(compilation)
    execution.set_reusable(True)
    execution.set_timeout(50_000_000)
    values = np.zeros(2, np.float32)
    for role in ("input", "output"):
        execution.set_argument(role, 0, None, values.ctypes.data, 8)
    began = monotonic()
    with pytest.raises(NnapiError) as caught:
        execution.compute()
    assert caught.value.code is ResultCode.MISSED_DEADLINE_PERSISTENT
    assert monotonic() - began >= 0.05
    execution.compute()


def test_a_capture_has_the_faults(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    faults = "function=Execution_compute code=OP_FAILED"
    run(faults, NNAPI_SHIM_CAPTURE=str(path))
    capture = read_capture(str(path))
    assert capture.manifest["settings"]["NNAPI_SHIM_FAULTS"] == faults
    assert capture.calls[-1].result == ResultCode.OP_FAILED
    assert "injected fault 1" in capture.calls[-1].error


def test_same_seed_same_faults(tmp_path: Path) -> None:
    faults = "function=Model_addOperand probability=0.2 code=OUT_OF_MEMORY; seed={}"
    outcomes = [run(faults.format(seed)) for seed in (*range(6), *range(6))]
    messages = [outcome.stderr for outcome in outcomes]
    assert messages[:6] == messages[6:]
    assert len(set(messages)) > 1


AFTER = r"""
#include "small.h"
int main(void) {
  ANeuralNetworksModel* model = build();
  for (int i = 0; i < 2; ++i) {
    ANeuralNetworksCompilation* compilation = NULL;
    ANeuralNetworksCompilation_create(model, &compilation);
    printf("%d ", ANeuralNetworksCompilation_finish(compilation));
    printf("%d ", ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksExecution* execution = NULL;
    printf("%d ", ANeuralNetworksExecution_create(compilation, &execution));
    printf("%d ", run(execution));
    printf("%d\n", ANeuralNetworksExecution_compute(execution));
  }
}
"""


def test_objects_are_left_as_failures_leave_them(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(AFTER)
    program = tmp_path / "program"
    includes = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'phones'}"]
    command = ["cc", source, *includes, f"-L{LIBRARIES}", "-lneuralnetworks", "-o", program]
    subprocess.run(command, check=True)
    faults = (
        "function=Compilation_finish nth=1 code=OP_FAILED;"
        "function=Execution_compute nth=2 code=DEAD_OBJECT"
    )
    # 5: failed; 6: refused by the state; 3: there is no execution.
    assert run(faults, program).stdout == "5 6 6 3 3\n0 6 0 14 6\n"
    model = run("function=Model_finish code=OUT_OF_MEMORY", program)
    assert model.stdout == "3 3 3 3 3\n" * 2
