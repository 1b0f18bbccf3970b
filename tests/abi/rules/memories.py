"""Memory from file descriptors (API semantics 8)."""

import ctypes
import mmap
import os
from pathlib import Path

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import floats
from tests.abi.rules.graph import Graph, Run, add_graph

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
UNMAPPABLE = ResultCode.UNMAPPABLE
READ, WRITE = mmap.PROT_READ, mmap.PROT_WRITE


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


def test_closed_descriptors(api, file):
    """api-semantics 8: "fd is duplicated (negative/closed fd -> OP_FAILED)"."""
    closed = os.dup(file(8))
    os.close(closed)
    for descriptor in (closed, -1, 2**31 - 1):
        api.make_none(OP_FAILED, "Memory_createFromFd", 8, READ, descriptor, 0)


@pytest.mark.parametrize("offset", [0, 4, 4096, 5000])
def test_inputs_and_outputs_in_one_file(api, file, run, offset):
    """What another mapping writes is seen at each run, and it sees what a run wrote.

    api-semantics 8: "Offset need not be page aligned"
    """
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
    """api-semantics 8: "The client may close its fd at once"."""
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
    """Nothing is compared with the file before it is used; then it is no crash.

    api-semantics 8: "It is mapped lazily: failure shows as UNMAPPABLE"
    """
    memory = api.make("Memory_createFromFd", 1 << 20, READ | WRITE, file(8), 0)
    location = (memory, (1 << 20) - 8, 8)
    run.ok("setInputFromMemory", 0, None, *location)
    run.input(1, floats(1, 2))
    result = run.output(0, 8)
    run.refuse(UNMAPPABLE, "compute")
    assert result.is_untouched
    run.refuse(BAD_STATE, "compute")

    run.another()
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, *location)
    run.refuse(UNMAPPABLE, "compute")


def test_offset_behind_the_file(api, file, run):
    memory = api.make("Memory_createFromFd", 8, READ, file(8), 1 << 40)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(1, 2))
    run.output(0, 8)
    run.refuse(UNMAPPABLE, "compute")


def test_memory_for_reading_only(api, file, run):
    """api-semantics 8: "prot may be PROT_READ only for inputs/constants"."""
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
    """api-semantics 8: "Zero size: fails later"."""
    memory = api.make("Memory_createFromFd", 0, READ, file(8), 0)
    for location in ((0, 0), (0, 8), (1, 0)):
        run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, *location)


def test_nothing_is_left_behind(api, device, file):
    """Neither mappings nor descriptors, once everything is freed.

    api-semantics 8: "No mapping may be left behind"
    """

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


def test_a_failure_leaves_nothing_behind(api, device, file):
    """What the last error tells holds no objects of the call that failed."""
    descriptor = file(64)
    before = Path("/proc/self/maps").read_text().count("memfd:nnapi_shim_test")
    memory = api.make("Memory_createFromFd", 64, READ | WRITE, descriptor, 0)
    run = Run(api, device, add_graph(api, activation=999).finish())
    for index in (0, 1):
        run.ok("setInputFromMemory", index, None, memory, 0, 8)
    run.ok("setOutputFromMemory", 0, None, memory, 16, 8)
    run.refuse(OP_FAILED, "compute")
    api.free_all()
    assert "ADD (operation 0)" in api.last_error()
    assert Path("/proc/self/maps").read_text().count("memfd:nnapi_shim_test") == before


# Copying


def test_copying(api, file):
    """All bytes are copied, between memories of equal size."""
    source, target = file(64, b"\x01\x02\x03\x04\x05"), file(64)
    one = api.make("Memory_createFromFd", 5, READ, source, 0)
    other = api.make("Memory_createFromFd", 5, WRITE | READ, target, 8)
    api.ok("Memory_copy", one, other)
    assert os.pread(target, 16, 0) == bytes(8) + b"\x01\x02\x03\x04\x05" + bytes(3)
    assert os.pread(source, 8, 0) == b"\x01\x02\x03\x04\x05" + bytes(3)


def test_copying_to_itself(api, file):
    """Is no error, even where the memory cannot be mapped.

    api-semantics 8: "src == dst -> NO_ERROR"
    """
    for protect, size in ((READ | WRITE, 8), (0, 8), (READ, 1 << 20), (READ, 0)):
        memory = api.make("Memory_createFromFd", size, protect, file(8), 0)
        api.ok("Memory_copy", memory, memory)


def test_copying_between_sizes(api, file):
    """api-semantics 8: "fd/BLOB to fd/BLOB needs equal sizes"."""
    target = file(16, b"target")
    memories = {
        size: api.make("Memory_createFromFd", size, READ | WRITE, target, 0) for size in (4, 8, 16)
    }
    for one in memories:
        for other in memories:
            if one != other:
                saying = f"the source has {one} bytes, the target {other}"
                api.refuse(BAD_DATA, "Memory_copy", memories[one], memories[other], saying=saying)
    assert os.pread(target, 6, 0) == b"target"


def test_copying_what_cannot_be_mapped(api, file):
    good = api.make("Memory_createFromFd", 8, READ | WRITE, file(8), 0)
    unreadable = api.make("Memory_createFromFd", 8, WRITE, file(8), 0)
    unwritable = api.make("Memory_createFromFd", 8, READ, file(8), 0)
    short = api.make("Memory_createFromFd", 8, READ | WRITE, file(8), 1 << 20)
    for source, target in ((unreadable, good), (good, unwritable), (short, good), (good, short)):
        api.refuse(UNMAPPABLE, "Memory_copy", source, target)


def test_copying_within_one_file(api, file):
    """Regions may overlap."""
    descriptor = file(16, bytes(range(16)))
    low, high = (api.make("Memory_createFromFd", 12, READ | WRITE, descriptor, at) for at in (0, 4))
    api.ok("Memory_copy", low, high)
    assert os.pread(descriptor, 16, 0) == bytes((*range(4), *range(12)))
    api.ok("Memory_copy", high, low)
    assert os.pread(descriptor, 16, 0) == bytes((*range(12), 8, 9, 10, 11))


# Hardware buffers: see hardware_buffers.py


def test_hardware_buffers_without_their_functions(api):
    """This process has loaded no library that knows hardware buffers."""
    buffer = ctypes.create_string_buffer(64)
    saying = "AHardwareBuffer_describe is not in this process"
    name = "Memory_createFromAHardwareBuffer"
    api.make_none(OP_FAILED, name, ctypes.addressof(buffer), saying=saying)
    api.make_none(ResultCode.UNEXPECTED_NULL, name, None)
