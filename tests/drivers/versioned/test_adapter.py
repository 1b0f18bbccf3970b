"""Devices for HAL 1.0 and 1.1 behind the canonical interface: good ones, and all kinds of bad."""

import os
import threading
import time

import numpy as np
import pytest

from nnapi_shim import FeatureLevel, NnapiError, OperandType, ResultCode, address, log
from nnapi_shim.drivers.versioned import answer
from nnapi_shim.drivers.versioned.adapter import VersionedDevice
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.enums import DeviceType, ErrorStatus, ExecutionPreference, Priority
from nnapi_shim.hal.types import PerformanceInfo, Request, RequestArgument
from tests.drivers.versioned.models import Driver, finished, keep, mixed, relu
from tests.waiting import HANGS_S

Status = v1_0.ErrorStatus


@pytest.fixture
def quick(monkeypatch):
    """A driver that does not answer is given up soon."""
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", "0.2")


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def device(driver):
    return VersionedDevice(driver, "1.0", "test", "7", DeviceType.OTHER)


def prepare(device, model=None, deadline_ns=None):
    preference = ExecutionPreference.SUSTAINED_SPEED
    return device.prepareModel(model or relu(), preference, Priority.MEDIUM, deadline_ns, None)


def run(prepared, values=(-1.0, 2.0), capacity=None, dimensions=None, deadline_ns=None):
    """The result, and what is in the output."""
    given = np.array(values, np.float32)
    result = np.full(len(values) if capacity is None else capacity, 99, np.float32)
    arguments = []
    for array, sizes in ((given, given.shape), (result, dimensions or given.shape)):
        arguments.append(RequestArgument(address.address_of(array)[0], array.nbytes, sizes))
    request = Request((arguments[0],), (arguments[1],))
    return prepared.execute(request, False, deadline_ns, 0), result.tolist()


def refusal(code, match, call, *arguments, **named):
    with pytest.raises(NnapiError, match=match) as caught:
        call(*arguments, **named)
    assert caught.value.code is code


def test_run(device):
    result, values = run(prepare(device))
    assert result.status is ErrorStatus.NONE
    assert result.output_shapes[0].dimensions == (2,)
    assert values == [0.0, 2.0]


def test_reusable_execution(device, driver):
    """It reads what the program's buffers hold at that time; every run has memory of its own."""
    given, result = np.array([-1, 1], np.float32), np.zeros(2, np.float32)
    arguments = [RequestArgument(address.address_of(a)[0], 8, (2,)) for a in (given, result)]
    request = Request((arguments[0],), (arguments[1],))
    execution = prepare(device).createReusableExecution(request, False, 0)
    for value in (3.0, 5.0):
        given[0] = value
        execution.compute(None)
        assert result.tolist() == [value, 1.0]
    assert driver.requests[0].pools[0] is not driver.requests[1].pools[0]


def test_levels(device, driver):
    assert device.feature_level is FeatureLevel.LEVEL_1
    newer = VersionedDevice(driver, "1.1", "test", "7", DeviceType.OTHER)
    assert newer.feature_level is FeatureLevel.LEVEL_2


def test_supported_operations(device, driver):
    """Only what HAL 1.0 knows is shown; the answers come back at the right places."""
    model = mixed()
    assert device.getSupportedOperations(model) == keep(model, 2, 3)
    (shown,) = driver.models
    assert sorted(item.type.name for item in shown.operations) == ["ADD", "RELU", "RELU"]
    assert device.getSupportedOperations(relu(())) == [False]
    assert len(driver.models) == 1


def test_capabilities(device, driver):
    actual = device.getCapabilities()
    quick, slow = PerformanceInfo(0.5, 0.25), PerformanceInfo(2.0, 4.0)
    assert actual.operand_performance[OperandType.TENSOR_FLOAT32] == quick
    assert actual.operand_performance[OperandType.TENSOR_QUANT8_ASYMM] == slow
    assert actual.operand_performance[OperandType.TENSOR_FLOAT16].exec_time == float("inf")
    assert actual.relaxed_float32_to_float16_performance_tensor == quick
    driver.getCapabilities = lambda: (Status.NONE, (1, 2))
    refusal(ResultCode.OP_FAILED, "must be Capabilities", device.getCapabilities)
    driver.getCapabilities = lambda: (Status.DEVICE_UNAVAILABLE, None)
    refusal(ResultCode.UNAVAILABLE_DEVICE, "DEVICE_UNAVAILABLE", device.getCapabilities)


def test_a_1_1_device():
    class Driver11(Driver):
        def getCapabilities_1_1(self):
            return Status.NONE, v1_1.Capabilities(*[v1_0.PerformanceInfo(n, n) for n in (1, 2, 3)])

        def getSupportedOperations_1_1(self, model):
            self.models.append(model)
            return Status.NONE, (True,) * len(model.operations)

        def prepareModel_1_1(self, model, preference, callback):
            self.models.append(model)
            self.preference = preference
            return self.prepareModel(model, callback)

    driver = Driver11()
    device = VersionedDevice(driver, "1.1", "test", "7", DeviceType.OTHER)
    assert device.getCapabilities().relaxed_float32_to_float16_performance_scalar == (3.0, 3.0)
    assert device.getSupportedOperations(relu()) == [True]
    assert run(prepare(device))[1] == [0.0, 2.0]
    assert isinstance(driver.models[0], v1_1.Model)
    assert driver.preference is v1_1.ExecutionPreference.SUSTAINED_SPEED


@pytest.mark.parametrize(
    "answer",
    [
        None,
        (Status.NONE, (True, True)),
        (Status.NONE, 5),
        (Status.INVALID_ARGUMENT, ()),
        ("fine", (True,)),
        ([], ()),
    ],
)
def test_a_driver_that_fails_supports_nothing(device, driver, answer, capfd):
    driver.getSupportedOperations = lambda model: answer
    assert device.getSupportedOperations(relu()) == [False]
    assert "test is left out" in capfd.readouterr().err


ERRORS = [ValueError("no"), SystemExit(1), NnapiError(ResultCode.NO_ERROR, "no")]


@pytest.mark.parametrize("error", ERRORS)
def test_a_driver_that_raises(device, driver, error, capfd):
    def fail(*_):
        raise error

    prepared = prepare(device)
    driver.execute = driver.prepareModel = driver.getSupportedOperations = fail
    assert device.getSupportedOperations(relu()) == [False]
    capfd.readouterr()
    refusal(ResultCode.OP_FAILED, "test.prepareModel", prepare, device)
    refusal(ResultCode.OP_FAILED, "test.execute", run, prepared)


STATUSES = [
    (Status.DEVICE_UNAVAILABLE, ResultCode.UNAVAILABLE_DEVICE),
    (Status.GENERAL_FAILURE, ResultCode.OP_FAILED),
    (Status.OUTPUT_INSUFFICIENT_SIZE, ResultCode.OUTPUT_INSUFFICIENT_SIZE),
    (Status.INVALID_ARGUMENT, ResultCode.BAD_DATA),
    (17, ResultCode.OP_FAILED),
    (None, ResultCode.OP_FAILED),
]


@pytest.mark.parametrize(("status", "code"), STATUSES)
def test_statuses(device, driver, status, code):
    """Returned without a callback, or told by one."""

    def messages(*arguments):
        arguments[-1].notify(status, *[None] * (len(arguments) == 3))
        return Status.NONE

    prepared = prepare(device)
    for behaviour in (lambda *_: status, lambda *arguments: messages(*arguments)):
        driver.execute = driver.prepareModel = behaviour
        refusal(code, "test.prepareModel", prepare, device)
        refusal(code, "test.execute", run, prepared)


def test_a_prepared_model_that_is_missing(device, driver):
    def prepare_nothing(model, callback):
        callback.notify(Status.NONE, None)
        return Status.NONE

    driver.prepareModel = prepare_nothing
    refusal(ResultCode.OP_FAILED, "without a prepared model", prepare, device)


def test_an_answer_from_another_thread(device, driver):
    execute = driver.execute

    def later(request, callback):
        threading.Timer(0.01, execute, (request, callback)).start()
        return Status.NONE

    driver.execute = later
    assert run(prepare(device))[1] == [0.0, 2.0]


def test_many_runs_at_once(device, driver):
    """Of one prepared model, answered from other threads again."""
    execute = driver.execute

    def later(request, callback):
        threading.Thread(target=execute, args=(request, callback)).start()
        return Status.NONE

    driver.execute = later
    wrong = []

    def work(number):
        for value in range(20):
            given = (float(number), -1.0, float(value))
            if run(prepared, given)[1] != [number, 0.0, value]:
                wrong.append(given)

    prepared = prepare(device, relu((3,)))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(driver.requests) == 160


def test_an_answer_that_never_comes(device, driver, quick):
    """Neither from a driver that returns nor from one that does not."""
    prepared = prepare(device)
    end = threading.Event()
    for behaviour in (lambda *_: Status.NONE, lambda *_: end.wait()):
        driver.execute = driver.prepareModel = behaviour
        refusal(ResultCode.OP_FAILED, "did not answer within 0.2 s", prepare, device)
        refusal(ResultCode.OP_FAILED, "did not answer within 0.2 s", run, prepared)
    end.set()


def test_two_answers(device, driver, monkeypatch):
    """The first one counts; that there are more is told of once for a method."""
    written, done = [], threading.Semaphore(0)
    monkeypatch.setattr(log, "_noted", {})
    monkeypatch.setattr(log, "warning", written.append)
    execute = driver.execute

    def twice(request, callback):
        execute(request, callback)
        callback.notify(Status.GENERAL_FAILURE)
        done.release()
        return Status.NONE

    driver.execute = twice
    prepared = prepare(device)
    for _ in range(3):
        assert run(prepared)[1] == [0.0, 2.0]
        assert done.acquire(timeout=HANGS_S)
    (line,) = written
    assert "test.execute answered once more" in line


def test_an_answer_that_comes_too_late(device, driver, quick):
    """It writes to memory of the library, not to the program's."""
    execute, kept = driver.execute, []

    def keep_for_later(request, callback):
        kept.append((request, callback))
        return Status.NONE

    prepared = prepare(device)
    driver.execute = keep_for_later
    given, result = np.array([1, 2], np.float32), np.zeros(2, np.float32)
    arguments = [RequestArgument(address.address_of(a)[0], 8, (2,)) for a in (given, result)]
    request = Request((arguments[0],), (arguments[1],))
    refusal(ResultCode.OP_FAILED, "did not", prepared.execute, request, False, None, 0)
    execute(*kept[0])
    assert result.tolist() == [0.0, 0.0]


def test_deadlines(device, driver, monkeypatch):
    prepared = prepare(device)
    past = time.monotonic_ns()
    for call in (
        lambda end: prepare(device, None, end),
        lambda end: run(prepared, deadline_ns=end),
    ):
        refusal(ResultCode.MISSED_DEADLINE_PERSISTENT, "before", call, past)
    driver.execute = driver.prepareModel = lambda *_: Status.NONE
    end = time.monotonic_ns() + 10**12
    monkeypatch.setattr(answer, "monotonic_ns", lambda: end - 20_000_000)
    for call in (
        lambda end: prepare(device, None, end),
        lambda end: run(prepared, deadline_ns=end),
    ):
        refusal(ResultCode.MISSED_DEADLINE_TRANSIENT, "under way", call, end)


def test_outputs_of_unknown_dimensions(device):
    """They follow from the inputs; a buffer that is too small is found before the run."""
    prepared = prepare(device, relu((0,)))
    result, values = run(prepared, (-1.0, 2.0, 3.0), capacity=5, dimensions=(0,))
    assert result.output_shapes[0].dimensions == (3,)
    assert values == [0.0, 2.0, 3.0, 99.0, 99.0]
    result, values = run(prepared, (-1.0, 2.0), capacity=1, dimensions=(0,))
    assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    assert (result.output_shapes[0].dimensions, values) == ((2,), [99.0])


def test_dimensions_that_contradict_the_operation(device):
    prepared = prepare(device, relu((0,)))
    refusal(ResultCode.OP_FAILED, "RELU", run, prepared, (1.0, 2.0), 3, (3,))


def test_newer_models_are_not_handed_over(device, driver):
    model = finished(lambda m: m.operation("ABS", [m.input(OperandType.TENSOR_FLOAT32, [2])]))
    refusal(ResultCode.BAD_DATA, "not for HAL 1.0", prepare, device, model)
    assert driver.models == []


def test_status_of_the_device(device, driver, quick):
    device.wait()
    answers = [v1_0.DeviceStatus.AVAILABLE, v1_0.DeviceStatus.BUSY]
    driver.getStatus = lambda: answers.pop()
    device.wait()
    assert answers == []
    driver.getStatus = lambda: v1_0.DeviceStatus.OFFLINE
    refusal(ResultCode.UNAVAILABLE_DEVICE, "offline", device.wait)
    driver.getStatus = lambda: v1_0.DeviceStatus.BUSY
    refusal(ResultCode.UNAVAILABLE_DEVICE, "busy", device.wait)


def test_a_driver_that_holds_pythons_lock_is_named(device, driver, quick, capfd):
    """No time limit can end its call, for nobody can act on it; but the wait is explained."""
    import ctypes

    messages, done = [], threading.Event()
    stderr = f"/proc/{os.getpid()}/fd/2"
    until_said = (
        f"for _ in $(seq {HANGS_S}0); do test -s {stderr} && break; sleep 0.1; done".encode()
    )

    def hold(*arguments):
        ctypes.PyDLL(None).system(until_said)  # PyDLL keeps the lock
        messages.append(capfd.readouterr().err)
        done.set()
        return 0

    driver.prepareModel = hold
    with pytest.raises(NnapiError):
        prepare(device)
    assert done.wait(HANGS_S)
    (line,) = messages[0].splitlines()
    assert "nnapi_shim warning: test.prepareModel has not answered for 1.2 s" in line
    assert "NNAPI_SHIM_DRIVER_TIMEOUT" in line


def test_a_driver_that_only_takes_long_is_not_said_to_hold_the_lock(device, driver, quick, capfd):
    driver.prepareModel = lambda *arguments: time.sleep(1.5)
    refusal(ResultCode.OP_FAILED, "did not answer within 0.2 s", prepare, device)
    time.sleep(1.5)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "1e99"])
def test_time_limits_that_make_no_sense(device, driver, monkeypatch, capfd, text):
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", text)
    prepare(device)
    assert "NNAPI_SHIM_DRIVER_TIMEOUT" in capfd.readouterr().err
