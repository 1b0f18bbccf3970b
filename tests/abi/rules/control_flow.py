"""WHILE: what addOperation says of it (API semantics 9), and its timeout (10)."""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import channel_quant, floats, operand_type
from tests.abi.rules.graph import Graph, Run

BAD_DATA = ResultCode.BAD_DATA
LATE = (ResultCode.MISSED_DEADLINE_TRANSIENT, ResultCode.MISSED_DEADLINE_PERSISTENT)
F32, F16, QU8 = T.TENSOR_FLOAT32, T.TENSOR_FLOAT16, T.TENSOR_QUANT8_ASYMM
CHANNELS = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
PAIR = (F32, (2,))


def add_operand(graph, details):
    """An operand: type, dimensions, scale, zero point; or scales per channel."""
    if details[0] is not CHANNELS:
        return graph.operand(*details)
    index = graph.operand(*details[:2])
    quant = channel_quant(*details[2:])
    graph.api.ok("Model_setOperandSymmPerChannelQuantParams", graph.model, index, quant)
    return index


def condition(api, inputs, outputs=((T.TENSOR_BOOL8, (1,)),)):
    """A finished model that gives true: as many outputs like these, whatever the inputs."""
    graph = Graph(api)
    indexes = [add_operand(graph, details) for details in inputs]
    results = [graph.operand(*details) for details in outputs]
    one = graph.constant(floats(1), F32, (1,))
    for result, details in zip(results, outputs, strict=True):
        if details[0] is T.TENSOR_BOOL8:
            graph.operation(O.EQUAL, [one, one], [result])
        else:
            graph.operation(O.RELU, [one], [result])
    graph.arguments(indexes, results)
    return graph.finish()


def body(api, inputs, outputs):
    """A finished model whose outputs are those of these inputs that `outputs` lists, doubled."""
    graph = Graph(api)
    indexes = [add_operand(graph, details) for details in inputs]
    results = []
    for position in outputs:
        results.append(add_operand(graph, inputs[position]))
        zero = graph.constant(ctypes.c_int32(0), T.TENSOR_INT32, (1,))
        if inputs[position][0] is CHANNELS:  # nothing computes these
            graph.operation(O.OEM_OPERATION, [indexes[position]], [results[-1]])
        elif inputs[position][0] is F32:
            both = [indexes[position], indexes[position], graph.int32(0)]
            graph.operation(O.ADD, both, [results[-1]])
        else:
            graph.operation(O.REVERSE, [indexes[position], zero], [results[-1]])
    graph.arguments(indexes, results)
    return graph.finish()


class Loop:
    """A WHILE that is to be added; a test changes one thing of it."""

    def __init__(self, api, *state):
        self.api = api
        self.outer = list(state)
        self.results = list(state)
        self.condition_inputs = list(state)
        self.condition_outputs = [(T.TENSOR_BOOL8, (1,))]
        self.body_inputs = list(state)
        self.body_outputs = list(range(len(state)))

    def add(self, code=ResultCode.NO_ERROR):
        """Add it to a new model; the model's graph."""
        graph = Graph(self.api)
        inputs = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
        models = (
            condition(self.api, self.condition_inputs, self.condition_outputs),
            body(self.api, self.body_inputs, self.body_outputs),
        )
        for index, model in zip(inputs, models, strict=True):
            self.api.ok("Model_setOperandValueFromModel", graph.model, index, model)
        outer = [add_operand(graph, details) for details in self.outer]
        results = [add_operand(graph, details) for details in self.results]
        if code == ResultCode.NO_ERROR:
            graph.operation(O.WHILE, inputs + outer, results)
            graph.arguments(outer, results)
            graph.finish()
        else:
            graph.refuse_operation(code, O.WHILE, inputs + outer, results)
        return graph


def test_counts(api):
    """Of the loop, its condition and its body.

    api-semantics 9: "inputs = 2 + cond inputs = 2 + body inputs"
    """
    Loop(api, PAIR, PAIR).add()

    def refused(**changes):
        loop = Loop(api, PAIR, PAIR)
        for name, value in changes.items():
            setattr(loop, name, value)
        loop.add(BAD_DATA)

    refused(condition_inputs=[PAIR])
    refused(condition_inputs=[PAIR] * 3)
    refused(body_inputs=[PAIR], body_outputs=[0, 0])
    refused(body_inputs=[PAIR] * 3)
    refused(outer=[PAIR] * 3)
    refused(outer=[PAIR])
    refused(results=[PAIR] * 3)
    refused(body_outputs=[0])  # fewer than the loop has
    refused(body_outputs=[0, 1, 0])  # more than the body has inputs
    for outputs in ([(T.TENSOR_BOOL8, (1,))] * 2, [(F32, (1,))]):
        refused(condition_outputs=outputs)
    for count in (0, 1, 2):
        graph = Graph(api)
        models = [graph.operand(T.MODEL) for _ in range(count)]
        for index in models:
            value = body(api, [PAIR], [0])
            api.ok("Model_setOperandValueFromModel", graph.model, index, value)
        result = graph.operand(*PAIR)
        graph.refuse_operation(BAD_DATA, O.WHILE, models, [result])


def test_state_that_stays_inside(api, device):
    """The loop has fewer outputs than the body, and inputs that the body only reads.

    api-semantics 9: "body outputs >= loop outputs, body inputs >= body outputs"
    """
    for body_outputs, results in (([0, 1], [PAIR]), ([0], [PAIR]), ([0, 1, 2], [PAIR])):
        loop = Loop(api, PAIR, PAIR, PAIR)
        loop.body_outputs, loop.results = body_outputs, results
        loop.add()


def test_sub_models_come_first(api):
    """Both have their values when the operation is added.

    api-semantics 9: "WHILE: >= 3 inputs, >= 1 output"
    """
    graph = Graph(api)
    models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
    x, y = graph.operand(*PAIR), graph.operand(*PAIR)
    values = (condition(api, [PAIR]), body(api, [PAIR], [0]))
    for index, value in zip(models, values, strict=True):
        graph.refuse_operation(BAD_DATA, O.WHILE, [*models, x], [y])
        api.ok("Model_setOperandValueFromModel", graph.model, index, value)
    graph.operation(O.WHILE, [*models, x], [y])
    graph.refuse_operation(BAD_DATA, O.WHILE, models, [y])  # nothing to begin with


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PAIR, (F16, (2,))),
        ((QU8, (2,), 0.5, 1), (QU8, (2,), 0.25, 1)),
        ((QU8, (2,), 0.5, 1), (QU8, (2,), 0.5, 2)),
        ((CHANNELS, (2,), 0, [1.0, 2.0]), (CHANNELS, (2,), 0, [1.0, 3.0])),
        (PAIR, (F32, (2, 1))),
        (PAIR, (F32, (0, 0))),
        (PAIR, (F32, (3,))),
        ((F32, (2, 0)), (F32, (3, 0))),
    ],
    ids=["type", "scale", "zero", "channels", "rank", "rank2", "dimension", "dimension2"],
)
@pytest.mark.parametrize("where", ["outer", "results", "condition_inputs", "body_inputs"])
def test_inner_and_outer_operands_agree(api, where, one, other):
    """In type, parameters, rank, and dimensions where both are known.

    api-semantics 9: "Inner and outer operands must agree in code, scale, zeroPoint"
    """
    for first, second in ((one, other), (other, one)):
        loop = Loop(api, first)
        setattr(loop, where, [second])
        loop.add(BAD_DATA)


DIMENSIONS = ((2, 3), (0, 3), ())


@pytest.mark.parametrize("outer", DIMENSIONS)
@pytest.mark.parametrize("results", DIMENSIONS)
@pytest.mark.parametrize("condition_inputs", DIMENSIONS)
@pytest.mark.parametrize("body_inputs", DIMENSIONS)
def test_all_mixtures_of_what_is_known(api, outer, results, condition_inputs, body_inputs):
    """Full dimensions, an unknown one, an unknown rank.

    api-semantics 9: "all mixtures of full, unknown dimension and unknown rank are legal"
    """
    loop = Loop(api, (F32, outer))
    loop.results = [(F32, results)]
    loop.condition_inputs = [(F32, condition_inputs)]
    loop.body_inputs = [(F32, body_inputs)]
    loop.add()


@pytest.mark.parametrize("timeout", [0, 1_000_000])
@pytest.mark.parametrize("dimensions", [(2,), (0,), ()], ids=["known", "dimension", "rank"])
@pytest.mark.parametrize("start", ["compute", "burstCompute", "startCompute", "fenced"])
def test_loop_that_never_ends(api, device, dimensions, timeout, start):
    """It ends with its timeout, however it was started.

    api-semantics 10: "if true and elapsed > loop timeout -> MISSED_DEADLINE_TRANSIENT"
    """
    run = Run(api, device, Loop(api, (F32, dimensions)).add().model)
    run.ok("setLoopTimeout", timeout)
    run.input(0, floats(1, 2), operand_type(F32, (2,)))
    known = start == "fenced" and not all(dimensions or (0,))
    run.output(0, 8, operand_type(F32, (2,)) if known else None)
    if start == "startCompute":
        event = api.make("Execution_startCompute", run.execution)
        code = api.result("Event_wait", event)
    elif start == "fenced":
        event = ctypes.c_uint64(1)
        name = "Execution_startComputeWithDependencies"
        code = api.result(name, run.execution, None, 0, 0, event)
        assert event.value == 0
    else:
        burst = [api.make("Burst_create", run.compilation)] if start == "burstCompute" else []
        code = api.result(f"Execution_{start}", run.execution, *burst)
    assert code in LATE
