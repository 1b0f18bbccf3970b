"""profile: times of operations and steps."""

import json
from statistics import median

import pytest

from nnapi_shim import Model
from nnapi_shim.tools.machine import Peaks
from nnapi_shim.tools.profile import profile
from tests.runtime.partial_devices import PartialDevice
from tests.tools.models import conv_log_softmax, of_unknown_size


def quick(model, devices=None, **options):
    return profile(model, devices, runs=3, warm_up=1, against_peaks=False, **options)


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_all_time_is_accounted_for(device) -> None:
    result = quick(conv_log_softmax(), device)
    assert [item.name for item in result.operations] == ["CONV_2D", "LOG", "SOFTMAX"]
    assert all(item.seconds > 0 and item.steps for item in result.operations)
    assert sum(item.share for item in result.operations) == pytest.approx(1)
    assert result.seen_seconds == pytest.approx(sum(item.seconds for item in result.operations))
    assert result.observed_seconds > 0
    assert result.flops == 2 * 256 * 27 + 256 + 256 + 5 * 256
    kernels = [step.kernel for item in result.operations for step in item.steps]
    assert all(kernels) is (device == "nnapi-cpu")
    assert sum(kind.share for kind in result.kinds) == pytest.approx(1)


def test_peaks(monkeypatch) -> None:
    from nnapi_shim.tools import profile as module

    monkeypatch.setattr(module, "peaks", lambda: Peaks(1e12, None, 1e6))
    result = profile(conv_log_softmax(), "nnapi-cpu", runs=1, warm_up=0)
    first = result.operations[0]
    assert first.flops_per_second == pytest.approx(first.flops / first.seconds)
    assert first.of_peak_flops == pytest.approx(first.flops_per_second / 1e12)
    assert first.of_peak_bytes == pytest.approx(first.bytes / first.seconds / 1e6)
    assert {item.bound for item in result.operations} == {"memory"}


def test_the_cost_of_timing_is_subtracted() -> None:
    """A step of one element takes little more than one without work."""
    with Model() as model:
        model.outputs(model.operation("NEG", [model.input("TENSOR_FLOAT32", [1])]))
    result = quick(model, "nnapi-cpu")
    steps = [step for run in result.runs_seen for step in run.steps]
    assert {step.overhead_ns for step in steps} == {round(result.timing_seconds * 1e9)} != {0}
    assert all(step.duration_ns < step.ended_ns - step.started_ns for step in steps)
    assert result.operations[0].seconds == pytest.approx(
        median(step.duration_ns for step in steps) / 1e9
    )
    assert quick(model, "nnapi-reference").timing_seconds == 0


def test_steps_of_other_devices_are_not_seen(listed) -> None:
    listed(PartialDevice("other", "LOG", (0.1, 0.1)))
    result = quick(conv_log_softmax())
    assert result.devices == ("nnapi-cpu", "other", "nnapi-cpu")
    assert [item.seconds is None for item in result.operations] == [False, True, False]


def test_unknown_sizes() -> None:
    result = quick(of_unknown_size())
    assert [item.flops for item in result.operations] == [1, 1]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_time_within_an_if_counts_once(device) -> None:
    with Model() as branch:
        branch.outputs(branch.operation("LOG", [branch.input("TENSOR_FLOAT32", [200])]))
    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [200])
        model.outputs(model.operation("IF", [condition, branch, branch, x]))
    result = quick(model, device)
    (item,) = result.operations
    assert any("LOG" in step.where for step in item.steps)
    assert 0 < item.seconds <= result.observed_seconds


def test_trace(tmp_path) -> None:
    result = quick(conv_log_softmax(), "nnapi-cpu")
    result.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    runs = [event for event in events if event["cat" if "cat" in event else "name"] == "run"]
    steps = [event for event in events if event.get("cat") == "nnapi-cpu"]
    assert [run["name"] for run in runs] == ["run 0", "run 1", "run 2"]
    assert len(steps) == sum(len(run.steps) for run in result.runs_seen)
    for run in runs:
        begin, end = run["ts"], run["ts"] + run["dur"]
        inside = [step for step in steps if begin <= step["ts"] <= end]
        assert sum(step["dur"] for step in inside) <= run["dur"]


def test_states_are_carried() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        state = model.input("TENSOR_FLOAT32", [2])
        total = model.operation("ADD", [x, state, 0])
        model.outputs(total, model.operation("RELU", [total]))
        model.carry(state, total)
    assert [item.name for item in quick(model).operations] == ["ADD", "RELU"]


def test_the_report_has_no_single_runs() -> None:
    assert "runs_seen" not in quick(conv_log_softmax()).to_json()
