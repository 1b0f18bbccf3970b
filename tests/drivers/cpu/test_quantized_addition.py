"""All sums of two bytes are those of the reference device, also in the epilogue of a product."""

import ctypes
import platform
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import binary, quantized_sum
from nnapi_shim.tools.explain import explain

U8, S8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
DTYPES = {U8: np.uint8, S8: np.int8}
ALL = np.arange(256, dtype=np.uint8)
MODES = {
    "x86_64": [0x400, 0x800, 0xC00],
    "aarch64": [0x800000, 0x400000, 0xC00000],
}.get(platform.machine(), [])
"""FE_DOWNWARD, FE_UPWARD and FE_TOWARDZERO."""


def parameters(rng: np.random.Generator, kind: str, has_halves: bool) -> list[tuple[float, int]]:
    """Scales and zero points of both inputs and the sum, whose range fits them."""
    least = 0 if kind == U8 else -128
    first = float(np.float32(rng.uniform(0.01, 0.1)))
    ratio = float(rng.choice([1, 2, 0.5])) if has_halves else float(np.exp(rng.uniform(-1.5, 1.5)))
    scales = [first, float(np.float32(first * ratio))]
    factor = float(rng.choice([1, 2, 4])) if has_halves else rng.uniform(0.5, 1.5)
    scales.append(float(np.float32(max(scales) * factor)))
    return [(scale, least + int(rng.integers(256))) for scale in scales]


def pairs(kind: str) -> list[Any]:
    """Columns of one input and a row of the other."""
    x = ALL.view(DTYPES[kind])
    return [x[:, None], x[None, :]]


def checked(model: Model, *inputs: Any) -> bool:
    """Compare the devices; whether nnapi-cpu has constants in float32."""
    found: list[Any] = []

    def seen(constants: dict[str, Any]) -> Any:
        found.append(quantized_sum.proven(constants))
        return found[-1]

    with patch.object(binary, "proven", seen):
        actual = model.compile("nnapi-cpu").run(*inputs)
    np.testing.assert_array_equal(actual, model.compile("nnapi-reference").run(*inputs))
    [scales] = found
    return scales is not None


@pytest.mark.parametrize("has_halves", [False, True])
@pytest.mark.parametrize("kind", [U8, S8])
def test_all_sums(kind: str, has_halves: bool) -> None:
    """Nearly all random scales compute in float32; of halves those do whose sums are above zero, or
    whose scales are all the same.
    """
    rng = np.random.default_rng(has_halves)
    in_float = 0
    for _ in range(60):
        first, second, result = parameters(rng, kind, has_halves)
        model = Model()
        x, y = model.input(kind, [256, 1], *first), model.input(kind, [1, 256], *second)
        operation = model.add if rng.random() < 0.5 else model.sub
        activation = rng.choice(["NONE", "RELU", "RELU1", "RELU6"])
        output = {"activation": activation, "scale": result[0], "zero_point": result[1]}
        model.outputs(operation(x, y, **output))
        model.finish()
        in_float += checked(model, *pairs(kind))
    assert 5 < in_float < 55 if has_halves else in_float > 55


@pytest.mark.parametrize("columns", [64, 43])
@pytest.mark.parametrize("kind", [U8, S8])
def test_all_sums_in_an_epilogue(kind: str, columns: int) -> None:
    """The product is its input: its filter is the identity. It is one or the other input of an ADD,
    with the larger scale or the smaller.
    """
    rng = np.random.default_rng(columns)
    rows = -(-(1 << 16) // columns)
    x, y = (
        np.resize(np.broadcast_to(values, (256, 256)), (rows, columns)) for values in pairs(kind)
    )
    filter_zero = 128 if kind == U8 else 0
    filter = (np.eye(columns) + filter_zero).astype(DTYPES[kind])
    fused = 0
    for number in range(12):
        first, second, result = parameters(rng, kind, False)
        model = Model()
        whole, other = (model.input(kind, [rows, columns], *each) for each in (first, second))
        weights = model.constant(filter, kind, 1.0, filter_zero)
        bias = model.constant(np.zeros(columns, np.int32), "TENSOR_INT32", first[0])
        product = model.fully_connected(whole, weights, bias, scale=first[0], zero_point=first[1])
        operands = (product, other) if number % 2 else (other, product)
        model.outputs(model.add(*operands, scale=result[0], zero_point=result[1]))
        model.finish()
        fused += "fuse_additions" in {done.name for done in explain(model).passes}
        checked(model, x, y)
    assert fused > 8


def test_sums_that_are_too_large() -> None:
    """Beyond what all processors round alike, integers are used."""
    constants = dict.fromkeys(quantized_sum.CONSTANTS, 0)
    for scale, is_tried in ((2.0**12, True), (2.0**12 + 1, False)):
        scales = {"scale0": scale, "scale1": -(2.0**12)}
        # Both are 0 within bounds of 0.
        found = quantized_sum.proven(constants | scales | {"down": 1, "fine_down": 1})
        assert (found is not None) is is_tried


@pytest.mark.parametrize("mode", MODES)
def test_the_rounding_mode_of_a_program(mode: int) -> None:
    """Runs round to nearest."""
    model = Model()
    x, y = model.input(U8, [256, 1], 0.3, 128), model.input(U8, [1, 256], 0.1, 3)
    model.outputs(model.add(x, y, scale=0.63, zero_point=20))
    model.finish()
    assert checked(model, *pairs(U8))
    compiled, mathematics = model.compile("nnapi-cpu"), ctypes.CDLL("libm.so.6")
    expected = compiled.run(*pairs(U8))
    mathematics.fesetround(mode)
    try:
        actual = compiled.run(*pairs(U8))
    finally:
        mathematics.fesetround(0)
    np.testing.assert_array_equal(actual, expected)
