"""Operands of a model: their types and values (API semantics 0 and 2)."""

import ctypes
import os

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import ChannelQuant, channel_quant, floats, operand_type, uint32s
from tests.abi.rules.graph import Graph, Run, add_graph, device_memory

BAD_DATA, BAD_STATE = ResultCode.BAD_DATA, ResultCode.BAD_STATE
UNEXPECTED_NULL = ResultCode.UNEXPECTED_NULL

NAN = float("nan")
SCALARS = [T.FLOAT32, T.INT32, T.UINT32, T.BOOL, T.FLOAT16, T.MODEL]
# (scale, zero point) that a type takes, and that it does not. AOSP's tests depend on these.
PARAMETERS = {
    T.TENSOR_FLOAT32: ([(0, 0)], [(1, 0), (-1, 0), (0, 1), (NAN, 0)]),
    T.TENSOR_FLOAT16: ([(0, 0)], [(1, 0), (0, 1)]),
    T.TENSOR_BOOL8: ([(0, 0)], [(1, 0), (0, 1)]),
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL: ([(0, 0)], [(1, 0), (0, 1)]),
    T.TENSOR_INT32: ([(0, 0), (0.5, 0), (-1, 0), (0, 7)], []),
    T.TENSOR_QUANT8_ASYMM: (
        [(0.5, 0), (0.5, 255)],
        [(0, 0), (-1, 0), (NAN, 0), (0.5, -1), (0.5, 256)],
    ),
    T.TENSOR_QUANT8_ASYMM_SIGNED: ([(1, -128), (1, 127)], [(0, 0), (1, -129), (1, 128)]),
    T.TENSOR_QUANT16_ASYMM: ([(1, 0), (1, 65535)], [(0, 0), (1, -1), (1, 65536)]),
    T.TENSOR_QUANT8_SYMM: ([(1, 0)], [(0, 0), (-1, 0), (1, 1)]),
    T.TENSOR_QUANT16_SYMM: ([(1, 0)], [(0, 0), (-1, 0), (1, 1)]),
    T.TENSOR_OEM_BYTE: ([(0, 0), (-1, 7)], []),
}


def refuse_operand(api, code, *details, saying=""):
    """An operand type that addOperand refuses, in a model that stays usable."""
    model = api.make("Model_create")
    api.refuse(code, "Model_addOperand", model, operand_type(*details), saying=saying)
    api.ok("Model_addOperand", model, operand_type(T.TENSOR_FLOAT32, (2,)))


# addOperand


@pytest.mark.parametrize("type", PARAMETERS, ids=lambda type: type.name)
def test_scale_and_zero_point(api, type):
    """api-semantics 2: "Base codes 0..15 plus OEM_SCALAR 10000"
    api-semantics 2: "_QUANT8_SYMM_PER_CHANNEL: scale and zeroPoint must be 0".
    """
    allowed, refused = PARAMETERS[type]
    for scale, zero_point in allowed:
        Graph(api).operand(type, (2,), scale, zero_point)
        Graph(api).operand(type, (), scale, zero_point)
        Graph(api).operand(type, (2, 0), scale, zero_point)
    for scale, zero_point in refused:
        refuse_operand(api, BAD_DATA, type, (2,), scale, zero_point, saying=type.name)


def test_the_table_has_every_tensor():
    assert set(PARAMETERS) == {type for type in T if type.name.startswith("TENSOR")}


@pytest.mark.parametrize("type", SCALARS, ids=lambda type: type.name)
def test_scalars(api, type):
    """api-semantics 0: "A scalar has dimensionCount 0 and dimensions NULL and nothing else"."""
    Graph(api).operand(type)
    refuse_operand(api, BAD_DATA, type, (1,))
    refuse_operand(api, BAD_DATA, type, (0,))
    refuse_operand(api, BAD_DATA, type, (), 1.0)
    refuse_operand(api, BAD_DATA, type, (), 0.0, 1)


@pytest.mark.parametrize("code", [16, 9999, 10002, 65535, -1, 1 << 16, 0x7FFF0000, -(1 << 31)])
def test_codes_that_do_not_exist(api, code):
    """With a prefix, a code is an extension type, which nobody describes (11).

    api-semantics 2: "Unknown code -> BAD_DATA"
    """
    refuse_operand(api, BAD_DATA, code, (2,))


@pytest.mark.parametrize("type", [T.TENSOR_FLOAT32, T.INT32])
def test_count_and_dimensions_disagree(api, type):
    """api-semantics 0: "Tensors: rank 0"
    api-semantics 0: "inside structs: operand dimensions".
    """
    model = api.make("Model_create")
    sizes = uint32s([2])
    for struct in (operand_type(type), operand_type(type, (2,))):
        struct.dimensions = None if struct.dimensionCount else sizes
        api.refuse(BAD_DATA, "Model_addOperand", model, struct, saying="dimensionCount")


def test_size_has_to_fit_in_32_bits(api):
    """api-semantics 0: "Size limit"."""
    graph = Graph(api)
    graph.operand(T.TENSOR_QUANT8_ASYMM, (0xFFFF, 0x10001), 1.0)  # 2^32 - 1 bytes
    graph.operand(T.TENSOR_FLOAT32, (1 << 29, 0))
    refuse_operand(api, BAD_DATA, T.TENSOR_QUANT8_ASYMM, (1 << 16, 1 << 16), 1.0)
    refuse_operand(api, BAD_DATA, T.TENSOR_FLOAT32, (1 << 30,))
    refuse_operand(api, BAD_DATA, T.TENSOR_FLOAT32, (1 << 15, 0, 1 << 15))
    refuse_operand(api, BAD_DATA, T.TENSOR_FLOAT16, (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF))


# setOperandSymmPerChannelQuantParams


@pytest.mark.parametrize(
    "quant",
    [
        channel_quant(3, [1.0, 1.0]),
        channel_quant(0xFFFFFFFF, [1.0, 1.0]),
        channel_quant(1, [1.0, 1.0]),
        channel_quant(0, [1.0]),
        channel_quant(0, [1.0, 1.0, 1.0]),
        channel_quant(0, [1.0, 0.0]),
        channel_quant(0, [1.0, -1.0]),
        channel_quant(0, [NAN, 1.0]),
        channel_quant(2, []),
        channel_quant(2, [1.0]),
        ChannelQuant(0, 2, None),
        ChannelQuant(0, 0, None),
    ],
    ids=lambda quant: f"dim{quant.channelDim}-{quant.scaleCount}",
)
def test_bad_scales_per_channel(api, quant):
    """api-semantics 2: "channelDim < rank, scaleCount equals that dimension"
    api-semantics 0: "per-channel scales that are NULL with a count are BAD_DATA".
    """
    graph = Graph(api)
    operand = graph.operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 3, 0))
    name = "Model_setOperandSymmPerChannelQuantParams"
    api.refuse(BAD_DATA, name, graph.model, operand, quant)
    api.ok(name, graph.model, operand, channel_quant(0, [1.0, 2.0]))


@pytest.mark.parametrize("type", [T.TENSOR_FLOAT32, T.TENSOR_QUANT8_SYMM, T.INT32])
def test_scales_per_channel_of_another_type(api, type):
    """api-semantics 2: "Only for TENSOR_QUANT8_SYMM_PER_CHANNEL, else BAD_DATA"."""
    graph = Graph(api)
    tensor = type.name.startswith("TENSOR")
    scale = 1.0 if type is T.TENSOR_QUANT8_SYMM else 0.0
    operand = graph.operand(type, (2,) if tensor else (), scale)
    name = "Model_setOperandSymmPerChannelQuantParams"
    api.refuse(BAD_DATA, name, graph.model, operand, channel_quant(0, [1.0, 2.0]))


# setOperandValue


def test_length_of_a_value(api):
    """api-semantics 2: "length must equal the operand's exact byte size"."""
    graph = Graph(api)
    buffer = floats(*[0] * 100)
    cases = [
        (T.TENSOR_FLOAT32, (2, 3), 0.0, 24),
        (T.TENSOR_QUANT8_ASYMM, (5,), 1.0, 5),
        (T.TENSOR_FLOAT16, (3,), 0.0, 6),
        (T.BOOL, (), 0.0, 1),
        (T.FLOAT16, (), 0.0, 2),
        (T.INT32, (), 0.0, 4),
        (T.TENSOR_OEM_BYTE, (3,), 0.0, 3),
    ]
    for type, dimensions, scale, length in cases:
        operand = graph.operand(type, dimensions, scale)
        for wrong in (length - 1, length + 1, 0 if length > 1 else 2, 1 << 40):
            api.refuse(BAD_DATA, "Model_setOperandValue", graph.model, operand, buffer, wrong)
        api.ok("Model_setOperandValue", graph.model, operand, buffer, length)
    oem = graph.operand(T.OEM_SCALAR)
    for length in (1, 3, 100):
        api.ok("Model_setOperandValue", graph.model, oem, buffer, length)


def test_value_of_unknown_size(api):
    """api-semantics 2: "With a buffer: tensor with unknown rank or dimension"."""
    graph = Graph(api)
    for dimensions in ((), (0,), (2, 0)):
        operand = graph.operand(T.TENSOR_FLOAT32, dimensions)
        for length in (0, 4, 8):
            value = (floats(1, 2), length)
            api.refuse(BAD_DATA, "Model_setOperandValue", graph.model, operand, *value)
        api.ok("Model_setOperandValue", graph.model, operand, None, 0)


def test_every_type_can_be_omitted(api):
    """api-semantics 2: "allowed for any operand type, scalars included"."""
    graph = Graph(api)
    for type in T:
        quantized = "QUANT" in type.name and "CHANNEL" not in type.name
        operand = graph.operand(type, (), 1.0 if quantized else 0.0)
        api.ok("Model_setOperandValue", graph.model, operand, None, 0)


@pytest.mark.parametrize("index", [1, -1, 2**31 - 1, -(2**31)])
def test_operands_that_do_not_exist(api, device, index):
    """api-semantics 0: "Indices are int32 in the signature but compared as uint32"."""
    graph = Graph(api)
    graph.operand(T.TENSOR_FLOAT32, (1,))
    memory = api.make("Memory_createFromFd", 4, 3, 0, 0)
    finished = add_graph(api).finish()
    saying = "does not exist"
    for name, *arguments in (
        ("setOperandValue", floats(1), 4),
        ("setOperandValue", None, 0),
        ("setOperandSymmPerChannelQuantParams", channel_quant(0, [1.0])),
        ("setOperandValueFromMemory", memory, 0, 4),
        ("setOperandValueFromModel", finished),
        ("setOperandExtensionData", floats(1), 4),
    ):
        name = f"Model_{name}"
        api.refuse(BAD_DATA, name, graph.model, index, *arguments, saying=saying)


def test_null_before_state_before_value(api):
    """Each call breaks three rules; the first of the order is reported (0).

    api-semantics 0: "is found before the state check"
    api-semantics 11: "setOperandExtensionData: nulls; state; index"
    """
    finished = add_graph(api).finish()
    for name in ("Model_setOperandValue", "Model_setOperandExtensionData"):
        api.refuse(UNEXPECTED_NULL, name, finished, 99, None, 1)
        api.refuse(BAD_STATE, name, finished, 99, floats(1), 0)
        api.refuse(BAD_DATA, name, api.make("Model_create"), 99, floats(1), 0)


def test_the_last_value_counts(api, device):
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32, (1,)) for _ in range(3))
    for value in (floats(5), None, floats(7)):
        api.ok("Model_setOperandValue", graph.model, b, value, 4 if value else 0)
    kind = graph.int32(3)
    api.ok("Model_setOperandValue", graph.model, kind, ctypes.c_int32(0), 4)
    graph.operation(OperationType.ADD, [a, b, kind], [c])
    graph.arguments([a], [c])
    run = Run(api, device, graph.finish())
    run.input(0, floats(10))
    result = run.output(0, 4)
    run.ok("compute")
    assert result.floats() == [17]  # not 7, the 17 that RELU6 (3) leaves


@pytest.mark.parametrize(("count", "seen"), [(32, 1), (33, 2)])
def test_when_a_value_is_read(api, device, count, seen):
    """Up to 128 bytes, at the call; more, until finish. A change after finish is never seen."""
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32, (count,)) for _ in range(3))
    value = floats(*[1] * count)
    api.ok("Model_setOperandValue", graph.model, b, value, 4 * count)
    value[:] = [2] * count
    graph.operation(OperationType.ADD, [a, b, graph.int32(0)], [c])
    graph.arguments([a], [c])
    graph.finish()
    value[:] = [3] * count
    run = Run(api, device, graph.model)
    run.input(0, floats(*[10] * count))
    result = run.output(0, 4 * count)
    run.ok("compute")
    assert result.floats() == [10 + seen] * count


# setOperandValueFromMemory


def test_value_from_memory(api):
    """api-semantics 2: "offset + length beyond its size -> BAD_DATA"."""
    graph = Graph(api)
    operand = graph.operand(T.TENSOR_FLOAT32, (2,))
    unknown = graph.operand(T.TENSOR_FLOAT32, (0,))
    descriptor = os.memfd_create("constants")
    os.truncate(descriptor, 16)
    memory = api.make("Memory_createFromFd", 16, 1, descriptor, 0)
    os.close(descriptor)

    def set_value(code, index, offset, length):
        arguments = (graph.model, index, memory, offset, length)
        api.refuse(code, "Model_setOperandValueFromMemory", *arguments)

    set_value(BAD_DATA, operand, 0, 0)
    set_value(BAD_DATA, operand, 0, 4)
    set_value(BAD_DATA, operand, 0, 12)
    set_value(BAD_DATA, operand, 9, 8)
    set_value(BAD_DATA, operand, 2**64 - 8, 8)  # their sum wraps around to 0
    set_value(BAD_DATA, operand, 2**64 - 1, 8)
    set_value(BAD_DATA, unknown, 0, 8)
    for offset in (0, 4, 8):
        api.ok("Model_setOperandValueFromMemory", graph.model, operand, memory, offset, 8)


def test_order_of_the_checks_of_a_memory(api, device):
    """NULL, state, index, the operand's size, the length, the memory.

    api-semantics 2: "fully specified tensor, length == exact size, then the memory"
    """
    name = "Model_setOperandValueFromMemory"
    memory = api.make("Memory_createFromFd", 16, 1, 0, 0)
    graph, finished = Graph(api), add_graph(api).finish()
    unknown, known = (graph.operand(T.TENSOR_FLOAT32, sizes) for sizes in ((0,), (2,)))
    compilation = Run(api, device, finished).compilation
    made = device_memory(api, (compilation, "Input", 0))
    api.refuse(UNEXPECTED_NULL, name, finished, 99, None, 99, 99)
    api.refuse(BAD_STATE, name, finished, 99, memory, 99, 99)
    for code, index, saying in (
        (BAD_DATA, 99, "99 does not exist"),
        (BAD_DATA, unknown, "unknown dimensions"),
        (BAD_DATA, known, "length is 99 bytes"),
    ):
        api.refuse(code, name, graph.model, index, memory, 99, 99, saying=saying)
    api.refuse(BAD_DATA, name, graph.model, known, memory, 99, 8, saying="region")
    for offset in (0, 1):
        api.refuse(BAD_DATA, name, graph.model, known, made, offset, 8, saying="descriptor")


# setOperandValueFromModel


def test_value_from_model(api):
    """api-semantics 2: "value model unfinished or invalid -> BAD_STATE"."""
    graph = Graph(api)
    operand = graph.operand(T.MODEL)
    value = add_graph(api)
    name = "Model_setOperandValueFromModel"
    api.refuse(BAD_STATE, name, graph.model, operand, value.model)
    api.refuse(BAD_STATE, name, graph.model, 99, value.model)  # before the index is looked at
    value.finish()
    api.ok(name, graph.model, operand, value.model)
    api.ok(name, graph.model, graph.operand(T.MODEL), value.model)
    api.ok(name, graph.model, graph.operand(T.INT32), value.model)  # finish complains of the type

    invalid = Graph(api)
    invalid.refuse_finish(BAD_DATA)
    api.refuse(BAD_STATE, name, graph.model, operand, invalid.model, saying="invalid")
    api.refuse(BAD_STATE, name, value.model, 0, value.model, saying="no longer be changed")


# Extensions (11)


def test_extension_data_of_other_types(api):
    """api-semantics 11: "operand is no extension type -> BAD_DATA"."""
    graph = Graph(api)
    operand = graph.operand(T.TENSOR_FLOAT32, (1,))
    name = "Model_setOperandExtensionData"
    api.refuse(BAD_DATA, name, graph.model, operand, floats(1), 4)
    api.refuse(BAD_DATA, name, graph.model, operand, None, 0)
    api.refuse(UNEXPECTED_NULL, name, graph.model, operand, None, 4)


def test_extension_types(api):
    """api-semantics 11: "BAD_DATA because nobody describes the type"
    api-semantics 2: "needs a known prefix and a described type".
    """
    model = api.make("Model_create")

    def code(kind, name, number):
        function = f"Model_getExtension{kind}Type"
        return api.get(ctypes.c_int32, function, model, name, number)

    first = code("Operand", b"com.example.first", 5)
    assert first & 0xFFFF == 5
    assert first >> 16 > 0
    assert code("Operation", b"com.example.first", 7) >> 16 == first >> 16
    second = code("Operand", b"com.example.second", 5)
    assert second >> 16 not in (0, first >> 16)
    assert code("Operand", b"com.example.first", 5) == first
    refuse_operand(api, BAD_DATA, first, (2,))
    refuse_operand(api, BAD_DATA, first)


# Names


def test_names(api):
    """A message names an operand beside its index."""
    model = api.make("Model_create")
    for name in (b"image", b"out \xc3\xa9"):
        api.ok("Model_addOperand", model, operand_type(T.TENSOR_FLOAT32, (2,)))
        index = 0 if name == b"image" else 1
        api.ok("nnapi_shim_setOperandName", model, index, name)
    value = floats(1)
    saying = "operand 1 'out \u00e9' TENSOR_FLOAT32[2]: length is 4"
    api.refuse(BAD_DATA, "Model_setOperandValue", model, 1, value, 4, saying=saying)
    api.ok("nnapi_shim_setOperandName", model, 1, b"")
    saying = "operand 1 TENSOR_FLOAT32[2]: length is 4"
    api.refuse(BAD_DATA, "Model_setOperandValue", model, 1, value, 4, saying=saying)
    saying = "operand 0 'image' has no value"
    relu = (OperationType.RELU, 1, uint32s([0]), 1, uint32s([1]))
    api.ok("Model_addOperation", model, *relu)
    api.refuse(BAD_DATA, "Model_finish", model, saying=saying)


def test_names_that_cannot_be_given(api):
    finished = add_graph(api).finish()
    model = api.make("Model_create")
    for index in (0, -1):
        saying = f"operand {index} does not exist; the model has 0"
        api.refuse(BAD_DATA, "nnapi_shim_setOperandName", model, index, b"name", saying=saying)
    api.refuse(BAD_STATE, "nnapi_shim_setOperandName", finished, 0, b"name")
    api.refuse(UNEXPECTED_NULL, "nnapi_shim_setOperandName", model, 0, None)


def test_a_name_may_have_anything_in_it(api):
    """Line ends and bytes that are no UTF-8 stay within one line of a message."""
    model = api.make("Model_create")
    api.ok("Model_addOperand", model, operand_type(T.TENSOR_FLOAT32, (2,)))
    api.ok("nnapi_shim_setOperandName", model, 0, b"a\nnnapi_shim error: \xff'b")
    api.refuse(BAD_DATA, "Model_setOperandValue", model, 0, floats(1), 4, saying="operand 0 'a")


def test_names_of_arguments(api, device):
    graph = Graph(api)
    indexes = [graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(2)]
    for index, name in zip(indexes, (b"image", b"answer"), strict=True):
        api.ok("nnapi_shim_setOperandName", graph.model, index, name)
    graph.operation(OperationType.RELU, indexes[:1], indexes[1:])
    graph.arguments(indexes[:1], indexes[1:])
    run = Run(api, device, graph.finish())
    inputs = (0, None, floats(1), 4)
    run.refuse(BAD_DATA, "setInput", *inputs, saying="input 0 'image': TENSOR_FLOAT32[2]")
    run.refuse(BAD_DATA, "setOutput", *inputs, saying="output 0 'answer': TENSOR_FLOAT32[2]")
    run.refuse(BAD_DATA, "compute", saying="input 0 'image' is not set")
