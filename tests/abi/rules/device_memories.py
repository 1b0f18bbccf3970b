"""Memory made from descriptors: what it may be used for, and when it has contents (semantics 8)."""

import ctypes
import os
from itertools import product

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, operand_type, uint32s
from tests.abi.rules.graph import Buffer, Graph, Run, add_graph, device_memory

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
NULL = ResultCode.UNEXPECTED_NULL
F32 = T.TENSOR_FLOAT32
READ, WRITE = 1, 2
STARTS = ("compute", "burst", "start", "dependencies")


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


@pytest.fixture
def copies(api, file):
    """Copies numbers into a memory, and out of it."""
    return Copies(api, file)


class Copies:
    """Copies numbers into a memory and out of it, through memory of a file."""

    def __init__(self, api, file):
        self.api, self.file = api, file

    def shared(self, size, contents=b""):
        """Memory of a file, and the file."""
        file = self.file(size, contents)
        return self.api.make("Memory_createFromFd", size, READ | WRITE, file, 0), file

    def fill(self, memory, *values):
        source, _ = self.shared(4 * len(values), bytes(floats(*values)))
        self.api.ok("Memory_copy", source, memory)

    def floats(self, memory, count=2):
        target, file = self.shared(4 * count)
        self.api.ok("Memory_copy", memory, target)
        return list(memoryview(os.pread(file, 4 * count, 0)).cast("f"))

    def refuse(self, memory, count=2):
        """The memory has no contents."""
        target, _ = self.shared(4 * count)
        self.api.refuse(BAD_DATA, "Memory_copy", memory, target, saying="no contents")


def start(run, how, code=ResultCode.NO_ERROR):
    """Run an execution in one of four ways; it succeeds, or the start is refused."""
    api = run.api
    if how == "compute":
        arguments = ("Execution_compute", run.execution)
    elif how == "burst":
        burst = api.make("Burst_create", run.compilation)
        arguments = ("Execution_burstCompute", run.execution, burst)
    elif how == "start":
        arguments = ("Execution_startCompute", run.execution)
    else:
        arguments = ("Execution_startComputeWithDependencies", run.execution, None, 0, 0)
    if how in ("compute", "burst"):
        api.refuse(code, *arguments) if code else api.ok(*arguments)
    elif code:
        api.make_none(code, *arguments)
    else:
        api.ok("Event_wait", api.make(*arguments))


def memories(api, run):
    """A memory for each argument of an execution: both inputs and the output."""
    roles = (("Input", 0), ("Input", 1), ("Output", 0))
    return [device_memory(api, (run.compilation, *role)) for role in roles]


def set_arguments(run, first, second, output):
    for name, index, memory in (("Input", 0, first), ("Input", 1, second), ("Output", 0, output)):
        run.ok(f"set{name}FromMemory", index, None, memory, 0, 0)


# Where it may be used


def test_only_in_its_roles(api, device, run):
    """Not as another argument, not in another compilation of the same model.

    api-semantics 8: "Use: only in its roles, else BAD_DATA"
    """
    model = add_graph(api).finish()
    run, other = Run(api, device, model), Run(api, device, model)
    second = device_memory(api, (run.compilation, "Input", 1))
    output = device_memory(api, (run.compilation, "Output", 0))
    saying = "without this role"
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, second, 0, 0, saying=saying)
    run.refuse(BAD_DATA, "setOutputFromMemory", 0, None, second, 0, 0, saying=saying)
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, output, 0, 0, saying=saying)
    other.refuse(BAD_DATA, "setInputFromMemory", 1, None, second, 0, 0, saying=saying)
    other.refuse(BAD_DATA, "setOutputFromMemory", 0, None, output, 0, 0, saying=saying)
    run.ok("setInputFromMemory", 1, None, second, 0, 0)
    run.ok("setOutputFromMemory", 0, None, output, 0, 0)


def test_in_every_execution_of_its_compilation(api, run, copies):
    first, second, output = memories(api, run)
    copies.fill(first, 1, 2)
    for number in range(3):
        run.another()
        copies.fill(second, 10 * number, 20 * number)
        set_arguments(run, first, second, output)
        run.ok("compute")
        assert copies.floats(output) == [1 + 10 * number, 2 + 20 * number]


def test_in_roles_of_several_compilations(api, device, copies):
    """As an output of one and an input of another, without a copy in between."""
    one, other = (Run(api, device, add_graph(api).finish()) for _ in range(2))
    roles = [(one.compilation, "Output", 0), *[(other.compilation, "Input", i) for i in range(2)]]
    memory = device_memory(api, *roles)
    one.input(0, floats(1, 2))
    one.input(1, floats(10, 20))
    one.ok("setOutputFromMemory", 0, None, memory, 0, 0)
    one.ok("compute")
    for index in range(2):
        other.ok("setInputFromMemory", index, None, memory, 0, 0)
    result = other.output(0, 8)
    other.ok("compute")
    assert result.floats() == [22, 44]
    assert copies.floats(memory) == [11, 22]


def test_never_as_a_constant(api, run):
    memory = device_memory(api, (run.compilation, "Input", 0))
    graph = Graph(api)
    index = graph.operand(F32, (2,))
    for location, saying in (((0, 0), "length is 0"), ((0, 8), "cannot hold constants")):
        name = "Model_setOperandValueFromMemory"
        api.refuse(BAD_DATA, name, graph.model, index, memory, *location, saying=saying)


@pytest.mark.parametrize("name", ["setInputFromMemory", "setOutputFromMemory"])
@pytest.mark.parametrize("padding", [False, True])
def test_only_as_a_whole(api, run, name, padding):
    """Offset and length are 0.

    api-semantics 4: "descriptor memories both must be 0"
    api-semantics 8: "offset = length = 0"
    """
    memory = device_memory(api, (run.compilation, name[3:-10], 0))
    run.ok("enableInputAndOutputPadding", padding)
    for location in ((0, 8), (0, 4), (8, 0), (4, 4), (0, 16)):
        run.refuse(BAD_DATA, name, 0, None, memory, *location, saying="both must be 0")
    run.ok(name, 0, None, memory, 0, 0)
    run.refuse(BAD_STATE, name, 0, None, memory, 0, 0, saying="set already")
    run.refuse(BAD_STATE, "enableInputAndOutputPadding", padding)


@pytest.fixture
def dynamic(api, device):
    """Makes executions of c = a + b, whose operands have these dimensions in the model."""

    def make(*dimensions):
        graph = Graph(api)
        a, b, c = (graph.operand(F32, dimensions) for _ in range(3))
        graph.operation(O.ADD, [a, b, graph.int32(0)], [c])
        graph.arguments([a, b], [c])
        return Run(api, device, graph.finish())

    return make


@pytest.mark.parametrize(("role", "name"), [("Input", "setInput"), ("Output", "setOutput")])
def test_types_are_compatible(api, dynamic, role, name):
    """With the descriptor's dimensions, whatever the model says.

    api-semantics 8: "an execution type must be compatible with the desc's dimensions"
    """
    run = dynamic()
    memory = device_memory(api, (run.compilation, role, 0), dimensions=(2, 3))
    for sizes in ((2,), (6,), (3, 2), (2, 4), (2, 3, 1)):
        type = operand_type(F32, sizes)
        run.refuse(BAD_DATA, f"{name}FromMemory", 0, type, memory, 0, 0)
    if role == "Input":  # an input has all dimensions
        for type in (None, operand_type(F32, (0, 3))):
            run.refuse(BAD_DATA, f"{name}FromMemory", 0, type, memory, 0, 0, saying="unknown")
    run.ok(f"{name}FromMemory", 0, operand_type(F32, (2, 3)), memory, 0, 0)


def test_one_memory_for_two_arguments(api, run, copies):
    memory = device_memory(api, *[(run.compilation, "Input", index) for index in range(2)])
    copies.fill(memory, 1, 2)
    for index in range(2):
        run.ok("setInputFromMemory", index, None, memory, 0, 0)
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [2, 4]


def test_scalars(api, device, copies):
    graph = Graph(api)
    a, kind, b = graph.operand(F32, (2,)), graph.operand(T.INT32), graph.operand(F32, (2,))
    graph.operation(O.ADD, [a, a, kind], [b])
    graph.arguments([a, kind], [b])
    run = Run(api, device, graph.finish())
    memory = device_memory(api, (run.compilation, "Input", 1))
    run.ok("setInputFromMemory", 1, operand_type(T.INT32), memory, 0, 0)
    run.input(0, floats(2, 5))
    result = run.output(0, 8)
    source, _ = copies.shared(4, bytes(uint32s([3])))  # RELU6
    api.ok("Memory_copy", source, memory)
    run.ok("compute")
    assert result.floats() == [4, 6]


def test_freed_while_it_is_in_use(api, run, copies):
    """An execution keeps the memory that it was given."""
    first, second, output = memories(api, run)
    copies.fill(first, 1, 2)
    copies.fill(second, 10, 20)
    for index, memory in enumerate((first, second)):
        run.ok("setInputFromMemory", index, None, memory, 0, 0)
        api.free(memory)
    api.free(output)
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [11, 22]


def test_freed_after_the_compilation(api, device, copies):
    run = Run(api, device, add_graph(api).finish())
    first, _, output = memories(api, run)
    copies.fill(first, 1, 2)
    api.free(run.execution)
    api.free(run.compilation)
    copies.refuse(output)
    api.ok("Memory_copy", first, output)
    assert copies.floats(output) == [1, 2]


@pytest.mark.parametrize("first", ["memory", "burst"])
def test_bursts(api, run, copies, first):
    """The memory may be freed before the burst or after it.

    api-semantics 6: "Burst_free before or after Memory_free"
    """
    burst = api.make("Burst_create", run.compilation)
    inputs = memories(api, run)
    copies.fill(inputs[0], 1, 2)
    copies.fill(inputs[1], 10, 20)
    for _ in range(2):
        run.another()
        set_arguments(run, *inputs)
        run.ok("burstCompute", burst)
        assert copies.floats(inputs[2]) == [11, 22]
    for handle in (burst, *inputs) if first == "burst" else (*inputs, burst):
        api.free(handle)


# When it has contents


@pytest.mark.parametrize("how", STARTS)
def test_inputs_without_contents(api, run, how):
    """Refused by the start, whichever it is; the execution is used up.

    api-semantics 5: "Descriptor memory as input: must be initialised"
    api-semantics 8: "Uninitialised as input -> OP_FAILED at compute"
    """
    memory, *_ = memories(api, run)
    run.ok("setInputFromMemory", 0, None, memory, 0, 0)
    run.input(1, floats(1, 2))
    result = run.output(0, 8)
    start(run, how, OP_FAILED)
    assert result.is_untouched
    run.refuse(BAD_STATE, "compute")
    run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())


@pytest.mark.parametrize("how", STARTS)
def test_contents_are_looked_for_at_each_start(api, run, copies, how):
    """Not when the argument is set, and not only once.

    api-semantics 8: "it is evaluated at each start"
    """
    memory = device_memory(api, (run.compilation, "Input", 0))
    run.ok("setReusable", True)
    run.ok("setInputFromMemory", 0, None, memory, 0, 0)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    start(run, how, OP_FAILED)
    wrong, _ = copies.shared(4)
    for number in range(3):
        copies.fill(memory, number, number)
        start(run, how)
        assert result.floats() == [10 + number, 20 + number]
        api.refuse(BAD_DATA, "Memory_copy", wrong, memory)
        start(run, how, OP_FAILED)


@pytest.mark.parametrize("how", STARTS)
def test_a_run_gives_contents(api, run, copies, how):
    """api-semantics 8: "true after a successful run that wrote it"."""
    first, second, output = memories(api, run)
    copies.refuse(output)
    copies.fill(first, 1, 2)
    copies.fill(second, 10, 20)
    set_arguments(run, first, second, output)
    copies.refuse(output)  # setting it is not writing it
    start(run, how)
    assert copies.floats(output) == [11, 22]


def test_a_chain_of_runs(api, run, copies):
    """The state of a model goes from one run to the next; two memories take turns."""
    roles = ((run.compilation, "Input", 0), (run.compilation, "Output", 0))
    states = [device_memory(api, *roles) for _ in range(2)]
    copies.fill(states[0], 0, 100)
    for number, how in enumerate(STARTS * 2):
        run.another()
        run.ok("setInputFromMemory", 0, None, states[number % 2], 0, 0)
        run.input(1, floats(1, 2))
        run.ok("setOutputFromMemory", 0, None, states[1 - number % 2], 0, 0)
        start(run, how)
        assert copies.floats(states[1 - number % 2]) == [number + 1, 102 + 2 * number]


def failing(graph):
    """Model of c = a + b, that fails when it runs."""
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    graph.operation(O.ADD, [a, b, graph.int32(999)], [c])
    graph.arguments([a, b], [c])
    return graph.finish()


@pytest.mark.parametrize("how", STARTS)
def test_a_failed_run_takes_contents(api, device, copies, how):
    """Whatever it held before.

    api-semantics 8: "after a failed run that had it as output (whatever the error)"
    """
    run = Run(api, device, failing(Graph(api)))
    output = device_memory(api, (run.compilation, "Output", 0))
    copies.fill(output, 1, 2)
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, output, 0, 0)
    if how == "start":
        event = api.make("Execution_startCompute", run.execution)
        api.refuse(OP_FAILED, "Event_wait", event)
    else:
        start(run, how, OP_FAILED)
    copies.refuse(output)


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("fault", ["missing input", "input without contents"])
def test_a_start_that_fails_takes_contents(api, run, copies, how, fault):
    first, _, output = memories(api, run)
    copies.fill(output, 1, 2)
    run.ok("setOutputFromMemory", 0, None, output, 0, 0)
    if fault != "missing input":
        run.input(1, floats(1, 2))
        run.ok("setInputFromMemory", 0, None, first, 0, 0)
    start(run, how, BAD_DATA if fault == "missing input" else OP_FAILED)
    copies.refuse(output)


@pytest.mark.parametrize("how", STARTS)
def test_a_start_in_a_wrong_state_is_no_run(api, run, copies, how):
    """It leaves contents alone."""
    output = memories(api, run)[2]
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, output, 0, 0)
    run.ok("compute")
    start(run, how, BAD_STATE)
    assert copies.floats(output) == [2, 4]


def test_a_refused_set_call_leaves_contents(api, run, copies):
    """An argument that was not set is not written, and not taken by a failed run."""
    output = memories(api, run)[2]
    copies.fill(output, 1, 2)
    run.refuse(BAD_DATA, "setOutputFromMemory", 0, None, output, 4, 4)
    run.refuse(BAD_DATA, "compute", saying="is not set")
    assert copies.floats(output) == [1, 2]


# Dimensions of outputs


def set_inputs(run, *sizes):
    count = 1
    for size in sizes:
        count *= size
    for index in range(2):
        run.input(index, floats(*range(count)), operand_type(F32, sizes))


def test_outputs_of_unknown_dimensions(api, dynamic, copies):
    """The model does not know them, the descriptor does; both agree after the run."""
    run = dynamic()
    memory = device_memory(api, (run.compilation, "Output", 0), dimensions=(2, 3))
    set_inputs(run, 2, 3)
    run.ok("setOutputFromMemory", 0, None, memory, 0, 0)
    run.ok("compute")
    assert copies.floats(memory, 6) == [0, 2, 4, 6, 8, 10]
    sizes = uint32s([0] * 2)
    run.ok("getOutputOperandDimensions", 0, sizes)
    assert list(sizes) == [2, 3]


@pytest.mark.parametrize("sizes", [(3, 2), (6,), (1, 3), (2, 4)])
def test_outputs_of_other_dimensions(api, dynamic, copies, sizes):
    """More elements, fewer, or as many in another shape: the memory was not made for them."""
    run = dynamic()
    memory = device_memory(api, (run.compilation, "Output", 0), dimensions=(2, 3))
    copies.fill(memory, *range(6))
    set_inputs(run, *sizes)
    run.ok("setOutputFromMemory", 0, None, memory, 0, 0)
    assert run.api.result("Execution_compute", run.execution) in (
        OP_FAILED,
        ResultCode.OUTPUT_INSUFFICIENT_SIZE,
    )
    copies.refuse(memory, 6)


def test_other_outputs_of_a_failed_run(api, device, copies):
    """One buffer is too small; the memory of the other output has no contents either."""
    graph = Graph(api)
    a, b, c = graph.operand(F32, (2,)), graph.operand(F32), graph.operand(F32, (2,))
    graph.operation(O.RELU, [a], [b])
    graph.operation(O.RELU, [a], [c])
    graph.arguments([a], [b, c])
    run = Run(api, device, graph.finish())
    memory = device_memory(api, (run.compilation, "Output", 1))
    copies.fill(memory, 8, 9)
    run.input(0, floats(1, 2))
    run.output(0, 4)
    run.ok("setOutputFromMemory", 1, None, memory, 0, 0)
    run.refuse(ResultCode.OUTPUT_INSUFFICIENT_SIZE, "compute")
    copies.refuse(memory)


# Copies


def test_null(api, run):
    """api-semantics 8: "Memory_copy: nulls"."""
    memory = memories(api, run)[0]
    api.refuse(NULL, "Memory_copy", None, memory)
    api.refuse(NULL, "Memory_copy", memory, None)


def test_copying_to_itself(api, run, copies):
    memory = memories(api, run)[0]
    api.ok("Memory_copy", memory, memory)
    copies.fill(memory, 1, 2)
    api.ok("Memory_copy", memory, memory)
    assert copies.floats(memory) == [1, 2]


def test_copying_between_descriptors(api, device, copies):
    """From a memory for one role to a memory for another one, of another compilation."""
    first, second = (Run(api, device, add_graph(api).finish()) for _ in range(2))
    source, target = memories(api, first)[0], memories(api, second)[2]
    api.refuse(BAD_DATA, "Memory_copy", source, target, saying="no contents")
    copies.fill(source, 1, 2)
    api.ok("Memory_copy", source, target)
    copies.fill(source, 3, 4)
    assert copies.floats(target) == [1, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_copying_another_size(api, run, copies, count):
    """Neither to memory of a file nor from it; a target from a descriptor loses its contents.

    api-semantics 8: "to/from descriptor memory needs size == byte size of its dimensions"
    """
    memory = memories(api, run)[0]
    copies.fill(memory, 1, 2)
    shared, file = copies.shared(4 * count, bytes(floats(*[9] * count)))
    api.refuse(BAD_DATA, "Memory_copy", memory, shared, saying="bytes")
    assert os.pread(file, 4 * count, 0) == bytes(floats(*[9] * count))
    assert copies.floats(memory) == [1, 2]
    api.refuse(BAD_DATA, "Memory_copy", shared, memory, saying="bytes")
    copies.refuse(memory)


def test_copying_between_kinds_of_operands(api, device, copies):
    """Descriptors that differ in type, scale, zero point or dimensions, though not in size.

    api-semantics 8: "descriptor to descriptor needs equal code, scale, zeroPoint"
    """

    def memory(*details):
        graph = Graph(api)
        a, b = graph.operand(*details), graph.operand(*details)
        shape = graph.constant(uint32s([1, 4]), T.TENSOR_INT32, (2,))
        graph.operation(O.RESHAPE, [a, shape], [b])
        graph.arguments([a], [b])
        return device_memory(api, (Run(api, device, graph.finish()).compilation, "Input", 0))

    kinds = [
        (T.TENSOR_QUANT8_ASYMM, (1, 4), 0.5, 1),
        (T.TENSOR_QUANT8_ASYMM_SIGNED, (1, 4), 0.5, 1),
        (T.TENSOR_QUANT8_ASYMM, (1, 4), 0.25, 1),
        (T.TENSOR_QUANT8_ASYMM, (1, 4), 0.5, 2),
        (T.TENSOR_QUANT8_ASYMM, (4,), 0.5, 1),
        (T.TENSOR_QUANT8_ASYMM, (2, 2), 0.5, 1),
    ]
    made = [memory(*kind) for kind in kinds]
    for one, other in product(range(len(made)), repeat=2):
        if one != other:
            copies.fill(made[one], 1)
            copies.fill(made[other], 2)
            api.refuse(BAD_DATA, "Memory_copy", made[one], made[other], saying="the source holds")
            copies.refuse(made[other], 1)
            assert copies.floats(made[one], 1) == [1]
    same = memory(*kinds[0])
    copies.fill(made[0], 1)
    api.ok("Memory_copy", made[0], same)
    assert copies.floats(same, 1) == [1]


@pytest.mark.parametrize("protect", [0, READ, WRITE])
def test_copying_what_cannot_be_mapped(api, run, file, copies, protect):
    """api-semantics 8: "UNMAPPABLE if it cannot be mapped"."""
    memory = memories(api, run)[0]
    copies.fill(memory, 1, 2)
    shared = api.make("Memory_createFromFd", 8, protect, file(8), 0)
    if protect != WRITE:
        api.refuse(ResultCode.UNMAPPABLE, "Memory_copy", memory, shared)
        assert copies.floats(memory) == [1, 2]
    if protect != READ:
        api.refuse(ResultCode.UNMAPPABLE, "Memory_copy", shared, memory)
        copies.refuse(memory)


def test_a_source_without_contents_takes_those_of_the_target(api, run, copies):
    """It is a failed copy.

    api-semantics 8: "and after a failed copy into it"
    api-semantics 8: "uninitialised source -> BAD_DATA"
    """
    source, target, _ = memories(api, run)
    copies.fill(target, 1, 2)
    api.refuse(BAD_DATA, "Memory_copy", source, target)
    copies.refuse(target)


def test_nothing_is_written_behind_the_memory(api, device, copies):
    """An output fills its memory exactly; others lie untouched beside it."""
    run = Run(api, device, add_graph(api, (1025,)).finish())
    made = [device_memory(api, (run.compilation, "Output", 0)) for _ in range(3)]
    for number, memory in enumerate(made):
        copies.fill(memory, *[number] * 1025)
    run.input(0, floats(*[1] * 1025))
    run.input(1, floats(*[10] * 1025))
    run.ok("setOutputFromMemory", 0, None, made[1], 0, 0)
    run.ok("compute")
    for memory, value in zip(made, (0, 11, 2), strict=True):
        assert copies.floats(memory, 1025) == [value] * 1025
    assert Buffer(8).is_untouched
