"""What devices of all engines share, with an engine made for these tests."""

import os
import time

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import NnapiError, ResultCode
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.formats.graph import reading
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, OperandLifeTime, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import OutputShape, Request, RequestArgument
from nnapi_shim.limits import TooLate, until
from nnapi_shim.runtime import device_manager
from nnapi_shim.tools.explain import explain
from tests.engines.fake import Engine
from tests.runtime.hal_models import Bound, Builder, chain

pytest.importorskip("onnx")


def prepared(engine, model, deadline_ns=None):
    return engine.device().prepareModel(
        model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, deadline_ns, None
    )


def doubled(x):
    return [x + x]


X = np.float32([1, 2])


def test_the_engine_writes_to_the_memory_of_the_program():
    engine, model = Engine(doubled), chain("ADD")
    bound = Bound(prepared(engine, model), model, [X], room=8)
    assert np.array_equal(bound.outputs()[0], X + X)
    (run,) = engine.runs
    assert run.inputs[0].ctypes.data == X.ctypes.data
    assert run.outputs[0].address == bound.buffers[0].ctypes.data
    bound.compute()
    assert engine.runs == [run], "a second run binds nothing again"
    (file,) = engine.files
    assert ([*file.inputs], [*file.outputs]) == (["input_0"], ["output_0"])


def test_memory_that_is_not_aligned_is_copied():
    engine, model = Engine(doubled), chain("ADD")
    raw = np.zeros(32, np.uint8)
    raw[1:9] = X.view(np.uint8)
    at = raw.ctypes.data
    request = Request((RequestArgument(at + 1, 8, (2,)),), (RequestArgument(at + 17, 8, (2,)),))
    execution = prepared(engine, model).createReusableExecution(request, False, 0)
    for value in (X, X * 3):
        raw[1:9] = value.view(np.uint8)
        assert execution.compute(None).status is ErrorStatus.NONE
        assert np.array_equal(raw[17:25].copy().view(np.float32), value + value)
    assert engine.runs[0].outputs == [None]


@pytest.mark.parametrize("room", [4, 7])
def test_a_buffer_that_is_too_small(room):
    engine, model = Engine(doubled), chain("ADD")
    bound = Bound(prepared(engine, model), model, [X], room=room)
    result = bound.compute()
    assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    assert [*result.output_shapes] == [OutputShape((2,), False)]
    assert not engine.runs and (bound.buffers[0] == 0xA5).all()


def dynamic():
    """A model whose output has dimensions that only a run tells: RESHAPE by an input."""
    b = Builder()
    x, shape = b.input((2, 3)), b.input((2,), T.TENSOR_INT32)
    out = b.temporary((0, 0))
    b.operation(O.RESHAPE, [x, shape], [out])
    return b.model([x, shape], [out])


@pytest.mark.parametrize("room", [24, 23])
def test_dimensions_that_only_the_run_tells(room):
    engine, model = Engine(lambda x, shape: [x.reshape(shape)]), dynamic()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    bound = Bound(prepared(engine, model), model, [x, np.int32([3, 2])], room=room)
    if room == 24:
        assert np.array_equal(bound.outputs()[0], x.reshape(3, 2))
    else:
        result = bound.compute()
        assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
        assert [*result.output_shapes] == [OutputShape((3, 2), False)]
        assert (bound.buffers[0] == 0xA5).all()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda x, shape: [x.astype(np.float64)],
            "gave 48 bytes for dimensions [2, 3], which have 24",
        ),
        (lambda x, shape: [x[0]], "dimensions"),
        (lambda x, shape: [], "list index out of range"),
    ],
)
def test_an_engine_that_answers_wrong_sizes(answer, words):
    engine, model = Engine(answer), dynamic()
    x = np.zeros((2, 3), np.float32)
    engine.declines = lambda node: ""
    bound = Bound(prepared(engine, model), model, [x, np.int32([2, 3])])
    with pytest.raises(NnapiError) as refused:
        bound.compute()
    assert refused.value.code is ResultCode.OP_FAILED
    if answer(x, None):
        assert words in refused.value.message
    assert (bound.buffers[0] == 0xA5).all()


def test_an_engine_that_raises():
    def broken(x):
        raise ValueError("no memory on the device\nat line 3")

    model = chain("ADD")
    bound = Bound(prepared(Engine(broken), model), model, [X])
    with pytest.raises(NnapiError, match=r"fake-cpu\.compute raised ValueError: no memory") as e:
        bound.compute()
    assert e.value.code is ResultCode.OP_FAILED and "\n" not in e.value.message


def test_nan_is_a_result():
    model = chain("ADD")
    bound = Bound(prepared(Engine(lambda x: [x * np.nan]), model), model, [X], room=8)
    assert np.isnan(bound.outputs()[0]).all()


def test_an_omitted_input_takes_a_network_of_its_own():
    b = Builder()
    x, bias = b.input((1, 2)), b.input((2,))
    feature = b.constant(np.eye(2), T.TENSOR_FLOAT32)
    times = b.constant(np.ones((2, 1)), T.TENSOR_FLOAT32)
    state = b.constant(np.zeros((1, 2)), T.TENSOR_FLOAT32)
    rank, none = b.constant(1, T.INT32), b.constant(0, T.INT32)
    after, out = b.temporary((1, 2)), b.temporary((1, 2))
    b.operation(O.SVDF, [x, feature, times, bias, state, rank, none], [after, out])
    model = b.model([x, bias], [after, out])
    engine = Engine(lambda x, *bias: [x, x])
    made = prepared(engine, model)
    value = np.float32([[1, 2]])
    for _ in range(2):
        assert np.array_equal(Bound(made, model, [value, None], room=8).outputs()[0], value)
        assert np.array_equal(Bound(made, model, [value, X], room=8).outputs()[0], value)
    assert [file.inputs for file in engine.files] == [["input_0", "input_1"], ["input_0"]]


def test_a_rule_that_is_broken_is_refused_as_on_other_devices():
    b = Builder()
    one, other = b.input((0,)), b.input((0,))
    out = b.binary("ADD", one, other, b.temporary((0,)))
    model = b.model([one, other], [out])
    inputs = [np.zeros(2, np.float32), np.zeros(3, np.float32)]
    texts = []
    for device in (Engine(lambda x, y: [x]).device(), ReferenceDevice()):
        made = device.prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
        )
        with pytest.raises(NnapiError) as refused:
            Bound(made, model, inputs).compute()
        texts.append((refused.value.code, refused.value.rule, refused.value.said))
    assert texts[0] == texts[1]


def test_a_deadline_that_has_passed():
    engine, model = Engine(doubled), chain("ADD")
    past = time.monotonic_ns() - 1
    for call in (
        lambda: prepared(engine, model, past),
        lambda: Bound(prepared(engine, model), model, [X]).compute(past),
    ):
        with pytest.raises(NnapiError) as missed:
            call()
        assert missed.value.code is ResultCode.MISSED_DEADLINE_PERSISTENT
    assert not engine.runs


def test_the_deadline_of_a_compilation_passes_while_a_device_is_asked():
    """It is no failure of the device, which would be left out."""
    device = Engine(doubled).device()
    with until(1), pytest.raises(TooLate):
        device.getSupportedOperations(chain("ADD"))


def test_outputs_of_unknown_rank_are_declined():
    """ONNX has no way to write one that leaves the model, and any may."""
    b = Builder()
    x, sizes = b.input((2, 3)), b.input((2,), T.TENSOR_INT32)
    out = b.temporary(())
    b.operation(O.SLICE, [x, sizes, sizes], [out])
    (reason,) = Engine(doubled).device().getReasons(b.model([x, sizes], [out]))
    assert "the rank of an output is not known" in reason


def test_a_late_result_is_dropped():
    model = chain("ADD")

    def late(x):
        engine.stopped.wait(60)
        return [x + x]

    engine = Engine(late)
    bound = Bound(prepared(engine, model), model, [X], room=8)
    with pytest.raises(NnapiError) as missed:
        bound.compute(time.monotonic_ns() + 10**7)
    assert missed.value.code is ResultCode.MISSED_DEADLINE_TRANSIENT
    assert engine.stopped.is_set()
    assert (bound.buffers[0] == 0xA5).all()
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert np.array_equal(bound.buffers[0].view(np.float32), X + X)


def test_an_execution_after_a_deadline_that_it_missed():
    """It is bound to the memory of the program again."""
    is_late = []

    def function(x):
        if is_late:
            engine.stopped.wait(60)
        return [x + x]

    engine, model = Engine(function), chain("ADD")
    bound = Bound(prepared(engine, model), model, [X], room=8)
    bound.compute()
    is_late.append(True)
    with pytest.raises(NnapiError):
        bound.compute(time.monotonic_ns() + 10**7)
    is_late.clear()
    assert np.array_equal(bound.outputs()[0], X + X)
    assert [each and each.address for each in engine.runs[-1].outputs] == [
        bound.buffers[0].ctypes.data
    ]


def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    model = chain("ADD")
    made = prepared(Engine(doubled), model)
    child = os.fork()
    if not child:
        try:
            Bound(made, model, [X]).compute()
        except NnapiError as error:
            os._exit(error.code)
        os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ResultCode.DEAD_OBJECT


def test_what_a_device_does_not_run_has_a_reason():
    engine, model = Engine(doubled), chain("ADD MUL")
    engine.declines = lambda node: "its products are wrong" if node.kind == "MUL" else ""
    device = engine.device()
    assert device.getSupportedOperations(model) == [True, False]
    assert device.getReasons(model) == ["", "its products are wrong"]


@pytest.mark.parametrize("is_large", [True, False])
def test_constants_above_the_limit_of_a_file(is_large, monkeypatch):
    """An engine gets their arrays, or declines the model; small constants are in the file."""
    monkeypatch.setattr(reading, "LARGEST", 4100 if is_large else 5000)
    values = np.arange(1 << 10, dtype=np.float32) + 1
    b = Builder()
    x, all_of_them = b.input(values.shape), b.constant(values, T.TENSOR_FLOAT32)
    model = b.model([x], [b.binary("ADD", b.binary("MUL", x, all_of_them), x)])
    engine = Engine(doubled)
    engine.takes_external = True
    prepared(engine, model)
    external = [*engine.files[0].external.values()]
    if not is_large:
        assert not external
        prepared(Engine(doubled), model)
    else:
        assert len(external) == 1 and np.array_equal(external[0], values)
        for call in (Engine(doubled).device().getReasons, lambda m: prepared(Engine(doubled), m)):
            with pytest.raises(NnapiError, match="more than 2 GB"):
                call(model)


def test_operands_that_do_not_fit_together_are_no_error_of_the_device():
    """Weights of an auxiliary input that is omitted; an execution refuses them."""
    b = Builder()
    x, state = b.input((5, 1, 1)), b.constant(np.zeros((1, 3)), T.TENSOR_FLOAT32)
    cell = [b.constant(np.zeros(shape), T.TENSOR_FLOAT32) for shape in ((3, 1), (3, 3), (3,))]
    none = b.operand(T.TENSOR_FLOAT32, (0,), lifetime=OperandLifeTime.NO_VALUE)
    scalars = [b.constant(0, T.INT32), *(b.constant(0, T.BOOL) for _ in range(2))]
    outputs = [b.temporary((5, 1, 3)) for _ in range(2)]
    inputs = [x, *cell, state, *cell, state, none, cell[0], cell[0], *scalars]
    b.operation(O.BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs)
    (reason,) = Engine(doubled).device().getReasons(b.model([x], outputs))
    assert "one is omitted that another one needs" in reason


def test_measured_time():
    model = chain("ADD")
    bound = Bound(prepared(Engine(doubled), model), model, [X], measure=True)
    timing = bound.compute().timing
    assert timing.time_on_device_ns == timing.time_in_driver_ns > 0


def test_wishes_reach_the_engine(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "3")
    deadline_ns = time.monotonic_ns() + 20 * 10**9
    engine = Engine(doubled)
    engine.device().prepareModel(
        chain("ADD")._replace(relax_computation_float32_to_float16=True),
        ExecutionPreference.LOW_POWER,
        Priority.HIGH,
        deadline_ns,
        None,
    )
    (wish,) = engine.wishes
    assert wish == (ExecutionPreference.LOW_POWER, Priority.HIGH, True, 3, None, deadline_ns)


def test_explain_gives_the_reasons(monkeypatch):
    engine = Engine(doubled)
    engine.declines = lambda node: "its products are wrong" if node.kind == "MUL" else ""
    monkeypatch.setattr(device_manager, "_devices", {"all": [engine.device(), ReferenceDevice()]})
    with nnapi_shim.Model() as model:
        x = model.input("float32", (2,), name="x")
        model.outputs(model.mul(x, x))
        model.finish()
        (operation,) = explain(model).operations
    verdict = operation.verdicts[0]
    assert (verdict.device, verdict.runs) == ("fake-cpu", False)
    assert [why.text for why in verdict.reasons] == ["its products are wrong"]


def test_an_engine_that_hangs_while_it_compiles(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", "0.01")
    engine = Engine(doubled)
    monkeypatch.setattr(engine, "compiled", lambda *arguments: engine.stopped.wait(60))
    with pytest.raises(
        NnapiError, match=r"compiles the model, which did not end within 0\.01 s"
    ) as e:
        prepared(engine, chain("ADD"))
    assert e.value.code is ResultCode.OP_FAILED
    with pytest.raises(NnapiError) as missed:
        prepared(engine, chain("ADD"), time.monotonic_ns() + 10**6)
    assert missed.value.code in (
        ResultCode.MISSED_DEADLINE_TRANSIENT,
        ResultCode.MISSED_DEADLINE_PERSISTENT,
    )
    engine.stopped.set()


def test_models_of_bytes_go_to_the_device_of_the_library():
    """Engines on processors take more time for them."""
    figures = Engine(doubled).device().getCapabilities()
    assert figures.operand_performance[T.TENSOR_FLOAT32].exec_time == 1
    for type in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED):
        assert figures.operand_performance[type].exec_time > 1
