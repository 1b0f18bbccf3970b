"""Processes that are killed, stopped, crash, exit, hang and talk nonsense, at each point."""

import os
import signal
import time

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode
from tests.drivers.isolated.conftest import NAME, X, bound, prepared, wait_until, works
from tests.runtime.hal_models import chain

HANGS = ("stop", "sleep", "hold")
ACTIONS = ("kill", "crash", "abort", "exit", "flood", *HANGS, "ring")

SHORT = "0.2"
"""A time limit for what never answers."""


def dead(call, words=""):
    with pytest.raises(NnapiError) as ended:
        call()
    assert ended.value.code is ResultCode.DEAD_OBJECT
    assert words in ended.value.message and "\n" not in ended.value.message
    return ended.value


def points(device):
    """Point -> what reaches it."""
    return {
        "getSupportedOperations": lambda: device.getSupportedOperations(chain("ADD")),
        "prepareModel": lambda: prepared(device),
        "createReusableExecution": lambda: bound(prepared(device)).compute(),
        "compute": lambda: bound(prepared(device)).compute(),
        "wait": device.wait,
    }


POINTS = ("getSupportedOperations", "prepareModel", "createReusableExecution", "wait", "compute")
PAIRS = [("compute", action) for action in ACTIONS]
PAIRS += [*zip(POINTS, ACTIONS, strict=False)][:4]
SLOW = pytest.mark.slow
PAIRS += [
    pytest.param(point, action, marks=SLOW)
    for point in POINTS
    for action in ACTIONS
    if (point, action) not in PAIRS
]


@pytest.mark.parametrize(("point", "action"), PAIRS)
def test_the_end_of_a_process_is_an_error_and_the_next_compilation_starts_another(
    point, action, load, monkeypatch, capfd
):
    device = load(f"{point}={action}")
    if action in HANGS:
        monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", SHORT)
    error = dead(points(device)[point], "starts a new one")
    assert error.rule == "isolated.ended" and NAME in error.message
    monkeypatch.delenv("NNAPI_SHIM_DRIVER_TIMEOUT", raising=False)
    assert works(device)
    assert not capfd.readouterr().out


@pytest.mark.parametrize("action", ["kill", "stop", "flood"])
@pytest.mark.parametrize("point", ["load", "getCapabilities"])
def test_a_process_that_ends_while_it_starts(point, action, load, monkeypatch):
    if action == "stop":
        monkeypatch.setenv("NNAPI_SHIM_DRIVER_LOAD_TIMEOUT", "1.5")
    dead(lambda: load(f"{point}={action}"), "the process of misbehaving")


def test_a_process_that_is_killed_while_idle(load):
    device = load()
    made = prepared(device)
    run = bound(made)
    run.compute()
    os.kill(made.process.id, signal.SIGKILL)
    dead(run.compute)
    dead(run.compute)
    dead(lambda: bound(made).compute())
    assert works(device)


def test_an_idle_process_that_was_killed_is_replaced_by_the_next_compilation(load):
    device = load()
    before = prepared(device).process
    os.kill(before.id, signal.SIGKILL)
    wait_until(lambda: not before.is_alive)
    after = prepared(device).process
    assert after is not before and works(device)


def test_a_process_that_ends_while_it_frees(load):
    device = load("free=crash")
    made = prepared(device)
    before = made.process
    del made
    wait_until(lambda: not before.is_alive)
    assert works(device)


def test_a_process_that_takes_too_much_memory(load):
    device = load("prepareModel=allocate")
    with pytest.raises(NnapiError, match="MemoryError") as failed:
        prepared(device)
    assert failed.value.code in (ResultCode.OP_FAILED, ResultCode.OUT_OF_MEMORY)


def test_what_a_device_raises_is_no_end(load):
    device = load("compute=raise")
    with pytest.raises(NnapiError, match="SystemExit: 3") as failed:
        bound(prepared(device)).compute()
    assert failed.value.code is ResultCode.OP_FAILED
    made = prepared(load())
    run = bound(made, np.float32([-1, 2]))
    for _ in range(2):
        with pytest.raises(
            NnapiError, match="the first value is negative; 0 is the least"
        ) as failed:
            run.compute()
        assert failed.value.code is ResultCode.BAD_DATA
        assert failed.value.said == "the first value is negative; 0 is the least"
    assert works(load())


@pytest.mark.parametrize("seconds", [0.01, 60])
def test_a_deadline_that_a_device_does_not_observe(seconds, load, monkeypatch):
    device = load("compute=sleep")
    if seconds > 1:
        monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", SHORT)
    made = prepared(device)
    dead(
        lambda: bound(made).compute(time.monotonic_ns() + int(seconds * 1e9)),
        "did not answer within",
    )
    assert works(load())


def test_without_a_time_limit_a_device_may_take_any_time(load, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", "0")
    device = load()
    assert works(device) and prepared(device).limit_ns == 0


class _Interrupted:
    """The user interrupts the wait for an answer."""

    def poll(self, time):
        raise KeyboardInterrupt


def test_a_call_that_the_user_interrupts(load):
    """What comes too late is nobody's answer."""
    device = load()
    made = prepared(device)
    run = bound(made)
    run.compute()
    (lane,) = made.process._lanes
    lane._poll, files = _Interrupted(), [*lane._files]
    with pytest.raises(KeyboardInterrupt):
        run.compute()
    assert lane.socket.fileno() == -1 and files and not lane._files, "its lane is closed"
    run.buffers[0][:] = 0
    assert np.array_equal(run.outputs()[0], X + X)
