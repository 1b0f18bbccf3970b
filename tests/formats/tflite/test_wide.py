"""Models of 16-bit activations and 8-bit weights."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import Compilation, NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.tools.explain import explain
from tests.cli.command import Command
from tests.formats.tflite.building import Building, Spec, one_operator
from tests.formats.tflite.cases import F, bias, s8
from tests.formats.tflite.running import DEVICES, Litert, model_of

STEPS = 3
"""Of 16 bits, that a chain of four operators may be beside LiteRT."""


def wide(*shape: int, scale: float = 2.0**-13, zero: int = 0, name: str = "") -> Spec:
    return Spec("INT16", shape, scale, zero, name=name)


def chain(*, reals: bool) -> bytes:
    """CONV_2D, RESHAPE, FULLY_CONNECTED, SOFTMAX, of stored elements or of real numbers."""
    made = Building()
    x = inputs = made.tensor(wide(1, 4, 4, 2, name="x"))
    image, line = made.tensor(wide(1, 4, 4, 3)), made.tensor(wide(1, 48))
    units, last = made.tensor(wide(1, 5, scale=2.0**-12)), made.tensor(wide(1, 5, scale=2.0**-15))
    result = last
    if reals:
        inputs, result = made.tensor(F(1, 4, 4, 2)), made.tensor(F(1, 5))
        made.operator("QUANTIZE", [inputs], [x], "QuantizeOptions")
    scales = [0.01, 0.02, 0.03]
    weights = [
        made.tensor(s8(3, 2, 2, 2, scale=scales)),
        made.tensor(bias(3, [scale * 2.0**-13 for scale in scales])._replace(type="INT64")),
    ]
    fields = {"padding": 0, "strideW": 1, "strideH": 1, "fusedActivationFunction": 1}
    value = np.array([3000, -2000, 500], np.int64)
    made.model.buffers[-1].data = np.frombuffer(value.tobytes(), np.uint8)
    made.operator("CONV_2D", [x, *weights], [image], "Conv2DOptions", **fields)
    shape = made.constant(np.array([1, 48], np.int32))
    made.operator("RESHAPE", [image, shape], [line], "ReshapeOptions")
    weights = [made.tensor(s8(5, 48, scale=0.004)), -1]
    made.operator("FULLY_CONNECTED", [line, *weights], [units], "FullyConnectedOptions")
    made.operator("SOFTMAX", [units], [last], "SoftmaxOptions", beta=1.0)
    if reals:
        made.operator("DEQUANTIZE", [last], [result], "DequantizeOptions")
    made.ends([inputs], [result])
    return made.file()


@pytest.mark.parametrize("device", DEVICES)
def test_stored_elements(device: str) -> None:
    data = chain(reals=False)
    model, theirs = model_of(data), Litert(data)
    kinds = [o.type for o in (*model.input_operands, *model.output_operands)]
    assert kinds == [T.TENSOR_INT32] * 2
    assert [operand.name for operand in model.input_operands] == ["x"]
    compilation = Compilation(model, device)
    for seed in range(5):
        x = np.random.default_rng(seed).integers(-32768, 32768, (1, 4, 4, 2)).astype(np.int16)
        apart = compilation.run(x).astype(np.int64) - theirs.run(x)[0]
        assert np.abs(apart).max() <= STEPS


@pytest.mark.parametrize("device", DEVICES)
def test_real_inputs_and_outputs(device: str) -> None:
    data = chain(reals=True)
    theirs, compilation = Litert(data), Compilation(model_of(data), device)
    for seed in range(5):
        x = np.random.default_rng(seed).uniform(-6, 6, (1, 4, 4, 2)).astype(np.float32)
        apart = compilation.run(x) - theirs.run(x)[0]
        assert np.abs(apart).max() <= STEPS * 2.0**-15


@pytest.mark.parametrize("reals", [False, True])
def test_explain_names_what_is_computed_as_real_numbers(
    reals: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "16x8.tflite"
    path.write_bytes(chain(reals=reals))
    (note,) = explain(path).notes
    names = ["CONV_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"]
    if reals:
        names = ["QUANTIZE", *names, "DEQUANTIZE"]
    assert note.startswith("activations of 16 bits (16x8) are computed in TENSOR_FLOAT32")
    assert note.endswith(f": {', '.join(names)}")
    command = Command(capsys)
    assert command.succeeds("explain", path, "--json").json["notes"] == [note]
    assert f"from the file: {note}\n" in command.succeeds("explain", path).out


def test_explain_has_no_note_of_other_models(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(one_operator("ABS", [F(2, 3)], [F(2, 3)]))
    assert explain(path).notes == ()


@pytest.mark.parametrize("zero", [0, 100, -32768])
def test_zero_points(zero: int) -> None:
    made = one_operator("DEQUANTIZE", [wide(6, zero=zero)], [F(6)], "DequantizeOptions")
    x = np.array([-32768, -1, 0, zero, 5, 32767], np.int16)
    expected = (x.astype(np.float64) - zero) * 2.0**-13
    for device in DEVICES:
        np.testing.assert_array_equal(Compilation(model_of(made), device).run(x), expected)


def test_values_are_saturated() -> None:
    data = one_operator("QUANTIZE", [F(5)], [wide(5)], "QuantizeOptions")
    x = np.array([-1e30, -4.1, 0.5, 4.1, np.inf], np.float32)
    for device in DEVICES:
        actual = Compilation(model_of(data), device).run(x)
        np.testing.assert_array_equal(actual, [-32768, -32768, 4096, 32767, 32767])


def test_what_litert_computes_otherwise() -> None:
    data = one_operator("RSQRT", [wide(2, 3)], [wide(2, 3)])
    with pytest.raises(NnapiError, match="RSQRT: for 16-bit tensors LiteRT is up to 1 % from"):
        model_of(data)
