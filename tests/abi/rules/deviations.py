"""Where the library answers otherwise than the reference runtime: docs/deviations.md has why.

The docstring of each test names what it shows, as the document does.
"""

import ctypes
from math import prod

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s, operand_type, pointers
from tests.abi.rules.graph import Graph, Run, add_graph, compilation_for, device_memory
from tests.abi.rules.sample import Sample
from tests.operations.cases import USES

BAD_DATA, OP_FAILED = ResultCode.BAD_DATA, ResultCode.OP_FAILED
F32, B8 = T.TENSOR_FLOAT32, T.TENSOR_BOOL8
FENCED = "Execution_startComputeWithDependencies"


def fails(api, device, graph, image, output_bytes, saying):
    """A computation of a model with one input and one output ends with OP_FAILED."""
    run = Run(api, device, graph.finish())
    run.input(0, image)
    result = run.output(0, output_bytes)
    run.refuse(OP_FAILED, "compute", saying=saying)
    assert result.is_untouched


def test_a_failed_call_changes_nothing(api, device):
    """deviation: `identify-half-way` (api-semantics 15.5)."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
    graph.operation(O.RELU, [a], [b])
    for inputs, outputs in (([a], [b, 9]), ([a, 9], [b]), ([a], [a]), ([a, a], [b]), ([a], [])):
        graph.refuse_arguments(BAD_DATA, inputs, outputs)
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(-1, 2))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [0, 2]


def condition(api, limit, sizes=(1,)):
    """A finished model: whether the input is below the limit."""
    graph = Graph(api)
    a, b = graph.operand(F32, sizes), graph.operand(B8, (1,))
    graph.operation(O.LESS, [a, graph.constant(floats(limit), F32, (1,))], [b])
    graph.arguments([a], [b])
    return graph.finish()


def increment(api, sizes=(1,)):
    """A finished model: the input and 1."""
    graph = Graph(api)
    a, b = graph.operand(F32, sizes), graph.operand(F32, sizes)
    one = graph.constant(floats(1), F32, (1,))
    graph.operation(O.ADD, [a, one, graph.int32(0)], [b])
    graph.arguments([a], [b])
    return graph.finish()


def control_flow(api, type, sizes=(1,), limit=3.0):
    """A finished model: increments as long as the value is below the limit, or an IF.

    The input that counts is the last one.
    """
    graph = Graph(api)
    models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
    first = condition(api, limit, sizes) if type is O.WHILE else increment(api, sizes)
    for index, value in zip(models, (first, increment(api, sizes)), strict=True):
        api.ok("Model_setOperandValueFromModel", graph.model, index, value)
    chosen = [] if type is O.WHILE else [graph.operand(B8, (1,))]
    a, b = graph.operand(F32, sizes), graph.operand(F32, sizes)
    graph.operation(type, [*chosen, *models, a], [b])
    graph.arguments([*chosen, a], [b])
    return graph.finish()


@pytest.mark.parametrize("sizes", [(1,), (0,)], ids=["known", "unknown"])
def test_time_for_no_round(api, device, sizes):
    """deviation: `loop-without-rounds` (api-semantics 15.7)."""
    run = Run(api, device, control_flow(api, O.WHILE, sizes, limit=-9.0))
    run.ok("setLoopTimeout", 0)
    run.input(0, floats(7), operand_type(F32, (1,)))
    result = run.output(0, 4)
    run.ok("compute")
    assert result.floats() == [7]


@pytest.mark.parametrize("type", [O.IF, O.WHILE], ids=["IF", "WHILE"])
def test_memory_of_control_flow(api, device, file, type):
    """deviation: `memory-for-control-flow` (api-semantics 15.8)."""
    run = Run(api, device, control_flow(api, type))
    last = 0 if type is O.WHILE else 1
    roles = [(run.compilation, "Input", last), (run.compilation, "Output", 0)]
    source, target = (device_memory(api, role) for role in roles)
    plain = api.make("Memory_createFromFd", 4, 3, file(4, bytes(floats(1.5))), 0)
    api.ok("Memory_copy", plain, source)
    if type is O.IF:
        run.input(0, (ctypes.c_uint8 * 1)(1))
    run.ok("setInputFromMemory", last, None, source, 0, 0)
    run.ok("setOutputFromMemory", 0, None, target, 0, 0)
    run.ok("compute")
    api.ok("Memory_copy", target, plain)
    run = Run(api, device, add_graph(api, (1,)).finish())
    run.ok("setInputFromMemory", 0, None, plain, 0, 4)
    run.input(1, floats(0))
    result = run.output(0, 4)
    run.ok("compute")
    assert result.floats() == [3.5 if type is O.WHILE else 2.5]


@pytest.mark.parametrize("offset", [2**64 - 4, 2**64 - 1, 2**63, 2**32])
def test_offsets_that_overflow(api, device, file, offset):
    """deviation: `offset-overflow` (api-semantics 15.15)."""
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    run = Run(api, device, add_graph(api).finish())
    saying = "exceeds the memory's 64"
    for role, length in (("Input", 8), ("Output", 8)):
        name = f"set{role}FromMemory"
        run.refuse(BAD_DATA, name, 0, None, memory, offset, length, saying=saying)
    graph = Graph(api)
    constant = graph.operand(F32, (2,))
    arguments = graph.model, constant, memory, offset, 8
    api.refuse(BAD_DATA, "Model_setOperandValueFromMemory", *arguments, saying=saying)


ONES = floats(*[1] * 16)


@pytest.mark.parametrize("code", [-1, 4, 999])
def test_activations_that_do_not_exist(api, device, code):
    """deviation: `activation-code` (api-semantics 15.16)."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
    graph.operation(O.MUL, [a, a, graph.int32(code)], [b])
    graph.arguments([a], [b])
    fails(api, device, graph, floats(1, 2), 8, f"is {code}")


def grouped(api, pads=(0, 0, 0, 0), strides=(1, 1), **changes):
    """A GROUPED_CONV_2D of an image of 4 x 4 with a filter of 2 x 2."""
    graph = Graph(api)
    image, result = graph.operand(F32, (1, 4, 4, 1)), graph.operand(F32)
    filter = graph.constant(floats(1, 1, 1, 1), F32, (1, 2, 2, 1))
    bias = graph.constant(floats(0), F32, (1,))
    scalars = [graph.int32(value) for value in (*pads, *strides, 1, changes.get("activation", 0))]
    layout = graph.constant(ctypes.c_uint8(0), T.BOOL)
    graph.operation(O.GROUPED_CONV_2D, [image, filter, bias, *scalars, layout], [result])
    graph.arguments([image], [result])
    return graph


def test_grouped_convolution(api, device):
    """What the next tests change one thing of is all right."""
    run = Run(api, device, grouped(api).finish())
    run.input(0, ONES)
    result = run.output(0, 36)
    run.ok("compute")
    assert result.floats() == [4] * 9


@pytest.mark.parametrize("code", [-1, 4])
def test_activations_of_a_grouped_convolution(api, device, code):
    """deviation: `activation-code` (api-semantics 15.16)."""
    fails(api, device, grouped(api, activation=code), ONES, 64, f"is {code}")


@pytest.mark.parametrize("strides", [(0, 1), (1, 0), (-1, 1), (1, -2)])
def test_strides_of_a_grouped_convolution(api, device, strides):
    """deviation: `grouped-strides` (api-semantics 15.16)."""
    fails(api, device, grouped(api, strides=strides), ONES, 256, "must be at least 1")


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("pad", [-1, 2, 99])
def test_paddings_of_a_grouped_convolution(api, device, at, pad):
    """deviation: `grouped-paddings` (api-semantics 15.16)."""
    pads = [0, 0, 0, 0]
    pads[at] = pad
    fails(api, device, grouped(api, pads), ONES, 256, "allowed are 0 to 1")


@pytest.mark.parametrize("axis", [-3, 2, 99])
def test_axis_of_softmax(api, device, axis):
    """deviation: `softmax-axis` (api-semantics 15.18)."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2, 2)), graph.operand(F32, (2, 2))
    beta = graph.constant(ctypes.c_float(1), T.FLOAT32)
    graph.operation(O.SOFTMAX, [a, beta, graph.int32(axis)], [b])
    graph.arguments([a], [b])
    fails(api, device, graph, floats(1, 2, 3, 4), 16, f"is {axis}; allowed are -2 to 1")


@pytest.mark.parametrize("type", [O.MAX_POOL_2D, O.AVERAGE_POOL_2D, O.L2_POOL_2D, O.CONV_2D])
@pytest.mark.parametrize("declared", [(1, 1, 1, 1), (1, 2, 2, 1)])
def test_windows_that_do_not_fit(api, device, type, declared):
    """deviation: `window-beyond-image` (api-semantics 15.18)."""
    graph = Graph(api)
    image, result = graph.operand(F32, (1, 2, 2, 1)), graph.operand(F32, declared)
    valid, one, three = graph.int32(2), graph.int32(1), graph.int32(3)
    if type is O.CONV_2D:
        filter = graph.constant(floats(*[1] * 9), F32, (1, 3, 3, 1))
        inputs = [image, filter, graph.constant(floats(0), F32, (1,)), valid, one, one]
    else:
        inputs = [image, valid, one, one, three, three]
    graph.operation(type, [*inputs, graph.int32(0)], [result])
    graph.arguments([image], [result])
    length = 4 * prod(declared)
    fails(api, device, graph, floats(1, 2, 3, 4), length, "does not fit")


@pytest.mark.parametrize("start", ["compute", "startCompute", "fenced"])
def test_results_for_memory_that_may_only_be_read(api, device, file, start):
    """deviation: `read-only-output` (api-semantics 15.24)."""
    contents = bytes(range(64))
    memory = api.make("Memory_createFromFd", 64, 1, file(64, contents), 0)
    run = Run(api, device, add_graph(api).finish())
    for index in (0, 1):
        run.ok("setInputFromMemory", index, None, memory, 0, 8)
    run.ok("setOutputFromMemory", 0, None, memory, 8, 8)
    name = {"compute": "compute", "startCompute": "startCompute"}.get(start, FENCED[10:])
    arguments = [None, 0, 0] if start == "fenced" else []
    code, saying = ResultCode.UNMAPPABLE, "PROT_WRITE"
    if start == "compute":
        run.refuse(code, name, saying=saying)
    else:
        api.make_none(code, f"Execution_{name}", run.execution, *arguments, saying=saying)


# What cannot run is no reason to refuse a model, but nobody says that it can.


@pytest.mark.parametrize("in_condition", [True, False], ids=["condition", "body"])
def test_oem_operation_in_a_loop(api, in_condition):
    """deviation: `oem-in-while` (api-semantics 15.19)."""

    def oem(*output):
        graph = Graph(api)
        a, b = graph.operand(F32, (1,)), graph.operand(*output)
        graph.operation(O.OEM_OPERATION, [a], [b])
        graph.arguments([a], [b])
        return graph.finish()

    graph = Graph(api)
    models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
    if in_condition:
        values = oem(B8, (1,)), increment(api)
    else:
        values = condition(api, 3.0), oem(F32, (1,))
    for index, value in zip(models, values, strict=True):
        api.ok("Model_setOperandValueFromModel", graph.model, index, value)
    a, b = graph.operand(F32, (1,)), graph.operand(F32, (1,))
    graph.operation(O.WHILE, [*models, a], [b])
    graph.arguments([a], [b])
    model = graph.finish()
    listed = api.devices().values()
    supported = (ctypes.c_bool * 1)(True)
    name = "Model_getSupportedOperationsForDevices"
    api.ok(name, model, pointers(*listed), len(listed), supported)
    assert not supported[0]
    compilation = api.make("Compilation_create", model)
    api.refuse(BAD_DATA, "Compilation_finish", compilation)


def test_copies_to_memory_that_may_only_be_read(api, file):
    """deviation: `read-only-copy` (api-semantics 16.15)."""
    contents = bytes(range(8))
    source = api.make("Memory_createFromFd", 8, 3, file(8), 0)
    target = api.make("Memory_createFromFd", 8, 1, file(8, contents), 0)
    for _ in range(2):
        api.refuse(ResultCode.UNMAPPABLE, "Memory_copy", source, target)
    api.ok("Memory_copy", target, source)


def test_a_single_seed(api, device):
    """deviation: `one-seed` (api-semantics 16.7)."""
    results = []
    for seeds in ([7, 0], [7]):
        sample = Sample("RANDOM_MULTINOMIAL")
        sample.set("seeds", np.array(seeds, "<i4"))
        results.append(sample.run(api, device))
    assert results[0] == results[1]


def test_too_few_multiples(api, device):
    """deviation: `tile-multiples` (api-semantics 16.10)."""
    sample = Sample("TILE")
    given = sample.values[sample.use.names.index("multiples")]
    assert len(given) > 1
    sample.set("multiples", given[1:])
    sample.run(api, device, OP_FAILED, saying="multiples")


@pytest.mark.parametrize("scale", [0.0, float("nan")])
def test_scales_that_nothing_is_divided_by(api, device, scale):
    """deviation: `lstm-scales` (api-semantics 16.11)."""
    sample = Sample("QUANTIZED_LSTM")
    sample.set("hidden_state_scale", np.array(scale, "<f4"), ())
    sample.run(api, device, OP_FAILED, saying="a number other than 0")


@pytest.mark.parametrize("batches", [(2, 3), (1, 2), (3, 2)])
def test_batches_that_differ(api, device, batches):
    """deviation: `matrix-batches` (api-semantics 16.12)."""
    graph = Graph(api)
    a, b = (graph.operand(F32, (batch, 2, 2)) for batch in batches)
    result, no = graph.operand(F32), graph.constant(ctypes.c_uint8(0), T.BOOL)
    graph.operation(O.BATCH_MATMUL, [a, b, no, no], [result])
    graph.arguments([a, b], [result])
    run = Run(api, device, graph.finish())
    for index, batch in enumerate(batches):
        run.input(index, floats(*range(4 * batch)))
    run.output(0, 256)
    run.refuse(OP_FAILED, "compute")


WITH_BOOL = {
    use.operation.type.name: use
    for use in USES
    if T.BOOL in use.inputs and use.variant in ("f32", "b8", "q8")
}


@pytest.mark.parametrize("name", sorted(WITH_BOOL))
def test_bytes_that_mean_true(api, device, name):
    """deviation: `bool-bytes` (api-semantics 16.14)."""
    use = WITH_BOOL[name]
    for position, type in enumerate(use.inputs):
        if type is not T.BOOL:
            continue
        answers = []
        for byte in (1, 2, 128, 255):
            sample = Sample(name, use=use)
            sample.values[position] = np.array(byte, np.uint8)
            answers.append(sample.outcome(api, device))
        assert all(answer == answers[0] for answer in answers)


def test_padding_of_a_loop(api, device):
    """deviation: `padding-of-loops` (api-semantics 16.16)."""
    run = Run(api, device, control_flow(api, O.WHILE))
    name = "Compilation_getPreferredMemoryPaddingForOutput"
    assert api.get(ctypes.c_uint32, name, run.compilation, 0) == 64


@pytest.mark.parametrize("type", [O.IF, O.WHILE], ids=["IF", "WHILE"])
def test_control_flow_with_a_timeout(api, device, type):
    """deviation: `aborts` (api-semantics 16.17)."""
    if device is None:
        device = api.devices()["nnapi-cpu"]
    model = control_flow(api, type)
    compilation = compilation_for(api, device, model)
    api.ok("Compilation_setTimeout", compilation, 10**11)
    api.ok("Compilation_finish", compilation)


ZEROS = [
    ("DEPTH_TO_SPACE", "block_size", np.array(0, "<i4")),
    ("SPACE_TO_DEPTH", "block_size", np.array(0, "<i4")),
    ("BATCH_TO_SPACE_ND", "block_shape", np.array([0, 0], "<i4")),
    ("SPACE_TO_BATCH_ND", "block_shape", np.array([0, 1], "<i4")),
    ("CONV_2D", "stride_width", np.array(0, "<i4")),
    ("DEPTHWISE_CONV_2D", "stride_height", np.array(0, "<i4")),
    ("TRANSPOSE_CONV_2D", "stride_height", np.array(0, "<i4")),
    ("AVERAGE_POOL_2D", "stride_width", np.array(0, "<i4")),
    ("SVDF", "rank", np.array(0, "<i4")),
    ("RESHAPE", "shape", np.array([0, 4], "<i4")),
    ("RESHAPE", "shape", np.array([0, -1], "<i4")),
    ("RNN", "activation", np.array(9, "<i4")),
    ("RNN", "activation", np.array(-1, "<i4")),
]


@pytest.mark.parametrize(("name", "operand", "value"), ZEROS)
def test_values_that_abort(api, device, name, operand, value):
    """deviation: `aborts` (api-semantics 16.17)."""
    sample = Sample(name)
    sample.set(operand, value)
    sample.run(api, device, OP_FAILED)


def test_filters_without_parameters(api):
    """deviation: `aborts` (api-semantics 16.17)."""
    graph = Graph(api)
    image = graph.operand(T.TENSOR_QUANT8_ASYMM, (1, 2, 2, 1), 0.5)
    filter = graph.constant((ctypes.c_int8 * 4)(), T.TENSOR_QUANT8_SYMM_PER_CHANNEL, (1, 2, 2, 1))
    bias = graph.constant(int32s(0), T.TENSOR_INT32, (1,))
    result = graph.operand(T.TENSOR_QUANT8_ASYMM, (1, 1, 1, 1), 0.5)
    valid, one, none = graph.int32(2), graph.int32(1), graph.int32(0)
    graph.operation(O.CONV_2D, [image, filter, bias, valid, one, one, none], [result])
    graph.arguments([image], [result])
    graph.refuse_finish(BAD_DATA)
