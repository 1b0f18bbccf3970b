"""Memory of descriptors on devices of engines: when it lies there, and what it costs."""

import os
import time
from functools import partial

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode, log
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import OutputShape
from nnapi_shim.runtime.memory import copy
from tests.engines.device_memory import compute, contents, execution, fill, memory, on, states
from tests.engines.fake import AllocatingEngine, Engine
from tests.engines.test_device import X, doubled, dynamic
from tests.runtime.hal_models import Builder, chain
from tests.runtime.partial_devices import PartialDevice, compiled

pytest.importorskip("onnx")


@pytest.fixture
def engine():
    return AllocatingEngine(doubled)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_chain_stays_on_the_device(engine, steps):
    compilation = on(engine.device(), chain("ADD"))
    turns = states(compilation, 2)
    fill(turns[0], X)
    before = engine.transfers
    for step in range(steps):
        compute(compilation, [turns[step % 2]], [turns[1 - step % 2]])
    assert engine.transfers == before
    assert np.array_equal(contents(turns[steps % 2]), X * 2**steps)
    assert engine.transfers == before + 1


def test_the_same_chain_in_memory_of_the_process(engine):
    """What it costs without."""
    compilation = on(engine.device(), chain("ADD"))
    engine.allocated = None
    turns = states(compilation, 2)
    fill(turns[0], X)
    assert not engine.transfers
    for step in range(7):
        compute(compilation, [turns[step % 2]], [turns[1 - step % 2]])
    assert engine.transfers == 2 * 7
    assert np.array_equal(contents(turns[1]), X * 2**7)


def test_from_one_model_to_another(engine):
    device = engine.device()
    one, other = (on(device, chain(names)) for names in ("ADD", "MUL"))
    passed = memory((one, "output", 0), (other, "input", 0))
    result = np.zeros(2, np.float32)
    compute(one, [X], [passed])
    compute(other, [passed], [result])
    assert engine.transfers == 2
    assert np.array_equal(result, X * 4)


def test_a_reusable_execution(engine):
    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    run = execution(compilation, [first], [second], reusable=True)
    for value in (X, X + 1):
        fill(first, value)
        run.compute()
        assert np.array_equal(contents(second), value + value)
    assert len(engine.runs) == 1


# When it lies on the device


def lies_on_a_device(*roles):
    return memory(*roles).buffer is not None


def test_roles_on_two_devices(engine):
    """Programs that name no device get memory of the process."""
    model = chain("ADD")
    compilations = []
    for each in (engine, AllocatingEngine(doubled)):
        compilation = on(each.device(), model)
        compilation.explicit = False
        compilations.append(compilation)
        assert lies_on_a_device((compilation, "input", 0))
    roles = [(each, "input", 0) for each in compilations]
    assert not lies_on_a_device(*roles) and not lies_on_a_device(*reversed(roles))


@pytest.mark.parametrize(("partition", "there"), [("1", False), ("2", True)])
def test_another_device_may_step_in(engine, partition, there, monkeypatch):
    """It computes with memory of the process."""
    monkeypatch.setenv("DEBUG_NN_PARTITION", partition)
    monkeypatch.setattr(
        "nnapi_shim.runtime.device_manager._devices",
        {"all": [engine.device(), ReferenceDevice()]},
    )
    compilation = compiled(chain("ADD"), None)
    assert compilation.device.name == "fake-cpu"
    first, second = states(compilation, 2)
    assert (first.buffer is not None) is there
    engine.function = lambda x: 1 / 0
    fill(first, X)
    if there:
        with pytest.raises(NnapiError, match="ZeroDivisionError"):
            compute(compilation, [first], [second])
    else:
        compute(compilation, [first], [second])
        assert np.array_equal(contents(second), X + X)


def test_a_model_of_several_steps(engine):
    """Even if one device has the role: others may read what it writes."""
    engine.declines = lambda node: "no" if node.kind == "MUL" else ""
    devices = [engine.device(), PartialDevice("all")]
    compilation = compiled(chain("ADD MUL"), devices)
    assert [device.name for device in compilation.devices] == ["fake-cpu", "all"]
    assert not lies_on_a_device((compilation, "input", 0))


def test_an_engine_without_memory():
    compilation = on(Engine(doubled).device(), chain("ADD"))
    assert not lies_on_a_device((compilation, "input", 0))


def test_a_device_without_room(engine, capfd, monkeypatch):
    """Memory of the process takes its place; one line says so."""
    monkeypatch.setattr(log, "_noted", {})
    engine.refuses = MemoryError("no memory\non the device")
    compilation = on(engine.device(), chain("ADD"))
    turns = states(compilation, 2)
    (line,) = capfd.readouterr().err.splitlines()
    assert "fake-cpu has no memory for TENSOR_FLOAT32[2]; memory of the process takes" in line
    assert "MemoryError: no memory on the device" in line
    fill(turns[0], X)
    compute(compilation, [turns[0]], [turns[1]])
    assert np.array_equal(contents(turns[1]), X + X)


def test_an_answer_that_is_no_memory(engine, capfd, monkeypatch):
    monkeypatch.setattr(log, "_noted", {})
    device = engine.device()
    monkeypatch.setattr(device._device, "allocate", lambda operand: 7)
    assert not lies_on_a_device((on(device, chain("ADD")), "input", 0))
    assert "the answer is 7; it must be an IBuffer" in capfd.readouterr().err


# Contents


def test_a_failed_execution_leaves_no_contents(engine):
    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    fill(second, X)
    engine.function = lambda x: 1 / 0
    with pytest.raises(NnapiError, match="ZeroDivisionError"):
        compute(compilation, [first], [second])
    with pytest.raises(NnapiError, match="has no contents yet"):
        copy(second, first)
    assert not first.is_initialized
    with pytest.raises(NnapiError, match="has no contents yet"):
        compute(compilation, [second], [first])


def test_memory_without_contents_is_not_read(engine):
    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    with pytest.raises(NnapiError, match="has no contents yet") as refused:
        compute(compilation, [first], [second])
    assert refused.value.code is ResultCode.OP_FAILED and not engine.runs


def test_a_copy_that_fails(engine, monkeypatch):
    def broken(start, size):
        raise RuntimeError("the device\nis gone")

    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    fill(second, X)
    monkeypatch.setattr(second.buffer.own.memory, "write", broken)
    with pytest.raises(NnapiError, match=r"fake-cpu\.copyFrom raised RuntimeError: the d") as e:
        copy(first, second)
    assert e.value.code is ResultCode.OP_FAILED and "\n" not in e.value.message
    assert not second.is_initialized and first.is_initialized
    monkeypatch.setattr(first.buffer.own.memory, "read", broken)
    with pytest.raises(NnapiError, match=r"fake-cpu\.copyTo raised RuntimeError: the device"):
        contents(first)


def test_it_is_not_mapped(engine):
    (made,) = states(on(engine.device(), chain("ADD")), 1)
    with pytest.raises(NnapiError) as refused:
        made.map()
    assert refused.value.code is ResultCode.UNMAPPABLE


# Arguments that need a copy


def test_an_output_that_is_an_input(engine):
    """Computed apart, as in memory of the process."""
    compilation = on(engine.device(), chain("ADD"))
    (state,) = states(compilation, 1)
    fill(state, X)
    for _ in range(3):
        compute(compilation, [state], [state])
    assert np.array_equal(contents(state), X * 8)
    assert not any(to and to.memory for run in engine.runs for to in run.outputs)


def test_two_outputs_in_one_memory(engine):
    """The last one wins."""
    b = Builder()
    x = b.input()
    outputs = [b.binary(name, x, x) for name in ("ADD", "MUL")]
    engine.function = lambda x: [x + x, x * x]
    compilation = on(engine.device(), b.model([x], outputs))
    shared = memory((compilation, "output", 0), (compilation, "output", 1))
    compute(compilation, [X + 5], [shared, shared])
    assert np.array_equal(contents(shared), (X + 5) * (X + 5))


def test_a_deadline(engine):
    """A run that comes too late neither reads nor writes memory of the device."""
    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    for _ in range(2):
        execution(compilation, [first], [second], timeout_ns=60 * 10**9).compute()
        assert np.array_equal(contents(second), X + X)
    for run in engine.runs:
        assert run.outputs == [None]
        assert run.inputs[0] is not first.buffer.own.memory.array
    engine.function = lambda x: (engine.stopped.wait(60), [x + x])[1]
    with pytest.raises(NnapiError) as late:
        execution(compilation, [first], [second], timeout_ns=10**7).compute()
    assert late.value.code is ResultCode.MISSED_DEADLINE_TRANSIENT
    assert not second.is_initialized
    time.sleep(0.01)
    assert np.array_equal(second.buffer.own.memory.array, X + X)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 3), (2, 1)])
def test_dimensions_that_only_the_run_tells(engine, shape):
    engine.function = lambda x, shape: [x.reshape(shape)]
    compilation = on(engine.device(), dynamic())
    made = memory((compilation, "output", 0), dimensions=(3, 2))
    assert made.buffer is not None
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    run = execution(compilation, [x, np.int32(shape)], [made])
    if shape == (3, 2):
        run.compute()
        assert np.array_equal(contents(made), x.reshape(3, 2))
        assert run._result.output_shapes[0] == OutputShape((3, 2))
    else:
        with pytest.raises(NnapiError) as refused:
            run.compute()
        assert refused.value.code is ResultCode.OP_FAILED
        assert not made.is_initialized
        assert (made.buffer.own.memory.array == 99).all()


def test_known_dimensions_that_are_not_those_of_the_memory(engine):
    """Only the run's inputs tell them."""
    b = Builder()
    x = b.input((0, 0))
    out = b.temporary((0, 0))
    b.binary("ADD", x, x, out)
    compilation = on(engine.device(), b.model([x], [out]))
    for shape in ((3, 2), (1, 3), (2, 3)):
        made = memory((compilation, "output", 0), dimensions=(2, 3))
        run = execution(compilation, [], [made])
        value = np.ones(shape, np.float32)
        type = partial(tuple, shape)
        run.set_argument("input", 0, type, value.ctypes.data, value.nbytes)
        if shape == (2, 3):
            run.compute()
            assert (contents(made) == 2).all()
        else:
            with pytest.raises(NnapiError, match="its memory was made for"):
                run.compute()
            assert (made.buffer.own.memory.array == 99).all()


# Lifetimes


def test_memory_lives_as_long_as_executions_use_it(engine):
    compilation = on(engine.device(), chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    run = execution(compilation, [first], [second], reusable=True)
    del first
    run.compute()
    assert np.array_equal(contents(second), X + X)
    of_first, of_second = engine.memories
    assert of_first() is not None
    del run, second
    engine.runs.clear()
    assert of_first() is None and of_second() is None


def in_a_child(work):
    """The result code with which something fails in a forked child; 0 for none."""
    child = os.fork()
    if not child:
        try:
            work()
        except NnapiError as error:
            os._exit(error.code)
        except BaseException:
            os._exit(98)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_forked_children(engine):
    """They neither read nor write the parent's memory of the device, and get none of their own."""
    device = engine.device()
    compilation = on(device, chain("ADD"))
    first, second = states(compilation, 2)
    fill(first, X)
    assert in_a_child(lambda: contents(first)) == ResultCode.DEAD_OBJECT
    assert in_a_child(lambda: fill(second, X)) == ResultCode.DEAD_OBJECT

    def new():
        again = on(device, chain("ADD"))
        one, other = states(again, 2)
        assert one.buffer is None
        fill(one, X)
        compute(again, [one], [other])
        assert np.array_equal(contents(other), X + X)

    assert in_a_child(new) == 0
    assert np.array_equal(contents(first), X)


# As in memory of the process


WHAT = ["compute"] * 4 + ["fill"] * 3 + ["copy", "read", "fail"]


@pytest.mark.parametrize("seed", range(20))
def test_random_chains(seed):
    """Computations, copies and failures in random order: the same bits and errors."""
    texts = []
    counts = []
    for is_there in (True, False):
        random = np.random.default_rng(seed)
        engine = AllocatingEngine(doubled)
        compilation = on(engine.device(), chain("ADD", (3,)))
        if not is_there:
            engine.allocated = None
        turns = states(compilation, 4)
        assert all((each.buffer is not None) is is_there for each in turns)
        said = []
        fill(turns[0], np.ones(3, np.float32))
        for _ in range(40):
            what = random.choice(WHAT)
            one, other = (turns[at] for at in random.integers(0, 4, 2))
            value = random.standard_normal(3).astype(np.float32)
            engine.function = (lambda x: 1 / 0) if what == "fail" else lambda x: [x * 1.5 + 1]
            try:
                if what in ("compute", "fail"):
                    compute(compilation, [one], [other])
                elif what == "copy" and one is not other:  # to itself, it leaves what was never set
                    copy(one, other)
                elif what == "fill":
                    fill(one, value)
                else:
                    said.append(contents(one).tobytes())
            except NnapiError as error:
                said.append((error.code, error.rule))
        said += [contents(each).tobytes() if each.is_initialized else None for each in turns]
        texts.append(said)
        counts.append(sum(not run.of_the_process for run in engine.runs))
    assert texts[0] == texts[1]
    assert any(isinstance(each, bytes) for each in texts[0])
    assert counts[0] and not counts[1]


def test_types_of_elements(engine):
    device = engine.device()
    for type in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_INT32, T.TENSOR_FLOAT16):
        b = Builder()
        x = b.input((5,), type, scale=0.5 if type is T.TENSOR_QUANT8_ASYMM else 0.0)
        shape = b.constant([5, 1], T.TENSOR_INT32)
        out = b.temporary((5, 1), type, scale=0.5 if type is T.TENSOR_QUANT8_ASYMM else 0.0)
        b.operation(O.RESHAPE, [x, shape], [out])
        engine.function = lambda x: [x.reshape(5, 1)]
        compilation = on(device, b.model([x], [out]))
        given, made = memory((compilation, "input", 0)), memory((compilation, "output", 0))
        value = np.arange(5).astype(given.buffer.own.memory.array.dtype)
        fill(given, value)
        compute(compilation, [given], [made])
        assert np.array_equal(contents(made, value.dtype), value.reshape(5, 1))
