"""Models in several steps: they give what the unsplit model gives, bit for bit, in every way."""

import gc
import time
from threading import Barrier, Thread

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, FeatureLevel, OperationType, ResultCode
from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.types import ExecutionResult, OutputShape, Timing
from nnapi_shim.runtime import execution_plan
from nnapi_shim.runtime.execution_plan import ExecutionPlan
from nnapi_shim.runtime.slicing import SPARE, sliced
from tests.random_models.generator import random_model
from tests.random_models.graph import assemble
from tests.random_models.running import Prepared
from tests.runtime.hal_models import Bound, Builder, chain, f32
from tests.runtime.partial_devices import PartialDevice, Together, Watched, compiled

CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)


def pair():
    return PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")


def plan(model, *devices):
    prepared = compiled(model, devices or pair()).prepared
    assert isinstance(prepared, ExecutionPlan)
    return prepared


# Random models


def share(seed, number, count):
    """Every operation to one of `count` devices, each its own way of cutting a model."""
    return lambda item: item.type in CONTROL_FLOW or (item.type * 7 + seed) % count == number


def outcome(device, built, sizes):
    try:
        return Prepared(device, built).run(built.inputs, sizes)
    except NnapiError as error:
        return error.code


@pytest.mark.parametrize("rest", [ReferenceDevice, CpuDevice])
@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_models_give_the_same_bits(first, rest):
    """rest: what the devices are made of, and what the model as a whole runs on."""
    steps = 0
    for seed in range(first, first + 15):
        graph = random_model(seed)
        count = 2 + seed % 2
        devices = [PartialDevice(f"d{n}", share(seed, n, count)) for n in range(count)]
        devices.append(PartialDevice("rest", figures=(9.0, 9.0)))
        for device in devices:
            device.prepare = rest().prepareModel
        built = assemble(graph, graph.ends(), with_failing=graph.failing is not None)
        operands = [graph.items[index] for index in built.model.main.output_indexes]
        sizes = [item.value.operand.dimensions for item in operands]
        whole = outcome(rest(), built, sizes)
        together = outcome(Together(*devices), built, sizes)
        if isinstance(whole, ResultCode) or isinstance(together, ResultCode):
            assert whole == together, f"seed {seed}"
            continue
        for one, other in zip(whole, together, strict=True):
            assert one.shape == other.shape and one.tobytes() == other.tobytes(), f"seed {seed}"
        steps += sum(len(device.prepared) for device in devices)
    assert steps > 30


# Slices


def test_a_slice_has_what_it_needs():
    builder = Builder()
    x, y = builder.input(), builder.input()
    weights = builder.constant(np.arange(64), T.TENSOR_FLOAT32)
    other = builder.constant([5, 6], T.TENSOR_FLOAT32)
    unused = builder.constant([7], T.TENSOR_FLOAT32)
    big = builder.input((64,))
    first = builder.binary("ADD", x, other)
    exposed = builder.binary("MUL", first, y)
    wide = builder.binary("MUL", big, weights)
    last = builder.binary("ADD", exposed, first)
    model = builder.model([x, y, big], [last, exposed, wide])
    parts = sliced(model, [[0], [1, 2], [3]])
    assert [(p.inputs, p.outputs) for p in parts] == [
        ((x,), (first,)),
        ((y, big, first), (exposed, wide)),
        ((first, exposed), (last,)),
    ]
    assert unused not in {i for p in parts for i in p.inputs}
    for part in parts:
        main = part.model.main
        assert {main.operands[i].lifetime for i in main.input_indexes} == {L.SUBGRAPH_INPUT}
        assert {main.operands[i].lifetime for i in main.output_indexes} == {L.SUBGRAPH_OUTPUT}
        read = {i for item in main.operations for i in (*item.inputs, *item.outputs)}
        assert read == set(range(len(main.operands)))
    assert [item.number for part in parts for item in part.model.main.operations] == [0, 1, 2, 3]
    (large,) = [o for o in parts[1].model.main.operands if o.location.length == 256]
    assert large.location.offset % 64 == 0
    values = parts[1].model.operand_values
    assert np.float32(np.arange(64)).tobytes() == values[large.location.offset :][:256]
    assert len(values) < len(model.operand_values)


def test_temporaries_hand_on_the_parameters_that_count():
    """RELU gives its input's scale to its output, whatever that declares."""
    builder = Builder()
    x = builder.input(type=T.TENSOR_QUANT8_ASYMM, scale=0.5, zero_point=3)
    middle = builder.temporary(type=T.TENSOR_QUANT8_ASYMM, scale=2.0)
    builder.operation(OperationType.RELU, [x], [middle])
    result = builder.temporary()
    builder.operation(OperationType.DEQUANTIZE, [middle], [result])
    model = builder.model([x], [result])
    devices = PartialDevice("one", "RELU"), PartialDevice("other", "DEQUANTIZE")
    (got,) = Bound(plan(model, *devices), model, [np.uint8([3, 13])]).outputs()
    assert got.tolist() == [0, 5]


def test_padding_is_zero_whatever_a_temporary_declares():
    """PAD gives its input's parameters to its output; so on one device and on two."""
    builder = Builder()
    x = builder.input((1,), T.TENSOR_QUANT8_ASYMM, scale=0.5, zero_point=7)
    middle = builder.temporary((2,), T.TENSOR_QUANT8_ASYMM, scale=2.0)
    paddings = builder.constant([[1, 0]], T.TENSOR_INT32)
    builder.operation(OperationType.PAD, [x, paddings], [middle])
    result = builder.temporary()
    builder.operation(OperationType.DEQUANTIZE, [middle], [result])
    model = builder.model([x], [result])
    pads, rest = PartialDevice("pads", "PAD"), PartialDevice("rest", "DEQUANTIZE")
    for devices in ([pads, rest], [ReferenceDevice()], [CpuDevice()]):
        (got,) = Bound(compiled(model, devices).prepared, model, [np.uint8([9])]).outputs()
        assert got.tolist() == [0, 1]


def test_parts_without_inputs_or_outputs_get_one():
    """Constants alone, and a result that nobody reads; a 1.0 device refuses models without."""
    builder = Builder()
    x = builder.input()
    two = builder.constant([2, 3], T.TENSOR_FLOAT32)
    product = builder.binary("MUL", two, two)
    total = builder.binary("ADD", product, x)
    builder.binary("MUL", total, total)
    model = builder.model([x], [total])
    devices = pair()
    prepared = plan(model, *devices)
    assert [(step.inputs, len(step.outputs)) for step in prepared.steps] == [
        ((SPARE,), 1),
        ((x, product), 1),
        ((total,), 1),
    ]
    for device in devices:
        assert all(m.main.input_indexes and m.main.output_indexes for m in device.prepared)
    (got,) = Bound(prepared, model, [f32(1, 1)]).outputs()
    assert got.tolist() == [5, 10]


def test_graphs_come_with_the_operation_that_refers_to_them():
    inner = Builder()
    a = inner.input()
    product = inner.binary("MUL", a, a)
    model = None
    for condition in (0, 1):
        builder, values = Builder(), inner.values
        test, x = builder.input((1,), T.TENSOR_BOOL8), builder.input()
        builder.values += values
        unused, squared = (builder.graph(inner, [a], [product]) for _ in range(2))
        result = builder.temporary()
        total = builder.binary("ADD", x, x)
        builder.operation(OperationType.IF, [test, squared, squared, total], [result])
        model = builder.model([test, x], [result])
        devices = PartialDevice("adds", "ADD"), PartialDevice("if", "IF MUL")
        prepared = plan(model, *devices)
        (part,) = devices[1].prepared
        assert len(model.referenced) == 2 and len(part.referenced) == 1
        assert unused != squared
        (got,) = Bound(prepared, model, [np.uint8([condition]), f32(1, 2)]).outputs()
        assert got.tolist() == [4, 16]


# What passes between steps


def test_an_output_that_later_steps_read_lies_in_the_program_s_buffer():
    builder = Builder()
    x = builder.input()
    first = builder.binary("ADD", x, x)
    model = builder.model([x], [first, builder.binary("MUL", first, x)])
    prepared = plan(model)
    assert not prepared.intermediates
    one, other = Bound(prepared, model, [f32(1, 2)]).outputs()
    assert (one.tolist(), other.tolist()) == ([2, 4], [2, 8])


def unknown(declared=(0,)):
    """(x + x) * x + x, with a model that says less than there is to say."""
    builder = Builder()
    x = builder.input(declared)
    total = builder.binary("ADD", x, x, builder.temporary(declared))
    product = builder.binary("MUL", total, x, builder.temporary(declared))
    return builder.model([x], [builder.binary("ADD", product, x, builder.temporary(declared))])


@pytest.mark.parametrize("declared", [(), (0,)])
def test_unknown_dimensions_show_step_by_step(declared):
    model = unknown(declared)
    prepared = plan(model)
    for size in (3, 1000, 5):
        x = np.arange(size, dtype=np.float32)
        (got,) = Bound(prepared, model, [x], 4 * size).outputs()
        assert (got == 2 * x * x + x).all()
    assert max(prepared.largest.values()) == 4000


def test_an_output_that_does_not_fit_is_told_of_and_later_ones_too():
    builder = Builder()
    x = builder.input((0,))
    first = builder.binary("ADD", x, x, builder.temporary((0,)))
    second = builder.binary("MUL", first, x, builder.temporary((0,)))
    model = builder.model([x], [first, second])
    prepared = plan(model)
    x = f32(1, 2, 3)
    for room, fits in (
        ([8, 12], [False, True]),
        ([8, 8], [False, False]),
        ([16, 4], [True, False]),
    ):
        bound = Bound(prepared, model, [x], room)
        for _ in range(2):
            result = bound.compute()
            assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
            assert result.output_shapes == [OutputShape((3,), it) for it in fits]
    assert [v.tolist() for v in Bound(prepared, model, [x], 12).outputs()] == [
        [2, 4, 6],
        [2, 8, 18],
    ]


def test_operands_without_elements():
    """A SLICE of size 0, its way through other devices, and what becomes of it."""
    builder = Builder()
    x = builder.input((4,))
    begin, size = builder.constant([1], T.TENSOR_INT32), builder.input((1,), T.TENSOR_INT32)
    part = builder.temporary((0,))
    builder.operation(OperationType.SLICE, [x, begin, size], [part])
    total = builder.binary("ADD", part, part, builder.temporary((0,)))
    model = builder.model([x, size], [builder.binary("MUL", total, part, builder.temporary((0,)))])
    for prepare in (ReferenceDevice().prepareModel, CpuDevice().prepareModel):
        devices = [PartialDevice(name, name) for name in ("SLICE", "ADD", "MUL")]
        for device in devices:
            device.prepare = prepare
        prepared = plan(model, *devices)
        for count in (2, 0, 3):
            (got,) = Bound(prepared, model, [f32(1, 2, 3, 4), np.int32([count])]).outputs()
            assert got.tolist() == [2 * v * v for v in (2, 3, 4)[:count]]
        devices[1].feature_level = FeatureLevel.LEVEL_1
        with pytest.raises(NnapiError, match="takes none without elements"):
            bound = Bound(prepared, model, [f32(1, 2, 3, 4), np.int32([0])])
            bound.compute()


def test_arguments_that_are_left_out():
    """An omitted input arrives omitted, and an omitted output is refused by its operation."""
    builder = Builder()
    x, permutation = builder.input((2, 3)), builder.input((0,), T.TENSOR_INT32)
    total = builder.binary("ADD", x, x)
    result = builder.temporary((0, 0))
    builder.operation(OperationType.TRANSPOSE, [total, permutation], [result])
    model = builder.model([x, permutation], [result])
    devices = PartialDevice("adds", "ADD"), PartialDevice("transposes", "TRANSPOSE")
    array = np.float32([[1, 2, 3], [4, 5, 6]])
    (got,) = Bound(plan(model, *devices), model, [array, None]).outputs()
    assert got.tolist() == [[2, 8], [4, 10], [6, 12]]


def test_scalars_pass_between_steps():
    builder = Builder()
    x = builder.input((2, 2, 1))
    rank = builder.temporary((), T.INT32)
    builder.operation(OperationType.RANK, [x], [rank])
    result = builder.temporary((0,), T.TENSOR_INT32)
    sizes = builder.constant([3], T.TENSOR_INT32)
    builder.operation(OperationType.FILL, [sizes, rank], [result])
    model = builder.model([x], [result])
    devices = PartialDevice("ranks", "RANK"), PartialDevice("fills", "FILL")
    (got,) = Bound(plan(model, *devices), model, [np.zeros((2, 2, 1), np.float32)]).outputs()
    assert got.tolist() == [3, 3, 3]


# Runs


def test_steps_are_bound_once():
    devices = pair()
    watches = [Watched(device) for device in devices]
    model = chain("ADD MUL ADD")
    bound = Bound(plan(model, *devices), model, [x := f32(1, 2)])
    for value in range(5):
        x[:] = value
        assert bound.outputs()[0].tolist() == [2 * (2 * value) ** 2] * 2
    assert [len(watch.requests) for watch in watches] == [2, 1]


def test_steps_are_bound_once_where_a_run_tells_the_dimensions():
    devices = pair()
    watches = [Watched(device) for device in devices]
    model = unknown()
    bound = Bound(plan(model, *devices), model, [f32(1, 2)])
    for _ in range(5):
        assert bound.outputs()[0].tolist() == [3, 10]
    assert [len(watch.requests) for watch in watches] == [2, 1]


def test_limits_of_time_reach_every_step():
    devices = pair()
    watches = [Watched(device) for device in devices]
    model = chain("ADD MUL ADD")
    prepared = plan(model, *devices)
    deadline = time.monotonic_ns() + 10**12
    Bound(prepared, model, [f32(1, 2)], loop_timeout_ns=123).compute(deadline)
    assert [set(watch.deadlines) for watch in watches] == [{deadline}] * 2
    assert [watch.requests[0][2] for watch in watches] == [123] * 2


def test_a_deadline_that_passes(monkeypatch):
    devices = pair()
    far = time.monotonic_ns() + 10**12

    def slowly(compute):
        result = compute()
        monkeypatch.setattr(execution_plan, "monotonic_ns", lambda: far)
        return result

    Watched(devices[0], compute=slowly)
    model = chain("ADD MUL")
    bound = Bound(plan(model, *devices), model, [f32(1, 2)])
    for deadline, code in (
        (time.monotonic_ns(), ResultCode.MISSED_DEADLINE_PERSISTENT),
        (far, ResultCode.MISSED_DEADLINE_TRANSIENT),
    ):
        with pytest.raises(NnapiError) as caught:
            bound.compute(deadline)
        assert caught.value.code is code
    assert bound.outputs()[0].tolist() == [4, 16]


def test_durations_are_added_up():
    devices = pair()
    for device, timing in zip(devices, (Timing(1, 20), Timing(300, 4000)), strict=True):
        Watched(device, compute=lambda compute, timing=timing: compute()._replace(timing=timing))
    model = chain("ADD MUL ADD")
    prepared = plan(model, *devices)
    assert Bound(prepared, model, [f32(1, 2)], measure=True).compute().timing == (302, 4040)
    assert Bound(prepared, model, [f32(1, 2)]).compute().timing == (None, None)
    Watched(devices[0], compute=lambda compute: compute()._replace(timing=Timing(None, 7)))
    prepared = plan(model, *devices)
    assert Bound(prepared, model, [f32(1, 2)], measure=True).compute().timing == (None, 4014)


def test_errors_say_where():
    builder = Builder()
    x = builder.input()
    code = builder.constant(999, T.INT32)
    total, result = builder.binary("ADD", x, x), builder.temporary()
    builder.operation(OperationType.MUL, [total, x, code], [result])
    model = builder.model([x], [result])
    with pytest.raises(NnapiError, match=r"step 1 on muls: MUL \(operation 1\)") as caught:
        Bound(plan(model), model, [f32(1, 2)]).compute()
    assert caught.value.code is ResultCode.OP_FAILED


INSUFFICIENT = ErrorStatus.OUTPUT_INSUFFICIENT_SIZE


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ExecutionResult(ErrorStatus.NONE, []), "dimensions of 0 outputs; there are 1"),
        (ExecutionResult(ErrorStatus.NONE, [OutputShape((999,))]), r"\[999\]; its buffer has"),
        (ExecutionResult(ErrorStatus.GENERAL_FAILURE, [OutputShape((2,))]), "GENERAL_FAILURE"),
        (ExecutionResult(INSUFFICIENT, [OutputShape((2,))]), "no output is too small"),
        (ExecutionResult(INSUFFICIENT, [OutputShape((2,), False)]), r"too little for .*\[2\]"),
        (ExecutionResult(INSUFFICIENT, [OutputShape((0,), False)]), r"too little for .*\[0\]"),
        (
            ExecutionResult(INSUFFICIENT, [OutputShape((1 << 31,), False)]),
            r"too little for .*\[2147",
        ),
    ],
)
def test_a_device_that_makes_no_sense(answer, message, monkeypatch):
    monkeypatch.setattr("nnapi_shim.runtime.execution_plan.MAX_BYTES", 1 << 20)
    devices = pair()
    Watched(devices[0], compute=lambda compute: answer)
    model = unknown()
    with pytest.raises(NnapiError, match=message) as caught:
        Bound(plan(model, *devices), model, [f32(1, 2)]).compute()
    assert caught.value.code is ResultCode.OP_FAILED


def test_a_device_that_does_not_say_how_much_it_needs_gets_more_and_more():
    devices = pair()

    def silent(compute):
        result = compute()
        if result.status is INSUFFICIENT:
            return result._replace(output_shapes=[OutputShape((), False)])
        return result

    Watched(devices[0], compute=silent)
    model = unknown()
    x = np.arange(5000, dtype=np.float32)
    model_output = Bound(plan(model, *devices), model, [x], 20000).outputs()
    assert (model_output[0] == 2 * x * x + x).all()


def test_threads_share_a_plan():
    model = unknown()
    prepared = plan(model)
    barrier, failures = Barrier(6), []

    def work(number):
        barrier.wait()
        for size in range(1, 60):
            x = np.full(size * 10, number, np.float32)
            (got,) = Bound(prepared, model, [x], x.nbytes).outputs()
            if not (got == 2 * x * x + x).all():
                failures.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_memory_of_a_run_goes_to_the_next():
    model = chain("ADD MUL ADD")
    prepared = plan(model)
    assert prepared.arena_bytes == 64 * 3
    addresses = set()
    for _ in range(5):
        bound = Bound(prepared, model, [f32(1, 2)])
        addresses.add(bound.execution._arena.address)
        bound.outputs()
        del bound
        gc.collect()
    assert len(addresses) == 1 and len(prepared.arenas) == 1
