"""Memory of hardware buffers, from the companion libraries (API semantics 8)."""

import ctypes
import errno

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import Desc, floats
from tests.abi.rules.graph import Graph, Run, add_graph, device_memory

BAD_DATA, UNMAPPABLE = ResultCode.BAD_DATA, ResultCode.UNMAPPABLE
CREATE = "Memory_createFromAHardwareBuffer"
READ, WRITE, GPU = 3, 0x30, 1 << 24
RGBA, BLOB = 1, 0x21


class Buffers:
    """Hardware buffers as a program makes them, with one of the companion libraries."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))  # as dlopen(RTLD_LOCAL)
        self._made = []

    def make(self, size, usage=READ | WRITE, format=BLOB, height=1):
        """A buffer of this width; its address."""
        buffer = ctypes.c_void_p()
        desc = Desc(size, height, 1, format, usage)
        assert self.library.AHardwareBuffer_allocate(ctypes.byref(desc), ctypes.byref(buffer)) == 0
        self._made.append(buffer.value)
        return buffer.value

    def bytes(self, buffer, size):
        """The contents, to be read and written."""
        where = ctypes.c_void_p()
        assert self._lock(buffer, ctypes.byref(where)) == 0
        assert self.unlock(buffer) == 0
        return (ctypes.c_uint8 * size).from_address(where.value)

    def _lock(self, buffer, where):
        usage = ctypes.c_uint64(READ | WRITE)
        lock = self.library.AHardwareBuffer_lock
        return lock(ctypes.c_void_p(buffer), usage, -1, None, where)

    def unlock(self, buffer):
        return self.library.AHardwareBuffer_unlock(ctypes.c_void_p(buffer), None)

    def release(self, buffer):
        self._made.remove(buffer)
        self.library.AHardwareBuffer_release(ctypes.c_void_p(buffer))

    def release_all(self):
        for buffer in list(self._made):
            self.release(buffer)


@pytest.fixture(params=["libnativewindow.so", "libandroid.so"])
def buffers(request, library):
    """Hardware buffers of one library or the other; they outlive what the test makes of them."""
    buffers = Buffers(library.parent / request.param)
    yield buffers
    buffers.release_all()


@pytest.fixture
def api(buffers, api):
    """The C API; what is made with it is freed before the buffers are."""
    return api


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


@pytest.mark.parametrize("usage", [READ | WRITE, READ | WRITE | GPU, 2 | 0x20])
def test_inputs_and_outputs(api, buffers, run, usage):
    """What the program writes is seen at each run, and it sees what a run wrote.

    api-semantics 8: "with the CPU bits of desc.usage only"
    """
    buffer = buffers.make(24, usage)
    memory = api.make(CREATE, buffer)
    contents = (ctypes.c_float * 6).from_buffer(buffers.bytes(buffer, 24)) if usage & 1 else None
    run.ok("setReusable", True)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.ok("setInputFromMemory", 1, None, memory, 8, 8)
    run.ok("setOutputFromMemory", 0, None, memory, 16, 8)
    for number in range(3):
        if contents is not None:
            contents[:4] = [number, 2, 10, 20]
        run.ok("compute")
        if contents is not None:
            assert list(contents) == [number, 2, 10, 20, number + 10, 22]


def test_constants(api, buffers, device):
    """api-semantics 8: "BLOB format: size = desc.width"."""
    buffer = buffers.make(16)
    buffers.bytes(buffer, 16)[4:12] = bytes(floats(10, 20))
    memory = api.make(CREATE, buffer)
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(3))
    name = "Model_setOperandValueFromMemory"
    for location in ((12, 8), (16, 8), (2**64 - 8, 8)):
        api.refuse(BAD_DATA, name, graph.model, b, memory, *location, saying="region")
    api.ok(name, graph.model, b, memory, 4, 8)
    graph.operation(O.ADD, [a, b, graph.int32(0)], [c])
    graph.arguments([a], [c])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [11, 22]


def test_regions(api, buffers, run):
    """They lie within the width of the buffer.

    api-semantics 4: "on fd or BLOB memory: offset + length within size"
    """
    memory = api.make(CREATE, buffers.make(24))
    for name in ("setInputFromMemory", "setOutputFromMemory"):
        for location in ((0, 0), (17, 8), (24, 8), (2**64 - 8, 8)):
            run.refuse(BAD_DATA, name, 0, None, memory, *location, saying="region")
        run.ok(name, 0, None, memory, 16, 8)


def test_bursts(api, buffers, run):
    """The memory may be freed while the burst lives.

    api-semantics 6: "memories used in a burst may be freed while the burst lives"
    """
    buffer = buffers.make(8)
    buffers.bytes(buffer, 8)[:] = bytes(floats(1, 2))
    memory = api.make(CREATE, buffer)
    burst = api.make("Burst_create", run.compilation)
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    run.ok("burstCompute", burst)
    assert result.floats() == [11, 22]
    api.free(memory)


def test_buffers_that_the_cpu_may_not_use(api, buffers, run):
    """For reading, for writing, or not at all."""
    readable, writable, neither = (buffers.make(8, usage) for usage in (READ, WRITE, GPU))
    for buffer, allowed in ((readable, "Input"), (writable, "Output"), (neither, None)):
        memory = api.make(CREATE, buffer)
        for role in ("Input", "Output"):
            run.another()
            run.input(1, floats(1, 2))
            run.ok(f"set{role}FromMemory", 0, None, memory, 0, 8)
            if role == "Input":
                run.output(0, 8)
            else:
                run.input(0, floats(1, 2))
            if role == allowed:
                run.ok("compute")
            else:
                run.refuse(UNMAPPABLE, "compute", saying="usage")


def test_other_formats(api, buffers, run):
    """They can be created and set as a whole; nothing runs on them, and they hold no constants.

    api-semantics 2: "non-BLOB hardware buffer -> BAD_DATA"
    api-semantics 8: "Other formats can be created"
    api-semantics 8: "but not be constants and not be mapped by a CPU"
    api-semantics 4: "On non-BLOB hardware buffers and descriptor memories both must be 0"
    """
    memory = api.make(CREATE, buffers.make(2, READ | WRITE | GPU, RGBA, height=1))
    graph = Graph(api)
    index = graph.operand(T.TENSOR_FLOAT32, (2,))
    name = "Model_setOperandValueFromMemory"
    for location, saying in (((0, 0), "length is 0"), ((0, 8), "cannot hold constants")):
        api.refuse(BAD_DATA, name, graph.model, index, memory, *location, saying=saying)
    for role in ("Input", "Output"):
        run.another()
        for location in ((0, 8), (8, 0), (0, 4)):
            name = f"set{role}FromMemory"
            run.refuse(BAD_DATA, name, 0, None, memory, *location, saying="as a whole")
        run.ok(f"set{role}FromMemory", 0, None, memory, 0, 0)
        run.input(1, floats(1, 2))
        if role == "Input":
            run.output(0, 8)
        else:
            run.input(0, floats(1, 2))
        run.refuse(UNMAPPABLE, "compute", saying="cannot be mapped")


def test_copying(api, buffers, run, file):
    """To and from memory of a file and of a descriptor, of equal size."""
    one, other = buffers.make(8), buffers.make(8)
    buffers.bytes(one, 8)[:] = bytes(floats(1, 2))
    source, target = api.make(CREATE, one), api.make(CREATE, other)
    between = device_memory(api, (run.compilation, "Input", 0))
    shared = api.make("Memory_createFromFd", 8, 3, file(8), 0)
    for first, second in ((source, between), (between, shared), (shared, target)):
        api.ok("Memory_copy", first, second)
    assert bytes(buffers.bytes(other, 8)) == bytes(floats(1, 2))
    large = api.make(CREATE, buffers.make(12))
    for memory in (source, between, shared):
        api.refuse(BAD_DATA, "Memory_copy", memory, large, saying="12")
        api.refuse(BAD_DATA, "Memory_copy", large, memory, saying="12")


def test_copying_other_formats(api, buffers, run):
    """Their size says nothing; they cannot be mapped."""
    opaque = api.make(CREATE, buffers.make(2, READ | WRITE, RGBA))
    shared = api.make(CREATE, buffers.make(8))
    made = device_memory(api, (run.compilation, "Input", 0))
    api.ok("Memory_copy", shared, made)
    for one, other in ((opaque, shared), (shared, opaque), (made, opaque), (opaque, made)):
        api.refuse(UNMAPPABLE, "Memory_copy", one, other)
    api.refuse(BAD_DATA, "Memory_copy", made, shared, saying="no contents")


def test_the_buffer_is_left_as_it_was(api, buffers, run):
    """Neither locks nor references remain; while it is used, it stays although it is released."""
    buffer = buffers.make(8)
    run.ok("setInputFromMemory", 0, None, api.make(CREATE, buffer), 0, 8)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [10, 20]
    api.free_all()
    assert buffers.unlock(buffer) == -errno.EINVAL

    memory = api.make(CREATE, buffer)
    buffers.release(buffer)
    shared = api.make(CREATE, buffers.make(8))
    api.ok("Memory_copy", memory, shared)
