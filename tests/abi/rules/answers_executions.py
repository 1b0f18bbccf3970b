"""What the reference runtime answers when a model runs, where it is not obvious (15)."""

import ctypes

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s, operand_type
from tests.abi.rules.graph import Graph, Run
from tests.abi.rules.sample import Sample, column, row

BAD_DATA, OP_FAILED = ResultCode.BAD_DATA, ResultCode.OP_FAILED
NO_ERROR, BAD_STATE = ResultCode.NO_ERROR, ResultCode.BAD_STATE
F32, QU8, I32, B8 = T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_INT32, T.TENSOR_BOOL8
FENCED = "Execution_startComputeWithDependencies"

ONE_DIMENSIONAL = [
    *((f"REDUCE_{name}", "axes") for name in ["ALL", "ANY", "MAX", "MIN", "PROD", "SUM"]),
    ("MEAN", "axes"),
    ("SQUEEZE", "axes"),
    ("STRIDED_SLICE", "begin"),
    ("STRIDED_SLICE", "end"),
    ("STRIDED_SLICE", "strides"),
    ("TRANSPOSE", "perm"),
    ("SLICE", "begin"),
    ("SLICE", "size"),
    ("TRANSPOSE_CONV_2D", "output_shape"),
]


@pytest.mark.parametrize(("name", "operand"), ONE_DIMENSIONAL)
def test_lists_have_one_dimension(api, device, name, operand):
    """api-semantics 15.2: axes, sizes and the like are refused as a row or a column."""
    Sample(name, operand).run(api, device)
    for change in (column, row):
        sample = Sample(name, operand)
        sample.reshape(operand, change)
        sample.run(api, device, OP_FAILED)


@pytest.mark.parametrize(
    ("name", "operand", "change"),
    [
        ("ROI_ALIGN", "batch_index", column),
        ("ROI_POOLING", "batch_index", column),
        ("SVDF", "bias", column),
        ("RNN", "input", column),
        *(
            ("BIDIRECTIONAL_SEQUENCE_LSTM", f"{prefix}_{state}_state_in", change)
            for prefix in ("fw", "bw")
            for state in ("activation", "cell")
            for change in (column, row, lambda sizes: (sizes[0] * sizes[1],))
        ),
        ("RANDOM_MULTINOMIAL", "seeds", column),
        ("RANDOM_MULTINOMIAL", "seeds", row),
    ],
)
def test_shapes_that_hold_the_right_number(api, device, name, operand, change):
    """api-semantics 15.18: the result is the same as with the documented dimensions."""
    expected = Sample(name, operand).run(api, device)
    sample = Sample(name, operand)
    sample.reshape(operand, change)
    assert sample.run(api, device) == expected


@pytest.mark.parametrize(
    ("name", "operand"),
    [
        ("ROI_ALIGN", "batch_index"),
        ("ROI_POOLING", "batch_index"),
        ("SVDF", "bias"),
        ("RNN", "input"),
        ("BIDIRECTIONAL_SEQUENCE_LSTM", "fw_activation_state_in"),
        ("BIDIRECTIONAL_SEQUENCE_LSTM", "bw_cell_state_in"),
    ],
)
def test_shapes_that_hold_another_number(api, device, name, operand):
    """api-semantics 15.18: there is nothing that a result could be made of."""
    for change in (lambda sizes: (*sizes, 2), lambda sizes: (sizes[0] + 1, *sizes[1:])):
        sample = Sample(name, operand)
        sample.reshape(operand, change)
        sample.run(api, device, OP_FAILED)


def test_one_seed(api, device):
    """api-semantics 15.18: the other one is 0."""
    sample = Sample("RANDOM_MULTINOMIAL")
    at = sample.use.names.index("seeds")
    sample.values[at] = np.array([7, 0], "<i4")
    expected = sample.run(api, device)
    sample.inputs[at] = (I32, (1,), 0.0, 0)
    sample.values[at] = np.array([7], "<i4")
    assert sample.run(api, device) == expected


@pytest.mark.parametrize("more", [1, 3])
def test_more_multiples_than_dimensions(api, device, more):
    """api-semantics 15.18: nobody looks at the others."""
    expected = Sample("TILE").run(api, device)
    sample = Sample("TILE")
    at = sample.use.names.index("multiples")
    given = sample.values[at]
    sample.inputs[at] = (I32, (len(given) + more,), 0.0, 0)
    sample.values[at] = np.concatenate([given, np.full(more, -5, given.dtype)])
    assert sample.run(api, device) == expected


def test_if_with_an_omitted_condition(api, device):
    """api-semantics 15.10: it is accepted where it is [1], and a computation fails."""
    inner = Graph(api)
    a, b = inner.operand(F32, (2,)), inner.operand(F32, (2,))
    inner.operation(O.RELU, [a], [b])
    inner.arguments([a], [b])
    inner.finish()
    for sizes in ((1,), (2,), ()):
        graph = Graph(api)
        condition = graph.operand(B8, sizes)
        api.ok("Model_setOperandValue", graph.model, condition, None, 0)
        models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
        for index in models:
            api.ok("Model_setOperandValueFromModel", graph.model, index, inner.model)
        a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
        if sizes != (1,):
            graph.refuse_operation(BAD_DATA, O.IF, [condition, *models, a], [b])
            continue
        graph.operation(O.IF, [condition, *models, a], [b])
        graph.arguments([a], [b])
        run = Run(api, device, graph.finish())
        run.input(0, floats(1, 2))
        run.output(0, 8)
        run.refuse(OP_FAILED, "compute")


# Setting arguments


@pytest.fixture
def relu(api, device):
    """Makes an execution of a RELU."""

    def make(sizes, result=None):
        graph = Graph(api)
        a, b = graph.operand(F32, sizes), graph.operand(F32, sizes if result is None else result)
        graph.operation(O.RELU, [a], [b])
        graph.arguments([a], [b])
        return Run(api, device, graph.finish())

    return make


@pytest.mark.parametrize("sizes", [(2, 0), ()])
def test_unknown_dimensions_before_set_already(api, relu, file, sizes):
    """api-semantics 15.21: of an input; an output may be unknown."""
    run = relu(sizes)
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    good = operand_type(F32, (2, 1))
    run.input(0, floats(1, 2), good)
    run.refuse(BAD_STATE, "setInput", 0, good, floats(1, 2), 8)
    run.refuse(BAD_DATA, "setInput", 0, None, floats(1, 2), 8)
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, 0, 8)
    run.refuse(BAD_STATE, "setInputFromMemory", 0, good, memory, 0, 8)
    run.refuse(BAD_STATE, "setInput", 0, None, None, 0)
    run.output(0, 8)
    run.refuse(BAD_STATE, "setOutput", 0, None, floats(1, 2), 8)


@pytest.mark.parametrize("sizes", [(2, 0), ()])
def test_padding_after_unknown_dimensions(api, relu, file, sizes):
    """api-semantics 15.22: such a refusal settles nothing; one of the length does."""
    run = relu(sizes)
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    run.refuse(BAD_DATA, "setInput", 0, None, floats(1, 2), 8)
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, 0, 8)
    run.ok("enableInputAndOutputPadding", True)
    run.refuse(BAD_DATA, "setInput", 0, operand_type(F32, (2, 1)), floats(1), 4)
    run.refuse(BAD_STATE, "enableInputAndOutputPadding", True)


def test_length_0_in_a_memory(api, relu, file):
    """api-semantics 15.23: behind an offset, where only the run tells how much is needed."""
    run = relu((2,), ())
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    run.input(0, floats(1, 2))
    run.refuse(BAD_DATA, "setOutputFromMemory", 0, None, memory, 0, 0)
    known = operand_type(F32, (2,))
    run.refuse(BAD_DATA, "setOutputFromMemory", 0, known, memory, 4, 0)
    run.refuse(BAD_DATA, "setOutput", 0, None, floats(1), 0)
    run.ok("setOutputFromMemory", 0, None, memory, 4, 0)
    run.refuse(ResultCode.OUTPUT_INSUFFICIENT_SIZE, "compute")


# Running


STARTS = ("compute", "burstCompute", "startCompute", "fenced")


def code_of(api, run, start):
    """The code that a run ends with, started in one of these ways."""
    if start == "startCompute":
        return api.result("Event_wait", api.make("Execution_startCompute", run.execution))
    if start == "fenced":
        event = ctypes.c_uint64(1)
        code = api.result(FENCED, run.execution, None, 0, 0, event)
        assert (code == NO_ERROR) == bool(event.value)
        return code
    burst = [api.make("Burst_create", run.compilation)] if start == "burstCompute" else []
    return api.result(f"Execution_{start}", run.execution, *burst)


@pytest.mark.parametrize("start", STARTS)
def test_omitted_output(api, device, start):
    """api-semantics 15.20, 16.1: the code of the operation, whichever way it runs."""
    for type, code in ((O.ADD, OP_FAILED), (O.MAXIMUM, BAD_DATA)):
        graph = Graph(api)
        a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
        graph.operation(type, [a, a, *([graph.int32(0)] if type is O.ADD else [])], [b])
        graph.arguments([a], [b])
        run = Run(api, device, graph.finish())
        run.input(0, floats(1, 2))
        run.ok("setOutput", 0, None, None, 0)
        assert code_of(api, run, start) == code


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("position", [0, 1])
def test_one_of_two_outputs_omitted(api, device, start, position):
    """api-semantics 15.20, 16.1: the other one stays as it was."""
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    graph.operation(O.RELU, [a], [b])
    graph.operation(O.ABS, [b], [c])
    graph.arguments([a], [b, c])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    run.ok("setOutput", position, None, None, 0)
    other = run.output(1 - position, 8)
    assert code_of(api, run, start) == OP_FAILED
    assert other.is_untouched


def test_unknown_outputs_before_mapping(api, device, relu, file):
    """api-semantics 15.24: with dependencies, an output must be known before it can be mapped."""
    read_only = api.make("Memory_createFromFd", 64, 1, file(64), 0)
    run = relu((2,), ())
    run.input(0, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, read_only, 0, 8)
    saying = "unknown dimensions"
    api.make_none(BAD_DATA, FENCED, run.execution, None, 0, 0, saying=saying)
    run.refuse(BAD_STATE, "compute")  # it is used up


COPIES = {
    "GATHER": lambda graph: [graph.int32(0), graph.constant(int32s(1, 0), I32, (2,))],
    "SLICE": lambda graph: [
        graph.constant(int32s(0), I32, (1,)),
        graph.constant(int32s(2), I32, (1,)),
    ],
    "STRIDED_SLICE": lambda graph: [
        *[graph.constant(int32s(value), I32, (1,)) for value in (0, 2, 1)],
        *[graph.int32(0) for _ in range(3)],
    ],
}


@pytest.mark.parametrize("type", [QU8, T.TENSOR_QUANT8_ASYMM_SIGNED], ids=["qu8", "qs8"])
@pytest.mark.parametrize("parameters", [(0.25, 1), (0.5, 2), (0.5, 1)])
@pytest.mark.parametrize("name", COPIES)
def test_copies_with_other_parameters(api, device, monkeypatch, name, parameters, type):
    """Bytes are copied as they are; finish warns of it.

    api-semantics 15.17
    """
    monkeypatch.delenv("NNAPI_SHIM_LOG", raising=False)
    graph = Graph(api)
    a = graph.operand(type, (2,), 0.5, 1)
    b = graph.operand(type, (2,), *parameters)
    graph.operation(O[name], [a, *COPIES[name](graph)], [b])
    graph.arguments([a], [b])
    said = api.ok_saying("Model_finish", graph.model)
    if parameters == (0.5, 1):
        assert said == ""
    else:
        assert said.startswith(f"nnapi_shim warning: {name} (operation 0): output")
        assert said.count("\n") == 1
    run = Run(api, device, graph.model)
    run.input(0, (ctypes.c_uint8 * 2)(7, 200))
    result = run.output(0, 2)
    run.ok("compute")
    assert result.contents == (bytes([200, 7]) if name == "GATHER" else bytes([7, 200]))


@pytest.mark.parametrize("name", COPIES)
def test_what_follows_a_copy_with_other_parameters(api, device, name):
    """An internal operand means what it declares, as in the reference.

    api-semantics 15.17
    """
    graph = Graph(api)
    a, between = graph.operand(QU8, (2,), 0.5, 1), graph.operand(QU8, (2,), 0.25, 3)
    b = graph.operand(F32, (2,))
    graph.operation(O[name], [a, *COPIES[name](graph)], [between])
    graph.operation(O.DEQUANTIZE, [between], [b])
    graph.arguments([a], [b])
    assert f"nnapi_shim warning: {name}" in api.ok_saying("Model_finish", graph.model)
    run = Run(api, device, graph.model)
    run.input(0, (ctypes.c_uint8 * 2)(7, 7))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [1, 1]


def test_infinite_scale_of_an_argument(api, device):
    """api-semantics 15.13: in the type of an argument, too."""
    graph = Graph(api)
    a, b = (graph.operand(QU8, (0,), float("inf"), 1) for _ in range(2))
    zero = graph.constant(int32s(0), I32, (1,))
    graph.operation(O.REVERSE, [a, zero], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    type = operand_type(QU8, (3,), float("inf"), 1)
    run.input(0, (ctypes.c_uint8 * 3)(7, 8, 200), type)
    result = run.output(0, 3, type)
    run.ok("compute")
    assert result.contents == bytes([200, 8, 7])
