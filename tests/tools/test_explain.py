"""explain: who runs what, and why not the others."""

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim.drivers.versioned.adapter import VersionedDevice
from nnapi_shim.hal import v1_0
from nnapi_shim.hal.enums import DeviceType, FeatureLevel
from nnapi_shim.tools.explain import explain
from tests.runtime.partial_devices import PartialDevice
from tests.tools.models import conv_log_softmax, of_unknown_size, quantized


class Driver(v1_0.IDevice):
    """A driver for HAL 1.0 that runs all that it is asked for but CONV_2D."""

    def getCapabilities(self):
        info = v1_0.PerformanceInfo(0.5, 0.5)
        return v1_0.ErrorStatus.NONE, v1_0.Capabilities(info, info)

    def getSupportedOperations(self, model):
        return v1_0.ErrorStatus.NONE, [
            item.type != v1_0.OperationType.CONV_2D for item in model.operations
        ]


def reasons(result, position, device):
    """Rule and text of what is said of an operation and a device."""
    (verdict,) = [v for v in result.operations[position].verdicts if v.device == device]
    return [(why.rule, why.level) for why in verdict.reasons]


def test_figures_decide() -> None:
    result = explain(conv_log_softmax())
    assert [item.name for item in result.operations] == ["CONV_2D", "LOG", "SOFTMAX"]
    assert {item.device for item in result.operations} == {"nnapi-cpu"}
    assert [item.level for item in result.operations] == [1, 3, 1]
    assert "1, nnapi-reference 10" in result.operations[0].why
    assert reasons(result, 0, "nnapi-reference") == [("figure", None)]
    assert len(result.steps) == 1
    assert (result.hand_overs, result.handed_over_bytes, result.problem) == ((), 0, "")


def test_hal_1_0(listed) -> None:
    """What its HAL does not have is told apart from what the driver does not want."""
    listed(VersionedDevice(Driver(), "1.0", "old", "1", DeviceType.OTHER))
    model = conv_log_softmax()
    result = explain(model)
    assert [item.device for item in result.operations] == ["nnapi-cpu", "nnapi-cpu", "old"]
    assert reasons(result, 0, "old") == [("driver", None)]
    assert reasons(result, 1, "old") == [("operation", 3)]
    assert reasons(result, 2, "nnapi-cpu") == [("figure", None)]
    (hand_over,) = result.hand_overs
    assert (hand_over.from_device, hand_over.to_device) == ("nnapi-cpu", "old")
    assert hand_over.operand.bytes == result.handed_over_bytes == 8 * 8 * 4 * 4
    assert [step.bytes_in for step in result.steps] == [0, 1024]


def test_it_is_what_a_compilation_does(listed) -> None:
    listed(PartialDevice("fast", "LOG", (0.5, 2.0)))
    model = conv_log_softmax()
    for preference, steps in (("FAST_SINGLE_ANSWER", 3), ("LOW_POWER", 1)):
        result = explain(model, preference=preference)
        assert len(result.steps) == steps
        compilation = Compilation(model, preference=preference)
        plan = compilation.runtime._plan
        devices = [compilation.device.name] if plan is None else [s.device.name for s in plan.steps]
        assert [step.device for step in result.steps] == devices
    assert result.figure == "power_usage"


def test_feature_level_of_a_device(listed) -> None:
    device = PartialDevice("older", "CONV_2D SOFTMAX", (0.1, 0.1))
    device.feature_level = FeatureLevel.LEVEL_2
    listed(device)
    result = explain(conv_log_softmax())
    assert reasons(result, 1, "older") == [("operation", 3)]
    (why,) = result.operations[1].verdicts[0].reasons
    assert why.text == "LOG itself: needs level 3, the device has 2"


def test_devices_without_dynamic_outputs(listed) -> None:
    """A device that would have to hand on what it does not know the size of."""
    device = PartialDevice("older", "RELU", (0.1, 0.1))
    device.feature_level = FeatureLevel.LEVEL_1
    listed(device)
    result = explain(of_unknown_size())
    assert {item.device for item in result.operations} == {"nnapi-cpu"}
    assert reasons(result, 0, "older") == [("dynamic", 3)]


def test_equal_figures(listed) -> None:
    listed(PartialDevice("one", "LOG", (1.0, 1.0)), PartialDevice("two", None, (1.0, 1.0)))
    result = explain(conv_log_softmax())
    assert {item.device for item in result.operations} == {"two"}
    assert reasons(result, 1, "two") == [("whole", None)]
    assert reasons(result, 1, "one") == [("whole", None)]
    assert reasons(result, 0, "nnapi-cpu") == [("order", None)]


def test_a_device_that_does_not_answer(listed) -> None:
    device = PartialDevice("broken")
    device.getSupportedOperations = lambda model: [True]
    listed(device)
    result = explain(conv_log_softmax())
    assert reasons(result, 0, "broken") == [("answer", None)]


def test_nobody_runs_it(listed) -> None:
    device = PartialDevice("only", "CONV_2D")
    listed(device)
    result = explain(conv_log_softmax(), "only")
    assert result.problem.startswith("LOG (operation 1) is supported by no device")
    assert [item.device for item in result.operations] == ["", "", ""]
    assert reasons(result, 1, "only") == [("driver", None)]
    assert reasons(result, 0, "only") == [("problem", None)]
    assert result.left_out["nnapi-cpu"] == "not among the devices that were named"


def test_fallback(listed, monkeypatch) -> None:
    listed(PartialDevice("fast", "LOG", (0.5, 0.5)))
    model = conv_log_softmax()
    assert explain(model).fallback == "nnapi-reference"
    assert explain(model, ["fast", "nnapi-cpu"]).fallback == ""
    assert explain(model, "nnapi-cpu").fallback == ""
    monkeypatch.setenv("DEBUG_NN_PARTITION", "2")
    assert explain(model).fallback == ""


def test_partitioning_off(listed, monkeypatch) -> None:
    monkeypatch.setenv("DEBUG_NN_PARTITION", "0")
    listed(PartialDevice("fast", "LOG", (0.5, 0.5)))
    result = explain(conv_log_softmax())
    assert {item.device for item in result.operations} == {"nnapi-cpu"}
    assert "DEBUG_NN_PARTITION is 0" in result.decision
    assert reasons(result, 1, "fast") == [("whole", None)]


def test_devices_that_are_left_out(monkeypatch) -> None:
    from nnapi_shim.runtime import device_manager

    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", "nnapi-ref.*")
    result = explain(quantized())
    assert result.devices == ("nnapi-reference",)
    assert result.left_out == {"nnapi-cpu": "DEBUG_NN_ENABLED_DEVICES is 'nnapi-ref.*'"}
    assert "only device" in result.decision


def test_control_flow() -> None:
    with Model() as branch:
        branch.outputs(branch.operation("LOG", [branch.input("TENSOR_FLOAT32", [2])]))
    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [2])
        model.outputs(model.operation("IF", [condition, branch, branch, x]))
    (item,) = explain(model).operations
    assert (item.name, item.device, item.level) == ("IF", "nnapi-cpu", 4)


def test_names_of_the_report_stay() -> None:
    result = explain(quantized()).to_json()
    assert list(result) == [
        "model",
        "preference",
        "figure",
        "devices",
        "left_out",
        "decision",
        "problem",
        "fallback",
        "operations",
        "steps",
        "hand_overs",
        "handed_over_bytes",
        "passes",
        "notes",
        "divisions",
    ]


def test_unknown_device() -> None:
    with pytest.raises(NnapiError, match="nnapi-cpu"):
        explain(quantized(), "nnapi-cp")


def test_inputs_that_say_what_leaving_them_out_says() -> None:
    """They make no operation newer: drivers of HAL 1.0 and 1.1 are shown it without them."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 2, 2, 1])
        w, b = np.ones((1, 1, 1, 1), np.float32), np.zeros(1, np.float32)
        y = model.operation("CONV_2D", [x, w, b, 1, 1, 1, 0, False, 1, 1])
        model.outputs(model.operation("CONV_2D", [y, w, b, 1, 1, 1, 0, False, 2, 1]))
    result = explain(model)
    assert [item.level for item in result.operations] == [1, 3]
    assert [why.rule for why in result.operations[1].newer] == ["form"]
