"""A thread of C alone: what it makes is there when it is asked for, and it outlives no memory."""

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
