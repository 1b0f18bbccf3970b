"""Compilations (API semantics 3), and which devices run a model (1)."""

import ctypes
import os
import shutil

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import floats, pointers
from tests.abi.rules.graph import GUARD, Graph, Run, add_graph

BAD_DATA, BAD_STATE = ResultCode.BAD_DATA, ResultCode.BAD_STATE
UNEXPECTED_NULL = ResultCode.UNEXPECTED_NULL
LATE = (ResultCode.MISSED_DEADLINE_TRANSIENT, ResultCode.MISSED_DEADLINE_PERSISTENT)
FOREVER = 2**64 - 1


@pytest.fixture
def model(api):
    return add_graph(api).finish()


@pytest.fixture
def invalid_model(api):
    graph = Graph(api)
    graph.refuse_finish(BAD_DATA)
    return graph.model


@pytest.fixture
def oem_model(api):
    """A model that no device runs."""
    graph = Graph(api)
    a, b = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(2))
    graph.operation(OperationType.OEM_OPERATION, [a], [b])
    graph.arguments([a], [b])
    return graph.finish()


@pytest.fixture
def for_one(api, model, device):
    """An unfinished compilation for one named device."""
    return api.make("Compilation_createForDevices", model, pointers(device), 1)


# Creating


def test_model_that_is_not_finished(api, device, invalid_model):
    """api-semantics 2: "Compilation_create* -> BAD_STATE with *compilation = NULL"
    api-semantics 3: "create: model unfinished/invalid -> BAD_STATE".
    """
    for model, saying in (
        (api.make("Model_create"), "it must be finished first, by ANeuralNetworksModel_finish"),
        (invalid_model, "its finish has failed"),
    ):
        api.make_none(BAD_STATE, "Compilation_create", model, saying=saying)
        api.make_none(BAD_STATE, "Compilation_createForDevices", model, pointers(device), 1)


def test_list_of_devices(api, model):
    """api-semantics 3: "n == 0, duplicates, a pointer that is no listed device"."""
    first, second = api.devices().values()
    name = "Compilation_createForDevices"
    unfinished = api.make("Model_create")
    for model_in_any_state in (model, unfinished):
        for code, *handles in (
            (UNEXPECTED_NULL, None),
            (UNEXPECTED_NULL, first, None),
            (UNEXPECTED_NULL, None, first),
            (BAD_DATA, first, first),
            (BAD_DATA, first, second, first),
            (BAD_DATA, first, model),
        ):
            api.make_none(code, name, model_in_any_state, pointers(*handles), len(handles))
        api.make_none(BAD_DATA, name, model_in_any_state, pointers(first), 0)
    for handles in ((first,), (second,), (first, second), (second, first)):
        api.make(name, model, pointers(*handles), len(handles))


# Setters


def test_preferences(api, model):
    """api-semantics 3: "setPriority: only 90, 100, 110"."""
    compilation = api.make("Compilation_create", model)
    for preference in (0, 1, 2):
        api.ok("Compilation_setPreference", compilation, preference)
    for preference in (3, 2**31 - 1):
        api.refuse(BAD_DATA, "Compilation_setPreference", compilation, preference)
    for priority in (90, 100, 110):
        api.ok("Compilation_setPriority", compilation, priority)
    for priority in (0, 1, 89, 91, 111, -1):
        api.refuse(BAD_DATA, "Compilation_setPriority", compilation, priority)


def test_what_needs_one_named_device(api, model, for_one):
    """api-semantics 3: "only a list of exactly one device unlocks setTimeout"
    api-semantics 3: "that is checked before the 'one explicit device' condition".
    """
    default = api.make("Compilation_create", model)
    two = pointers(*api.devices().values())
    for_two = api.make("Compilation_createForDevices", model, two, 2)
    for compilation in (default, for_two):
        api.refuse(BAD_DATA, "Compilation_setTimeout", compilation, 0)
        attribute = (b"com.example.extension", 0, floats(1), 4)
        api.refuse(BAD_DATA, "Compilation_addExtensionAttribute", compilation, *attribute)
        api.ok("Compilation_finish", compilation)
        api.refuse(BAD_STATE, "Compilation_setTimeout", compilation, 0)
        api.refuse(BAD_STATE, "Compilation_addExtensionAttribute", compilation, *attribute)
    api.ok("Compilation_setTimeout", for_one, 0)


def test_extension_attributes(api, for_one):
    """api-semantics 11: "same (name, code) twice -> BAD_DATA; unknown names are accepted and
    kept".
    """
    name = "Compilation_addExtensionAttribute"
    api.ok(name, for_one, b"com.example.extension", 1, floats(1), 4)
    api.ok(name, for_one, b"com.example.extension", 2, floats(1), 4)
    api.ok(name, for_one, b"com.example.other", 1, floats(1), 4)
    api.refuse(BAD_DATA, name, for_one, b"com.example.extension", 1, floats(1), 4)
    api.refuse(UNEXPECTED_NULL, name, for_one, b"com.example.extension", 3, None, 4)
    api.ok("Compilation_finish", for_one)


@pytest.mark.parametrize("folder", [b"/", b"/no/such/folder", b"", b"\xff\xfe"])
def test_nothing_about_the_cache_folder_is_checked(api, for_one, folder):
    """api-semantics 3: "setCaching: nothing about the directory is checked"."""
    token = bytes(32)
    api.ok("Compilation_setCaching", for_one, folder, token)
    api.ok("Compilation_setCaching", for_one, folder, bytes(range(32)))
    api.ok("Compilation_finish", for_one)
    api.refuse(BAD_STATE, "Compilation_setCaching", for_one, folder, token)


@pytest.mark.parametrize("name", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("same_folder", [False, True], ids=["own folders", "one folder"])
def test_models_that_share_a_token(api, tmp_path, name, same_folder):
    """Each gets its own results, the second time, too; the folder may be deleted right after.

    api-semantics 3: "Caching as tested"
    """
    devices = pointers(api.devices()[name])
    for activation, expected in ((0, [-3, 30]), (1, [0, 30]), (3, [0, 6])):
        model = add_graph(api, activation=activation).finish()
        folder = tmp_path / ("all" if same_folder else str(activation))
        folder.mkdir(exist_ok=True)
        for _ in range(2):
            compilation = api.make("Compilation_createForDevices", model, devices, 1)
            api.ok("Compilation_setCaching", compilation, bytes(folder), bytes(32))
            api.ok("Compilation_finish", compilation)
            if not same_folder and _:
                shutil.rmtree(folder)
            for _ in range(2):
                execution = api.make("Execution_create", compilation)
                result = (ctypes.c_float * 2)()
                inputs = floats(-1, 10), floats(-2, 20)
                for index, value in enumerate(inputs):
                    api.ok("Execution_setInput", execution, index, None, value, 8)
                api.ok("Execution_setOutput", execution, 0, None, result, 8)
                api.ok("Execution_compute", execution)
                assert list(result) == expected
        assert same_folder or not folder.exists()


@pytest.mark.parametrize("contents", [b"", b"not what was written", bytes(1 << 16)])
def test_entries_of_the_cache_that_are_damaged(api, tmp_path, contents):
    """The model is compiled, as if there were no entry.

    api-semantics 3: "an unusable cache entry must fall back to compiling"
    """
    devices = pointers(api.devices()["nnapi-cpu"])
    model = add_graph(api).finish()
    for _ in range(2):
        compilation = api.make("Compilation_createForDevices", model, devices, 1)
        api.ok("Compilation_setCaching", compilation, bytes(tmp_path) + b"/", bytes(32))
        assert api.result("Compilation_finish", compilation) == ResultCode.NO_ERROR
        for path in tmp_path.rglob("*"):
            if path.is_file():
                path.write_bytes(contents)


def test_no_time(api, for_one):
    """The compilation may be quicker than the clock, but it must not fail in another way."""
    api.ok("Compilation_setTimeout", for_one, 1)
    assert api.result("Compilation_finish", for_one) in (ResultCode.NO_ERROR, *LATE)


def test_a_second(api, for_one):
    """Either code of a deadline would do, too.

    api-semantics 3: "With a 1-second timeout finish may return either MISSED_DEADLINE code"
    """
    api.ok("Compilation_setTimeout", for_one, 10**9)
    assert api.result("Compilation_finish", for_one) in (ResultCode.NO_ERROR, *LATE)


def test_all_the_time(api, for_one):
    """The deadline does not overflow.

    api-semantics 3: "with UINT64_MAX it must be NO_ERROR"
    api-semantics 3: "UINT64_MAX must not overflow"
    """
    api.ok("Compilation_setTimeout", for_one, FOREVER)
    api.ok("Compilation_finish", for_one)


# Finishing


def test_setters_after_finish(api, for_one):
    """api-semantics 3: "After finish all of them -> BAD_STATE"."""
    api.ok("Compilation_finish", for_one)
    for name, *arguments in (
        ("setPreference", 99),
        ("setPriority", 99),
        ("setTimeout", FOREVER),
        ("setCaching", b"", bytes(32)),
        ("addExtensionAttribute", b"com.example.extension", 0, floats(1), 4),
        ("finish",),
    ):
        api.refuse(BAD_STATE, f"Compilation_{name}", for_one, *arguments)


def test_compilation_that_is_not_finished(api, for_one):
    """api-semantics 4: "Execution_create before a successful finish"
    api-semantics 6: "Burst_create: unfinished or invalid compilation"
    api-semantics 3: "getPreferredMemoryAlignment/Padding: NULL -> UNEXPECTED_NULL;
    unfinished/invalid -> BAD_STATE".
    """
    refuse_to_use(api, for_one, "must be finished first, by ANeuralNetworksCompilation_finish")


@pytest.mark.parametrize("named", [True, False], ids=["named", "default"])
def test_failed_finish(api, device, oem_model, named):
    """api-semantics 3: "second call -> BAD_STATE, also if the first failed"
    api-semantics 3: "finish when no listed device (or no device at all) can run some operation".
    """
    if named:
        name = "Compilation_createForDevices"
        compilation = api.make(name, oem_model, pointers(device), 1)
    else:
        compilation = api.make("Compilation_create", oem_model)
    api.refuse(BAD_DATA, "Compilation_finish", compilation, saying="OEM_OPERATION (operation 0)")
    api.refuse(BAD_STATE, "Compilation_finish", compilation)
    api.refuse(BAD_STATE, "Compilation_setPreference", compilation, 1)
    refuse_to_use(api, compilation, "its finish has failed")


def test_extension_operation(api):
    """It can be added, but nobody runs it (11).

    api-semantics 3: "can run some operation (OEM, extension): BAD_DATA"
    api-semantics 11: "the finished model compiles to BAD_DATA"
    """
    graph = Graph(api)
    a, b = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(2))
    name = "Model_getExtensionOperationType"
    code = api.get(ctypes.c_int32, name, graph.model, b"com.example.compilations", 1)
    graph.operation(code, [a], [b])
    graph.arguments([a], [b])
    compilation = api.make("Compilation_create", graph.finish())
    api.refuse(BAD_DATA, "Compilation_finish", compilation, saying="extension")


def refuse_to_use(api, compilation, saying):
    """What has to be refused for a compilation that is not finished."""
    api.make_none(BAD_STATE, "Execution_create", compilation, saying=saying)
    api.make_none(BAD_STATE, "Burst_create", compilation)
    bytes = ctypes.c_uint32(77)
    for name in PREFERRED:
        api.refuse(BAD_STATE, name, compilation, 99, bytes)
    assert bytes.value == 77
    for name in ("MemoryDesc_addInputRole", "MemoryDesc_addOutputRole"):
        api.refuse(BAD_DATA, name, api.make("MemoryDesc_create"), compilation, 0, 1.0)


PREFERRED = [
    f"Compilation_getPreferredMemory{what}For{role}"
    for what in ("Alignment", "Padding")
    for role in ("Input", "Output")
]


@pytest.mark.parametrize("name", PREFERRED)
def test_preferred_memory(api, for_one, name):
    """api-semantics 3: "otherwise a power of two >= 1"."""
    api.ok("Compilation_finish", for_one)
    count = 2 if name.endswith("Input") else 1
    for index in range(count):
        bytes = api.get(ctypes.c_uint32, name, for_one, index)
        assert bytes >= 1
        assert bytes & (bytes - 1) == 0
    for index in (count, 2**32 - 1):
        api.refuse(BAD_DATA, name, for_one, index, ctypes.c_uint32())


def test_several_compilations_of_one_model(api, device, model):
    runs = [Run(api, device, model) for _ in range(3)]
    for number, run in enumerate(runs):
        run.input(0, floats(number, number))
        run.input(1, floats(1, 2))
    results = [run.output(0, 8) for run in runs]
    for run in runs:
        run.ok("compute")
    assert [result.floats() for result in results] == [[n + 1, n + 2] for n in range(3)]


def test_constants_that_cannot_be_mapped(api, device):
    """The file is shorter than the memory object says."""
    descriptor = os.memfd_create("short")
    os.truncate(descriptor, 4)
    memory = api.make("Memory_createFromFd", 1 << 20, 1, descriptor, 0)
    os.close(descriptor)
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(3))
    location = (memory, (1 << 20) - 8, 8)
    api.ok("Model_setOperandValueFromMemory", graph.model, b, *location)
    graph.operation(OperationType.ADD, [a, b, graph.int32(0)], [c])
    graph.arguments([a], [c])
    name = "Compilation_createForDevices"
    compilation = api.make(name, graph.finish(), pointers(device), 1)
    api.refuse(ResultCode.UNMAPPABLE, "Compilation_finish", compilation)
    api.make_none(BAD_STATE, "Execution_create", compilation)


# getSupportedOperationsForDevices


NAME = "Model_getSupportedOperationsForDevices"


def test_support_in_the_order_of_the_operations(api, device):
    """api-semantics 1: "nnapi-reference supports everything except OEM_OPERATION"."""
    graph = Graph(api)
    a, b, c, d = (graph.operand(T.TENSOR_FLOAT32, (2,)) for _ in range(4))
    graph.operation(OperationType.RELU, [c], [d])
    graph.operation(OperationType.OEM_OPERATION, [b], [c])
    graph.operation(OperationType.ADD, [a, a, graph.int32(0)], [b])
    graph.arguments([a], [d])
    graph.finish()
    supported = (ctypes.c_uint8 * 8)(*[GUARD] * 8)
    api.ok(NAME, graph.model, pointers(device), 1, supported)
    assert list(supported) == [1, 0, 1, *[GUARD] * 5]
    every = list(api.devices().values())
    api.ok(NAME, graph.model, pointers(*every), len(every), supported)
    assert list(supported) == [1, 0, 1, *[GUARD] * 5]


def test_refusals_of_the_support_query(api, model, invalid_model):
    """The state of the model stands before the devices here.

    api-semantics 1: "So {d, d} -> BAD_DATA and {d, NULL} -> UNEXPECTED_NULL"
    """
    first, second = api.devices().values()
    supported = (ctypes.c_uint8 * 8)(*[GUARD] * 8)
    for unusable in (api.make("Model_create"), invalid_model):
        api.refuse(BAD_DATA, NAME, unusable, pointers(first), 0, supported)
        for handles in ((first,), (first, None), (first, first)):
            api.refuse(BAD_STATE, NAME, unusable, pointers(*handles), len(handles), supported)
    for code, *handles in (
        (UNEXPECTED_NULL, None),
        (UNEXPECTED_NULL, first, None),
        (BAD_DATA, first, first),
        (BAD_DATA, second, first, second),
    ):
        api.refuse(code, NAME, model, pointers(*handles), len(handles), supported)
    assert list(supported) == [GUARD] * 8
