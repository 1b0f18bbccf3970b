"""Which device gets which operation, and how the operations become steps."""

import itertools
import random

import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference as Preference
from nnapi_shim.hal.enums import FeatureLevel, OperationType, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.types import PerformanceInfo
from nnapi_shim.runtime.execution_plan import ExecutionPlan
from nnapi_shim.runtime.partitioning import partitioned, whole
from nnapi_shim.runtime.step_order import in_steps
from tests.runtime.hal_models import Builder, chain
from tests.runtime.partial_devices import PartialDevice, compiled

FAST, LOW_POWER = Preference.FAST_SINGLE_ANSWER, Preference.LOW_POWER


def names(steps):
    return [(step.device.name, list(step.operations)) for step in steps]


# Which device


@pytest.mark.parametrize(
    ("offered", "preference", "chosen"),
    [
        ("float_fast float_slow", FAST, "float_fast"),
        ("float_fast float_slow", Preference.SUSTAINED_SPEED, "float_fast"),
        ("float_fast float_slow", LOW_POWER, "float_slow"),
        ("float_slow float_fast minimal quant all", FAST, "minimal"),
        ("quant all float_fast", LOW_POWER, "quant"),
        ("quant all", FAST, "all"),
    ],
)
def test_the_preference_decides_which_figure_counts(offered, preference, chosen):
    devices = [PartialDevice(name) for name in offered.split()]
    assert names(partitioned(chain("ADD MUL"), devices, preference)) == [(chosen, [0, 1])]


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_of_equal_devices_the_first_is_taken(order):
    devices = [PartialDevice(name) for name in order]
    assert names(partitioned(chain("ADD"), devices, FAST)) == [(order[0], [0])]


@pytest.mark.parametrize("devices", [(CpuDevice, ReferenceDevice), (ReferenceDevice, CpuDevice)])
@pytest.mark.parametrize("preference", list(Preference))
def test_nnapi_cpu_is_better_than_nnapi_reference(devices, preference):
    listed = [device() for device in devices]
    assert names(partitioned(chain("ADD MUL"), listed, preference)) == [("nnapi-cpu", [0, 1])]


def test_the_type_of_the_first_input_decides_which_figure_counts():
    floats, numbers = PartialDevice("floats"), PartialDevice("numbers")
    floats.by_type = {T.TENSOR_INT32: PerformanceInfo(5, 5)}
    numbers.by_type = {T.TENSOR_FLOAT32: PerformanceInfo(5, 5)}
    builder = Builder()
    x, y = builder.input(), builder.input(type=T.TENSOR_INT32)
    outputs = [builder.binary("ADD", x, x), builder.binary("ADD", y, y)]
    steps = partitioned(builder.model([x, y], outputs), [floats, numbers], FAST)
    assert sorted(names(steps)) == [("floats", [0]), ("numbers", [1])]


def test_a_type_without_figures_is_the_worst():
    silent, slow = PartialDevice("silent"), PartialDevice("slow", figures=(1e30, 1e30))
    capabilities = silent.getCapabilities()._replace(operand_performance={})
    silent.getCapabilities = lambda: capabilities
    assert names(partitioned(chain("ADD"), [silent, slow], FAST)) == [("slow", [0])]
    assert names(partitioned(chain("ADD"), [silent], FAST)) == [("silent", [0])]


@pytest.mark.parametrize("relaxed", [False, True])
def test_relaxed_models_have_figures_of_their_own(relaxed):
    ordinary, other = PartialDevice("ordinary", figures=(2, 2)), PartialDevice("other")
    best = PerformanceInfo(0.1, 0.1)
    capabilities = ordinary.getCapabilities()._replace(
        relaxed_float32_to_float16_performance_tensor=best
    )
    ordinary.getCapabilities = lambda: capabilities
    model = chain("ADD")._replace(relax_computation_float32_to_float16=relaxed)
    chosen = "ordinary" if relaxed else "other"
    assert names(partitioned(model, [ordinary, other], FAST)) == [(chosen, [0])]


def control_flow(type):
    """An IF of ADD or MUL MUL, or a WHILE without end of a condition and a body with an ADD."""
    builder, first, second = Builder(), Builder(), Builder()
    condition, x = builder.input((1,), T.TENSOR_BOOL8), builder.input()
    a, b = first.input(), second.input()
    if type is OperationType.IF:
        one = builder.graph(first, [a], [first.binary("ADD", a, a)])
        other = builder.graph(second, [b], [second.binary("MUL", second.binary("MUL", b, b), b)])
        inputs = [condition, one, other, x]
    else:
        test = first.temporary((1,), T.TENSOR_BOOL8)
        first.operation(OperationType.LESS, [a, a], [test])
        one = builder.graph(first, [a], [test])
        other = builder.graph(second, [b], [second.binary("ADD", b, b)])
        inputs = [one, other, x]
    result = builder.temporary()
    builder.operation(type, inputs, [result])
    return builder.model([condition, x], [result])


@pytest.mark.parametrize(
    ("type", "own", "chosen"),
    [
        # The mean of both branches: 0.5 + (1 + 2) / 2 of the one, 1 + (0.6 + 1.2) / 2 of the other.
        (OperationType.IF, 0.5, "other"),
        (OperationType.IF, 0.1, "one"),
        # All of a loop: 0.5 + 1 + 1, and 1 + 0.6 + 0.6.
        (OperationType.WHILE, 0.5, "other"),
        (OperationType.WHILE, 0.1, "one"),
    ],
)
def test_control_flow_costs_what_is_in_it(type, own, chosen):
    one, other = PartialDevice("one"), PartialDevice("other", figures=(0.6, 0.6))
    for device, figure in ((one, own), (other, 1.0)):
        info = PerformanceInfo(figure, figure)
        capabilities = device.getCapabilities()._replace(
            if_performance=info, while_performance=info
        )
        device.getCapabilities = lambda capabilities=capabilities: capabilities
    assert names(partitioned(control_flow(type), [one, other], FAST)) == [(chosen, [0])]


def test_control_flow_goes_to_a_device_that_runs_all_of_it():
    fast = PartialDevice("minimal", "IF ADD")
    both = PartialDevice("all", "IF ADD MUL")
    assert names(partitioned(control_flow(OperationType.IF), [fast, both], FAST)) == [("all", [0])]


# Answers that devices give


@pytest.mark.parametrize("answer", [[], [True, True], NnapiError(ResultCode.OP_FAILED, "gone")])
def test_a_device_that_does_not_answer_runs_nothing(answer):
    def answers(model):
        if isinstance(answer, NnapiError):
            raise answer
        return answer

    broken, sound = PartialDevice("minimal"), PartialDevice("all")
    broken.getSupportedOperations = answers
    assert names(partitioned(chain("ADD"), [broken, sound], FAST)) == [("all", [0])]


def test_a_device_without_figures_is_the_last_choice():
    def fails():
        raise NnapiError(ResultCode.UNAVAILABLE_DEVICE, "gone")

    broken, sound = PartialDevice("minimal"), PartialDevice("all")
    broken.getCapabilities = fails
    assert names(partitioned(chain("ADD"), [broken, sound], FAST)) == [("all", [0])]


def test_nobody_is_asked_whose_answer_does_not_matter():
    def fails(model):
        raise AssertionError

    slow = PartialDevice("float_slow")
    slow.getSupportedOperations = fails
    partitioned(chain("ADD"), [PartialDevice("minimal"), slow], FAST)


def test_an_operation_that_nobody_runs():
    devices = [PartialDevice("one", "ADD"), PartialDevice("other", "SUB")]
    with pytest.raises(NnapiError, match=r"MUL \(operation 1\) .* no device of: one, other") as e:
        partitioned(chain("ADD MUL"), devices, FAST)
    assert e.value.code is ResultCode.BAD_DATA
    with pytest.raises(NnapiError, match="no device, for there is none"):
        partitioned(chain("ADD"), [], FAST)


# One step


def test_the_whole_model_on_one_device_is_the_device_s_own():
    device = PartialDevice("all")
    made = object()
    device.prepare = lambda *arguments: made
    model = chain("ADD MUL ADD")
    for devices in ([device], [PartialDevice("quant", "ADD"), device]):
        compilation = compiled(model, devices)
        assert compilation.prepared is made and compilation.device is device
        assert device.prepared.pop() is model


def test_a_device_that_is_as_good_as_all_others_takes_everything():
    one, every = PartialDevice("one", "ADD"), PartialDevice("every")
    model = chain("ADD MUL ADD")
    assert names(partitioned(model, [one, every], FAST)) == [("every", [0, 1, 2])]
    worse = PartialDevice("worse", figures=(1.01, 1.01))
    assert len(partitioned(model, [one, worse], FAST)) == 3


def test_whole_takes_the_best_of_those_that_run_everything():
    some = PartialDevice("minimal", "ADD")
    slow, fast = PartialDevice("float_slow"), PartialDevice("float_fast")
    model = chain("ADD MUL")
    assert names(whole(model, [some, slow, fast], FAST)) == [("float_fast", [0, 1])]
    assert names(whole(model, [some, slow, fast], LOW_POWER)) == [("float_slow", [0, 1])]
    with pytest.raises(NnapiError, match="no single device of minimal, quant") as caught:
        whole(model, [some, PartialDevice("quant", "MUL")], FAST)
    assert caught.value.code is ResultCode.OP_FAILED


# Steps


def test_operations_in_a_row_are_one_step():
    adds, muls = PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")
    steps = partitioned(chain("ADD ADD MUL MUL MUL ADD"), [adds, muls], FAST)
    assert names(steps) == [("adds", [0, 1]), ("muls", [2, 3, 4]), ("adds", [5])]


def test_branches_share_steps():
    """Two chains, ADD MUL ADD and MUL ADD: a queue per device, and the right one first."""
    builder = Builder()
    x = builder.input()
    one = builder.binary("ADD", builder.binary("MUL", builder.binary("ADD", x, x), x), x)
    other = builder.binary("ADD", builder.binary("MUL", x, x), x)
    model = builder.model([x], [one, other])
    devices = PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")
    for listed in (devices, devices[::-1]):
        assert names(partitioned(model, listed, FAST)) == [
            ("adds", [0]),
            ("muls", [1, 3]),
            ("adds", [2, 4]),
        ]


def random_dag(rng, size, devices):
    builder = Builder()
    values = [builder.input()]
    for _ in range(size):
        values.append(builder.binary("ADD", rng.choice(values[-4:]), rng.choice(values)))
    chosen = [rng.randrange(devices) for _ in range(size)]
    return builder.model(values[:1], values[1:]), chosen


def fewest_steps(model, chosen):
    """By trying everything: sets of finished operations that a number of steps can reach."""
    operations = model.main.operations
    writer = {index: number for number, item in enumerate(operations) for index in item.outputs}
    needs = [{writer[index] for index in item.inputs if index in writer} for item in operations]
    reached, count = {frozenset()}, 0
    while True:
        following = set()
        for done in reached:
            if len(done) == len(operations):
                return count
            for device in set(chosen):
                after = set(done)
                for number in range(len(operations)):
                    if chosen[number] == device and needs[number] <= after:
                        after.add(number)
                following.add(frozenset(after))
        reached, count = following, count + 1


@pytest.mark.parametrize("devices", [2, 3])
def test_there_are_no_more_steps_than_needed(devices):
    rng = random.Random(devices)
    most, least = 0, 0
    for _ in range(150):
        model, chosen = random_dag(rng, rng.randrange(1, 16), devices)
        steps = in_steps(model, chosen)
        done = set(model.main.input_indexes)
        for device, positions in steps:
            for position in positions:
                item = model.main.operations[position]
                assert chosen[position] == device
                assert done.issuperset(i for i in item.inputs if i in computed_or_input(model))
                done.update(item.outputs)
        every = [position for _, positions in steps for position in positions]
        assert sorted(every) == list(range(len(chosen)))
        assert all(a[0] != b[0] for a, b in itertools.pairwise(steps))
        most, least = most + len(steps), least + fewest_steps(model, chosen)
    assert most == least if devices == 2 else most <= 1.02 * least


def computed_or_input(model):
    main = model.main
    return {*main.input_indexes, *(i for item in main.operations for i in item.outputs)}


# Unknown dimensions


def unknown_between():
    builder = Builder()
    x = builder.input()
    middle = builder.binary("ADD", x, x, builder.temporary((0,)))
    return builder.model([x], [builder.binary("MUL", middle, x)])


def old(device):
    device.feature_level = FeatureLevel.LEVEL_2
    return device


def test_an_old_device_hands_nothing_on_whose_dimensions_it_cannot_tell():
    adds, rest = old(PartialDevice("minimal", "ADD")), PartialDevice("all")
    assert names(partitioned(unknown_between(), [adds, rest], FAST)) == [("all", [0, 1])]
    assert len(partitioned(chain("ADD MUL"), [adds, rest], FAST)) == 2
    muls = PartialDevice("muls", "MUL")
    with pytest.raises(NnapiError, match=r"ADD \(operation 0\): an output has unknown") as caught:
        partitioned(unknown_between(), [adds, muls], FAST)
    assert caught.value.code is ResultCode.OP_FAILED


def test_what_an_old_device_keeps_to_itself_may_be_unknown():
    every = old(PartialDevice("every"))
    assert len(partitioned(unknown_between(), [every], FAST)) == 1


def test_a_compilation_for_several_devices_has_a_plan():
    compilation = compiled(
        chain("ADD MUL ADD"), [PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")]
    )
    assert isinstance(compilation.prepared, ExecutionPlan)
    assert compilation.device is None
    assert [d.name for d in compilation.devices_of("input", 0)] == ["adds"]
    assert [d.name for d in compilation.devices_of("output", 0)] == ["adds"]
