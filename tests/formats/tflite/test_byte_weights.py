"""Hybrid operators: large 8-bit weights stay 8-bit in the model, with the same results."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.formats.tflite.importing import byte_weights
from nnapi_shim.hal.enums import OperandType as T
from tests.formats.tflite.building import Building, Spec
from tests.formats.tflite.cases import F, f32
from tests.formats.tflite.running import model_of

UNITS, SIZE = 260, 256
"""As many weights as stay 8-bit."""
BYTES = (
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
)


def weights(
    units: int = UNITS, size: int = SIZE, type: str = "INT8", zero: int = 0, **options: Any
) -> Spec:
    low = 0 if type == "UINT8" else -127
    value = np.random.default_rng(1).integers(low, low + 255, (units, size))
    arguments = {"scale": 0.001, **options}
    value = value.astype(np.uint8 if type == "UINT8" else np.int8)
    return Spec(type, (units, size), zero_point=zero, value=value, **arguments)


def dense(spec: Spec, *, is_dequantized: bool = False, is_output: bool = False) -> bytes:
    """FULLY_CONNECTED of bytes, or of the result of DEQUANTIZE."""
    made = Building()
    units, size = spec.shape
    x, matrix = made.tensor(F(1, size)), made.tensor(spec)
    outputs = []
    if is_dequantized:
        real = made.tensor(F(units, size))
        made.operator("DEQUANTIZE", [matrix], [real], "DequantizeOptions")
        made.version(2)
        outputs, matrix = [real] * is_output, real
    y = made.tensor(F(1, units))
    made.operator(
        "FULLY_CONNECTED", [x, matrix, made.constant(f32(units))], [y], "FullyConnectedOptions"
    )
    made.version(3)
    made.ends([x], [y, *outputs])
    return made.file()


def kept(model: Model) -> list[T]:
    """The types of the constants that a DEQUANTIZE of the model reads."""
    return [
        operation.inputs[0].type
        for operation in model.operations
        if operation.type.name == "DEQUANTIZE" and operation.inputs[0].type in BYTES
    ]


def check(data: bytes, expected: list[T], monkeypatch: pytest.MonkeyPatch) -> None:
    """Which weights stay, and that the reference device computes the same bits as of floats."""
    models = [model_of(data)]
    assert kept(models[0]) == expected
    monkeypatch.setattr(byte_weights, "MIN_WEIGHTS", 1 << 60)
    models.append(model_of(data))
    assert not kept(models[1])
    x = np.random.default_rng(2).normal(size=models[0].input_operands[0].dimensions)
    results = []
    for model in models:
        result = Compilation(model, ["nnapi-reference"]).run(x.astype(np.float32))
        results.append(result if isinstance(result, list | tuple) else [result])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    ours = Compilation(models[0], ["nnapi-cpu"]).run(x.astype(np.float32))
    for one, other in zip(
        ours if isinstance(ours, list | tuple) else [ours], results[1], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


SIGNED, UNSIGNED, CHANNELS = (
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
)
ROW_SCALES = [0.001 + 0.00001 * row for row in range(UNITS)]


@pytest.mark.parametrize("is_dequantized", [False, True])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (weights(), [SIGNED]),
        (weights(type="UINT8", zero=128), [UNSIGNED]),
        (weights(scale=ROW_SCALES), [CHANNELS]),
        (weights(251), []),
        (weights(zero=3), []),
        (weights(type="UINT8", zero=127), []),
    ],
    ids=["signed", "unsigned", "by channel", "small", "zero point", "another zero point"],
)
def test_dense(
    spec: Spec, expected: list[T], is_dequantized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(dense(spec, is_dequantized=is_dequantized), expected, monkeypatch)


def test_dequantized_weights_that_are_an_output(monkeypatch: pytest.MonkeyPatch) -> None:
    check(dense(weights(), is_dequantized=True, is_output=True), [SIGNED], monkeypatch)


def test_dequantized_weights_that_another_operator_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Building()
    x, stored = made.tensor(F(1, SIZE)), made.tensor(weights())
    real, y, z = made.tensor(F(UNITS, SIZE)), made.tensor(F(1, UNITS)), made.tensor(F(UNITS, SIZE))
    made.operator("DEQUANTIZE", [stored], [real], "DequantizeOptions")
    made.version(2)
    made.operator("FULLY_CONNECTED", [x, real, -1], [y], "FullyConnectedOptions")
    made.operator("NEG", [real], [z], "NegOptions")
    made.ends([x], [y, z])
    check(made.file(), [], monkeypatch)


def test_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrices of an LSTM, together large enough; the same matrix twice."""
    made = Building()
    units = 100
    x = made.tensor(F(1, 3, units))
    shared = made.tensor(weights(units, units))
    matrices = [shared, *[made.tensor(weights(units, units)) for _ in range(6)], shared]
    biases = [made.constant(f32(units, seed=at)) for at in range(4)]
    states = [made.tensor(F(1, units)._replace(is_variable=True)) for _ in range(2)]
    y = made.tensor(F(1, 3, units))
    made.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [x, *matrices, *[-1] * 3, *biases, -1, -1, *states, *[-1] * 4],
        [y],
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=4,
    )
    made.ends([x], [y])
    check(made.file(), [SIGNED] * 7, monkeypatch)
