"""Every function refuses pointers that are NULL, and handles that are none.

The functions and their parameters come from the headers, so none is left out.
"""

import ctypes
import re

import pytest

import build_ffi
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import FUNCTIONS, c_type, pointers
from tests.abi.rules.graph import GUARD, Run, add_graph

KINDS = (
    "Model",
    "Compilation",
    "Execution",
    "Burst",
    "Event",
    "Memory",
    "MemoryDesc",
    "Device",
)
MAY_BE_NULL = {
    ("Execution_set" + what, "type")
    for what in ("Input", "Output", "InputFromMemory", "OutputFromMemory")
}
NEEDS_FINISHED_MODEL = "Model_getSupportedOperationsForDevices"
WITH_POINTERS = [
    name
    for name, function in FUNCTIONS.items()
    if any(build_ffi.is_pointer(p) for p in function.parameters)
]
BYTES = 64


class Parameter:
    """A parameter of a function, and what it is for."""

    def __init__(self, function, declaration):
        self.name = declaration.name
        self.type = c_type(declaration)
        self.is_pointer = build_ffi.is_pointer(declaration)
        text = build_ffi.to_c(declaration)
        result = re.fullmatch(r"(const )?ANeuralNetworks(\w+) (\*.*?)\w+", text)
        kind = result[2] if result and result[2] in KINDS else None
        stars = result[3] if result else ""
        self.handle = kind if stars == "*" else None
        """Kind of a parameter that is a handle."""
        self.list_of = kind if stars == "* const *" else None
        """Kind of the handles in a list."""
        self.gives_handle = kind is not None and stars == "**"
        self.is_written = self.is_pointer and not self.handle and not text.startswith("const")
        if text.startswith("const char **"):
            self.is_written = True


def parameters_of(name):
    function = FUNCTIONS[name]
    return [Parameter(function, declaration) for declaration in function.parameters]


class Call:
    """A call of a function with good arguments, of which some are then replaced."""

    def __init__(self, api, name, good):
        self.api, self.name = api, name
        self.parameters = parameters_of(name)
        self.buffers = {}
        self.arguments = {}
        for parameter in self.parameters:
            self.arguments[parameter.name] = self._good(parameter, good)

    def _good(self, parameter, good):
        if parameter.handle:
            finished = parameter.handle == "Model" and self.name == NEEDS_FINISHED_MODEL
            return good["finished model" if finished else parameter.handle]
        if parameter.list_of:
            buffer = pointers(good[parameter.list_of])
        elif parameter.is_pointer:
            fill = GUARD if parameter.is_written else 0
            buffer = (ctypes.c_uint8 * BYTES)(*([fill] * BYTES))
        else:
            return 1
        self.buffers[parameter.name] = buffer, bytes(buffer)
        return ctypes.addressof(buffer)

    def refuse(self, code, name, value, saying):
        """Call it with another value for a parameter; it is refused, and writes nothing."""
        arguments = self.arguments | {name: value}
        self.api.refuse(code, self.name, *arguments.values(), saying=saying)
        for parameter in self.parameters:
            if parameter.name in self.buffers and parameter.name != name:
                self._check_unwritten(parameter)

    def _check_unwritten(self, parameter):
        buffer, before = self.buffers[parameter.name]
        allowed = {before}
        if parameter.gives_handle:
            allowed = {bytes(8) + before[8:]}
        elif self.name == "Execution_getDuration":
            allowed.add(b"\xff" * 8 + before[8:])  # UINT64_MAX, an unknown duration
        elif self.name == "Event_getSyncFenceFd":
            allowed = {b"\xff" * 4 + before[4:]}  # -1, no file
        assert bytes(buffer) in allowed, f"{self.name} wrote to {parameter.name}"
        ctypes.memmove(buffer, before, len(before))


@pytest.fixture
def good(api, device):
    """Kind -> a handle; and a freed one of each kind, as "freed <kind>"."""
    kept = []  # the computation that is started may last as long as its event

    def make_all():
        model = add_graph(api).finish()
        run = Run(api, device, model)
        first, second = ((ctypes.c_float * 2)() for _ in range(2))
        run.input(0, first)
        run.input(1, second)
        run.output(0, 8)
        kept.append((run, first, second))
        return {
            "Model": api.make("Model_create"),
            "finished model": model,
            "Compilation": run.compilation,
            "Execution": run.execution,
            "Event": api.make("Execution_startCompute", run.execution),
            "Burst": api.make("Burst_create", run.compilation),
            "Memory": api.make("Memory_createFromFd", 4, 3, 0, 0),
            "MemoryDesc": api.make("MemoryDesc_create"),
        }

    handles = make_all()
    freed = make_all()
    for handle in reversed(freed.values()):
        api.free(handle)
    handles |= {f"freed {kind}": handle for kind, handle in freed.items()}
    yield handles | {"Device": device}
    api.call("Event_wait", handles["Event"])


def bad_handles(good, kind):
    """Pairs of a handle that is not one of this kind, and what the message says."""
    freed = good.get(f"freed {kind}")
    if freed:
        yield freed, "was freed"
    for other in KINDS:
        if other != kind:
            yield good[other], "is a handle of a"
    on_heap = ctypes.create_string_buffer(64)
    foreign = "is not a handle of this library"
    yield ctypes.addressof(on_heap), foreign
    yield ctypes.addressof(on_heap) + 1, foreign
    yield 1, foreign
    yield 0x5A5A_1234_DEAD_BEEF, foreign
    yield 0xFFFF_FFFF_FFFF_FFFF, foreign
    yield good[kind] + (1 << 40), foreign  # a serial number that nothing has yet
    yield good[kind] ^ (1 << 63), foreign


@pytest.mark.parametrize("name", WITH_POINTERS)
def test_null_pointers(api, good, name):
    """API semantics 0: NULL is found first.

    api-semantics 0: "Every _free(NULL) is a no-op"
    api-semantics 1: "getDeviceCount(NULL) etc."
    api-semantics 1: "NULL model/devices/out -> UNEXPECTED_NULL"
    api-semantics 5: "getOutputOperandRank/Dimensions: NULL"
    api-semantics 5: "getDuration: NULL"
    api-semantics 6: "burstCompute: NULL"
    api-semantics 8: "createFromAHardwareBuffer: NULL buffer or out"
    api-semantics 8: "only the out-pointer is checked up front"
    api-semantics 7: "createFromSyncFenceFd: NULL out"
    """
    call = Call(api, name, good)
    if name.endswith("_free"):
        before = api.last_error()
        api.ok(name, None)
        assert api.last_error() == before
        return
    for parameter in call.parameters:
        if parameter.is_pointer and (name, parameter.name) not in MAY_BE_NULL:
            call.refuse(ResultCode.UNEXPECTED_NULL, parameter.name, None, "NULL")


@pytest.mark.parametrize("name", WITH_POINTERS)
def test_handles_that_are_none(api, good, name):
    """A handle that is freed, of another kind or of nobody is BAD_DATA; freeing it does nothing."""
    call = Call(api, name, good)
    code = None if name.endswith("_free") else ResultCode.BAD_DATA
    for parameter in call.parameters:
        if parameter.handle:
            for handle, saying in bad_handles(good, parameter.handle):
                call.refuse(code, parameter.name, handle, saying)
        elif parameter.list_of:
            for handle, saying in bad_handles(good, parameter.list_of):
                call.refuse(code, parameter.name, ctypes.addressof(pointers(handle)), saying)


def test_everything_is_covered():
    without = set(FUNCTIONS) - set(WITH_POINTERS)
    assert without == {
        "_getDefaultLoopTimeout",
        "_getMaximumLoopTimeout",
        "_getRuntimeFeatureLevel",
        "nnapi_shim_getAndroidApiLevel",
        "nnapi_shim_getLastError",
        "nnapi_shim_getVersion",
        "nnapi_shim_getProcessorTier",
        "nnapi_shim_getProcessorTiers",
        "nnapi_shim_getProgramRunner",
        "nnapi_shim_getHelper",
        "nnapi_shim_getPageReleaser",
        "nnapi_shim_loadEverything",
    }
    kinds = {p.handle for name in WITH_POINTERS for p in parameters_of(name) if p.handle}
    assert kinds == set(KINDS)
    lists = [(name, p.name) for name in WITH_POINTERS for p in parameters_of(name) if p.list_of]
    assert len(lists) == 3
