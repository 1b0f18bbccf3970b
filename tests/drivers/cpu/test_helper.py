"""A thread of C alone: what it makes is there when it is asked for, and it outlives no memory."""

import ctypes
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.cpu import builder as builder_module
from nnapi_shim.drivers.cpu import helper, weights


def product(seed):
    """A model with more to pack than is worth a thread, and the weights."""
    values = np.random.default_rng(seed).normal(size=(256, 128)).astype(np.float32)
    assert values.nbytes > weights.WORTH_A_THREAD
    model = Model()
    x = model.input("TENSOR_FLOAT32", (3, 128))
    model.outputs(model.fully_connected(x, values, np.zeros(256, np.float32)))
    model.finish()
    return model, values


@pytest.fixture
def joined(monkeypatch):
    """The threads that were waited for."""
    seen, wait = [], helper._joined
    monkeypatch.setattr(helper, "_joined", lambda thread: (seen.append(thread), wait(thread))[1])
    return seen


def gives_the_product(model, values):
    x = np.random.default_rng(9).normal(size=(3, 128)).astype(np.float32)
    found = Compilation(model, devices=["nnapi-cpu"]).run(x)
    np.testing.assert_allclose(found, x @ values.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_constants_are_packed_beside_python(threads, joined, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
    gives_the_product(*product(threads))
    assert len(joined) == threads - 1


def test_where_no_thread_is_to_be_had(joined, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")
    monkeypatch.setattr(helper, "_started", lambda *_: 0)
    gives_the_product(*product(3))
    assert joined == []


def test_the_child_of_a_fork_has_no_such_thread(monkeypatch):
    """It does all of it itself, and waits for nobody."""
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")
    start, wait = helper._started, helper._joined
    monkeypatch.setattr(helper, "_started", lambda *which: wait(start(*which)) + 1)
    monkeypatch.setattr(helper, "_joined", lambda thread: pytest.fail(f"waits for {thread}"))
    processes = iter(range(99))
    monkeypatch.setattr(helper.os, "getpid", lambda: next(processes))
    gives_the_product(*product(4))
    assert next(processes) > 1


def test_what_fails_meanwhile_waits(joined, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")

    def fail(*_):
        assert joined == []
        raise MemoryError

    monkeypatch.setattr(builder_module, "assemble", fail)
    model, _ = product(5)
    try:
        Compilation(model, devices=["nnapi-cpu"])
    except MemoryError:
        pass
    else:
        pytest.fail("it does not fail")
    assert len(joined) == 1


def masks():
    """Of each thread of this process, the signals that it blocks, as bits."""
    found = {}
    for status in Path("/proc/self/task").glob("*/status"):
        with suppress(OSError):  # it has ended
            (line,) = [x for x in status.read_text().splitlines() if x.startswith("SigBlk:")]
            found[status.parent.name] = int(line.split()[1], 16)
    return found


def test_signals_are_the_programs():
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    before = masks()
    thread = helper.Helper(sleep, 300_000, None)
    seen = set()
    while found := [mask for number, mask in masks().items() if number not in before]:
        seen.update(found)  # the C library blocks all of them until the thread begins
    assert thread.result() == 0
    blocked = min(seen)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD):
        assert blocked >> (number - 1) & 1
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
        assert not blocked >> (number - 1) & 1
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_handler_that_raises_leaves_no_thread_behind(joined, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")

    def block(how, which, real=helper.pthread_sigmask):
        if how == helper.SIG_SETMASK:
            real(how, which)
            raise KeyboardInterrupt
        return real(how, which)

    monkeypatch.setattr(helper, "pthread_sigmask", block)
    with pytest.raises(KeyboardInterrupt):
        helper.Helper(ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value, 1000, None)
    assert len(joined) == 1
