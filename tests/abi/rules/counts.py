"""Counts and lengths that are not true: arrays end where memory ends, and numbers are as large as
their type. No call may crash, allocate what it is told, or fail without a reason that can be read.
"""

import ctypes
import mmap
import resource

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import FUNCTIONS, ChannelQuant, OperandType, c_type
from tests.abi.rules.graph import Graph, add_graph

BAD_DATA = ResultCode.BAD_DATA
HUGE = (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1
EXTENSION = b"com.example.counting"
PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def before_a_guard(data):
    """Address of a copy of these bytes, behind which there is no memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    length = -(-len(data) // PAGE) * PAGE
    where = _libc.mmap(None, length + PAGE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    assert _libc.mprotect(where + length, PAGE, 0) == 0
    address = where + length - len(data)
    ctypes.memmove(address, data, len(data))
    return address


def short(kind, *values):
    return before_a_guard(bytes((kind * len(values))(*values)))


@pytest.fixture(autouse=True)
def little_memory():
    """Nobody gets 8 GB because somebody said so."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("count", [3, 100, PAGE, (1 << 31) - 1, (1 << 32) - 1])
def test_lists_that_end_early(api, count):
    """Whatever is said of their length, what there is is looked at, and nothing behind it."""
    graph = Graph(api)
    x, y = (graph.operand(T.TENSOR_FLOAT32, [2]) for _ in range(2))
    one, zero = short(ctypes.c_uint32, y), short(ctypes.c_uint32, x)
    many = short(ctypes.c_uint32, x, x)
    for inputs, outputs in (((count, many), (1, one)), ((1, zero), (count, many))):
        for type in (OperationType.RELU, OperationType.CONCATENATION, OperationType.SPLIT):
            api.refuse(BAD_DATA, "Model_addOperation", graph.model, type, *inputs, *outputs)
        api.refuse(BAD_DATA, "Model_identifyInputsAndOutputs", graph.model, *inputs, *outputs)
    for sizes in ((1, 1), (0, 0), (1 << 20, 1 << 20)):
        kind = OperandType(T.TENSOR_FLOAT32, count, None, 0.0, 0)
        array = short(ctypes.c_uint32, *sizes)
        kind.dimensions = ctypes.cast(array, ctypes.POINTER(ctypes.c_uint32))
        api.refuse(BAD_DATA, "Model_addOperand", graph.model, kind)
    filter = graph.operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, [2, 2])
    scales = ctypes.cast(short(ctypes.c_float, 1.0, 1.0), ctypes.POINTER(ctypes.c_float))
    quant = ChannelQuant(0, count, scales)
    name = "Model_setOperandSymmPerChannelQuantParams"
    api.refuse(BAD_DATA, name, graph.model, filter, quant, saying=f"{count} scales given")
    device = next(iter(api.devices().values()))
    devices = short(ctypes.c_void_p, device, 77)
    model = add_graph(api).finish()
    api.make_none(BAD_DATA, "Compilation_createForDevices", model, devices, count)
    answers = (ctypes.c_bool * 4)()
    name = "Model_getSupportedOperationsForDevices"
    api.refuse(BAD_DATA, name, model, devices, count, answers)
    api.refuse(BAD_DATA, name, model, short(ctypes.c_void_p, device, device), count, answers)
    desc = api.make("MemoryDesc_create")
    sizes = short(ctypes.c_uint32, 0, 2)
    api.refuse(BAD_DATA, "MemoryDesc_setDimensions", desc, count, sizes)


def test_lists_of_any_length_are_read(api):
    """A list may go over several pages, and begin anywhere."""
    graph = Graph(api)
    x = graph.operand(T.TENSOR_FLOAT32, [1])
    many = graph.operand(T.TENSOR_FLOAT32, [3 * PAGE])
    axis = graph.int32(0)
    inputs = short(ctypes.c_uint32, *[x] * (3 * PAGE), axis)
    outputs = short(ctypes.c_uint32, many)
    type = OperationType.CONCATENATION
    api.ok("Model_addOperation", graph.model, type, 3 * PAGE + 1, inputs, 1, outputs)


def sweep_arguments(api, name):
    """Values for each parameter of a function: what fits, and for numbers what is huge."""
    building = Graph(api)
    for dimensions in ([2], [2, 2], []):
        building.operand(T.TENSOR_FLOAT32, dimensions)
    building.operand(T.OEM_SCALAR)
    finished = add_graph(api).finish()
    compilation = api.make("Compilation_create", finished)
    open_compilation = api.make("Compilation_create", finished)
    api.ok("Compilation_finish", compilation)
    devices = list(api.devices().values())
    sizes = ctypes.cast(short(ctypes.c_uint32, 1, 1), ctypes.POINTER(ctypes.c_uint32))
    scales = ctypes.cast(short(ctypes.c_float, 1.0), ctypes.POINTER(ctypes.c_float))
    type = OperandType(T.TENSOR_FLOAT32, (1 << 32) - 1, sizes, 0.0, 0)
    quant = ChannelQuant((1 << 32) - 1, (1 << 32) - 1, scales)
    pointers = {
        "model": [building.model, finished],
        "compilation": [open_compilation, compilation],
        "execution": [api.make("Execution_create", compilation)],
        "burst": [api.make("Burst_create", compilation)],
        "memory": [api.make("Memory_createFromFd", 16, 3, api.file(16), 0)],
        "desc": [api.make("MemoryDesc_create")],
        "device": devices[:1],
        "devices": [short(ctypes.c_void_p, devices[0])],
        "dependencies": [short(ctypes.c_void_p, 77)],
        "inputs": [short(ctypes.c_uint32, 0, 1)],
        "outputs": [short(ctypes.c_uint32, 2)],
        "buffer": [short(ctypes.c_uint8, 1, 2)],
        "data": [short(ctypes.c_uint8, 1, 2)],
        "channelQuant": [ctypes.addressof(quant)],
        "extensionName": [EXTENSION],
        "cacheDir": [b"/nowhere"],
        "token": [short(ctypes.c_uint8, *range(32))],
    }
    pointers["src"] = pointers["dst"] = pointers["memory"]
    pointers["value"] = [finished]
    written = ctypes.create_string_buffer(1 << 16)
    keep = [type, quant, sizes, scales, written]
    for parameter in FUNCTIONS[name].parameters:
        kind = c_type(parameter)
        if parameter.name in FUNCTIONS[name].outputs:
            yield [ctypes.addressof(written)]
        elif parameter.name == "type" and kind is ctypes.c_void_p:
            yield [None, ctypes.addressof(type)] if "set" in name else [ctypes.addressof(type)]
        elif parameter.name == "dimensions" and "set" in name:
            yield [ctypes.addressof(sizes.contents)]
        elif kind in (ctypes.c_void_p, ctypes.c_char_p):
            yield pointers.get(parameter.name, [ctypes.addressof(written)])
        elif kind in (ctypes.c_bool, ctypes.c_float):
            yield [0, 1]
        else:
            bits = 8 * ctypes.sizeof(kind)
            yield [0, 1, 2, 3, *[value for value in HUGE if value < 1 << bits]]
    yield keep


SWEPT = sorted(
    name for name in FUNCTIONS if not name.endswith("_free") and FUNCTIONS[name].parameters
)


@pytest.mark.parametrize("name", SWEPT)
def test_numbers_of_all_sizes(api, file, name):
    """Each alone, the others 1 where that may be: no crash, and no answer but a documented one."""
    api.file = file
    *choices, _keep = sweep_arguments(api, name)
    for at, values in enumerate(choices):
        others = [c[min(1, len(c) - 1)] if len(c) > 3 else c[0] for c in choices]
        for value in values:
            for model in choices[0]:
                arguments = [model, *others[1:]]
                arguments[at] = value
                code = api.result(name, *arguments)
                if FUNCTIONS[name].returns != "int":
                    continue
                assert code in list(ResultCode)
                assert code == 0 or "unexpected" not in api.last_error(), api.last_error()
