"""Memory descriptors: roles, dimensions, and what memory can be made from them (semantics 8)."""

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import channel_quant, pointers, uint32s
from tests.abi.rules.graph import Graph, Run, add_graph, descriptor

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
UNEXPECTED_NULL = ResultCode.UNEXPECTED_NULL
F32, QUANT8 = T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM
ROLES = ("Input", "Output")
WRONG = 2.0
"""A frequency that none can be."""


@pytest.fixture
def desc(api):
    """An open descriptor."""
    return api.make("MemoryDesc_create")


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each."""
    return Run(api, device, add_graph(api).finish())


@pytest.fixture
def add(api, device):
    """Makes a compilation of c = a + b with operands like this: type, dimensions, scale, zero."""

    def make(*details):
        graph = Graph(api)
        a, b, c = (graph.operand(*details) for _ in range(3))
        graph.operation(O.ADD, [a, b, graph.int32(0)], [c])
        graph.arguments([a, b], [c])
        return Run(api, device, graph.finish()).compilation

    return make


def add_role(api, desc, compilation, role="Input", index=0, frequency=1.0):
    api.ok(f"MemoryDesc_add{role}Role", desc, compilation, index, frequency)


def refuse_role(api, code, desc, compilation, role, index, frequency=1.0, saying=""):
    name = f"MemoryDesc_add{role}Role"
    api.refuse(code, name, desc, compilation, index, frequency, saying=saying)


def can_hold(api, file, desc, size):
    """Whether a memory made from a finished descriptor has this size in bytes."""
    memory = api.make("Memory_createFromDesc", desc)
    source = api.make("Memory_createFromFd", size, 3, file(size), 0)
    return api.result("Memory_copy", source, memory) == ResultCode.NO_ERROR


# Roles


@pytest.mark.parametrize("role", ROLES)
def test_order_of_the_checks(api, desc, run, add, role):
    """Each call breaks several rules; the first of the order is reported.

    api-semantics 8: "MemoryDesc_addInputRole/OutputRole order"
    """
    unfinished = api.make("Compilation_create", add_graph(api).finish())
    matrix, bytes_ = add(F32, (2, 1)), add(QUANT8, (3,), 0.5, 1)
    name = f"MemoryDesc_add{role}Role"
    api.refuse(UNEXPECTED_NULL, name, desc, None, 99, WRONG)
    refuse_role(api, BAD_DATA, desc, unfinished, role, 99, WRONG, "it must be finished")
    refuse_role(api, BAD_DATA, desc, run.compilation, role, 99, WRONG, "does not exist")
    add_role(api, desc, run.compilation, role)
    refuse_role(api, BAD_DATA, desc, run.compilation, role, 0, WRONG, "already")
    refuse_role(api, BAD_DATA, desc, bytes_, role, 0, WRONG, "TENSOR_QUANT8_ASYMM[3]")
    refuse_role(api, BAD_DATA, desc, matrix, role, 0, WRONG, "contradict")
    api.ok("MemoryDesc_finish", desc)
    refuse_role(api, BAD_STATE, desc, unfinished, role, 99, WRONG, "can no longer be changed")
    refuse_role(api, BAD_STATE, desc, run.compilation, role, 0, WRONG)


@pytest.mark.parametrize(("role", "count"), [("Input", 2), ("Output", 1)])
def test_arguments_that_do_not_exist(api, desc, run, role, count):
    """api-semantics 0: "Indices are int32 in the signature but compared as uint32"."""
    for index in (count, 2**31, 2**32 - 1):
        refuse_role(api, BAD_DATA, desc, run.compilation, role, index, saying="does not exist")
    add_role(api, desc, run.compilation, role, count - 1)


@pytest.mark.parametrize("role", ROLES)
def test_frequencies(api, desc, run, role):
    """Above 0 and at most 1.

    api-semantics 8: "frequency not in (0, 1]"
    """
    for frequency in (0.0, -0.0, -1.0, 1.0001, float("inf"), float("-inf")):
        refuse_role(api, BAD_DATA, desc, run.compilation, role, 0, frequency, "frequency")
    add_role(api, desc, run.compilation, role, frequency=1e-30)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_given_once(api, desc, run, role):
    """But to any number of descriptors; and the same argument of another compilation is another.

    api-semantics 8: "same (compilation, direction, index) again -> BAD_DATA"
    """
    add_role(api, desc, run.compilation, role)
    refuse_role(api, BAD_DATA, desc, run.compilation, role, 0, saying="already")
    add_role(api, api.make("MemoryDesc_create"), run.compilation, role)
    repeated = Run(api, api.devices()["nnapi-cpu"], add_graph(api).finish())
    add_role(api, desc, repeated.compilation, role)


def test_all_roles_of_a_model(api, desc, run):
    """An input and an output of the same number are different roles."""
    for role, index in (("Input", 0), ("Input", 1), ("Output", 0)):
        add_role(api, desc, run.compilation, role, index)
    api.ok("MemoryDesc_finish", desc)


@pytest.mark.parametrize("role", ROLES)
def test_compilations_that_are_not_finished(api, desc, device, role):
    """BAD_DATA, not BAD_STATE: open, or failed.

    api-semantics 8: "compilation unfinished or invalid -> BAD_DATA (not BAD_STATE)"
    """
    model = add_graph(api).finish()
    opened = api.make("Compilation_createForDevices", model, pointers(device), 1)
    refuse_role(api, BAD_DATA, desc, opened, role, 0)
    graph = Graph(api)
    a, b = graph.operand(T.TENSOR_OEM_BYTE, (2,)), graph.operand(T.TENSOR_OEM_BYTE, (2,))
    graph.operation(O.OEM_OPERATION, [a], [b])
    graph.arguments([a], [b])
    failed = api.make("Compilation_create", graph.finish())
    api.refuse(BAD_DATA, "Compilation_finish", failed)
    refuse_role(api, BAD_DATA, desc, failed, role, 0)


def test_roles_agree_in_the_type(api, desc, add):
    """Type, scale and zero point.

    api-semantics 8: "operand code/scale/zeroPoint/per-channel parameters differing"
    """
    add_role(api, desc, add(QUANT8, (2,), 0.5, 1))
    for other in (
        (F32, (2,)),
        (T.TENSOR_QUANT8_ASYMM_SIGNED, (2,), 0.5, 1),
        (QUANT8, (2,), 0.25, 1),
        (QUANT8, (2,), 0.5, 2),
    ):
        refuse_role(api, BAD_DATA, desc, add(*other), "Input", 0, saying="an earlier role is")
    add_role(api, desc, add(QUANT8, (2,), 0.5, 1))


def test_roles_agree_in_the_scales_per_channel(api, desc, device):
    """api-semantics 8: "per-channel parameters differing from earlier roles"."""

    def filter_input(*scales):
        graph = Graph(api)
        a, b = graph.operand(F32, (1, 1, 1, 1)), graph.operand(F32, (1, 1, 1, 2))
        kind = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
        filter = graph.operand(kind, (2, 1, 1, 1))
        name = "Model_setOperandSymmPerChannelQuantParams"
        api.ok(name, graph.model, filter, channel_quant(0, scales))
        graph.operation(O.DEQUANTIZE, [filter], [graph.operand(F32, (2, 1, 1, 1))])
        graph.operation(O.CONCATENATION, [a, a, graph.int32(3)], [b])
        graph.arguments([a, filter], [b])
        return Run(api, device, graph.finish()).compilation

    add_role(api, desc, filter_input(0.5, 0.25), index=1)
    refuse_role(api, BAD_DATA, desc, filter_input(0.5, 0.5), "Input", 1, saying="2 scales")
    add_role(api, desc, filter_input(0.5, 0.25), index=1)


@pytest.mark.parametrize("dimensions", [(3,), (2, 1), (0, 2), (2, 0)])
def test_roles_agree_in_the_dimensions(api, desc, add, dimensions):
    """api-semantics 8: "incompatible dimensions; frequency"."""
    add_role(api, desc, add(F32, (2,)))
    refuse_role(api, BAD_DATA, desc, add(F32, dimensions), "Output", 0, saying="contradict")


def test_dimensions_are_merged(api, file, add):
    """Roles and setDimensions, in any order, fill in what the others leave open."""
    first, second, unknown = add(F32, (0, 3)), add(F32, (2, 0)), add(F32)
    for roles in ((first, second, unknown), (unknown, second, first)):
        assert can_hold(api, file, descriptor(api, *[(r, "Input", 0) for r in roles]), 24)
    for roles, sizes in (((first,), (5, 0)), ((unknown,), (5, 3)), ((first, unknown), (5, 3))):
        desc = descriptor(api, *[(r, "Output", 0) for r in roles], dimensions=sizes)
        assert can_hold(api, file, desc, 60)
        assert not can_hold(api, file, desc, 24)


def test_a_refused_role_changes_nothing(api, desc, file, add):
    wide = add(F32, (0, 3))
    refuse_role(api, BAD_DATA, desc, add(F32, (2, 4)), "Input", 0, 2.0)
    refuse_role(api, BAD_DATA, desc, add(QUANT8, (2, 3), 0.5, 1), "Input", 0, 2.0)
    api.refuse(BAD_DATA, "MemoryDesc_finish", desc, saying="no role")
    add_role(api, desc, wide)
    refuse_role(api, BAD_DATA, desc, add(F32, (7, 3)), "Output", 0, WRONG)
    api.ok("MemoryDesc_setDimensions", desc, 2, uint32s([5, 0]))
    api.ok("MemoryDesc_finish", desc)
    assert can_hold(api, file, desc, 60)


# setDimensions


def set_dimensions(api, desc, *sizes):
    api.ok("MemoryDesc_setDimensions", desc, len(sizes), uint32s(sizes))


def refuse_dimensions(api, code, desc, *sizes):
    api.refuse(code, "MemoryDesc_setDimensions", desc, len(sizes), uint32s(sizes))


def test_dimensions_and_null(api, desc):
    """NULL stands for no dimensions, and for nothing else.

    api-semantics 8: "setDimensions: (0, NULL) fine; NULL with rank > 0"
    """
    api.ok("MemoryDesc_setDimensions", desc, 0, None)
    api.refuse(UNEXPECTED_NULL, "MemoryDesc_setDimensions", desc, 1, None)
    set_dimensions(api, desc)
    api.refuse(UNEXPECTED_NULL, "MemoryDesc_setDimensions", None, 0, None)


def test_dimensions_before_a_role(api, desc, file, add):
    """They may be set several times, each time saying more.

    api-semantics 8: "callable before any role, several times"
    """
    for sizes in ((0, 0), (2, 0), (0, 0), (0, 3), (2, 3)):
        set_dimensions(api, desc, *sizes)
    for sizes in ((3, 0), (0, 2), (2,), (2, 3, 1)):
        refuse_dimensions(api, BAD_DATA, desc, *sizes)
        refuse_role(api, BAD_DATA, desc, add(F32, sizes), "Input", 0)
    add_role(api, desc, add(F32))
    set_dimensions(api, desc)
    api.ok("MemoryDesc_finish", desc)
    assert can_hold(api, file, desc, 24)


def test_dimensions_against_a_role(api, desc, add):
    """api-semantics 8: "conflicting rank or dimension -> BAD_DATA"."""
    add_role(api, desc, add(F32, (2, 0)))
    for sizes in ((3, 0), (2,), (2, 3, 0)):
        refuse_dimensions(api, BAD_DATA, desc, *sizes)
    for sizes in ((0, 0), (2, 5)):
        set_dimensions(api, desc, *sizes)


def test_dimensions_after_finish(api, desc, run):
    """api-semantics 8: "after finish BAD_STATE"."""
    add_role(api, desc, run.compilation)
    api.ok("MemoryDesc_finish", desc)
    for sizes in ((2,), (), (3,)):
        refuse_dimensions(api, BAD_STATE, desc, *sizes)
    api.refuse(UNEXPECTED_NULL, "MemoryDesc_setDimensions", desc, 1, None)


def test_scalars_have_no_dimensions(api, device, file):
    """Neither before the role nor after it; and need none to have a size.

    api-semantics 8: "scalar while dimensions are set"
    api-semantics 8: "also non-zero rank once a scalar role exists"
    """
    graph = Graph(api)
    a, kind, b = graph.operand(F32, (2,)), graph.operand(T.INT32), graph.operand(F32, (2,))
    graph.operation(O.ADD, [a, a, kind], [b])
    graph.arguments([a, kind], [b])
    compilation = Run(api, device, graph.finish()).compilation
    for sizes in ((1,), (0,)):
        before, after = (api.make("MemoryDesc_create") for _ in range(2))
        set_dimensions(api, before, *sizes)
        refuse_role(api, BAD_DATA, before, compilation, "Input", 1, saying="scalar")
        add_role(api, after, compilation, index=1)
        refuse_dimensions(api, BAD_DATA, after, *sizes)
        set_dimensions(api, after)
        api.ok("MemoryDesc_finish", after)
        assert can_hold(api, file, after, 4)


# finish, and memory


def test_finish_needs_a_role(api, desc, run):
    """Without one the descriptor stays open.

    api-semantics 8: "MemoryDesc_finish without roles -> BAD_DATA and the desc stays open"
    """
    for _ in range(2):
        api.refuse(BAD_DATA, "MemoryDesc_finish", desc, saying="no role")
    set_dimensions(api, desc, 2)
    api.refuse(BAD_DATA, "MemoryDesc_finish", desc)
    api.make_none(BAD_STATE, "Memory_createFromDesc", desc, saying="not finished")
    add_role(api, desc, run.compilation)
    api.make_none(BAD_STATE, "Memory_createFromDesc", desc, saying="not finished")
    api.ok("MemoryDesc_finish", desc)
    for _ in range(2):
        api.refuse(BAD_STATE, "MemoryDesc_finish", desc)
    api.make("Memory_createFromDesc", desc)


def test_many_memories_of_one_descriptor(api, file, run):
    """Each has contents of its own, and they outlive the descriptor.

    api-semantics 8: "one desc makes any number of memories and may be freed before them"
    """
    desc = descriptor(api, (run.compilation, "Input", 0))
    memories = [api.make("Memory_createFromDesc", desc) for _ in range(3)]
    api.free(desc)
    for number, memory in enumerate(memories):
        source = api.make("Memory_createFromFd", 8, 3, file(8, bytes([number] * 8)), 0)
        api.ok("Memory_copy", source, memory)
    for number, memory in enumerate(memories):
        descriptor_ = file(8)
        api.ok("Memory_copy", memory, api.make("Memory_createFromFd", 8, 3, descriptor_, 0))
        with open(descriptor_, "rb", closefd=False) as result:
            assert result.read() == bytes([number] * 8)


@pytest.mark.parametrize("dimensions", [(), (0,), (0, 3), (2, 0)])
def test_unknown_dimensions(api, add, dimensions):
    """There is no memory whose size is not known.

    api-semantics 8: "Size unknown (dimensions not all known): OP_FAILED"
    """
    compilation = add(F32, dimensions)
    for role in ROLES:
        desc = descriptor(api, (compilation, role, 0))
        api.make_none(OP_FAILED, "Memory_createFromDesc", desc, saying="dimensions must be known")


def test_sizes_that_nothing_has(api, desc, add):
    add_role(api, desc, add(F32))
    set_dimensions(api, desc, 1 << 31, 1 << 31, 1 << 31)
    api.ok("MemoryDesc_finish", desc)
    api.make_none(OP_FAILED, "Memory_createFromDesc", desc, saying="bytes; allowed are")


def test_roles_on_different_devices(api):
    """Where a program has named devices, one of them must have all roles.

    api-semantics 8: "Roles on different devices: falls back to shared memory"
    """
    graph = add_graph(api)
    graph.finish()
    devices = api.devices()
    named = {}
    for name in ("nnapi-cpu", "nnapi-reference"):
        array = pointers(devices[name])
        named[name] = api.make("Compilation_createForDevices", graph.model, array, 1)
    chosen = api.make("Compilation_create", graph.model)
    for compilation in (*named.values(), chosen):
        api.ok("Compilation_finish", compilation)
    cpu, reference = ((c, "Input", 0) for c in named.values())
    saying = "different devices"
    api.make_none(
        OP_FAILED, "Memory_createFromDesc", descriptor(api, cpu, reference), saying=saying
    )
    mixed = descriptor(api, (chosen, "Output", 0), reference)
    api.make_none(OP_FAILED, "Memory_createFromDesc", mixed, saying=saying)
    api.make("Memory_createFromDesc", descriptor(api, (chosen, "Output", 0), cpu))
    api.make("Memory_createFromDesc", descriptor(api, cpu))
    api.make("Memory_createFromDesc", descriptor(api, reference))
