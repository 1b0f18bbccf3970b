"""Operations of a model, its arguments, and finish (API semantics 2)."""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import channel_quant, floats, operand_type, pointers, uint32s
from tests.abi.rules.graph import Graph, Run, add_graph

BAD_DATA, BAD_STATE = ResultCode.BAD_DATA, ResultCode.BAD_STATE
F32 = T.TENSOR_FLOAT32


def conv_operands(graph, filter_type=T.TENSOR_QUANT8_SYMM_PER_CHANNEL):
    """Operands of a CONV_2D with 1x1 filters, in its order, with implicit padding."""
    scale = 0.0 if filter_type is T.TENSOR_QUANT8_SYMM_PER_CHANNEL else 0.5
    image = graph.operand(T.TENSOR_QUANT8_ASYMM, (1, 2, 2, 1), 0.5)
    filter = graph.operand(filter_type, (2, 1, 1, 1), scale)
    bias = graph.operand(T.TENSOR_INT32, (2,))
    padding, stride, none = graph.int32(1), graph.int32(1), graph.int32(0)
    result = graph.operand(T.TENSOR_QUANT8_ASYMM, (1, 2, 2, 2), 1.0)
    return [image, filter, bias, padding, stride, stride, none], [result]


# addOperation


def test_lists_of_operands(api):
    """NULL is refused even with a count of 0; a count of 0 is refused even with a list.

    api-semantics 2: "an operation without inputs or outputs cannot be expressed"
    api-semantics 2: "at least one input and one output"
    """
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    some, none = uint32s([a]), uint32s([])
    for name, *type in (("addOperation", O.RELU), ("identifyInputsAndOutputs",)):
        name = f"Model_{name}"
        null = ResultCode.UNEXPECTED_NULL
        api.refuse(null, name, graph.model, *type, 0, None, 1, some)
        api.refuse(null, name, graph.model, *type, 1, some, 0, None)
        api.refuse(BAD_DATA, name, graph.model, *type, 0, none, 1, some)
        api.refuse(BAD_DATA, name, graph.model, *type, 1, some, 0, none)
        api.ok(name, graph.model, *type, 1, some, 1, uint32s([b]))


@pytest.mark.parametrize("code", [-1, 106, 9999, 10001, 65535, 0x7FFF0001])
def test_operations_that_do_not_exist(api, code):
    """api-semantics 2: "Operation code outside 0..105 and not 10000"."""
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.refuse_operation(BAD_DATA, code, [a], [b])


@pytest.mark.parametrize("index", [-1, 2, 2**31, 2**31 - 1])
def test_operands_that_do_not_exist(api, index):
    """api-semantics 0: "Indices are int32 in the signature but compared as uint32"."""
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.refuse_operation(BAD_DATA, O.RELU, [index], [b])
    graph.refuse_operation(BAD_DATA, O.RELU, [a], [index])
    graph.refuse_arguments(BAD_DATA, [index], [b])
    graph.operation(O.RELU, [a], [b])


def test_types_and_counts(api):
    """The whole signature is checked when the operation is added.

    api-semantics 9: "unknown extra operands, wrong scalar codes"
    """
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    half = graph.operand(T.TENSOR_FLOAT16, (2,))
    kind, scalar = graph.int32(0), graph.operand(T.FLOAT32)
    for inputs, outputs in (
        ([a, b], [c]),
        ([a, b, kind, kind], [c]),
        ([a, b, kind], [c, half]),
        ([a, half, kind], [c]),
        ([a, b, kind], [half]),
        ([a, b, scalar], [c]),
        ([a, b, a], [c]),
        ([kind, b, kind], [c]),
    ):
        graph.refuse_operation(BAD_DATA, O.ADD, inputs, outputs)
    graph.operation(O.ADD, [a, b, kind], [c])


def test_oem_operation_takes_anything(api):
    """api-semantics 2: "and not 10000 (OEM_OPERATION)"."""
    graph = Graph(api)
    a, b = graph.operand(T.TENSOR_OEM_BYTE, (3,)), graph.operand(T.OEM_SCALAR)
    graph.operation(O.OEM_OPERATION, [a, a], [b])


def test_extension_operation_needs_a_known_prefix(api):
    """api-semantics 11: "accepted if the prefix was handed out, BAD_DATA otherwise"."""
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    name = "Model_getExtensionOperationType"
    code = api.get(ctypes.c_int32, name, graph.model, b"com.example.operations", 1)
    graph.operation(code, [a], [b])
    graph.refuse_operation(BAD_DATA, code + (0x1000 << 16), [a], [b])


def test_scales_per_channel_may_come_after_the_operation(api):
    graph = Graph(api)
    inputs, outputs = conv_operands(graph)
    graph.operation(O.CONV_2D, inputs, outputs)
    quant = channel_quant(0, [0.5, 0.25])
    api.ok("Model_setOperandSymmPerChannelQuantParams", graph.model, inputs[1], quant)
    graph.arguments(inputs[:3], outputs)
    graph.finish()


def test_scales_per_channel_of_the_wrong_dimension(api):
    """Found at finish at the latest."""
    graph = Graph(api)
    inputs, outputs = conv_operands(graph)
    graph.operation(O.CONV_2D, inputs, outputs)
    quant = channel_quant(1, [0.5])
    api.ok("Model_setOperandSymmPerChannelQuantParams", graph.model, inputs[1], quant)
    graph.arguments(inputs[:3], outputs)
    graph.refuse_finish(BAD_DATA, saying="CONV_2D (operation 0)")


def test_order_of_operations_is_free(api, device):
    """Reads stand before writes; support is reported in the order of the calls.

    api-semantics 2: "Order of operations is free"
    """
    graph = Graph(api)
    a, b, c, d = (graph.operand(F32, (1,)) for _ in range(4))
    graph.operation(O.RELU6, [c], [d])
    graph.operation(O.ADD, [b, b, graph.int32(0)], [c])
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a], [d])
    run = Run(api, device, graph.finish())
    run.input(0, floats(2.5))
    result = run.output(0, 4)
    run.ok("compute")
    assert result.floats() == [5]


# identifyInputsAndOutputs


def test_arguments_of_a_model(api):
    """api-semantics 2: "Duplicate, input that is also output"."""

    def graph_of_three():
        graph = Graph(api)
        tensors = [graph.operand(F32, (2,)) for _ in range(3)]
        constant = graph.constant(floats(1, 2), F32, (2,))
        omitted = graph.operand(F32, (2,))
        api.ok("Model_setOperandValue", graph.model, omitted, None, 0)
        return graph, *tensors, constant, omitted

    for case in (
        lambda a, b, c, k, n: ([a, a], [c]),
        lambda a, b, c, k, n: ([a], [c, c]),
        lambda a, b, c, k, n: ([a, c], [c]),
        lambda a, b, c, k, n: ([a, k], [c]),
        lambda a, b, c, k, n: ([a], [k]),
        lambda a, b, c, k, n: ([a, n], [c]),
    ):
        graph, *operands = graph_of_three()
        graph.refuse_arguments(BAD_DATA, *case(*operands))


def test_arguments_can_be_said_once(api):
    graph = add_graph(api)
    graph.refuse_arguments(BAD_DATA, [0, 1], [3])
    graph.finish()


@pytest.mark.parametrize("index", [0, 3], ids=["input", "output"])
@pytest.mark.parametrize("value", [(floats(1, 2), 8), (None, 0)], ids=["constant", "omitted"])
def test_argument_that_gets_a_value(api, index, value):
    """Setting it is not refused; finish is.

    api-semantics 2: "any operand-level rule above is broken"
    """
    graph = add_graph(api)
    api.ok("Model_setOperandValue", graph.model, index, *value)
    graph.refuse_finish(BAD_DATA, saying=f"operand {index}")


# finish


def test_empty_model(api):
    """api-semantics 2: "BAD_DATA if: no operands or no operations"."""
    Graph(api).refuse_finish(BAD_DATA)
    graph = Graph(api)
    graph.operand(F32, (2,))
    graph.refuse_finish(BAD_DATA)


def test_cycle(api):
    """api-semantics 2: "the graph has a cycle"."""
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    kind = graph.int32(0)
    graph.operation(O.ADD, [a, c, kind], [b])
    graph.operation(O.RELU, [b], [c])
    graph.arguments([a], [c])
    graph.refuse_finish(BAD_DATA, saying="cycle")


def test_operation_that_reads_what_it_writes(api):
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.operation(O.ADD, [a, b, graph.int32(0)], [b])
    graph.arguments([a], [b])
    graph.refuse_finish(BAD_DATA, saying="cycle")


def relu_graph(api, *more):
    """Operands a, b, c with b = RELU(a), and more operations; a is the input, b the output."""
    graph = Graph(api)
    tensors = [graph.operand(F32, (2,)) for _ in range(3)]
    graph.operation(O.RELU, [tensors[0]], [tensors[1]])
    for inputs, outputs in more:
        graph.operation(O.RELU, inputs, outputs)
    graph.arguments(tensors[:1], tensors[1:2])
    return graph


A, B, C = range(3)


def test_operand_that_nobody_writes(api):
    """Even one that nothing reads.

    api-semantics 2: "neither input, constant nor omitted is never written"
    """
    relu_graph(api).refuse_finish(
        BAD_DATA, saying=f"operand {C} has no value, and nothing reads it"
    )
    relu_graph(api, ([A], [C])).finish()
    graph = Graph(api)
    a, b, c, d = (graph.operand(F32, (2,)) for _ in range(4))
    kind = graph.int32(0)
    for given, result in ((a, b), (b, d)):
        graph.operation(O.RELU, [given], [result])
    graph.operation(O.ADD, [a, c, kind], [graph.operand(F32, (2,))])
    graph.arguments([a], [d])
    graph.refuse_finish(
        BAD_DATA, saying=f"{c} has no value, and ADD (operation 2) reads it as input1 (input 1)"
    )


def test_operand_that_is_written_twice(api):
    """api-semantics 2: "an operand is written twice"."""
    relu_graph(api, ([A], [C]), ([B], [C])).refuse_finish(BAD_DATA, saying="twice")


def test_input_that_is_written(api):
    """api-semantics 2: "a constant or an input is written"."""
    relu_graph(api, ([C], [A]), ([B], [C])).refuse_finish(BAD_DATA)


@pytest.mark.parametrize("value", [(floats(1, 2), 8), (None, 0)], ids=["constant", "omitted"])
def test_constant_that_is_written(api, value):
    """api-semantics 2: "a constant or an input is written"."""
    graph = relu_graph(api, ([A], [C]))
    api.ok("Model_setOperandValue", graph.model, C, *value)
    graph.refuse_finish(BAD_DATA, saying=f"operand {C}")


def test_output_that_nobody_writes(api):
    """api-semantics 2: "a model output is never written"."""
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a], [b, c])
    graph.refuse_finish(BAD_DATA, saying=f"{c} has no value, and it is an output of the model")


def test_arguments_that_were_not_identified(api):
    """It is allowed where nothing needs a value from outside, with a warning."""
    graph = Graph(api)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.operation(O.RELU, [a], [b])
    graph.refuse_finish(BAD_DATA, saying="identifyInputsAndOutputs has named no inputs")
    graph = Graph(api)
    a, b = graph.constant(floats(1, 2), F32, (2,)), graph.operand(F32, (2,))
    graph.operation(O.RELU, [a], [b])
    said = api.ok_saying("Model_finish", graph.model)
    assert said.startswith("nnapi_shim warning: the model has no outputs")
    assert "identifyInputsAndOutputs" in said and said.count("\n") == 1


def test_unused_inputs_and_constants(api):
    graph = Graph(api)
    a, b, unused = (graph.operand(F32, (2,)) for _ in range(3))
    graph.constant(floats(1, 2), F32, (2,))
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a, unused], [b])
    graph.finish()


def test_output_that_is_read(api):
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    graph.operation(O.RELU, [a], [b])
    graph.operation(O.RELU, [b], [c])
    graph.arguments([a], [b, c])
    graph.finish()


@pytest.mark.parametrize(("scale", "zero_point"), [(-1.0, 0), (0.0, 1), (float("nan"), 0)])
def test_parameters_of_int32_tensors(api, scale, zero_point):
    """api-semantics 2: "any operand-level rule above is broken"."""
    graph = add_graph(api)
    graph.constant(ctypes.c_int32(0), T.TENSOR_INT32, (1,), scale, zero_point)
    graph.refuse_finish(BAD_DATA, saying="TENSOR_INT32")


def test_missing_scales_per_channel(api):
    """api-semantics 2: "per-channel parameters missing"."""
    graph = add_graph(api)
    graph.constant((ctypes.c_int8 * 2)(), T.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2,))
    graph.refuse_finish(BAD_DATA, saying="scales per channel")


def test_only_model_operands_have_models(api):
    """api-semantics 2: "MODEL operand without value"."""
    value = add_graph(api).finish()
    for type, name, arguments in (
        (T.MODEL, "Model_setOperandValue", (None, 0)),
        (T.INT32, "Model_setOperandValueFromModel", (value,)),
    ):
        graph = add_graph(api)
        api.ok(name, graph.model, graph.operand(type), *arguments)
        graph.refuse_finish(BAD_DATA)


# States


MUTATORS = {
    "addOperand": (operand_type(F32, (2,)),),
    "setOperandValue": (99, floats(1), 4),
    "setOperandSymmPerChannelQuantParams": (99, channel_quant(0, [1.0])),
    "setOperandExtensionData": (99, floats(1), 4),
    "addOperation": (-1, 1, uint32s([99]), 1, uint32s([99])),
    "identifyInputsAndOutputs": (1, uint32s([99]), 1, uint32s([99])),
    "relaxComputationFloat32toFloat16": (True,),
    "finish": (),
}


@pytest.mark.parametrize("end", ["finished", "invalid", "cycle"])
def test_nothing_can_be_changed_after_finish(api, device, end):
    """Whether finish has succeeded or not; and the state comes before wrong values.

    api-semantics 2: "In both end states every mutator and a second finish -> BAD_STATE"
    """
    graph = add_graph(api)
    if end == "finished":
        graph.finish()
    else:
        operand = graph.operand(F32, (2,))
        if end == "cycle":
            graph.operation(O.RELU, [operand], [operand])
        graph.refuse_finish(BAD_DATA)
        api.make_none(BAD_STATE, "Compilation_create", graph.model)
        name = "Compilation_createForDevices"
        api.make_none(BAD_STATE, name, graph.model, pointers(device), 1)
    memory = api.make("Memory_createFromFd", 4, 3, 0, 0)
    value = add_graph(api).finish()
    more = {
        "setOperandValueFromMemory": (99, memory, 0, 0),
        "setOperandValueFromModel": (99, value),
    }
    for name, arguments in (MUTATORS | more).items():
        api.refuse(BAD_STATE, f"Model_{name}", graph.model, *arguments)


def test_refusals_do_not_spoil_a_model(api):
    graph = Graph(api)
    for name, arguments in MUTATORS.items():
        if name not in ("addOperand", "relaxComputationFloat32toFloat16", "finish"):
            api.refuse(BAD_DATA, f"Model_{name}", graph.model, *arguments)
    a, b = (graph.operand(F32, (2,)) for _ in range(2))
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a], [b])
    graph.finish()


def test_models_are_freed_in_any_state(api):
    """api-semantics 0: "Objects are freed in any state"."""
    unfinished, finished, invalid = Graph(api), add_graph(api), Graph(api)
    unfinished.operand(F32, (2,))
    finished.finish()
    invalid.refuse_finish(BAD_DATA)
    for graph in (unfinished, finished, invalid):
        api.free(graph.model)
        api.refuse(BAD_DATA, "Model_finish", graph.model, saying="was freed")


def test_arguments_that_were_named_before_others(api):
    """Naming arguments a second time does not make those of the first time go away."""
    graph = Graph(api)
    a, b, other, result, second = (graph.operand(F32, (2,)) for _ in range(5))
    none = graph.int32(0)
    graph.operation(O.ADD, [a, b, none], [result])
    graph.operation(O.ADD, [other, b, none], [second])
    graph.arguments([a, b], [result])
    graph.arguments([other], [second])
    api.refuse(BAD_DATA, "Model_finish", graph.model)
