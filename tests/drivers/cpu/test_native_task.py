"""A thread of C alone: what it makes is there when it is asked for, and it outlives no memory."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.cpu.compile import graph_lowering, packing
from nnapi_shim.drivers.cpu.program import native_task
from tests.waiting import HANGS_S


def product(seed):
    """A model with more to pack than is worth a thread, and the weights."""
    values = np.random.default_rng(seed).normal(size=(256, 128)).astype(np.float32)
    assert values.nbytes > packing.WORTH_A_THREAD
    model = Model()
    x = model.input("TENSOR_FLOAT32", (3, 128))
    model.outputs(model.fully_connected(x, values, np.zeros(256, np.float32)))
    model.finish()
    return model, values


@pytest.fixture
def helpers(monkeypatch):
    """All that are made, the last first."""
    made, make = [], native_task.NativeTask.__init__

    def seen(self, *arguments):
        make(self, *arguments)
        made.insert(0, self)

    monkeypatch.setattr(native_task.NativeTask, "__init__", seen)
    return made


@pytest.fixture
def helped(monkeypatch):
    """Lets a function stand for the one of C, which it gets, with a block and whether to end."""
    native_task.NativeTask(*usleep(0)).result()
    ((where, real),) = native_task._functions

    def stands(function):
        instead = (where, lambda *which: function(real, *which))
        monkeypatch.setattr(native_task, "_functions", [instead])

    return stands


def usleep(microseconds):
    """A C function that takes so long, its argument, and nothing to keep."""
    function = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    return function, microseconds, None


def gives_the_product(model, values):
    x = np.random.default_rng(9).normal(size=(3, 128)).astype(np.float32)
    actual = Compilation(model, devices=["nnapi-cpu"]).run(x)
    np.testing.assert_allclose(actual, x @ values.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_constants_are_packed_beside_python(threads, helpers, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
    gives_the_product(*product(threads))
    assert [each.began for each in helpers] == [True] * (threads - 1)


def test_where_no_thread_is_to_be_had(helpers, helped, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")
    helped(lambda real, block, ends: 0)
    gives_the_product(*product(3))
    assert not helpers[0].began


def test_the_child_of_a_fork_has_no_such_thread():
    """It does all of it itself, and waits for nobody."""
    thread = native_task.NativeTask(*usleep(100_000))
    child = os.fork()
    if child == 0:
        os._exit(thread.result() is not None)
    assert os.waitpid(child, 0)[1] == 0
    assert thread.result() == 0
    assert thread.result() is None


def test_what_fails_meanwhile_waits(helpers, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")

    def fail(*_):
        assert len(helpers) == 1
        raise MemoryError

    monkeypatch.setattr(graph_lowering, "assemble", fail)
    model, _ = product(5)
    with pytest.raises(MemoryError):
        Compilation(model, devices=["nnapi-cpu"])
    assert helpers[0].began


def masks():
    """Of each thread of this process, the signals that it blocks, as bits."""
    actual = {}
    for status in Path("/proc/self/task").glob("*/status"):
        with suppress(OSError):  # it has ended
            (line,) = [x for x in status.read_text().splitlines() if x.startswith("SigBlk:")]
            actual[status.parent.name] = int(line.split()[1], 16)
    return actual


@pytest.mark.own_process
def test_signals_are_the_programs():
    before, library, posted = masks(), ctypes.CDLL(None), ctypes.create_string_buffer(64)
    assert library.sem_init(posted, 0, 0) == 0
    waits = ctypes.cast(library.sem_wait, ctypes.c_void_p).value
    thread = native_task.NativeTask(waits, ctypes.addressof(posted), posted)
    blocked, end = -1, time.monotonic() + HANGS_S
    while blocked >> (signal.SIGSEGV - 1) & 1 and time.monotonic() < end:
        # The C library blocks all of them until the thread begins.
        others = [mask for number, mask in masks().items() if number not in before]
        blocked = min(others, default=-1)
    assert library.sem_post(posted) == 0
    assert thread.result() == 0
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD):
        assert blocked >> (number - 1) & 1
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
        assert not blocked >> (number - 1) & 1
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("ends", [0, 1])
def test_a_handler_that_raises_leaves_no_thread_behind(ends, helped):
    """Whether Ctrl+C comes when the thread has just begun, or was waited for."""

    def interrupted(real, block, which):
        actual = real(block, which)
        if which == ends:
            raise KeyboardInterrupt
        return actual

    helped(interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        native_task.NativeTask(*usleep(100_000)).result()
    assert time.monotonic() - began >= 0.1


INTERRUPTED = """
import signal, time
import numpy as np
from nnapi_shim import Compilation, Model

values = np.ones((256, 128), np.float32)
model = Model()
x = model.input("TENSOR_FLOAT32", (3, 128))
model.outputs(model.fully_connected(x, values, np.zeros(256, np.float32)))
model.finish()
given = np.ones((3, 128), np.float32)
assert (Compilation(model, devices=["nnapi-cpu"]).run(given) == 128).all()
signal.signal(signal.SIGALRM, signal.default_int_handler)
interrupts = 0
for tried in range(1, 300):
    values = np.full((256, 128), tried, np.float32)
    try:
        model = Model()
        x = model.input("TENSOR_FLOAT32", (3, 128))
        model.outputs(model.fully_connected(x, values, np.zeros(256, np.float32)))
        model.finish()
        signal.setitimer(signal.ITIMER_REAL, 1e-5 + tried % 997 * 3e-6)
        compilation = Compilation(model, devices=["nnapi-cpu"])
        time.sleep(0.004)
    except KeyboardInterrupt:
        interrupts += 1
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), "signals are blocked"
print(interrupts)
"""


def test_ctrl_c_at_any_moment_of_compiling():
    """The program goes on, and its signals come."""
    environment = os.environ | {"NNAPI_SHIM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", INTERRUPTED]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 0
