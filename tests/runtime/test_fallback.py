"""What happens when a device fails: another steps in where the program has not named any."""

import gc
import weakref

import pytest

from nnapi_shim import settings
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.prepared_model import CpuPreparedModel
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.drivers.reference.prepared_model import ReferencePreparedModel
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.execution_plan import ExecutionPlan
from nnapi_shim.runtime.fallback import FallbackPreparedModel
from tests.runtime.hal_models import Bound, Builder, chain, f32
from tests.runtime.partial_devices import PartialDevice, Watched, compiled

OF_THE_DEVICE = [
    ResultCode.OUT_OF_MEMORY,
    ResultCode.OP_FAILED,
    ResultCode.UNAVAILABLE_DEVICE,
    ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
    ResultCode.RESOURCE_EXHAUSTED_PERSISTENT,
    ResultCode.DEAD_OBJECT,
]
OF_THE_PROGRAM = [
    ResultCode.BAD_DATA,
    ResultCode.UNMAPPABLE,
    ResultCode.MISSED_DEADLINE_TRANSIENT,
    ResultCode.MISSED_DEADLINE_PERSISTENT,
]


class Failing(PartialDevice):
    """The fastest device, which fails in one of its methods while `code` is set."""

    def __init__(self, where, code, runs=None):
        super().__init__("failing", runs, figures=(0.01, 0.01))
        self.code = code
        Watched(self, **({where: self.fail} if where else {}))

    def fail(self, action):
        if self.code:
            raise NnapiError(self.code, "it is broken")
        return action()


@pytest.fixture
def listed(monkeypatch):
    """Makes devices the only ones, in front of those that are built in."""

    def listed(*devices, built_in=(CpuDevice, ReferenceDevice)):
        every = [*devices, *(device() for device in built_in)]
        monkeypatch.setattr(device_manager, "_devices", {"all": every})

    monkeypatch.delenv("DEBUG_NN_PARTITION", raising=False)
    monkeypatch.delenv("NNAPI_SHIM_LOG", raising=False)
    return listed


RUNS = ["ADD MUL", "ADD"]
"""What the failing device runs: the model as a whole, or a part of it."""


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("code", OF_THE_DEVICE)
def test_a_device_that_cannot_prepare_is_passed_over(listed, capfd, code, runs):
    listed(Failing("prepare", code, runs))
    model = chain("ADD MUL ADD")
    compilation = compiled(model, None)
    assert isinstance(compilation.prepared, ReferencePreparedModel)
    assert compilation.device.name == "nnapi-reference"
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("nnapi_shim warning: failing")
    assert "is passed over, nnapi-reference runs" in line and "it is broken" in line
    assert Bound(compilation.prepared, model, [f32(1, 2)]).outputs()[0].tolist() == [8, 32]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("where", ["bind", "compute"])
@pytest.mark.parametrize("code", OF_THE_DEVICE)
def test_a_computation_that_fails_runs_elsewhere(listed, capfd, code, where, runs):
    device = Failing(where, code, runs)
    listed(device)
    model = chain("ADD MUL ADD")
    prepared = compiled(model, None).prepared
    said = ""
    for _ in range(2):
        bound = Bound(prepared, model, [x := f32(1, 2)])
        for value in (1, 2):
            x[:] = value
            assert bound.outputs()[0].tolist() == [8 * value * value] * 2
        said += capfd.readouterr().err
    (line,) = said.splitlines()
    assert line.startswith("nnapi_shim warning: a computation failed on failing")
    assert "runs again on nnapi-reference" in line and "it is broken" in line
    device.code = None
    assert bound.outputs()[0].tolist() == [32, 32]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("where", ["prepare", "bind", "compute"])
def test_the_device_that_computed_is_named(listed, capfd, monkeypatch, where):
    monkeypatch.setenv("DEBUG_NN_VLOG", "execution")
    monkeypatch.setenv("NNAPI_SHIM_LOG", "error")
    listed(Failing(where, ResultCode.OP_FAILED))
    model = chain("ADD")
    Bound(compiled(model, None).prepared, model, [f32(1, 2)]).compute()
    said = capfd.readouterr().err
    assert "a computation on nnapi-reference: NONE" in said
    assert "a computation on failing: " not in said
    failed = "a computation on failing failed: OP_FAILED: it is broken"
    assert (failed in said) == (where == "compute")


def test_at_debug_every_failure_is_told_of(listed, capfd, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_LOG", "debug")
    listed(Failing("compute", ResultCode.OP_FAILED))
    model = chain("ADD")
    bound = Bound(compiled(model, None).prepared, model, [f32(1, 2)])
    for _ in range(3):
        bound.compute()
    kinds = [line.split()[1] for line in capfd.readouterr().err.splitlines()]
    assert kinds == ["warning:", "debug:", "debug:"]


@pytest.mark.parametrize("where", ["prepare", "compute"])
@pytest.mark.parametrize("code", OF_THE_PROGRAM)
def test_errors_of_the_program_are_its_own(listed, where, code):
    listed(Failing(where, code))
    model = chain("ADD")
    with pytest.raises(NnapiError, match="it is broken") as caught:
        Bound(compiled(model, None).prepared, model, [f32(1, 2)]).compute()
    assert caught.value.code is code


@pytest.mark.parametrize("where", ["prepare", "bind", "compute"])
@pytest.mark.parametrize("named", [True, False])
def test_nobody_steps_in(listed, monkeypatch, where, named):
    """Where the program has named its devices, or DEBUG_NN_PARTITION is 2."""
    device = Failing(where, ResultCode.OP_FAILED)
    listed(device)
    model = chain("ADD")
    if not named:
        monkeypatch.setenv("DEBUG_NN_PARTITION", "2")
    with pytest.raises(NnapiError, match="it is broken"):
        devices = [device, CpuDevice(), ReferenceDevice()] if named else None
        Bound(compiled(model, devices).prepared, model, [f32(1, 2)]).compute()


def test_a_compilation_goes_with_its_last_reference(listed):
    """Memory of the program is unmapped when it is freed, and not some time later."""
    listed(Failing("compute", ResultCode.OP_FAILED, "ADD"))
    model = chain("ADD MUL")
    compilation = compiled(model, None)
    Bound(compilation.prepared, model, [f32(1, 2)]).outputs()
    gone = weakref.ref(compilation)
    gc.disable()
    try:
        del compilation
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_too_large_for_its_buffer_is_no_failure(listed):
    listed(Failing("", None))
    builder = Builder()
    x = builder.input((0,))
    model = builder.model([x], [builder.binary("ADD", x, x, builder.temporary((0,)))])
    result = Bound(compiled(model, None).prepared, model, [f32(1, 2)], 4).compute()
    assert result.output_shapes == [((2,), False)]


def test_where_there_is_no_nnapi_reference_nnapi_cpu_steps_in(listed):
    listed(Failing("prepare", ResultCode.OP_FAILED), built_in=[CpuDevice])
    assert compiled(chain("ADD"), None).device.name == "nnapi-cpu"
    listed(Failing("prepare", ResultCode.OP_FAILED), built_in=[])
    with pytest.raises(NnapiError, match="it is broken"):
        compiled(chain("ADD"), None)


def test_nobody_steps_in_for_what_only_the_device_runs(listed):
    device = Failing("prepare", ResultCode.DEAD_OBJECT)
    device.getSupportedOperations = lambda model: [True] * len(model.main.operations)
    listed(device)
    builder = Builder()
    x, result = builder.input(), builder.temporary()
    builder.operation(OperationType.OEM_OPERATION, [x], [result])
    model = builder.model([x], [result])
    with pytest.raises(NnapiError) as caught:
        compiled(model, None)
    assert caught.value.code is ResultCode.DEAD_OBJECT


def test_the_built_in_devices_have_nothing_around_them(listed):
    listed()
    assert type(compiled(chain("ADD MUL"), None).prepared) is CpuPreparedModel
    listed(built_in=[ReferenceDevice])
    assert type(compiled(chain("ADD MUL"), None).prepared) is ReferencePreparedModel


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0", CpuPreparedModel),
        ("1", FallbackPreparedModel),
        ("2", ExecutionPlan),
        ("", FallbackPreparedModel),
        ("yes", FallbackPreparedModel),
    ],
)
def test_partitioning_can_be_chosen(listed, monkeypatch, capfd, value, kind):
    monkeypatch.setattr(settings, "_refused", {})
    listed(PartialDevice("adds", "ADD", (0.01, 0.01)))
    monkeypatch.setenv("DEBUG_NN_PARTITION", value)
    for _ in range(2):
        assert type(compiled(chain("ADD MUL"), None).prepared) is kind
    refusals = [line for line in capfd.readouterr().err.splitlines() if "DEBUG_NN" in line]
    assert len(refusals) == (value == "yes")
    assert all("is 'yes'" in line and "0, 1, 2" in line for line in refusals)


def test_only_the_cpu(monkeypatch):
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setenv("DEBUG_NN_CPUONLY", "1")
    assert [device.name for device in device_manager.devices()] == ["nnapi-reference"]


# DEBUG_NN_VLOG


def told(capfd, monkeypatch, topics):
    monkeypatch.setattr(settings, "_refused", {})
    monkeypatch.setenv("DEBUG_NN_VLOG", topics)
    monkeypatch.setenv("NNAPI_SHIM_LOG", "warning" if "?" in topics else "silent")
    devices = PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")
    model = chain("ADD MUL")
    Bound(compiled(model, devices).prepared, model, [f32(1, 2)]).compute()
    return capfd.readouterr().err


@pytest.mark.parametrize("topics", ["compilation", "compilation,execution", "all", "1", ""])
def test_verbose_topics(capfd, monkeypatch, topics):
    said = told(capfd, monkeypatch, topics)
    every = topics in ("all", "1")
    assert ("nnapi_shim compilation: adds runs operations 0\n" in said) == (topics != "")
    assert ("execution: step 1 on muls: operands" in said) == (every or "execution" in topics)
    assert ("device: adds does not run MUL (operation 1)" in said) == every


def test_a_topic_that_does_not_exist(capfd, monkeypatch):
    said = told(capfd, monkeypatch, "compilation wat?")
    assert said.count("DEBUG_NN_VLOG is 'wat?', which is not used") == 1
    assert "adds runs operations 0" in said
