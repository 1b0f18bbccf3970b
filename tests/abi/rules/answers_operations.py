"""What the reference runtime answers when an operation is reached, where it is not obvious (16)."""

import ctypes

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s
from tests.abi.rules.graph import Graph, Run, add_graph
from tests.abi.rules.sample import Sample, column, row
from tests.operations.cases import USES

BAD_DATA, OP_FAILED = ResultCode.BAD_DATA, ResultCode.OP_FAILED
BAD_STATE = ResultCode.BAD_STATE
F32, I32, B8 = T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_BOOL8
UNKNOWN_DURATION = 2**64 - 1

BY_THE_EXECUTOR = frozenset(
    [
        "RESHAPE",
        "DEPTH_TO_SPACE",
        "SPACE_TO_DEPTH",
        "EMBEDDING_LOOKUP",
        "HASHTABLE_LOOKUP",
        "LSH_PROJECTION",
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "LSTM",
        "RANDOM_MULTINOMIAL",
        "RNN",
        "SVDF",
        "BATCH_TO_SPACE_ND",
        "SPACE_TO_BATCH_ND",
        "PAD",
        "PAD_V2",
        "CAST",
        "MEAN",
        "ARGMAX",
        "ARGMIN",
        "EXPAND_DIMS",
        "SPLIT",
        "MAXIMUM",
        "MINIMUM",
        "GROUPED_CONV_2D",
        "TILE",
        "QUANTIZED_16BIT_LSTM",
        "POW",
    ]
)
"""The operations that the reference's executor computes itself, as the specification lists them."""


@pytest.mark.parametrize("name", sorted({use.operation.type.name for use in USES}))
def test_omitted_output(api, device, name):
    """api-semantics 16.1: each of its outputs; 15.20 stands for some operations."""
    code = BAD_DATA if name in BY_THE_EXECUTOR else OP_FAILED
    sample = Sample(name)
    for position in range(len(sample.outputs)):
        sample.run(api, device, code, omitted=position, saying="needs all outputs")


@pytest.mark.parametrize("others", [(O.POW, O.ADD), (O.ADD, O.POW)], ids=["POW", "ADD"])
def test_the_first_of_two_omitted_outputs(api, device, others):
    """api-semantics 16.1: the operation that comes first decides."""
    graph = Graph(api)
    a, none = graph.operand(F32, (2,)), graph.int32(0)
    results = [graph.operand(F32, (2,)) for _ in others]
    for type, source, result in zip(others, [a, results[0]], results, strict=True):
        more = [none] if type is O.ADD else []
        graph.operation(type, [source, source, *more], [result])
    graph.arguments([a], results[::-1])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    for index in (0, 1):
        run.ok("setOutput", index, None, None, 0)
    run.refuse(BAD_DATA if others[0] is O.POW else OP_FAILED, "compute", saying="output 1 is")


@pytest.mark.parametrize("sizes", [(), (1, 1), (0, 0), (1, 2, 3), (1,), (0,), (7,)])
@pytest.mark.parametrize("is_input", [False, True], ids=["model", "execution"])
def test_omitted_axes(api, device, sizes, is_input):
    """api-semantics 16.2: the operand of axes that SQUEEZE does without has rank 1 all the same."""
    graph = Graph(api)
    a, axes, b = graph.operand(F32, (2, 1)), graph.operand(I32, sizes), graph.operand(F32)
    if not is_input:
        api.ok("Model_setOperandValue", graph.model, axes, None, 0)
    graph.operation(O.SQUEEZE, [a, axes], [b])
    graph.arguments([a, axes] if is_input else [a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(3, 4))
    if is_input:
        run.ok("setInput", 1, None, None, 0)
    result = run.output(0, 8)
    if len(sizes) == 1:
        run.ok("compute")
        assert result.floats() == [3, 4]
    else:
        run.refuse(OP_FAILED, "compute", saying="there must be one dimension")


def flat(sizes):
    """All in one dimension."""
    return (int(np.prod(sizes)),)


def turned(sizes):
    """The same sizes in the opposite order."""
    return sizes[::-1]


MATRICES = {"SVDF": ("input", "weights_feature", "weights_time"), "RNN": ("input", "weights")}
STATES = {"SVDF": "state_in", "RNN": "hidden_state_in"}


@pytest.mark.parametrize(
    ("name", "operand", "change"),
    [
        *[(name, operand, column) for name, all in MATRICES.items() for operand in all],
        ("RNN", "recurrent_weights", column),
        ("RNN", "bias", column),
        *[(n, state, change) for n, state in STATES.items() for change in (flat, turned, row)],
    ],
)
def test_recurrent_operations_on_flat_values(api, device, name, operand, change):
    """api-semantics 16.3: the result is the same as with the documented dimensions."""
    expected = Sample(name, operand).run(api, device)
    sample = Sample(name, operand)
    sample.reshape(operand, change)
    assert sample.run(api, device) == expected


@pytest.mark.parametrize("direction", ["fw", "bw"])
@pytest.mark.parametrize("state", ["activation_state_in", "cell_state_in"])
@pytest.mark.parametrize("change", [flat, turned, column])
def test_states_of_both_directions(api, device, direction, state, change):
    """api-semantics 16.3: the states of a BIDIRECTIONAL_SEQUENCE_LSTM, too."""
    name = "BIDIRECTIONAL_SEQUENCE_LSTM"
    expected = Sample(name).run(api, device)
    sample = Sample(name)
    sample.reshape(f"{direction}_{state}", change)
    assert sample.run(api, device) == expected


@pytest.mark.parametrize("name", MATRICES)
def test_recurrent_operations_on_another_number_of_values(api, device, name):
    """api-semantics 16.3: there is nothing that a result could be made of."""
    for operand in (*MATRICES[name], STATES[name]):
        for change in (lambda sizes: (*sizes, 2), lambda sizes: (sizes[0] + 1, *sizes[1:])):
            sample = Sample(name, operand)
            sample.reshape(operand, change)
            sample.run(api, device, OP_FAILED)


def test_dims_of_fill(api, device):
    """api-semantics 16.4: they have one dimension."""
    Sample("FILL").run(api, device)
    for change in (row, column):
        sample = Sample("FILL")
        sample.reshape("dims", change)
        sample.run(api, device, OP_FAILED, saying="there must be one dimension")


@pytest.mark.parametrize(
    ("name", "position"), [("LSH_PROJECTION", 0), ("TOPK_V2", 1), ("RANDOM_MULTINOMIAL", 0)]
)
def test_scale_of_whole_numbers(api, device, name, position):
    """api-semantics 16.5: what these give has none."""
    sample = Sample(name)
    sample.run(api, device)
    for scale in (0.5, 1.0, 3.0):
        sample.declare(position, scale)
        sample.run(api, device, OP_FAILED, saying="declares scale")


@pytest.mark.parametrize(("inputs", "goal"), [(0.5, 0.25), (0.0, 0.5), (0.5, 0.0), (2.0, 2.0)])
@pytest.mark.parametrize("type", [O.REVERSE, O.PACK], ids=["REVERSE", "PACK"])
def test_whole_numbers_with_scales(api, device, type, inputs, goal):
    """api-semantics 16.6: stored values are copied; the result has the scale that it declares."""
    graph = Graph(api)
    a = graph.operand(I32, (3,), inputs)
    b = graph.operand(I32, (3,) if type is O.REVERSE else (2, 3), goal)
    if type is O.REVERSE:
        graph.operation(type, [a, graph.constant(int32s(0), I32, (1,))], [b])
    else:
        graph.operation(type, [graph.int32(0), a, a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, int32s(5, -6, 7))
    result = run.output(0, 12 if type is O.REVERSE else 24)
    run.ok("compute")
    expected = [7, -6, 5] if type is O.REVERSE else [5, -6, 7, 5, -6, 7]
    assert list(memoryview(result.contents).cast("i")) == expected


@pytest.mark.parametrize("sizes", [(2, 3, 1), (2, 3, 2), (2, 3, 2, 2)])
def test_logits_of_more_dimensions(api, device, sizes):
    """api-semantics 16.7: the first batch * classes values are the logits, as in memory."""
    logits = np.linspace(-1, 1, 24, dtype=np.float32)
    results = []
    for inputs in ((2, 3), sizes):
        sample = Sample("RANDOM_MULTINOMIAL")
        sample.set("logits", logits[: int(np.prod(inputs))].reshape(inputs))
        sample.set("seeds", np.array([7, 9], "<i4"))
        results.append(sample.run(api, device))
    assert results[0] == results[1]


@pytest.mark.parametrize("sizes", [(3,), (3, 1), (1, 3)])
def test_more_seeds_than_two(api, device, sizes):
    """api-semantics 16.7: the first two count."""
    results = []
    for inputs in (np.array([7, 9], "<i4"), np.array([7, 9, 11], "<i4").reshape(sizes)):
        sample = Sample("RANDOM_MULTINOMIAL")
        sample.set("seeds", inputs)
        results.append(sample.run(api, device))
    assert results[0] == results[1]


def test_pack_into_too_few_dimensions(api, device):
    """api-semantics 16.8: addOperation accepts an output of rank 1; a computation fails."""
    graph = Graph(api)
    a, b = graph.operand(F32, (1, 2)), graph.operand(F32, (2,))
    graph.operation(O.PACK, [graph.int32(0), a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    run.output(0, 8)
    run.refuse(OP_FAILED, "compute")


def quantized_lstm(scale=None):
    """A sample; scale: of what its scalars divide by, if it is not to be random."""
    sample = Sample("QUANTIZED_LSTM")
    for name in sample.use.names:
        if scale is not None and name.endswith(("_intermediate_scale", "hidden_state_scale")):
            sample.set(name, np.array(scale, "<f4"), ())
    return sample


@pytest.mark.parametrize("scale", [-0.001, -1.0, -1e-38, float("-inf"), float("inf")])
def test_scales_of_a_quantized_lstm(api, device, scale):
    """api-semantics 16.11: those that are divided by may be negative; devices agree on it."""
    results = [quantized_lstm(scale).run(api, item) for item in (device, *api.devices().values())]
    assert all(result == results[0] for result in results)


def test_no_scale_of_a_quantized_lstm(api, device):
    """api-semantics 16.11: what is divided by is a number other than 0."""
    for scale in (0.0, -0.0, float("nan")):
        quantized_lstm(scale).run(api, device, OP_FAILED, saying="a number other than 0")


def test_scale_of_the_state_of_a_quantized_lstm(api, device):
    """api-semantics 16.11: that of prev_output_state may be another than its outputs have."""
    expected = quantized_lstm().run(api, device)
    sample = quantized_lstm()
    for position in (0, 2):
        sample.declare(position, 0.75, 3)
    assert sample.run(api, device) == expected


@pytest.mark.parametrize("axis", [-3, 2, 99])
def test_axis_and_count_of_split(api, device, axis):
    """api-semantics 16.13: of two that are wrong, the count is looked at first."""
    for count, code in ((3, BAD_DATA), (2, OP_FAILED)):
        graph = Graph(api)
        a, results = graph.operand(F32, (2, 2)), [graph.operand(F32) for _ in range(2)]
        graph.operation(O.SPLIT, [a, graph.int32(axis), graph.int32(count)], results)
        graph.arguments([a], results)
        run = Run(api, device, graph.finish())
        run.input(0, floats(1, 2, 3, 4))
        for index in range(2):
            run.output(index, 16)
        run.refuse(code, "compute")


@pytest.mark.parametrize("start", ["compute", "startCompute", "fenced", "reusable"])
def test_duration_of_what_was_not_measured(api, device, start):
    """api-semantics 16.16: UINT64_MAX, whatever the code."""
    run = Run(api, device, add_graph(api).finish())
    for index in (0, 1):
        run.input(index, floats(1, 2))
    run.output(0, 8)
    if start == "reusable":
        run.ok("setReusable", True)
        for _ in range(3):
            run.ok("compute")
    elif start == "compute":
        run.ok("compute")
    else:
        named = "startComputeWithDependencies" if start == "fenced" else start
        arguments = [None, 0, 0] if start == "fenced" else []
        event = api.make(f"Execution_{named}", run.execution, *arguments)
        api.ok("Event_wait", event)
    for code in range(4):
        duration = ctypes.c_uint64(5)
        run.refuse(BAD_STATE, "getDuration", code, duration)
        assert duration.value == UNKNOWN_DURATION
