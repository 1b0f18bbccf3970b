"""Inputs and outputs of an execution, before it runs (API semantics 4)."""

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import floats, operand_type, uint32s
from tests.abi.rules.graph import Buffer, Graph, Run, add_graph, device_memory

BAD_DATA, BAD_STATE = ResultCode.BAD_DATA, ResultCode.BAD_STATE
UNEXPECTED_NULL = ResultCode.UNEXPECTED_NULL
F32 = T.TENSOR_FLOAT32
SETTERS = ("setInput", "setOutput")
ZEROS = floats(*[0] * 64)


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


@pytest.fixture
def relu(api, device):
    """Makes an execution of b = RELU(a) with these dimensions of a and b."""

    def make(inputs, outputs):
        graph = Graph(api)
        a, b = graph.operand(F32, inputs), graph.operand(F32, outputs)
        graph.operation(OperationType.RELU, [a], [b])
        graph.arguments([a], [b])
        return Run(api, device, graph.finish())

    return make


@pytest.mark.parametrize("name", SETTERS)
def test_order_of_the_checks(api, run, name):
    """Each call breaks several rules; the first of the order is reported.

    api-semantics 4: "already set -> BAD_STATE / buffer-length consistency and length -> BAD_DATA"
    """
    wrong_type = operand_type(99)
    run.refuse(UNEXPECTED_NULL, name, 99, wrong_type, None, 1)
    run.refuse(BAD_DATA, name, 99, wrong_type, ZEROS, 2**32, saying="99 does not exist")
    run.refuse(BAD_DATA, name, 0, wrong_type, ZEROS, 2**32, saying="type 99")
    run.refuse(BAD_DATA, name, 0, operand_type(F32, (3,)), ZEROS, 2**32, saying="has [2]")
    run.refuse(BAD_DATA, name, 0, operand_type(F32, (2,)), ZEROS, 2**32, saying="4294967296")
    run.ok(name, 0, None, ZEROS, 8)
    run.refuse(BAD_DATA, name, 0, wrong_type, ZEROS, 8)
    run.refuse(BAD_DATA, name, 0, None, ZEROS, 2**32)
    run.refuse(BAD_DATA, name, 0, operand_type(F32, (3,)), ZEROS, 8, saying="has [2]")
    run.refuse(BAD_STATE, name, 0, operand_type(F32, (2,)), ZEROS, 0, saying="set already")


@pytest.mark.parametrize("name", SETTERS)
def test_order_of_the_checks_with_a_memory(api, run, file, name):
    """The memory is looked at before it matters whether the argument is set.

    api-semantics 4: "the memory check (range, role) sits before 'already set'"
    """
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    other = Run(api, api.devices()["nnapi-cpu"], add_graph(api).finish())
    roles = ((other.compilation, role, 0) for role in ("Input", "Output"))
    made = device_memory(api, *roles)
    name += "FromMemory"
    wrong_type = operand_type(99)
    run.refuse(UNEXPECTED_NULL, name, 99, wrong_type, None, 0, 0)
    run.refuse(BAD_DATA, name, 99, wrong_type, memory, 0, 2**32, saying="99 does not exist")
    run.refuse(BAD_DATA, name, 0, wrong_type, memory, 0, 2**32, saying="type 99")
    run.refuse(BAD_DATA, name, 0, None, memory, 0, 2**32, saying="4294967296")
    run.ok(name, 0, None, memory, 0, 8)
    run.refuse(BAD_DATA, name, 0, None, memory, 60, 8, saying="region")
    run.refuse(BAD_DATA, name, 0, None, made, 0, 0, saying="role")
    run.refuse(BAD_DATA, name, 0, operand_type(F32, (3,)), memory, 0, 8, saying="has [2]")
    run.refuse(BAD_STATE, name, 0, operand_type(F32, (2,)), memory, 0, 1, saying="set already")


@pytest.mark.parametrize("name", [*SETTERS, *(f"{name}FromMemory" for name in SETTERS)])
def test_null_before_the_state(api, run, file, name):
    """And the state before all that is wrong with the values.

    api-semantics 4: "Checks of setInput"
    """
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    run.refuse(BAD_DATA, "compute", saying="is not set")
    if name.endswith("FromMemory"):
        run.refuse(UNEXPECTED_NULL, name, 99, operand_type(99), None, 0, 0)
        run.refuse(BAD_STATE, name, 99, operand_type(99), memory, 99, 99)
    else:
        run.refuse(UNEXPECTED_NULL, name, 99, operand_type(99), None, 1)
        run.refuse(BAD_STATE, name, 99, operand_type(99), ZEROS, 2**32)


@pytest.mark.parametrize("name", SETTERS)
@pytest.mark.parametrize("index", [-1, 2, 2**31 - 1, -(2**31)])
def test_arguments_that_do_not_exist(run, name, index):
    """api-semantics 0: "Indices are int32 in the signature but compared as uint32"."""
    run.refuse(BAD_DATA, name, index, None, ZEROS, 8, saying="does not exist")
    run.refuse(BAD_DATA, name, index, None, None, 0, saying="does not exist")


@pytest.mark.parametrize("name", SETTERS)
def test_lengths(run, name):
    """A refusal leaves the argument unset.

    api-semantics 4: "Length: if all dimensions are known it must be exactly the byte size"
    """
    for length in (0, 1, 7, 9, 2**32 - 1, 2**32 + 8):
        run.refuse(BAD_DATA, name, 0, None, ZEROS, length)
    run.ok(name, 0, None, ZEROS, 8)
    run.refuse(BAD_STATE, name, 0, None, ZEROS, 8)


@pytest.mark.parametrize("name", SETTERS)
def test_by_pointer_and_by_memory(api, run, name):
    """An argument is set once; regions lie inside the memory.

    api-semantics 4: "Setting an input once by pointer and once by memory is also 'already set'"
    api-semantics 4: "offset 0 with length 0 -> BAD_DATA"
    """
    memory = api.make("Memory_createFromFd", 64, 3, 0, 0)
    from_memory = f"{name}FromMemory"
    for region in ((0, 0), (60, 8), (2**64 - 8, 8), (65, 0)):
        run.refuse(BAD_DATA, from_memory, 0, None, memory, *region, saying="region")
    run.refuse(BAD_DATA, from_memory, 0, None, memory, 0, 4, saying="length is 4")
    run.refuse(BAD_DATA, from_memory, 0, None, memory, 8, 0)
    run.ok(from_memory, 0, None, memory, 4, 8)
    run.refuse(BAD_STATE, from_memory, 0, None, memory, 4, 8)
    run.refuse(BAD_STATE, name, 0, None, ZEROS, 8)
    run.refuse(BAD_DATA, from_memory, 0, None, memory, 0, 0, saying="region")

    run.another()
    run.ok(name, 0, None, ZEROS, 8)
    run.refuse(BAD_STATE, from_memory, 0, None, memory, 4, 8)


# The optional type


@pytest.mark.parametrize("name", SETTERS)
def test_types_that_are_not_allowed(run, name):
    """api-semantics 0: "checked in addOperand and in every execution-time type"
    api-semantics 4: "The optional type: validated on its own".
    """
    for type in (
        operand_type(99),
        operand_type(-1, (2,)),
        operand_type(F32, (2,), 1.0),
        operand_type(T.TENSOR_QUANT8_ASYMM, (2,)),
        operand_type(T.INT32, (2,)),
        operand_type(F32, (1 << 30,)),
        operand_type(F32, (0,)),
        operand_type(F32, (3,)),
        operand_type(F32, (1, 2)),
    ):
        run.refuse(BAD_DATA, name, 0, type, ZEROS, 8)
    count_alone, dimensions_alone = operand_type(F32, (2,)), operand_type(F32)
    count_alone.dimensions, dimensions_alone.dimensions = None, uint32s([2])
    for type in (count_alone, dimensions_alone):
        run.refuse(BAD_DATA, name, 0, type, ZEROS, 8, saying="dimensionCount")
    run.ok(name, 0, operand_type(F32, (2,)), ZEROS, 8)


@pytest.mark.parametrize("name", SETTERS)
def test_only_dimensions_of_a_type_count(run, name):
    """Its code and its quantization are not compared with the model's.

    api-semantics 4: "Its code and quantisation are not compared with the model's"
    """
    run.refuse(BAD_DATA, name, 0, operand_type(T.TENSOR_QUANT8_ASYMM, (2,), 1.0), ZEROS, 2)
    run.ok(name, 0, operand_type(T.TENSOR_QUANT8_ASYMM, (2,), 1.0), ZEROS, 8)


@pytest.mark.parametrize("name", SETTERS)
def test_known_dimensions_are_repeated(relu, name):
    """api-semantics 4: "Where the model knows the rank, the ranks must agree"."""
    run = relu((0, 3), (0, 3))
    for dimensions in ((2,), (2, 4), (2, 0), (0, 0), (2, 3, 1)):
        run.refuse(BAD_DATA, name, 0, operand_type(F32, dimensions), ZEROS, 24)
    run.refuse(BAD_DATA, name, 0, operand_type(F32, (2, 3)), ZEROS, 20)
    run.ok(name, 0, operand_type(F32, (2, 3)), ZEROS, 24)


@pytest.mark.parametrize("inputs", [(), (0,), (2, 0)])
def test_inputs_are_fully_specified(relu, inputs):
    """api-semantics 4: "Inputs must be fully specified by model plus type"."""
    run = relu(inputs, ())
    incomplete = [(0,) * (len(inputs) or 1)]
    for type in (None, *(operand_type(F32, dimensions) for dimensions in incomplete)):
        run.refuse(BAD_DATA, "setInput", 0, type, ZEROS, 8)
    complete = tuple(size or 2 for size in inputs) or (2,)
    length = 4 * (complete[0] * complete[-1] if len(complete) == 2 else complete[0])
    run.ok("setInput", 0, operand_type(F32, complete), ZEROS, length)


def test_outputs_need_not_be_specified(relu):
    """api-semantics 4: "outputs need not be"
    api-semantics 4: "If an output's size is unknown, any length > 0 is taken as capacity".
    """
    for outputs, type in (((), None), ((0,), None), ((), operand_type(F32, (0,)))):
        run = relu((2,), outputs)
        run.input(0, floats(-1, 3))
        run.refuse(BAD_DATA, "setOutput", 0, type, ZEROS, 0, saying="length is 0")
        result = run.output(0, 40, type)
        run.ok("compute")
        assert memoryview(result.contents[:8]).cast("f").tolist() == [0, 3]
        assert result.contents[8:] == bytes([0xA5] * 32)


def test_omitted_input_is_no_less_specific(relu):
    """api-semantics 4: "An omitted input (NULL, 0) may stay partially specified"."""
    run = relu((2, 0), ())
    for dimensions in ((0, 0), (2,), (3, 1)):
        run.refuse(BAD_DATA, "setInput", 0, operand_type(F32, dimensions), None, 0)
    run.ok("setInput", 0, operand_type(F32, (2, 0)), None, 0)


def test_omitted_arguments_are_noticed_when_it_runs(run):
    run.ok("setInput", 0, None, None, 0)
    run.input(1, floats(1, 2))
    result = run.output(0, 8)
    run.refuse(ResultCode.OP_FAILED, "compute")
    assert result.is_untouched


# Padding


def test_padding(run):
    """Lengths may exceed what is needed; what exceeds it is not touched.

    api-semantics 4: "longer -> BAD_DATA unless padding is enabled"
    """
    run.ok("enableInputAndOutputPadding", True)
    for name in SETTERS:
        for length in (0, 7):
            run.refuse(BAD_DATA, name, 0, None, ZEROS, length)
    run.input(0, floats(1, 2, 9, 9))
    run.input(1, floats(10, 20, 9, 9, 9))
    buffer = run.output(0, 20)
    run.ok("compute")
    assert buffer.contents[8:] == bytes([0xA5] * 12)
    assert memoryview(buffer.contents[:8]).cast("f").tolist() == [11, 22]


def test_no_padding(run):
    """api-semantics 4: "Calling it with false is also legal"."""
    run.ok("enableInputAndOutputPadding", True)
    run.ok("enableInputAndOutputPadding", False)
    for name in SETTERS:
        run.refuse(BAD_DATA, name, 0, None, ZEROS, 12)


@pytest.mark.parametrize("name", SETTERS)
@pytest.mark.parametrize("enable", [True, False])
def test_padding_comes_first(api, run, name, enable):
    """It cannot be said any more once a length was looked at, even a wrong one.

    api-semantics 4: "enableInputAndOutputPadding: BAD_STATE after any set call"
    """
    for use, arguments in (
        (run.ok, (name, 0, None, ZEROS, 8)),
        (lambda *rest: run.refuse(BAD_DATA, *rest), (name, 0, None, ZEROS, 7)),
    ):
        run.another()
        run.refuse(BAD_DATA, name, 99, None, ZEROS, 8)
        run.ok("enableInputAndOutputPadding", enable)
        use(*arguments)
        run.refuse(BAD_STATE, "enableInputAndOutputPadding", enable)


@pytest.mark.parametrize("name", SETTERS)
def test_padding_comes_before_memory(api, run, file, name):
    """As for pointers: a region that was refused for itself does not count.

    api-semantics 4: "BAD_STATE after any set call that got as far as the length check"
    """
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    name += "FromMemory"
    run.refuse(BAD_DATA, name, 0, None, memory, 0, 0)
    run.refuse(BAD_DATA, name, 0, None, memory, 60, 8)
    run.ok("enableInputAndOutputPadding", False)
    run.refuse(BAD_DATA, name, 0, None, memory, 0, 9)
    run.refuse(BAD_STATE, "enableInputAndOutputPadding", False)
    run.refuse(BAD_STATE, "enableInputAndOutputPadding", True)


def test_memory_padding(api, run):
    memory = api.make("Memory_createFromFd", 64, 3, 0, 0)
    run.ok("enableInputAndOutputPadding", True)
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, 0, 4)
    run.refuse(BAD_DATA, "setInputFromMemory", 0, None, memory, 56, 16)
    run.ok("setInputFromMemory", 0, None, memory, 8, 56)


# Scalars


@pytest.mark.parametrize("type", [None, operand_type(T.INT32)])
def test_scalar_input(api, device, type):
    """Set like a tensor; it has its size and no dimensions."""
    graph = Graph(api)
    a, kind, b = graph.operand(F32, (2,)), graph.operand(T.INT32), graph.operand(F32, (2,))
    graph.operation(OperationType.ADD, [a, a, kind], [b])
    graph.arguments([a, kind], [b])
    run = Run(api, device, graph.finish())
    for length in (0, 1, 8):
        run.refuse(BAD_DATA, "setInput", 1, type, ZEROS, length)
    run.refuse(BAD_DATA, "setInput", 1, operand_type(F32, (1,)), ZEROS, 4)
    run.input(1, uint32s([3]), type)  # RELU6
    run.input(0, floats(2, 5))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [4, 6]


def test_reused_buffers_are_not_kept(run):
    """A buffer that was refused is not remembered: another one may take its place."""
    refused, taken = Buffer(8), Buffer(8)
    run.refuse(BAD_DATA, "setOutput", 0, None, refused.address, 4)
    run.ok("setOutput", 0, None, taken.address, 8)
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("compute")
    assert refused.is_untouched
    assert taken.floats() == [2, 4]
