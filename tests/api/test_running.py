"""Compilation and Execution: arrays in, arrays out, on every device."""

import gc
import threading
import weakref

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Compilation, Execution, FuseCode, Model, NnapiError, ResultCode
from nnapi_shim.runtime import execution as runtime_execution

F32 = "TENSOR_FLOAT32"
NONE = FuseCode.NONE


def sum_of(dimensions: list[int | None]) -> Model:
    """A model of two outputs: x + y, and the positive part of that."""
    with Model() as model:
        x, y = model.input(F32, dimensions), model.input(F32, dimensions)
        sum = model.operation("ADD", [x, y, NONE])
        model.outputs(sum, model.operation("RELU", [sum]))
    return model


def relu(dimensions: list[int | None] | None) -> Model:
    """A model of one operation."""
    with Model() as model:
        model.outputs(model.operation("RELU", [model.input(F32, dimensions)]))
    return model


@pytest.fixture
def compilation(device: str) -> Compilation:
    """RELU of two numbers."""
    return Compilation(relu([2]), device)


# Running in one call


def test_one_output_is_an_array(compilation: Compilation) -> None:
    result = compilation.run(np.float32([-1, 2]))
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    assert result.tolist() == [0, 2]


def test_several_outputs_are_a_tuple(device: str) -> None:
    sum, positive = Compilation(sum_of([3]), device).run([1, -2, 3], [0.5, 0.5, 0.5])
    assert sum.tolist() == [1.5, -1.5, 3.5]
    assert positive.tolist() == [1.5, 0, 3.5]


@pytest.mark.parametrize("dimensions", [[None, 2], [None, None], None])
def test_dimensions_that_only_the_inputs_know(
    device: str, dimensions: list[int | None] | None
) -> None:
    compilation = Compilation(relu(dimensions), device)
    for rows in (1, 5, 2):
        arguments = np.arange(-rows, rows, dtype=np.float32).reshape(rows, 2)
        result = compilation.run(arguments)
        np.testing.assert_array_equal(result, np.maximum(arguments, 0))
        assert result.base is None or result.base.nbytes == arguments.nbytes


def test_dimensions_that_a_value_decides(device: str) -> None:
    with Model() as model:
        shape = model.input("TENSOR_INT32", [2])
        y = model.operation("RESHAPE", [model.input(F32, [6]), shape])
        model.identify_inputs_and_outputs([shape, 1], [y])
    compilation = Compilation(model, device)
    for expected in ((2, 3), (6, -1)):
        assert compilation.run(expected, np.arange(6)).shape == np.zeros(6).reshape(expected).shape


def test_inputs_are_converted(device: str) -> None:
    compilation = Compilation(relu([2, 3]), device)
    arguments = np.arange(-3, 3, dtype=np.float64).reshape(3, 2).T
    np.testing.assert_array_equal(compilation.run(arguments), np.maximum(arguments, 0))
    assert compilation.run([[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_float16(device: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT16", [2])
        model.outputs(model.operation("ADD", [x, [0.5, 1], NONE]))
    result = Compilation(model, device).run([1, 2])
    assert result.dtype == np.float16 and result.tolist() == [1.5, 3]


def test_quantized(device: str) -> None:
    with Model() as model:
        x = model.input(F32, [4])
        byte = model.operation(
            "QUANTIZE", [x], output="TENSOR_QUANT8_ASYMM", scale=0.5, zero_point=128
        )
        model.outputs(byte, model.operation("DEQUANTIZE", [byte], output=F32))
    bytes, back = Compilation(model, device).run([-1, 0, 0.5, 1000])
    assert bytes.dtype == np.uint8 and bytes.tolist() == [126, 128, 129, 255]
    assert back.tolist() == [-1, 0, 0.5, 63.5]


def test_large_constants(device: str) -> None:
    filter = np.random.default_rng(1).standard_normal((50, 100), np.float32)
    with Model() as model:
        x = model.input(F32, [3, 100])
        bias = np.zeros(50)
        model.outputs(model.operation("FULLY_CONNECTED", [x, filter, bias, NONE]))
    filter_then = filter.copy()
    filter[:] = 0  # no matter any more
    arguments = np.random.default_rng(2).standard_normal((3, 100), np.float32)
    result = Compilation(model, device).run(arguments)
    np.testing.assert_allclose(result, arguments @ filter_then.T, rtol=1e-4, atol=1e-4)


def test_results_do_not_share_memory(compilation: Compilation) -> None:
    first, second = compilation.run([1, 2]), compilation.run([3, 4])
    assert (first.tolist(), second.tolist()) == ([1, 2], [3, 4])


def test_threads_share_a_compilation(device: str) -> None:
    compilation = Compilation(sum_of([None]), device)
    wrong = []

    def work(number: int) -> None:
        for length in range(1, 50):
            sum, _ = compilation.run(np.full(length, number), np.arange(length))
            if sum.tolist() != [number + i for i in range(length)]:
                wrong.append((number, length))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ((), "0 inputs given; the model has 1"),
        (([1], [2]), "2 inputs given; the model has 1"),
        (([1, 2, 3],), "input 0: the type has dimensions [3]; the model has [2]"),
        ((1,), "input 0: the type has dimensions []; the model has [2]"),
        ((["a", "b"],), "cannot be those of TENSOR_FLOAT32"),
    ],
)
def test_inputs_that_do_not_fit(
    compilation: Compilation, inputs: tuple[object, ...], words: str
) -> None:
    with pytest.raises(NnapiError) as caught:
        compilation.run(*inputs)
    assert caught.value.code is ResultCode.BAD_DATA
    assert words in caught.value.message


def test_what_fails_in_the_device(device: str) -> None:
    with Model() as model:
        x, y = model.input(F32, [None]), model.input(F32, [None])
        model.outputs(model.operation("ADD", [x, y, NONE]))
    with pytest.raises(NnapiError, match=r"^OP_FAILED: ADD \(operation 0\)"):
        Compilation(model, device).run([1, 2], [1, 2, 3])


# Compiling


def test_choosing_devices() -> None:
    model = relu([1])
    first, last = nnapi_shim.devices()
    assert Compilation(model).device == first
    for choice in ("nnapi-reference", last, ["nnapi-reference"]):
        assert Compilation(model, choice).device == last
    assert Compilation(model, (last, first)).device == first, "the faster one"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("nnapi-gpu", "there is no device 'nnapi-gpu'; did you mean nnapi-cpu"),
        ("iree-cpu", "'iree-cpu'; NNAPI_SHIM_ENGINES=iree lists the devices of iree"),
        (["nothing"], "there is no device 'nothing'; there are nnapi-cpu, nnapi-reference"),
        (["nnapi-cpu", "nnapi-cpu"], "device 'nnapi-cpu' is in the list twice"),
        ([], "the list of devices is empty"),
    ],
)
def test_devices_that_cannot_be_chosen(choice: list[str], words: str) -> None:
    with pytest.raises(NnapiError, match=words) as caught:
        Compilation(relu([1]), choice)
    assert caught.value.code is ResultCode.BAD_DATA


def test_arguments_of_a_compilation(device: str) -> None:
    compilation = Compilation(
        sum_of([None, 3]), device, preference="LOW_POWER", priority="HIGH", timeout_ns=10**11
    )
    assert compilation.device is not None and compilation.device.name == device
    assert [a.dimensions for a in compilation.inputs] == [(0, 3)] * 2
    assert [a.type.name for a in compilation.outputs] == [F32] * 2


def test_a_model_that_is_not_finished() -> None:
    with pytest.raises(NnapiError, match=r"^BAD_STATE: the model is building"):
        Compilation(Model())


def test_supported_operations(device: str) -> None:
    assert sum_of([1]).supported_operations(device) == [True, True]
    assert sum_of([1]).supported_operations() == [True, True]


def test_a_compilation_outlives_its_model(device: str) -> None:
    model = relu([1])
    compilation = Compilation(model, device)
    model.close()
    assert compilation.run([2]).tolist() == [2]


def test_the_block_of_a_compilation_closes_it(device: str) -> None:
    with Compilation(relu([1]), device) as compilation:
        alive = weakref.ref(compilation.runtime)
    assert alive() is None
    with pytest.raises(NnapiError, match=r"^BAD_STATE: the compilation is closed"):
        compilation.run([1])


# Call by call


def test_a_reusable_execution_reads_its_arrays_again(compilation: Compilation) -> None:
    x, y = np.float32([-1, 1]), np.zeros(2, np.float32)
    execution = Execution(compilation, reusable=True)
    execution.set_input(0, x)
    execution.set_output(0, y)
    execution.compute()
    assert y.tolist() == [0, 1]
    x[:] = [3, -3]
    execution.compute()
    assert y.tolist() == [3, 0]


def test_an_execution_runs_once(compilation: Compilation) -> None:
    execution = Execution(compilation)
    execution.set_input(0, [1, 2])
    execution.set_output(0, np.zeros(2, np.float32))
    execution.compute()
    with pytest.raises(NnapiError, match=r"^BAD_STATE: .*not reusable"):
        execution.compute()


def test_an_output_that_is_too_small(device: str) -> None:
    execution = Execution(Compilation(relu([None]), device))
    execution.set_input(0, np.zeros(5))
    execution.set_output(0, np.zeros(4, np.float32))
    with pytest.raises(NnapiError) as caught:
        execution.compute()
    assert caught.value.code is ResultCode.OUTPUT_INSUFFICIENT_SIZE
    assert execution.output_dimensions(0) == (5,)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(2), "output 0 is given as float64; TENSOR_FLOAT32 needs float32"),
        (np.zeros(3, np.float32), "output 0 is given as [3]; its dimensions are [2]"),
        (np.zeros(4, np.float32)[::2], "it must be writable, aligned and in row-major order"),
        (np.broadcast_to(np.float32(0), 2), "it must be writable, aligned and in row-major order"),
    ],
)
def test_outputs_that_cannot_be_written(
    compilation: Compilation, array: np.ndarray, words: str
) -> None:
    with pytest.raises(NnapiError) as caught:
        Execution(compilation).set_output(0, array)
    assert caught.value.code is ResultCode.BAD_DATA
    assert words in caught.value.message


def test_arguments_that_do_not_exist(compilation: Compilation) -> None:
    execution = Execution(compilation)
    with pytest.raises(NnapiError, match="BAD_DATA: input 1 does not exist; the model has 1"):
        execution.set_input(1, [1, 2])
    with pytest.raises(NnapiError, match="BAD_DATA: output -1 does not exist"):
        execution.set_output(-1, np.zeros(2, np.float32))
    with pytest.raises(NnapiError, match="BAD_DATA: input 0 is not set"):
        execution.compute()


def test_an_event(compilation: Compilation) -> None:
    x, y = np.float32([-1, 1]), np.zeros(2, np.float32)
    execution = Execution(compilation)
    execution.set_input(0, x)
    execution.set_output(0, y)
    event = execution.start_compute()
    event.wait()
    event.wait()
    assert y.tolist() == [0, 1]


def test_arrays_live_as_long_as_a_computation(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the program forgets everything while the computation is under way."""
    gate, run = threading.Event(), runtime_execution.Execution._run

    def run_later(self: runtime_execution.Execution) -> None:
        gate.wait()
        run(self)

    monkeypatch.setattr(runtime_execution.Execution, "_run", run_later)
    execution = Execution(Compilation(relu([2]), device))
    x, y = np.float32([1, 2]), np.zeros(2, np.float32)
    held = [weakref.ref(x), weakref.ref(y)]
    execution.set_input(0, x)
    execution.set_output(0, y)
    event = execution.start_compute()
    execution.close()
    del execution, x, y
    gc.collect()
    assert all(array() is not None for array in held)
    gate.set()
    event.wait()


def interrupted(*_: object) -> None:
    """What a handler of Ctrl+C does, wherever a computation is."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["_prepare", "_run"])
def test_a_computation_that_was_interrupted_can_be_run_again(
    where: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = Execution(Compilation(relu([2]), device), reusable=True)
    x, y = np.float32([-1, 1]), np.zeros(2, np.float32)
    execution.set_input(0, x)
    execution.set_output(0, y)
    with monkeypatch.context() as patched:
        patched.setattr(runtime_execution.Execution, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            execution.compute()
    assert not execution.runtime.in_flight
    execution.compute()
    assert y.tolist() == [0, 1]


def test_an_interrupted_thread_ends_no_computation_of_others(
    compilation: Compilation, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, run = threading.Event(), runtime_execution.Execution._run

    def run_later(self: runtime_execution.Execution) -> None:
        gate.wait()
        run(self)

    execution = Execution(compilation, reusable=True)
    execution.set_input(0, np.float32([-1, 1]))
    execution.set_output(0, np.zeros(2, np.float32))
    monkeypatch.setattr(runtime_execution.Execution, "_run", run_later)
    event = execution.start_compute()
    with monkeypatch.context() as patched:
        patched.setattr(runtime_execution.Execution, "_begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            execution.compute()
    assert execution.runtime.in_flight
    gate.set()
    event.wait()
    assert not execution.runtime.in_flight


def test_durations(device: str) -> None:
    execution = Execution(Compilation(relu([2]), device))
    execution.set_measure_timing(True)
    execution.set_timeout(10**11)
    execution.set_loop_timeout(10**9)
    execution.set_input(0, [1, 2])
    execution.set_output(0, np.zeros(2, np.float32))
    execution.compute()
    on_hardware = execution.duration("DURATION_ON_HARDWARE")
    in_driver = execution.duration(nnapi_shim.DurationCode.DURATION_IN_DRIVER)
    assert on_hardware is not None and in_driver is not None
    assert 0 < on_hardware <= in_driver < 10**10


def test_durations_need_one_device() -> None:
    with pytest.raises(NnapiError, match=r"^BAD_DATA: .*exactly one device"):
        Execution(Compilation(relu([2]))).set_measure_timing(True)


def test_the_block_of_an_execution_closes_it(compilation: Compilation) -> None:
    array = np.zeros(2, np.float32)
    held = weakref.ref(array)
    with Execution(compilation) as execution:
        execution.set_input(0, array)
        del array
        assert held() is not None
    assert held() is None
    with pytest.raises(NnapiError, match=r"^BAD_STATE: the execution is closed"):
        execution.compute()
