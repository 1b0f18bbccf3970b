"""Devices of profiles that compute with float16: results, sums, habits, and their comparison."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.reference.half import stored
from nnapi_shim.drivers.reference.precision import Precision
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.phones.device import ProfiledDevice
from nnapi_shim.phones.files import checked, read
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from tests.phones.conftest import ROOT
from tests.phones.test_profile_files import of_device, written
from tests.waiting import HANGS_S

FLOAT32 = OperandType.TENSOR_FLOAT32
SHAPES = ROOT / "examples" / "shapes" / "float.tflite"
ALL = [{"names": "all"}]


def half(value: Any) -> Any:
    return np.float16(value)


def device(folder: Path, **habits: str) -> ProfiledDevice:
    path = written(
        folder, {"android": "11"}, {"featureLevel": 4, "float16": habits, "operations": ALL}
    )
    return ProfiledDevice(read(path).devices[0])


def results(model: Model, it: ProfiledDevice, *arrays: np.ndarray) -> np.ndarray:
    """The first output, a tensor of known dimensions."""
    compilation = Compilation(model.runtime, [it])
    compilation.finish()
    execution = Execution(compilation)
    for at, array in enumerate(arrays):
        execution.set_argument("input", at, None, array.ctypes.data, array.nbytes)
    operand = compilation.outputs[0]
    kinds = {"TENSOR_FLOAT32": "f4", "TENSOR_FLOAT16": "f2", "TENSOR_QUANT8_ASYMM": "u1"}
    result = np.zeros(operand.dimensions, kinds[operand.type.name])
    execution.set_argument("output", 0, None, result.ctypes.data, result.nbytes)
    execution.compute()
    return result


@pytest.mark.parametrize(
    ("habits", "value", "expected"),
    [
        ({}, 1.0004, 1.0),
        ({}, 1.0006, 1.0009765625),
        ({}, 1 + 2**-11, 1.0),  # halves to even
        ({"rounding": "zero"}, 1.0009, 1.0),
        ({"rounding": "zero"}, -1.0009, -1.0),
        ({"rounding": "zero"}, 1e6, 65504.0),
        ({}, 1e6, np.inf),
        ({"overflow": "saturate"}, -1e6, -65504.0),
        ({"overflow": "saturate"}, np.inf, 65504.0),
        ({}, 1e-6, float(np.float16(1e-6))),
        ({"subnormals": "flush"}, 1e-6, 0.0),
        ({"subnormals": "flush"}, 6.2e-5, float(np.float16(6.2e-5))),
        ({"rounding": "zero", "overflow": "saturate"}, np.nan, np.nan),
    ],
)
def test_habits(habits: dict[str, str], value: float, expected: float) -> None:
    precision = Precision(**habits, all_floats=True)
    result = stored(np.array([value], np.float32), FLOAT32, precision)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, np.array([expected], np.float32))
    as_it_was = np.array([value], np.float32)
    np.testing.assert_array_equal(stored(as_it_was, FLOAT32, Precision(**habits)), as_it_was)


def products(weights: np.ndarray, relax: bool = True) -> Model:
    """FULLY_CONNECTED of a row, then a product with 3."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, weights.shape[1]])
        total = model.fully_connected(x, weights, np.zeros(len(weights), np.float32))
        model.outputs(model.mul(total, np.full([1], 3, np.float32)))
        model.relax_computation_float32_to_float16(relax)
    return model


WEIGHTS = np.random.default_rng(3).normal(size=(5, 40)).astype(np.float32)
ROW = np.random.default_rng(4).normal(size=(1, 40)).astype(np.float32)


@pytest.mark.parametrize("sums", ["float32", "float16"])
def test_results_and_sums_against_a_loop(tmp_path: Path, sums: str) -> None:
    """Each number as a loop over scalars computes it."""
    expected = []
    for row in WEIGHTS:
        total: Any = np.dtype(sums).type(0)
        for left, right in zip(ROW[0], row, strict=True):
            total = np.dtype(sums).type(float(total) + float(half(left)) * float(half(right)))
        expected.append(half(float(half(total)) * 3.0))
    found = results(products(WEIGHTS), device(tmp_path, sums=sums), ROW)[0]
    if sums == "float16":
        np.testing.assert_array_equal(found, np.array(expected, np.float32))
    else:  # numpy adds in another order: one place of float16 may differ
        np.testing.assert_allclose(found, np.array(expected, np.float32), rtol=2**-10)
    assert (found.astype(np.float16) == found).all()
    exact = (ROW[0].astype(np.float64) @ WEIGHTS.T) * 3
    assert 0 < np.abs(found - exact).max() < 0.1


def test_models_that_are_not_relaxed_keep_float32(tmp_path: Path) -> None:
    plain = results(products(WEIGHTS, relax=False), device(tmp_path, sums="float16"), ROW)
    np.testing.assert_allclose(plain, (ROW @ WEIGHTS.T) * 3, rtol=1e-5)
    assert not (plain.astype(np.float16) == plain).all()


@pytest.mark.parametrize("sums", ["float32", "float16"])
def test_convolutions(tmp_path: Path, sums: str) -> None:
    """A convolution of one tap has the same sums as FULLY_CONNECTED."""
    it = device(tmp_path, sums=sums)
    zero = np.zeros(5, np.float32)
    with Model() as first:
        x = first.input("TENSOR_FLOAT32", [1, 1, 1, 40])
        image = first.conv_2d(x, WEIGHTS.reshape(5, 1, 1, 40), zero, padding="VALID")
        first.outputs(first.mul(image, np.full([1], 3, np.float32)))
        first.relax_computation_float32_to_float16()
    expected = results(products(WEIGHTS), it, ROW).ravel()
    np.testing.assert_array_equal(results(first, it, ROW).ravel(), expected)


def test_float16_tensors_get_the_sums(tmp_path: Path) -> None:
    """3000 ones: from 2048 on, one more is half a place of float16, and lost."""
    weights = np.full((1, 3000), 1, np.float16)
    with Model() as model:
        x = model.input("TENSOR_FLOAT16", [1, 3000])
        model.outputs(model.fully_connected(x, weights, np.zeros(1, np.float16)))
    row = np.full((1, 3000), 1, np.float16)
    assert results(model, device(tmp_path, sums="float32"), row)[0, 0] == 3000
    assert results(model, device(tmp_path, sums="float16"), row)[0, 0] == 2048


def test_quantized_sums_stay_exact(tmp_path: Path) -> None:
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [1, 64], scale=0.5, zero_point=0)
        weights = model.constant(
            np.full((2, 64), 255, np.uint8), "TENSOR_QUANT8_ASYMM", scale=0.5, zero_point=0
        )
        y = model.fully_connected(x, weights, np.zeros(2, np.int32), scale=9000.0, zero_point=0)
        model.outputs(y)
        model.relax_computation_float32_to_float16()
    row = np.full((1, 64), 255, np.uint8)
    assert results(model, device(tmp_path, sums="float16"), row).tolist() == [[116, 116]]


def test_graphs_of_control_flow(tmp_path: Path) -> None:
    """Each result in the body of a loop is rounded: 2048 + 1 stays 2048 in float16."""

    def graph(condition: bool) -> Model:
        with Model() as inner:
            total = inner.input("TENSOR_FLOAT32", [1])
            one = np.ones(1, np.float32)
            inner.outputs(
                inner.less(total, np.full(1, 2050, np.float32))
                if condition
                else inner.add(inner.add(total, one), np.full(1, 4, np.float32))
            )
        return inner

    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        model.outputs(model.while_(graph(True), graph(False), [x])[0])
        model.relax_computation_float32_to_float16()
    assert results(model, device(tmp_path), np.array([2048], np.float32)).tolist() == [2052]


@pytest.mark.parametrize(
    ("habits", "message"),
    [
        ({"sums": "bfloat16"}, "float16.sums: is 'bfloat16'; allowed are float32, float16"),
        ({"rounding": "up"}, "allowed are nearest, zero"),
        ({"overflow": 1}, "it must be a text"),
        ({"mode": "fast"}, "float16.mode: is no field; there are sums, rounding, overflow, subn"),
    ],
)
def test_wrong_habits(tmp_path: Path, habits: dict[str, Any], message: str) -> None:
    profile, problems = checked(of_device(tmp_path, float16=habits))
    assert profile is None
    assert message in problems[0].message


def diff(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nnapi_shim", "diff", SHAPES, *words],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def test_where_accuracy_goes() -> None:
    outcome = diff("--device", "nnapi-cpu,android-11-npu:generic-npu", "--json")
    assert outcome.returncode == 1, outcome.stderr
    report = json.loads(outcome.stdout)
    assert report["b"] == "android-11-npu:generic-npu"
    first = report["operands"][0]
    assert first["operation"] == "CONV_2D"
    assert 1e-4 < first["difference"]["largest"] < 1e-2
    same = diff("--device", "nnapi-cpu,android-10:nnapi-reference")
    assert same.returncode == 0, same.stdout


def test_devices_that_do_not_exist() -> None:
    for name, message in (
        ("android-10-gpu:npu", "android-10-gpu has no device 'npu'; it has generic-gpu, nnapi-r"),
        ("phone:npu", "there is no profile 'phone'"),
    ):
        outcome = diff("--device", f"nnapi-cpu,{name}")
        assert (outcome.returncode, outcome.stdout) == (2, "")
        assert message in outcome.stderr
