"""Running an execution, and what can be asked afterwards (API semantics 5)."""

import ctypes
import gc
from types import TracebackType

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s, operand_type, pointers, uint32s
from tests.abi.rules.graph import Buffer, Graph, Run, add_graph, compilation_for, set_arguments

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
INSUFFICIENT = ResultCode.OUTPUT_INSUFFICIENT_SIZE
LATE = (ResultCode.MISSED_DEADLINE_TRANSIENT, ResultCode.MISSED_DEADLINE_PERSISTENT)
FOREVER = UNKNOWN = 2**64 - 1
F32 = T.TENSOR_FLOAT32
ATTRIBUTE = (b"com.example.extension", 0, floats(1), 4)


@pytest.fixture
def dynamic(api, device):
    """Makes an execution of c = a + b, whose inputs and output have no dimensions in the model."""
    graph = Graph(api)
    a, b, c = (graph.operand(F32) for _ in range(3))
    graph.operation(O.ADD, [a, b, graph.int32(0)], [c])
    graph.arguments([a, b], [c])
    model = graph.finish()

    def make(a_dimensions, b_dimensions, length, output_type=None):
        run = Run(api, device, model)
        for index, sizes in enumerate((a_dimensions, b_dimensions)):
            count = 1
            for size in sizes:
                count *= size
            run.input(index, floats(*range(count)), operand_type(F32, sizes))
        run.result = run.output(0, length, output_type)
        return run

    return make


def dimensions(run, code=ResultCode.NO_ERROR):
    """Rank and dimensions of the first output; both queries give the code."""
    rank, sizes = ctypes.c_uint32(99), uint32s([99] * 8)
    api, execution = run.api, run.execution
    for name, target in (("Rank", rank), ("Dimensions", sizes)):
        name = f"Execution_getOutputOperand{name}"
        if code == ResultCode.NO_ERROR:
            api.ok(name, execution, 0, target)
        else:
            api.refuse(code, name, execution, 0, target, saying="its buffer is too small")
    assert list(sizes[rank.value :]) == [99] * (8 - rank.value)
    return list(sizes[: rank.value])


# States


def test_once(run):
    """api-semantics 5: "Any start of a non-reusable execution that has completed"."""
    run.ok("compute")
    assert run.result.floats() == [11, 22]
    run.refuse(BAD_STATE, "compute")
    run.api.make_none(BAD_STATE, "Execution_startCompute", run.execution)
    fenced = "Execution_startComputeWithDependencies"
    run.api.make_none(BAD_STATE, fenced, run.execution, None, 0, 0)
    run.refuse(BAD_STATE, "burstCompute", run.api.make("Burst_create", run.compilation))


def test_many_times(api, run):
    """All ways to run may be mixed; inputs are read anew each time.

    api-semantics 4: "a reusable execution reads their current contents on every run"
    """
    run.another()
    run.ok("setReusable", True)
    values = floats(1, 2)
    run.input(0, values)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    burst = api.make("Burst_create", run.compilation)
    for number in range(9):
        values[:] = [number, -number]
        if number % 3 == 0:
            run.ok("compute")
        elif number % 3 == 1:
            run.ok("burstCompute", burst)
        else:
            api.ok("Event_wait", api.make("Execution_startCompute", run.execution))
        assert result.floats() == [10 + number, 20 - number]


@pytest.mark.parametrize("reusable", [False, True])
def test_nothing_can_be_set_after_the_start(api, run, reusable):
    """api-semantics 5: "From the first start on, every setter"."""
    run.another()
    run.ok("setReusable", reusable)
    set_arguments(run)
    run.ok("compute")
    memory = api.make("Memory_createFromFd", 64, 3, 0, 0)
    for name, *arguments in (
        ("setInput", 99, None, floats(1), 0),
        ("setOutput", 99, None, floats(1), 0),
        ("setInputFromMemory", 99, None, memory, 0, 0),
        ("setOutputFromMemory", 99, None, memory, 0, 0),
        ("enableInputAndOutputPadding", False),
        ("setReusable", True),
        ("setLoopTimeout", 0),
        ("setTimeout", 0),
        ("setMeasureTiming", False),
        ("addExtensionAttribute", *ATTRIBUTE),
    ):
        run.refuse(BAD_STATE, name, *arguments)


def test_what_needs_one_named_device(api):
    """Before a start and after it: this condition stands before the state.

    api-semantics 3: "'Not so created' is BAD_DATA"
    api-semantics 5: "setMeasureTiming(false) is refused too"
    api-semantics 11: "execution: device condition first, then started -> BAD_STATE"
    """
    graph = add_graph(api)
    two = pointers(*api.devices().values())
    for make in (
        ("Compilation_create", graph.finish()),
        ("Compilation_createForDevices", graph.model, two, 2),
    ):
        compilation = api.make(*make)
        api.ok("Compilation_finish", compilation)
        execution = api.make("Execution_create", compilation)
        for after_start in (False, True):
            if after_start:
                api.refuse(BAD_DATA, "Execution_compute", execution, saying="is not set")
            for name, *arguments in (
                ("setMeasureTiming", True),
                ("setMeasureTiming", False),
                ("setTimeout", 0),
                ("addExtensionAttribute", *ATTRIBUTE),
            ):
                saying = "exactly one device"
                api.refuse(BAD_DATA, f"Execution_{name}", execution, *arguments, saying=saying)


def test_extension_attributes(run):
    """api-semantics 11: "same (name, code) twice -> BAD_DATA; unknown names are accepted and
    kept".
    """
    run.ok("addExtensionAttribute", *ATTRIBUTE)
    run.refuse(BAD_DATA, "addExtensionAttribute", *ATTRIBUTE)
    run.ok("addExtensionAttribute", b"com.example.extension", 1, floats(1), 4)
    run.ok("addExtensionAttribute", b"com.example.other", 0, floats(1), 4)
    run.refuse(ResultCode.UNEXPECTED_NULL, "addExtensionAttribute", b"com.example", 5, None, 4)
    run.ok("compute")


def test_loop_timeouts_are_clamped(run):
    for duration in (0, 1, FOREVER):
        run.ok("setLoopTimeout", duration)
    run.ok("compute")


def test_freed_at_any_time(api, run):
    """api-semantics 0: "Objects are freed in any state"."""
    unstarted = run.execution
    run.another()
    api.free(unstarted)
    set_arguments(run)
    event = api.make("Execution_startCompute", run.execution)
    api.ok("Event_wait", event)
    api.free(run.execution)
    api.free(event)


# Failures


@pytest.mark.parametrize("missing", ["first input", "second input", "output"])
def test_missing_arguments(api, run, missing):
    """Found at the start, which uses the execution up."""
    for start in ("compute", "burstCompute", "startCompute"):
        run.another()
        if missing != "first input":
            run.input(0, floats(1, 2))
        if missing != "second input":
            run.input(1, floats(1, 2))
        if missing != "output":
            run.output(0, 8)
        if start == "startCompute":
            api.make_none(BAD_DATA, "Execution_startCompute", run.execution, saying="is not set")
        else:
            burst = [api.make("Burst_create", run.compilation)] if start == "burstCompute" else []
            run.refuse(BAD_DATA, start, *burst, saying="is not set")
        run.refuse(BAD_STATE, "compute")
        run.refuse(BAD_STATE, "setInput", 0, None, floats(1, 2), 8)
        run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())


def bad_activation(graph):
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.operation(O.ADD, [a, a, graph.int32(999)], [b])
    return a, b


def bad_axis(graph):
    a, b = graph.operand(F32, (2,)), graph.operand(F32)
    graph.operation(O.CONCATENATION, [a, a, graph.int32(1)], [b])
    return a, b


def bad_padding(graph):
    a, b = (graph.operand(F32, (1, 2, 1, 1)) for _ in range(2))
    one, none = graph.int32(1), graph.int32(0)
    padding = [graph.int32(-1), none, none, none]
    graph.operation(O.MAX_POOL_2D, [a, *padding, one, one, one, one, none], [b])
    return a, b


def bad_stride(graph):
    a, b = (graph.operand(F32, (1, 2, 1, 1)) for _ in range(2))
    one = graph.int32(1)
    numbers = [one, graph.int32(0), one, one, one, graph.int32(0)]
    graph.operation(O.AVERAGE_POOL_2D, [a, *numbers], [b])
    return a, b


def reshape(*shape):
    def build(graph):
        a, b = graph.operand(F32, (2,)), graph.operand(F32)
        sizes = graph.constant(int32s(*shape), T.TENSOR_INT32, (len(shape),))
        graph.operation(O.RESHAPE, [a, sizes], [b])
        return a, b

    return build


def softmax_axis(graph):
    a, b = (graph.operand(F32, (1, 2)) for _ in range(2))
    beta = graph.constant(ctypes.c_float(1), T.FLOAT32)
    graph.operation(O.SOFTMAX, [a, beta, graph.int32(2)], [b])
    return a, b


def permutation(graph):
    a, b = graph.operand(F32, (2, 1)), graph.operand(F32)
    order = graph.constant(int32s(1, 2), T.TENSOR_INT32, (2,))
    graph.operation(O.TRANSPOSE, [a, order], [b])
    return a, b


def wrong_output_dimensions(graph):
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (3,))
    graph.operation(O.RELU, [a], [b])
    return a, b


FAILURES = {
    "activation": bad_activation,
    "axis": bad_axis,
    "padding": bad_padding,
    "stride": bad_stride,
    "softmax axis": softmax_axis,
    "reshape -1 0": reshape(-1, 0),
    "reshape -1 -1": reshape(-1, -1),
    "reshape 3": reshape(3),
    "reshape -2": reshape(-2, -1),
    "permutation": permutation,
    "output dimensions": wrong_output_dimensions,
}


@pytest.mark.parametrize("failure", FAILURES)
def test_wrong_constants(api, device, failure):
    """Nobody looks at the values of constants before the operation is reached (0).

    api-semantics 0: "No call looks at the values of constant operands before execution"
    """
    graph = Graph(api)
    a, b = FAILURES[failure](graph)
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    result = run.output(0, 12 if failure == "output dimensions" else 8)
    run.refuse(OP_FAILED, "compute", saying="(operation 0)")
    assert result.is_untouched
    run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())
    run.refuse(BAD_STATE, "compute")


@pytest.mark.parametrize("start", ["compute", "startCompute"])
def test_failures_leave_nothing_behind(api, device, start):
    """The same failure many times: the library, in this process, keeps no trace of each."""
    run = Run(api, device, add_graph(api, activation=999).finish())
    run.ok("setReusable", True)
    set_arguments(run)

    def traces():
        gc.collect()
        return sum(isinstance(item, TracebackType) for item in gc.get_objects())

    def fail():
        if start == "compute":
            run.refuse(OP_FAILED, "compute")
            return
        event = api.make("Execution_startCompute", run.execution)
        for _ in range(3):
            api.refuse(OP_FAILED, "Event_wait", event)
        api.free(event)

    fail()
    before = traces()
    for _ in range(20):
        fail()
    assert traces() <= before


def test_other_padding_codes_mean_valid(api, device):
    """No padding code is refused (semantics 3); one that does not exist gets a warning."""
    graph = Graph(api)
    a, b = graph.operand(F32, (1, 3, 1, 1)), graph.operand(F32, (1, 2, 1, 1))
    one, none = graph.int32(1), graph.int32(0)
    graph.operation(O.MAX_POOL_2D, [a, graph.int32(9), one, one, one, graph.int32(2), none], [b])
    graph.arguments([a], [b])
    compilation = compilation_for(api, device, graph.finish())
    said = api.ok_saying("Compilation_finish", compilation)
    execution = api.make("Execution_create", compilation)
    values, result = floats(1, 3, 2), Buffer(8)
    api.ok("Execution_setInput", execution, 0, None, values, 12)
    api.ok("Execution_setOutput", execution, 0, None, result.address, 8)
    said += api.ok_saying("Execution_compute", execution)
    assert result.floats() == [3, 3]
    assert said == (
        "nnapi_shim warning: MAX_POOL_2D: padding is 9; allowed are 1 (SAME) and 2 (VALID); it is "
        "computed as VALID\n"
    )


@pytest.mark.parametrize(("type", "code"), [(O.ADD, OP_FAILED), (O.RESHAPE, BAD_DATA)])
def test_omitted_operand_that_is_needed(api, device, type, code):
    """Found when it runs; by the operations of the old table as BAD_DATA (2)."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
    omitted = graph.operand(*((F32, (2,)) if type is O.ADD else (T.TENSOR_INT32, (1,))))
    api.ok("Model_setOperandValue", graph.model, omitted, None, 0)
    graph.operation(type, [a, omitted, *([graph.int32(0)] if type is O.ADD else [])], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    result = run.output(0, 8)
    run.refuse(code, "compute")
    assert result.is_untouched


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_transpose_without_a_permutation(api, device, rank):
    """Rows and columns of a matrix change places; nothing else has a permutation by itself.

    api-semantics 5: "TRANSPOSE without permutation works for rank 2 only"
    """
    graph = Graph(api)
    sizes = (2, 3, 1, 1)[:rank]
    a, order, b = graph.operand(F32, sizes), graph.operand(T.TENSOR_INT32, (2,)), graph.operand(F32)
    api.ok("Model_setOperandValue", graph.model, order, None, 0)
    graph.operation(O.TRANSPOSE, [a, order], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    count = 2 if rank == 1 else 6
    run.input(0, floats(*range(count)))
    result = run.output(0, 4 * count)
    if rank == 2:
        run.ok("compute")
        assert dimensions(run) == [3, 2]
        assert result.floats() == [0, 3, 1, 4, 2, 5]
    else:
        run.refuse(OP_FAILED, "compute", saying="TRANSPOSE (operation 0)")


def squeeze_without_axes(graph, omitted):
    a, b = graph.operand(F32, (1, 2, 1)), graph.operand(F32)
    graph.operation(O.SQUEEZE, [a, omitted(T.TENSOR_INT32, (1,))], [b])
    return [a], [b], [floats(3, 4)], [[3, 4]]


def svdf_without_bias(graph, omitted):
    input, state = graph.operand(F32, (1, 1)), graph.operand(F32, (1, 2))
    features = graph.constant(floats(3), F32, (1, 1))
    times = graph.constant(floats(1, 10), F32, (1, 2))
    outputs = [graph.operand(F32), graph.operand(F32)]
    inputs = [input, features, times, omitted(F32, (1,)), state, graph.int32(1), graph.int32(0)]
    graph.operation(O.SVDF, inputs, outputs)
    return [input, state], outputs, [floats(2), floats(5, 0)], [[6, 0], [65]]


def projection_without_weights(graph, omitted):
    hash = graph.constant(floats(1), F32, (1, 1))
    data, output = graph.operand(T.TENSOR_INT32, (2,)), graph.operand(T.TENSOR_INT32)
    graph.operation(O.LSH_PROJECTION, [hash, data, omitted(F32, (2,)), graph.int32(3)], [output])
    return [data], [output], [int32s(5, 6)], [None]


def rnn_sequence_without_auxiliary_input(graph, omitted):
    one = [graph.operand(F32, (1, 1)) for _ in range(2)]
    x, b = graph.operand(F32, (1, 1, 1)), graph.operand(F32)
    bias = graph.constant(floats(0), F32, (1,))
    weights = graph.constant(floats(2), F32, (1, 1))
    direction = [weights, weights, bias]
    none = [omitted(F32, sizes) for sizes in ((1, 1, 1), (1, 1), (1, 1))]
    inputs = [x, *direction, one[0], *direction, one[1], *none, graph.int32(0)]
    constants = [graph.constant(ctypes.c_bool(value), T.BOOL) for value in (False, True)]
    graph.operation(O.BIDIRECTIONAL_SEQUENCE_RNN, [*inputs, *constants], [b])
    return [x, *one], [b], [floats(3), floats(1), floats(10)], [[8, 26]]


OMITTED = (
    squeeze_without_axes,
    svdf_without_bias,
    projection_without_weights,
    rnn_sequence_without_auxiliary_input,
)


@pytest.mark.parametrize("build", OMITTED, ids=lambda build: build.__name__)
def test_operands_that_may_be_omitted(api, device, build):
    """By operations that say so.

    api-semantics 5: "Ops that accept omitted inputs"
    """
    graph = Graph(api)

    def omitted(*details):
        index = graph.operand(*details)
        api.ok("Model_setOperandValue", graph.model, index, None, 0)
        return index

    inputs, outputs, given, expected = build(graph, omitted)
    graph.arguments(inputs, outputs)
    run = Run(api, device, graph.finish())
    for index, value in enumerate(given):
        run.input(index, value)
    results = [run.output(index, 64) for index in range(len(outputs))]
    run.ok("compute")
    for result, reference in zip(results, expected, strict=True):
        if reference is not None:
            assert list(memoryview(result.contents).cast("f"))[: len(reference)] == reference


@pytest.mark.parametrize(
    ("operation", "scale", "zero_point"),
    [(O.LOGISTIC, 0.5, 0), (O.LOGISTIC, 1 / 256, 1), (O.TANH, 1 / 256, 128), (O.FLOOR, 0, 0)],
)
def test_parameters_of_an_output(api, device, operation, scale, zero_point):
    """What the operation computes has its own scale and zero point; the model says others.

    api-semantics 5: "computed output type/scale/zeroPoint differing from the model output"
    """
    graph = Graph(api)
    kind, parameters = (T.TENSOR_QUANT8_ASYMM, (0.5, 3)) if scale else (F32, ())
    a = graph.operand(kind, (2,), *parameters)
    b = graph.operand(kind, (2,) if scale else (3,), scale, zero_point)
    graph.operation(operation, [a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, (ctypes.c_uint8 * 2)(1, 2) if scale else floats(1, 2))
    result = run.output(0, 2 if scale else 12)
    run.refuse(OP_FAILED, "compute", saying=f"{operation.name} (operation 0)")
    assert result.is_untouched


def test_shapes_that_do_not_fit(dynamic):
    """api-semantics 5: "shapes that do not fit"."""
    run = dynamic((2,), (3,), 64)
    run.refuse(OP_FAILED, "compute", saying="ADD (operation 0)")
    assert run.result.is_untouched


def test_computed_size_that_does_not_fit(dynamic):
    """2^16 times 2^16 elements, which nothing has room for; any refusal will do.

    api-semantics 0: "a size that only becomes known while executing and overflows"
    """
    run = dynamic((1 << 16, 1), (1, 1 << 16), 64)
    assert run.api.result("Execution_compute", run.execution) != ResultCode.NO_ERROR
    assert run.result.is_untouched


def test_computed_shape_against_the_request(dynamic):
    """api-semantics 5: "contradicting the model's or the request's known output dimensions"."""
    run = dynamic((2,), (2,), 12, operand_type(F32, (3,)))
    run.refuse(OP_FAILED, "compute")
    run = dynamic((2,), (2,), 64, operand_type(F32, (0, 0)))
    run.refuse(OP_FAILED, "compute")


# Dimensions of outputs


def test_dimensions_of_outputs(dynamic):
    """api-semantics 5: "not completed -> BAD_STATE; completed with an error other than"."""
    run = dynamic((2, 1), (1, 3), 64)
    rank, sizes = ctypes.c_uint32(99), uint32s([99] * 8)
    for query in (("getOutputOperandRank", 0, rank), ("getOutputOperandDimensions", 0, sizes)):
        run.refuse(BAD_STATE, *query)
    run.ok("compute")
    assert dimensions(run) == [2, 3]
    for index in (1, -1, 2**31 - 1):
        run.refuse(BAD_DATA, "getOutputOperandRank", index, rank)
        run.refuse(BAD_DATA, "getOutputOperandDimensions", index, sizes)
    assert (rank.value, list(sizes)) == (99, [99] * 8)
    assert run.result.contents[24:] == bytes([0xA5] * 40)


def test_short_buffer(dynamic):
    """The dimensions are told; with them, a new execution can have a larger buffer.

    api-semantics 5: "OUTPUT_INSUFFICIENT_SIZE only for outputs whose size was unknown when set"
    api-semantics 5: "for an output whose buffer was too small, OUTPUT_INSUFFICIENT_SIZE"
    """
    run = dynamic((2, 1), (1, 3), 23)
    run.refuse(INSUFFICIENT, "compute")
    assert dimensions(run, INSUFFICIENT) == [2, 3]
    run.refuse(BAD_DATA, "getOutputOperandRank", 1, ctypes.c_uint32())
    run.refuse(BAD_STATE, "compute")
    assert run.result.contents is not None  # the guards

    run = dynamic((2, 1), (1, 3), 24)
    run.ok("compute")
    assert dimensions(run) == [2, 3]
    assert run.result.floats() == [0, 1, 2, 1, 2, 3]


def test_reused_with_another_result(api, device):
    """The dimensions are those of the last run; a failure of one run does not last."""
    graph = Graph(api)
    a, b, shape = graph.operand(F32, (4,)), graph.operand(F32), graph.operand(T.TENSOR_INT32, (2,))
    graph.operation(O.RESHAPE, [a, shape], [b])
    graph.arguments([a, shape], [b])
    run = Run(api, device, graph.finish())
    run.ok("setReusable", True)
    run.input(0, floats(1, 2, 3, 4))
    sizes = int32s(2, 2)
    run.input(1, sizes)
    result = run.output(0, 16)
    for reference in ([2, 2], [1, 4], [4, 1]):
        sizes[:] = reference
        run.ok("compute")
        assert dimensions(run) == reference
        assert result.floats() == [1, 2, 3, 4]
        sizes[:] = [3, 3]
        run.refuse(OP_FAILED, "compute")
        run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())


# Timing


def test_durations(run):
    """api-semantics 5: "code not in 0..3 -> BAD_DATA (before any state check)"."""
    run.ok("setMeasureTiming", True)
    duration = ctypes.c_uint64(5)
    for code in (-1, 4, 99):
        run.refuse(BAD_DATA, "getDuration", code, duration)
    run.refuse(BAD_STATE, "getDuration", 0, duration)
    assert duration.value == UNKNOWN
    run.ok("compute")
    values = []
    for code in range(4):
        run.ok("getDuration", code, duration)
        values.append(duration.value)
    on_hardware, in_driver, fenced_on_hardware, fenced_in_driver = values
    assert on_hardware <= in_driver or on_hardware == UNKNOWN
    assert (fenced_on_hardware, fenced_in_driver) == (on_hardware, in_driver)
    run.refuse(BAD_DATA, "getDuration", 4, duration)


def test_durations_that_nobody_asked_for(run):
    """api-semantics 5: "or timing not requested -> BAD_STATE with *duration = UINT64_MAX"."""
    run.ok("setMeasureTiming", True)
    run.ok("setMeasureTiming", False)
    run.ok("compute")
    duration = ctypes.c_uint64(5)
    run.refuse(BAD_STATE, "getDuration", 0, duration)
    assert duration.value == UNKNOWN


def test_durations_of_a_failure(dynamic):
    """api-semantics 5: "completed with any error"."""
    for run, code in ((dynamic((2,), (3,), 64), OP_FAILED), (dynamic((2,), (2,), 4), INSUFFICIENT)):
        run.ok("setMeasureTiming", True)
        run.refuse(code, "compute")
        duration = ctypes.c_uint64(5)
        run.refuse(BAD_STATE, "getDuration", 0, duration)
        assert duration.value == UNKNOWN


def test_timeouts(run):
    """api-semantics 5: "Deadline (setTimeout) passed before the run"."""
    run.ok("setTimeout", 1)
    assert run.api.result("Execution_compute", run.execution) in (ResultCode.NO_ERROR, *LATE)
    for duration in (0, FOREVER):
        run.another()
        run.ok("setTimeout", duration)
        set_arguments(run)
        run.ok("compute")


def test_a_type_is_looked_at_before_whether_the_input_is_set(api, run):
    """A type that the model contradicts is BAD_DATA, also for an input that is set already."""
    api.refuse(
        BAD_DATA, "Execution_setInput", run.execution, 0, operand_type(F32, (3,)), floats(1, 2), 8
    )
    api.refuse(BAD_STATE, "Execution_setInput", run.execution, 0, None, floats(1, 2), 8)


def test_padding_after_an_omitted_argument(api, device):
    """An omitted argument is set, too."""
    run = Run(api, device, add_graph(api).finish())
    api.ok("Execution_setOutput", run.execution, 0, None, None, 0)
    api.refuse(BAD_STATE, "Execution_enableInputAndOutputPadding", run.execution, True)


def test_attributes_with_a_buffer_of_no_bytes(api, run):
    """A buffer with a length of 0 is BAD_DATA, as in every call."""
    api.refuse(
        BAD_DATA,
        "Execution_addExtensionAttribute",
        run.execution,
        b"com.example.extension",
        7,
        floats(1),
        0,
    )
