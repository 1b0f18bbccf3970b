"""The sweep of operations with sizes that models have: what it draws, finds, and tells."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from tests.engines import sizes, sweep

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN", "CONCATENATION", "LSTM")
ALL_TYPES = (*sweep.TYPES, "f16", "q8", "qu8", "qs8", "qc8", "qsym8", "q16", "qs16", "qu16")


class Declining:
    """nnapi-cpu, with a reason for what it declines."""

    def __init__(self):
        self.device = CpuDevice()

    def getReasons(self, model):
        return ["" if can else "no" for can in self.device.getSupportedOperations(model)]

    def prepareModel(self, *arguments):
        return self.device.prepareModel(*arguments)


def test_a_case_is_always_the_same():
    case = sweep.Case("CONV_2D", 3)
    one, other = (sweep.drawn(case, sweep.TYPES) for _ in range(2))
    assert sweep.described(one) == sweep.described(other)
    assert all(
        a.is_omitted or np.array_equal(a.array, b.array)
        for a, b in zip(one.inputs, other.inputs, strict=True)
    )


def test_sizes_of_models():
    """Multiples of 64 and others, images and filters as networks have them."""
    drawn = [sweep.drawn(case, ("f32",)) for case in sweep.cases(["CONV_2D"], ("f32",), 60)]
    filters = [made.inputs[1].operand.dimensions for made in drawn]
    assert {64, 256} & {filter[0] for filter in filters}
    assert {3, 10, 100} & {filter[0] for filter in filters}
    assert max(max(filter[1:3]) for filter in filters) == sizes.MOST_TAPS
    assert max(max(made.inputs[0].operand.dimensions[1:]) for made in drawn) >= 56


@pytest.mark.parametrize("operation", sweep.OPERATIONS)
def test_nnapi_cpu_is_right(operation):
    """So each operation can be drawn and compared."""
    cases = sweep.cases([operation], ALL_TYPES, 10)
    outcomes = [sweep.outcome(case, ALL_TYPES, Declining()) for case in cases]
    assert not [each.why for each in outcomes if each.what in ("wrong", "declined")]
    assert sum(each.what == "right" for each in outcomes) > 5


def test_what_is_wrong(monkeypatch):
    def wrong(device, built, expected):
        return [np.full(shape, 1e6, np.float32) for shape in expected]

    monkeypatch.setattr(sweep, "run", wrong)
    (case,) = sweep.cases(["EXP"], ("f32",), 1)
    outcome = sweep.outcome(case, ("f32",), Declining())
    assert outcome.what == "wrong"
    assert "f32 input [" in outcome.why and "is 1000000.0, expected" in outcome.why


def test_a_device_that_crashes(monkeypatch):
    def crash(*arguments):
        os.abort()

    monkeypatch.setattr(sweep, "outcome", crash)
    (outcome,) = sweep.swept(sweep.cases(["EXP"], ("f32",), 1), ("f32",), None)
    assert outcome.what == "wrong" and "status 6" in outcome.why


@pytest.mark.parametrize(
    ("device", "package"),
    [("onnxruntime-cpu", "onnxruntime"), ("openvino-cpu", "openvino")],
)
def test_a_sample(device, package):
    """`make check-engine-sweeps` computes more, on any device. It forks, which a process must not
    whose engines have threads.
    """
    pytest.importorskip(package, reason=f"{package} is not installed")
    command = ["-m", "tests.engines.sweep", device, "--cases", "3", "--operations", *OPERATIONS]
    told = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT)
    assert not told.returncode, told.stdout + told.stderr
    assert f"{device} CONV_2D: 3 right, 0 declined" in told.stdout


def test_equal_numbers_have_no_order():
    """NNAPI leaves open which of them TOPK_V2 names first, so there are none."""
    for case in sweep.cases(["TOPK_V2"], ("f32",), 5):
        array = sweep.drawn(case, ("f32",)).inputs[0].array
        assert len(np.unique(array)) == array.size


def test_true_is_one():
    for case in sweep.cases(["LOGICAL_AND"], ("b8",), 5):
        for value in sweep.drawn(case, ("b8",)).inputs:
            assert set(np.unique(value.array)) <= {0, 1}
