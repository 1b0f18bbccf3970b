"""Divisions of models by estimated times: what is taken, what it may cost, and that it is right."""

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference as Preference
from nnapi_shim.hal.enums import FeatureLevel, OperandType, OperationType
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime import division
from nnapi_shim.runtime.costs import interpolated
from nnapi_shim.runtime.division import NOISE, divided, estimated
from nnapi_shim.runtime.partitioning import Answers, partitioned, whole
from nnapi_shim.runtime.work_kinds import CONVOLUTION, ELEMENTWISE, FUNCTION, KINDS, amount_of
from nnapi_shim.tools.probes import PROBES, probe_model, types_of
from tests.random_models.closeness import same_bits
from tests.random_models.comparison import everything_computed, sizes
from tests.random_models.generator import CONTROL_FLOW, OPERATIONS, Sizes, random_model
from tests.random_models.graph import assemble
from tests.random_models.running import run
from tests.runtime.calibrations import calibration, keep, measured
from tests.runtime.hal_models import Bound, Builder, chain, f32
from tests.runtime.partial_devices import PartialDevice, compiled

FAST, LOW_POWER = Preference.FAST_SINGLE_ANSWER, Preference.LOW_POWER


@pytest.fixture(autouse=True)
def no_calibration():
    """Each test keeps its own; none is there afterwards."""
    file.remove()
    yield
    file.remove()


def names(steps):
    return [(step.device.name, list(step.operations)) for step in steps]


def functions(count, dimensions=(1000,)):
    """ADD, LOGISTIC, ADD, LOGISTIC and so on: elementwise, function."""
    builder = Builder()
    first = x = builder.input(dimensions)
    for number in range(count):
        if number % 2:
            y = builder.temporary(dimensions)
            builder.operation(OperationType.LOGISTIC, [x], [y])
            x = y
        else:
            x = builder.binary("ADD", x, x)
    return builder.model([first], [x])


def specialists(**others):
    """Devices of which one is good at elementwise work, the other at functions."""
    keep(
        measured("adder", 10, {FUNCTION: 1}, **others),
        measured("function", 10, {ELEMENTWISE: 1}, **others),
    )
    return [PartialDevice("adder"), PartialDevice("function")]


# What is taken


def test_a_gain_is_taken_if_the_copies_do_not_eat_it():
    """An operation takes 0.8 us where it is fast, 8 us elsewhere; its operands have 4000 bytes."""
    devices = specialists(rate=1e-10)
    assert names(partitioned(functions(3), devices, FAST)) == [
        ("adder", [0]),
        ("function", [1]),
        ("adder", [2]),
    ]
    devices = specialists(rate=1e-9)
    assert names(partitioned(functions(3), devices, FAST)) == [("adder", [0, 1, 2])]
    devices = specialists(rate=1e-10, call=5e-6)
    assert names(partitioned(functions(3), devices, FAST)) == [("adder", [0, 1, 2])]


def test_a_change_may_cost_more_than_it_saves():
    """Of threads of one device that wait where the other computes."""
    devices = specialists(rate=0)
    assert len(partitioned(functions(4), devices, FAST)) == 4
    made = file.read()
    for seconds, steps in ((1e-6, 4), (1e-4, 1)):
        change = file.Change("function", "adder", seconds)
        file.write(made._replace(changes=(change,)))
        assert len(partitioned(functions(4), devices, FAST)) == steps
        time = Answers(functions(4), devices, FAST).measured().of([0, 1, 0, 1]).estimate
        assert time.calls == pytest.approx(4 * (1e-6 + seconds))  # the last is that to the next run


def test_a_long_run_is_worth_a_change_that_a_short_one_is_not():
    builder = Builder()
    first = x = builder.input((1000,))
    for name in [*3 * ["ADD"], "LOGISTIC", *2 * ["ADD"], *4 * ["LOGISTIC"]]:
        if name == "ADD":
            x = builder.binary("ADD", x, x)
        else:
            y = builder.temporary((1000,))
            builder.operation(OperationType.LOGISTIC, [x], [y])
            x = y
    model = builder.model([first], [x])
    assert names(partitioned(model, specialists(rate=2e-9), FAST)) == [
        ("adder", [0, 1, 2, 3, 4, 5]),
        ("function", [6, 7, 8, 9]),
    ]


def test_a_device_alone_is_the_one_with_the_least_time_and_not_the_best_figure():
    keep(measured("one", 1), measured("other", 2))
    one, other = PartialDevice("one", figures=(0.5, 0.5)), PartialDevice("other")
    for find in (partitioned, whole):
        assert names(find(chain("ADD MUL", (1000,)), [one, other], FAST)) == [("other", [0, 1])]


def test_equal_times_keep_the_division_by_figures():
    """Estimates are rough: a difference within NOISE changes nothing."""
    keep(measured("one", 1), measured("other", 1 + NOISE / 2))
    one, other = PartialDevice("one", figures=(0.5, 0.5)), PartialDevice("other")
    model = chain("ADD MUL", (100_000,))
    assert names(partitioned(model, [one, other], FAST)) == [("one", [0, 1])]
    keep(measured("one", 1), measured("other", 1 + 3 * NOISE))
    assert names(partitioned(model, [one, other], FAST)) == [("other", [0, 1])]


def test_the_call_and_the_copies_decide_about_small_models():
    """A fast device that is far away gets the large model alone."""
    keep(measured("near", 1), measured("far", 100, call=1e-3, rate=1e-10))
    devices = [PartialDevice("near"), PartialDevice("far")]
    for size, chosen in ((1000, "near"), (1_000_000, "far")):
        assert names(partitioned(chain("ADD MUL", (size,)), devices, FAST)) == [(chosen, [0, 1])]


def test_a_device_that_was_not_measured_counts_by_its_figure():
    """It takes figure times the time of nnapi-cpu, which is 1 here."""
    keep(measured("known", 2))
    for figure, chosen in ((0.4, "silent"), (0.9, "known")):
        devices = [PartialDevice("known"), PartialDevice("silent", figures=(figure, figure))]
        model = chain("ADD MUL", (100_000,))
        assert names(partitioned(model, devices, FAST)) == [(chosen, [0, 1])]


def test_only_devices_that_run_an_operation_get_it():
    keep(measured("fast", 100, rate=0), measured("slow", 1, rate=0))
    devices = [PartialDevice("fast", "ADD"), PartialDevice("slow")]
    assert names(partitioned(chain("ADD MUL ADD", (100_000,)), devices, FAST)) == [
        ("fast", [0]),
        ("slow", [1]),
        ("fast", [2]),
    ]
    with pytest.raises(NnapiError, match="supported by no device of: fast"):
        partitioned(chain("MUL"), [devices[0], PartialDevice("other", "ADD")], FAST)


def test_an_old_device_hands_nothing_on_whose_dimensions_it_cannot_tell():
    keep(measured("old", 100, rate=0, call=0), measured("rest", 1, rate=0))
    old = PartialDevice("old", "ADD")
    old.feature_level = FeatureLevel.LEVEL_2
    builder = Builder()
    x = builder.input((1000,))
    middle = builder.binary("ADD", x, x, builder.temporary((0,)))
    model = builder.model([x], [builder.binary("MUL", middle, x, builder.temporary((1000,)))])
    assert names(partitioned(model, [old, PartialDevice("rest")], FAST)) == [("rest", [0, 1])]


@pytest.mark.parametrize(
    ("type", "bytes"),
    [
        # The mean of both branches, of which one runs: 16, and 16 + 24.
        (OperationType.IF, 28),
        # The condition, 8 + 1, and the body, 16.
        (OperationType.WHILE, 25),
    ],
)
def test_control_flow_takes_what_is_in_it(type, bytes):
    from tests.runtime.test_partitioning import control_flow

    keep(measured("one", 1), measured("other", 2))
    devices = [PartialDevice("one", figures=(0.5, 0.5)), PartialDevice("other")]
    answers = Answers(control_flow(type), devices, FAST)
    (first,), (second,) = answers.measured().costs.operations
    assert (first, second) == pytest.approx((1e-9 * bytes, 1e-9 * bytes / 2))


# When figures decide


def test_figures_decide_about_power_and_where_the_setting_is_off(monkeypatch):
    keep(measured("one", 1), measured("other", 9))
    devices = [PartialDevice("one", figures=(0.5, 0.5)), PartialDevice("other")]
    model = chain("ADD MUL", (100_000,))
    assert names(partitioned(model, devices, LOW_POWER)) == [("one", [0, 1])]
    assert names(partitioned(model, devices, Preference.SUSTAINED_SPEED)) == [("other", [0, 1])]
    for name, value in (("CALIBRATION", "off"), ("PROFILE", "android-15")):
        with monkeypatch.context() as patch:
            patch.setenv(f"NNAPI_SHIM_{name}", value)
            for find in (partitioned, whole):
                assert names(find(model, devices, FAST)) == [("one", [0, 1])]


def test_figures_decide_if_no_device_of_others_was_measured():
    keep(measured("else", 9))
    devices = [PartialDevice("one", figures=(0.5, 0.5)), PartialDevice("other")]
    assert Answers(chain("ADD"), devices, FAST).measured() is None
    keep(measured("one", 9))
    assert Answers(chain("ADD"), devices, FAST).measured() is not None
    assert Answers(chain("ADD"), devices[:1], FAST).measured() is None


ALONE = """
import sys
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
assert model.compile().run([1, 2]).tolist() == [2, 4]
names = ("calibration", "costs", "division")
print([name for name in names if f"nnapi_shim.runtime.{name}" in sys.modules])
"""


def test_without_devices_of_others_nothing_is_read_or_imported():
    keep(measured("one", 1))
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# The estimate


def test_the_estimate_of_a_division_is_the_sum_of_its_parts():
    keep(
        measured("one", 1, call=1e-3, rate=1e-6),
        measured("other", 4, call=2e-3, rate=1e-7),
        step=1e-2,
    )
    builder = Builder()
    x = builder.input((1000,))
    y = builder.binary("ADD", x, x)
    z = builder.binary("MUL", y, x)
    model = builder.model([x], [builder.binary("ADD", z, y)])
    devices = [PartialDevice("one"), PartialDevice("other")]
    of = Answers(model, devices, FAST).measured().of
    time = of([0, 1, 0]).estimate
    # ADD reads one operand twice, which is one tensor; the others are three.
    assert time.computing == pytest.approx(8e-6 + 12e-6 / 4 + 12e-6)
    assert time.calls == pytest.approx(2 * 1e-3 + 2e-3 + 3 * 1e-2)
    # x to both, y from one to the other, z back, and the output. y is written once, and read in the
    # step that wrote it and in the third, which is another.
    assert time.handing_over == pytest.approx(4000 * ((1 + 1 + 1 + 1 + 1) * 1e-6 + 3 * 1e-7))
    time = of([1, 1, 1]).estimate
    assert time.calls == 2e-3
    assert time.handing_over == pytest.approx(4000 * 2 * 1e-7)


@pytest.mark.parametrize(
    ("small", "large", "amount", "expected"),
    [
        ((10, 2.0), (110, 12.0), 60, 7.0),
        ((10, 2.0), (110, 12.0), 0, 1.0),
        ((10, 2.0), (110, 12.0), 1110, 112.0),
        ((10, 2.0), (110, 2.0), 1000, 2.0),
        ((10, 3.0), (110, 2.0), 1000, 3.0),
        ((10, 0.0), (110, 10.0), 0, 0.0),
        ((10, 0.0), (110, 10.0), 10, 1.0),
    ],
)
def test_times_lie_on_a_line_that_does_not_fall(small, large, amount, expected):
    assert interpolated((file.Point(*small), file.Point(*large)), amount) == pytest.approx(expected)


def test_the_work_of_every_probe_is_of_its_kind():
    """So what is measured is what is looked up."""
    for kind in KINDS:
        for type in types_of(kind):
            for dimensions in (PROBES[kind].small, PROBES[kind].large):
                model = probe_model(kind, type, dimensions, 2).finished
                works = [amount_of(model, model.main, item) for item in model.main.operations]
                assert len(works) == 2
                assert {(work.kind, work.type) for work in works} == {(kind, type)}
                assert all(work.amount > 0 for work in works)


def test_what_only_a_run_tells_counts_as_nothing():
    builder = Builder()
    x = builder.input((0, 3))
    model = builder.model([x], [builder.binary("ADD", x, x, builder.temporary((0, 3)))])
    assert amount_of(model, model.main, model.main.operations[0]) == (ELEMENTWISE, "float32", 0)


def test_dimensions_that_are_not_declared_follow_from_the_inputs():
    """Most programs leave those of temporaries open. An unknown size of an input counts as 1."""
    keep(measured("one", 2))
    devices = [PartialDevice("one"), PartialDevice("other")]
    for declared, size in (((1000,), 1000), ((0,), 1), ((), 0)):
        builder = Builder()
        x = builder.input(declared)
        y = builder.binary("ADD", x, x, builder.temporary(()))
        z = builder.binary("MUL", y, x, builder.temporary(()))
        model = builder.model([x], [z])
        costs = Answers(model, devices, FAST).measured().costs
        assert costs.operations[0] == pytest.approx([4e-9 * size, 6e-9 * size])
        assert costs.rates[0][y] == pytest.approx(4e-9 * size)
        assert model.main.operands[y].dimensions == ()


# The search


def random_case(seed, devices=3, most=7, is_chain=False):
    """A graph of ADD and LOGISTIC, costs by random calibrations, and who runs what."""
    rng = random.Random(seed)
    builder = Builder()
    values = [builder.input((rng.choice((10, 300, 4000)),))]
    count = rng.randrange(2, most)
    for _ in range(count):
        one, other = (values[-1] if is_chain else rng.choice(values[-3:]) for _ in range(2))
        if rng.random() < 0.5:
            values.append(builder.binary("ADD", one, other))
        else:
            result = builder.temporary(builder.operands[one].dimensions)
            builder.operation(OperationType.LOGISTIC, [one], [result])
            values.append(result)
    model = builder.model(values[:1], values[-1:])
    made = [
        measured(
            f"device-{number}",
            10 ** rng.uniform(-1, 1),
            {FUNCTION: 10 ** rng.uniform(-1, 1)},
            call=10 ** rng.uniform(-7, -5),
            rate=10 ** rng.uniform(-11, -9),
        )
        for number in range(devices)
    ]
    changes = [
        file.Change(one.name, other.name, 10 ** rng.uniform(-9, -6))
        for one, other in itertools.combinations(made, 2)
    ]
    keep(*made, step=10 ** rng.uniform(-8, -5), changes=tuple(changes))
    listed = [PartialDevice(device.name) for device in made]
    runs = [[rng.random() < 0.8 for _ in range(count)] for _ in listed]
    runs[rng.randrange(devices)] = [True] * count
    costs = Answers(model, listed, FAST).measured().costs
    return model, costs, runs


def every_division(model, costs, runs):
    able = [[device for device, each in enumerate(runs) if each[at]] for at in range(len(runs[0]))]
    for chosen in itertools.product(*able):
        yield estimated(model, costs, list(chosen))


def test_no_division_of_a_chain_is_better():
    """Dynamic programming finds the best one, found here by trying all."""
    several = 0
    for seed in range(30):
        model, costs, runs = random_case(seed, is_chain=True)
        best = min(every_division(model, costs, runs), key=lambda each: each.estimate.total)
        by_search = estimated(model, costs, division._cheapest(model, costs, runs))
        if len(best.steps) > 1:
            assert by_search.estimate.total == pytest.approx(best.estimate.total)
        several += len(best.steps) > 1
    assert several > 5


def test_divisions_are_nearly_the_best():
    worse = several = 0
    for seed in range(30):
        model, costs, runs = random_case(seed)
        all_on = next(device for device, each in enumerate(runs) if all(each))
        found = divided(model, costs, runs, [all_on] * len(runs[0]))
        assert all(runs[device][at] for at, device in enumerate(found.chosen))
        divisions = list(every_division(model, costs, runs))
        best = min(each.estimate.total for each in divisions)
        alone = min(each.estimate.total for each in divisions if len(each.steps) == 1)
        assert found.estimate.total <= alone * (1 + NOISE)
        worse += found.estimate.total > best * (1 + 2 * NOISE)
        several += len(found.steps) > 1
    assert worse <= 1 and several > 5


def test_moves_of_steps_improve_a_division():
    model, costs, _ = random_case(1)
    count = len(model.main.operations)
    runs = [[True] * count for _ in costs.calls]
    worst = max(every_division(model, costs, runs), key=lambda each: each.estimate.total)
    moved = division._moved(model, costs, runs, worst)
    assert moved.estimate.total < worst.estimate.total
    none = [[device == chosen for chosen in worst.chosen] for device in range(len(runs))]
    assert division._moved(model, costs, none, worst) == worst


# Results


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_any_division_of_random_models_gives_equal_results(count, monkeypatch):
    """Operations go to nnapi-cpu and nnapi-reference at random; each is compared with its formula.

    Which outputs the model has changes nothing, so that operands which only pass between steps are
    compared, too.
    """
    several = handed = 0
    allowed = tuple(type for type in OPERATIONS if type not in CONTROL_FLOW)
    for seed in range(count):
        graph = random_model(seed, Sizes(8, 6), allowed)
        if any(node.graphs for node in graph.nodes):
            continue
        device = Divided(seed)
        monkeypatch.setattr(division, "divided", device.divided)
        contents = everything_computed(graph, device)
        ends = graph.ends()
        arrays = run(device, assemble(graph, ends), sizes(graph, ends))
        for index, array in zip(ends, arrays, strict=True):
            same_bits(array, contents[index], f"operand {index}")
        several += device.most_steps > 1
        handed += device.intermediates > 0
    assert several > count // 2 and handed > count // 3


class Divided:
    """nnapi-cpu, by another name, and nnapi-reference as one device; who runs an operation depends
    on its number.
    """

    def __init__(self, seed):
        keep(measured("other", 1))
        other = PartialDevice("other")
        other.prepare = CpuDevice().prepareModel
        self.devices = [other, ReferenceDevice()]
        self.seed = seed
        self.most_steps = self.intermediates = 0

    def divided(self, model, costs, runs, by_figures):
        rng = random.Random(self.seed)
        numbers = max(item.number for item in model.main.operations) + 1
        drawn = [rng.randrange(2) for _ in range(numbers)]
        return estimated(model, costs, [drawn[item.number] for item in model.main.operations])

    def prepareModel(self, model, *arguments):
        compilation = compiled(model, self.devices)
        self.most_steps = max(self.most_steps, len(compilation.devices))
        if len(compilation.devices) > 1:
            self.intermediates = max(self.intermediates, len(compilation.prepared.intermediates))
        return compilation.prepared


def test_a_program_gets_the_division():
    devices = specialists(rate=1e-10)
    model = functions(3, (2,))
    keep(measured("adder", 1e-3, {FUNCTION: 1e-5}), measured("function", 1e-3, {ELEMENTWISE: 1e-5}))
    compilation = compiled(model, devices)
    assert [device.name for device in compilation.devices] == ["adder", "function", "adder"]
    (got,) = Bound(compilation.prepared, model, [f32(1, -1)]).outputs()
    np.testing.assert_allclose(got, 2 / (1 + np.exp(-2 * f32(1, -1))), rtol=1e-6)


def test_types_have_times_of_their_own():
    """A relaxed model takes the times of float32 where processors have none for it."""
    keep(
        measured("one", 1, types=("float32",)),
        measured("other", 5, types=("relaxed float32",)),
    )
    devices = [PartialDevice("one"), PartialDevice("other", figures=(9.0, 9.0))]
    model = chain("ADD", (1000,))
    for relaxed, (first, second) in ((False, (8e-6, 72e-6)), (True, (8e-6, 8e-6 / 5))):
        costs = (
            Answers(model._replace(relax_computation_float32_to_float16=relaxed), devices, FAST)
            .measured()
            .costs
        )
        assert [times[0] for times in costs.operations] == pytest.approx([first, second])


def test_a_quantized_operation_counts_as_such():
    assert amount_of(*_quantized()).type == "quant8"
    assert CONVOLUTION in KINDS
    assert calibration().device(file.UNIT) is not None


def _quantized():
    builder = Builder()
    x = builder.input((4,), OperandType.TENSOR_QUANT8_ASYMM, scale=1.0)
    y = builder.temporary((4,), OperandType.TENSOR_QUANT8_ASYMM, scale=1.0)
    model = builder.model([x], [builder.binary("ADD", x, x, y)])
    return model, model.main, model.main.operations[0]
