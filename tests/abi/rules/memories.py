"""Memory from file descriptors (API semantics 8), and what this version does not offer."""

import ctypes
import mmap
import os
from pathlib import Path

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import floats, uint32s
from tests.abi.rules.graph import Graph, Run, add_graph

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
UNMAPPABLE = ResultCode.UNMAPPABLE
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE


@pytest.fixture
def file():
    """Makes a file of a size in memory; gives its descriptor."""
    descriptors = []

    def make(size):
        descriptors.append(os.memfd_create("nnapi_shim_test"))
        os.truncate(descriptors[-1], size)
        return descriptors[-1]

    yield make
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


def test_closed_descriptors(api, file):
    closed = os.dup(file(8))
    os.close(closed)
    for descriptor in (closed, -1, 2**31 - 1):
        api.make_none(OP_FAILED, "Memory_createFromFd", 8, READ, descriptor, 0)


@pytest.mark.parametrize("offset", [0, 4, 4096, 5000])
def test_inputs_and_outputs_in_one_file(api, file, run, offset):
    """What another mapping writes is seen at each run, and it sees what a run wrote."""
    descriptor = file(8192)
    memory = api.make("Memory_createFromFd", 24, READ | WRITE, descriptor, offset)
    with mmap.mmap(descriptor, 8192) as mapping:
        mapping[:] = b"\xa5" * 8192
        run.ok("setReusable", True)
        run.ok("setInputFromMemory", 0, None, memory, 0, 8)
        run.ok("setInputFromMemory", 1, None, memory, 8, 8)
        run.ok("setOutputFromMemory", 0, None, memory, 16, 8)
        for number in range(3):
            mapping[offset : offset + 16] = bytes(floats(number, 2, 10, 20))
            run.ok("compute")
            assert mapping[offset + 16 : offset + 24] == bytes(floats(number + 10, 22))
            assert mapping[:offset] == b"\xa5" * offset
            assert mapping[offset + 24 :] == b"\xa5" * (8192 - offset - 24)


def test_the_descriptor_may_be_closed_at_once(api, file, run):
    descriptor = os.dup(file(8))
    os.write(descriptor, bytes(floats(3, 4)))
    memory = api.make("Memory_createFromFd", 8, READ, descriptor, 0)
    os.close(descriptor)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [13, 24]


def test_file_that_is_too_short(api, file, run):
    """Nothing is compared with the file before it is used; then it is no crash."""
    memory = api.make("Memory_createFromFd", 1 << 20, READ | WRITE, file(8), 0)
    place = (memory, (1 << 20) - 8, 8)
    run.ok("setInputFromMemory", 0, None, *place)
    run.input(1, floats(1, 2))
    result = run.output(0, 8)
    run.refuse(UNMAPPABLE, "compute")
    assert result.is_untouched
    run.refuse(BAD_STATE, "compute")

    run.another()
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, *place)
    run.refuse(UNMAPPABLE, "compute")


def test_offset_behind_the_file(api, file, run):
    memory = api.make("Memory_createFromFd", 8, READ, file(8), 1 << 40)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(1, 2))
    run.output(0, 8)
    run.refuse(UNMAPPABLE, "compute")


def test_memory_for_reading_only(api, file, run):
    memory = api.make("Memory_createFromFd", 16, READ, file(16), 0)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, memory, 8, 8)
    run.refuse(UNMAPPABLE, "compute", saying="PROT_WRITE")


def test_descriptor_for_reading_only(api, run):
    with Path("/proc/self/exe").open("rb") as program:
        memory = api.make("Memory_createFromFd", 8, READ | WRITE, program.fileno(), 0)
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, memory, 0, 8)
    run.refuse(UNMAPPABLE, "compute")


def test_memory_without_a_size(api, file, run):
    memory = api.make("Memory_createFromFd", 0, READ, file(8), 0)
    for place in ((0, 0), (0, 8), (1, 0)):
        run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, *place)


def test_nothing_is_left_behind(api, device, file):
    """Neither mappings nor descriptors, once everything is freed."""

    def held():
        maps = Path("/proc/self/maps").read_text().count("memfd:nnapi_shim_test")
        return maps, len(list(Path("/proc/self/fd").iterdir()))

    descriptor = file(64)
    os.write(descriptor, bytes(floats(1, 2, 3, 4)))
    before = held()
    for _ in range(3):
        memory = api.make("Memory_createFromFd", 64, READ | WRITE, descriptor, 0)
        graph = Graph(api)
        a, b, c = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(3))
        api.ok("Model_setOperandValueFromMemory", graph.model, b, memory, 0, 8)
        graph.operation(OperationType.ADD, [a, b, graph.int32(0)], [c])
        graph.arguments([a], [c])
        run = Run(api, device, graph.finish())
        run.ok("setInputFromMemory", 0, None, memory, 8, 8)
        run.ok("setOutputFromMemory", 0, None, memory, 16, 8)
        burst = api.make("Burst_create", run.compilation)
        run.ok("burstCompute", burst)
        assert os.pread(descriptor, 8, 16) == bytes(floats(4, 6))
        assert held() != before
        api.free_all()
        assert held() == before


# Not available in this version: honest errors. What can be checked is checked first.


def test_memory_descriptors(api, run):
    desc = api.make("MemoryDesc_create")
    for name, count in (("Input", 2), ("Output", 1)):
        role = f"MemoryDesc_add{name}Role"
        for index in (count, 2**32 - 1):
            api.refuse(BAD_DATA, role, desc, run.compilation, index, 1.0)
        for frequency in (0.0, -1.0, 1.5, float("nan")):
            api.refuse(BAD_DATA, role, desc, run.compilation, 0, frequency)
        api.refuse(OP_FAILED, role, desc, run.compilation, 0, 1.0, saying="not available")
    null = ResultCode.UNEXPECTED_NULL
    api.refuse(null, "MemoryDesc_setDimensions", desc, 1, None)
    sizes = uint32s([2])
    api.refuse(OP_FAILED, "MemoryDesc_setDimensions", desc, 1, sizes, saying="not available")
    api.refuse(BAD_DATA, "MemoryDesc_finish", desc, saying="no role")
    api.refuse(BAD_DATA, "MemoryDesc_finish", desc, saying="no role")
    api.make_none(BAD_STATE, "Memory_createFromDesc", desc)


def test_hardware_buffers(api):
    buffer = ctypes.create_string_buffer(64)
    name = "Memory_createFromAHardwareBuffer"
    api.make_none(OP_FAILED, name, ctypes.addressof(buffer), saying="not available")


def test_copying(api, file):
    one, other = (api.make("Memory_createFromFd", 8, READ | WRITE, file(8), 0) for _ in range(2))
    api.ok("Memory_copy", one, one)
    api.refuse(OP_FAILED, "Memory_copy", one, other, saying="not available")
