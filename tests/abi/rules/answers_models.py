"""What the reference runtime answers while a model is built, where it is not obvious (15)."""

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import channel_quant, floats, operand_type
from tests.abi.rules.graph import Graph, Run, compilation_for

BAD_DATA, OP_FAILED = ResultCode.BAD_DATA, ResultCode.OP_FAILED
F32, QU8, I32, B8 = T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_INT32, T.TENSOR_BOOL8
INFINITE = float("inf")


def operation(api, type, inputs, output, code=ResultCode.NO_ERROR, omitted=()):
    """An operation on new operands that addOperation answers with this code; its graph.

    inputs, output: types and dimensions. omitted: positions of inputs that are.
    """
    graph = Graph(api)
    indexes = [graph.operand(*details) for details in (*inputs, output)]
    for position in omitted:
        api.ok("Model_setOperandValue", graph.model, indexes[position], None, 0)
    if code == ResultCode.NO_ERROR:
        graph.operation(type, indexes[:-1], indexes[-1:])
    else:
        graph.refuse_operation(code, type, indexes[:-1], indexes[-1:])
    return graph


@pytest.mark.parametrize(
    ("type", "others"),
    [(O.REVERSE, [(I32, (1,))]), (O.MIRROR_PAD, [(I32, (0, 2)), (T.INT32,)])],
    ids=["REVERSE", "MIRROR_PAD"],
)
def test_ranks_of_input_and_output(api, type, others):
    """api-semantics 15.1: known ranks that differ are refused."""
    for given, expected in (((2, 3), (2, 3, 1)), ((2,), (2, 1)), ((0, 0), (0,))):
        operation(api, type, [(F32, given), *others], (F32, expected), BAD_DATA)
    for given, expected in (((2, 3), (0, 0)), ((), (2,)), ((2, 3), ()), ((2, 3), (4, 5))):
        operation(api, type, [(F32, given), *others], (F32, expected))


def test_dimensions_of_cast(api):
    """api-semantics 15.3: an output that is known in full has those of the input, known or not."""
    for given, expected in (((0, 3), (2, 3)), ((0,), (2, 3)), ((2, 0), (2, 3)), ((2,), (3,))):
        operation(api, O.CAST, [(F32, given)], (I32, expected), BAD_DATA)
    for given, expected in (((), (2, 3)), ((2, 3), (0, 3)), ((2, 3), (4, 0)), ((0, 3), (2, 0))):
        operation(api, O.CAST, [(F32, given)], (I32, expected))
    operation(api, O.CAST, [(F32, (0, 3))], (I32, ()))


def test_oem_scalars(api):
    """api-semantics 15.4: they have no dimensions, and their values at least a byte."""
    graph = Graph(api)
    name, type = "Model_addOperand", operand_type(T.OEM_SCALAR, (2,))
    api.refuse(BAD_DATA, name, graph.model, type, saying="OEM_SCALAR is a scalar")
    api.refuse(BAD_DATA, name, graph.model, operand_type(T.OEM_SCALAR, (0,)))
    value = floats(1, 2)
    scalar = graph.operand(T.OEM_SCALAR)
    for index in (scalar, graph.operand(T.MODEL)):
        api.refuse(BAD_DATA, "Model_setOperandValue", graph.model, index, value, 0)
        api.ok("Model_setOperandValue", graph.model, index, None, 0)
    for length in (1, 3, 8):
        api.ok("Model_setOperandValue", graph.model, scalar, value, length)


def test_oem_scalars_in_a_memory(api, file):
    """api-semantics 15.4: a memory holds none, whatever the length."""
    graph = Graph(api)
    scalar = graph.operand(T.OEM_SCALAR)
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    name = "Model_setOperandValueFromMemory"
    for offset, length in ((0, 0), (4, 0), (0, 1), (0, 4), (4, 8), (0, 64)):
        api.refuse(BAD_DATA, name, graph.model, scalar, memory, offset, length)


REQUIRED = {
    "PAD": (O.PAD, [(F32, (1, 1, 1, 1, 2)), (I32, (5, 2))], (F32, ()), 0),
    "FULLY_CONNECTED": (
        O.FULLY_CONNECTED,
        [(F32, (2, 3)), (F32, (4, 5)), (F32, (4,)), (T.INT32,)],
        (F32, ()),
        1,
    ),
    "MIRROR_PAD": (O.MIRROR_PAD, [(F32, (2, 3)), (I32, (3, 2)), (T.INT32,)], (F32, ()), 1),
    "CAST": (O.CAST, [(F32, (2, 3))], (I32, (3, 2)), 0),
}


@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("when", ["before", "after"])
def test_omitted_operands_that_are_needed(api, name, when):
    """api-semantics 15.9: rank and sizes that an omitted operand declares are looked at."""
    type, inputs, output, position = REQUIRED[name]
    omitted = [position] if when == "before" else []
    operation(api, type, inputs, output, BAD_DATA, omitted)


def test_omitted_operands_that_are_not_needed(api):
    """api-semantics 15.9: nobody looks at what an optional operand declares."""
    for type, given in ((O.SQUEEZE, (1, 2)), (O.TRANSPOSE, (2, 1))):
        inputs = [(F32, given), (I32, (3, 4, 5))]
        operation(api, type, inputs, (F32, ()), omitted=[1])


def branch(api, sizes=(2,)):
    """A finished model that gives the ReLU of its input."""
    graph = Graph(api)
    a, b = graph.operand(F32, sizes), graph.operand(F32, sizes)
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a], [b])
    return graph.finish()


def test_if_without_models(api):
    """api-semantics 16.9: one of them has to be there; which does not matter."""
    types = [(B8, (1,)), (T.MODEL,), (T.MODEL,), (F32, (2,))]
    operation(api, O.IF, types, (F32, (2,)), BAD_DATA)


@pytest.mark.parametrize("missing", [1, 2], ids=["then", "else"])
def test_if_before_its_models(api, missing):
    """api-semantics 15.11, 16.9: finish is the one who refuses a model that never came."""
    inner = branch(api)
    for comes in (True, False):
        graph = Graph(api)
        condition = graph.operand(B8, (1,))
        models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
        a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
        name = "Model_setOperandValueFromModel"
        for position, index in enumerate(models, 1):
            if position != missing:
                api.ok(name, graph.model, index, inner)
        graph.operation(O.IF, [condition, *models, a], [b])
        graph.arguments([condition, a], [b])
        if not comes:
            graph.refuse_finish(BAD_DATA)
            continue
        api.ok(name, graph.model, models[missing - 1], inner)
        graph.finish()


def test_if_whose_model_comes_late_and_does_not_fit(api):
    """api-semantics 15.11: it is looked at in finish."""
    graph = Graph(api)
    condition, then, other = graph.operand(B8, (1,)), graph.operand(T.MODEL), graph.operand(T.MODEL)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
    name = "Model_setOperandValueFromModel"
    api.ok(name, graph.model, then, branch(api, (2,)))
    graph.operation(O.IF, [condition, then, other, a], [b])
    graph.arguments([condition, a], [b])
    api.ok(name, graph.model, other, branch(api, (3,)))
    graph.refuse_finish(BAD_DATA, saying="else_model")


def test_pack_of_rank_1(api):
    """api-semantics 15.12, 16.8: an output of rank 1 passes, whatever rank the inputs share."""
    scalar = (T.INT32,)
    for count in (1, 2):
        operation(api, O.PACK, [scalar, *[(F32, (2,))] * count], (F32, (2,)))
    operation(api, O.PACK, [scalar, (F32, (2,)), (F32, ())], (F32, (4,)))
    for given in ((2, 3), (2, 3, 4)):
        operation(api, O.PACK, [scalar, *[(F32, given)] * 2], (F32, (2,)))
    for given, expected in (((2, 3), (2, 3)), ((2,), (2, 1, 1))):
        operation(api, O.PACK, [scalar, (F32, given)], (F32, expected), BAD_DATA)
    both = [(F32, (2,)), (F32, (2, 3))]
    operation(api, O.PACK, [scalar, *both], (F32, (2,)), BAD_DATA)


@pytest.mark.parametrize(
    "type", [QU8, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM, T.TENSOR_QUANT16_ASYMM]
)
def test_infinite_scale(api, type):
    """api-semantics 15.13: it is accepted; what is below 0 or no number is not."""
    graph = Graph(api)
    graph.operand(type, (2,), INFINITE)
    for scale in (-INFINITE, float("nan"), 0.0, -1.0):
        name, refused = "Model_addOperand", operand_type(type, (2,), scale)
        api.refuse(BAD_DATA, name, graph.model, refused, saying="scale is")


def test_infinite_scale_of_integers(api):
    """api-semantics 15.13: TENSOR_INT32 is looked at in finish."""
    for scale, good in ((INFINITE, True), (-INFINITE, False), (float("nan"), False)):
        graph = Graph(api)
        a, b = graph.operand(I32, (2,), scale), graph.operand(I32, (2,), scale)
        graph.operation(O.ABS, [a], [b])
        graph.arguments([a], [b])
        if good:
            graph.finish()
        else:
            graph.refuse_finish(BAD_DATA)


def test_infinite_scales_per_channel(api):
    """api-semantics 15.13: as those of whole operands."""
    graph = Graph(api)
    index = graph.operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 3))
    name = "Model_setOperandSymmPerChannelQuantParams"
    api.ok(name, graph.model, index, channel_quant(0, [1.0, INFINITE]))
    for scale in (-INFINITE, float("nan"), 0.0):
        api.refuse(BAD_DATA, name, graph.model, index, channel_quant(0, [1.0, scale]))


def with_oem(api, in_condition):
    """A finished model with a WHILE, and the device's own operation in one of its models."""

    def inner(outputs, oem):
        graph = Graph(api)
        a, b = graph.operand(F32, (1,)), graph.operand(*outputs)
        if oem:
            graph.operation(O.OEM_OPERATION, [a], [b])
        elif outputs[0] is B8:
            graph.operation(O.LESS, [a, graph.constant(floats(9), F32, (1,))], [b])
        else:
            graph.operation(O.RELU, [a], [b])
        graph.arguments([a], [b])
        return graph.finish()

    graph = Graph(api)
    models = [graph.operand(T.MODEL), graph.operand(T.MODEL)]
    values = inner((B8, (1,)), in_condition), inner((F32, (1,)), not in_condition)
    for index, value in zip(models, values, strict=True):
        api.ok("Model_setOperandValueFromModel", graph.model, index, value)
    a, b = graph.operand(F32, (1,)), graph.operand(F32, (1,))
    graph.operation(O.WHILE, [*models, a], [b])
    graph.arguments([a], [b])
    return graph.finish()


@pytest.mark.parametrize("in_condition", [True, False], ids=["condition", "body"])
def test_oem_operation_in_a_loop(api, in_condition):
    """api-semantics 15.19: what cannot run is no reason to refuse the model."""
    with_oem(api, in_condition)


# Compilations and descriptors


@pytest.mark.parametrize("preference", [-1, -(2**31)])
def test_negative_preference(api, device, preference):
    """api-semantics 15.6: it passes, and then the compilation fails."""
    compilation = compilation_for(api, device, branch(api))
    api.ok("Compilation_setPreference", compilation, preference)
    api.refuse(OP_FAILED, "Compilation_finish", compilation, saying=f"preference is {preference}")
    api.make_none(ResultCode.BAD_STATE, "Execution_create", compilation)


def test_preference_that_is_mended(api, device):
    """api-semantics 15.6: the last one counts."""
    compilation = compilation_for(api, device, branch(api))
    api.ok("Compilation_setPreference", compilation, -1)
    api.ok("Compilation_setPreference", compilation, 2)
    api.ok("Compilation_finish", compilation)


@pytest.mark.parametrize("role", ["Input", "Output"])
def test_frequency_that_is_no_number(api, device, role):
    """api-semantics 15.14: NaN is accepted."""
    run = Run(api, device, branch(api))
    desc = api.make("MemoryDesc_create")
    name = f"MemoryDesc_add{role}Role"
    api.ok(name, desc, run.compilation, 0, float("nan"))
    for frequency in (0.0, -1.0, 1.5, INFINITE, -INFINITE):
        other = api.make("MemoryDesc_create")
        api.refuse(BAD_DATA, name, other, run.compilation, 0, frequency)
    api.ok("MemoryDesc_finish", desc)
    api.make("Memory_createFromDesc", desc)
