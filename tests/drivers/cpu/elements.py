"""Random tensors of every element type, and the comparison of nnapi-cpu with nnapi-reference."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests import single
from tests.drivers.cpu.single import Single
from tests.single import CONSTANT, INPUT, Value


class Quantized(NamedTuple):
    """Scale and zero point; those of unsigned numbers, 128 lower for signed ones."""

    scale: float = 0.05
    zero_point: int = 120


AWKWARD_SIZES = (1, 3, 17, 1023)
USUAL = Quantized()
VARIANTS = ("f32", "f16", "qu8", "qs8")

BUFFER_BYTES = 1 << 22
"""Size of the largest output."""

RELATIVE = 6e-7
"""Of float32: what the polynomials may lose."""

ROUNDED_OTHERWISE = 0.002
"""The share of float16 results that may be the neighbour of the reference's result: nnapi-cpu
rounds a float32, nnapi-reference a float64.
"""


def tensor(variant: str, values: Any = None, quantized: Quantized = USUAL) -> Value:
    """An operand; quantized values are raw and unsigned."""
    if variant in ("f32", "f16", "i32"):
        return getattr(single, variant)(values)
    shift = 128 if variant == "qs8" else 0
    raw = None if values is None else np.asarray(values).astype(int) - shift
    scale, zero_point = quantized
    return getattr(single, variant)(raw, scale, zero_point - shift)


def random_tensor(variant: str, random: Any, shape: Any, quantized: Quantized = USUAL) -> Value:
    """An operand with random contents."""
    if variant == "i32":
        return tensor(variant, random.integers(-(2**31), 2**31, shape))
    if variant in ("f32", "f16"):
        return tensor(variant, random.normal(0, 4, shape))
    return tensor(variant, random.integers(0, 256, shape), quantized)


def results(
    type: OperationType,
    inputs: Sequence[Any],
    output: Value,
    dynamic: Sequence[int] = (),
    misaligned: int = 1,
) -> tuple[Any, Any]:
    """The outputs of nnapi-cpu and of nnapi-reference. dynamic, misaligned: see Single."""
    (expected,) = single.execute(
        ReferenceDevice(), type, inputs, [output], CONSTANT, first_is=INPUT,
        buffer_bytes=BUFFER_BYTES,
    )  # fmt: skip
    result = Single(
        CpuDevice(), type, inputs, output, expected.shape, dynamic, misaligned
    ).checked()
    return result, expected


def same(type: OperationType, inputs: Sequence[Any], output: Value, **how: Any) -> Any:
    """The output of nnapi-cpu, which has to equal that of nnapi-reference. how: see results."""
    result, expected = results(type, inputs, output, **how)
    np.testing.assert_array_equal(result, expected)
    return result


def close(
    type: OperationType,
    inputs: Sequence[Any],
    output: Value,
    relative: float | None = None,
    absolute: float = 1e-30,
    dynamic: Sequence[int] = (),
    misaligned: int = 1,
) -> Any:
    """The output of nnapi-cpu, which has to be as near to that of nnapi-reference as its type
    allows: integers are equal, float32 is within RELATIVE or `relative`, float16 is rounded alike
    or within `relative`. dynamic, misaligned: see results.
    """
    result, expected = results(type, inputs, output, dynamic, misaligned)
    if result.dtype.kind != "f":
        np.testing.assert_array_equal(result, expected)
    elif result.dtype == np.float16 and relative is None:
        np.testing.assert_allclose(result, expected, rtol=2**-10, atol=max(absolute, 6e-8))
        is_alike = np.isclose(result, expected, rtol=0, atol=absolute, equal_nan=True)
        assert is_alike.mean() >= 1 - ROUNDED_OTHERWISE, "rounded otherwise"
    else:
        relative = RELATIVE if relative is None else relative
        np.testing.assert_allclose(result, expected, rtol=relative, atol=absolute)
    return result


def same_outputs(type: OperationType, inputs: list[Any], outputs: list[Value]) -> list[Any]:
    """The outputs of nnapi-cpu, which have to equal those of nnapi-reference."""
    result = single.execute(CpuDevice(), type, inputs, outputs)
    expected = single.execute(ReferenceDevice(), type, inputs, outputs)
    for ours, theirs in zip(result, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return result


def refused(match: str, type: OperationType, inputs: list[Any], outputs: list[Value]) -> None:
    """Computing ends with OP_FAILED on both devices, on nnapi-cpu with this message."""
    for device, message in ((CpuDevice(), match), (ReferenceDevice(), None)):
        with pytest.raises(NnapiError, match=message) as error:
            single.execute(device, type, inputs, outputs)
        assert error.value.code is ResultCode.OP_FAILED
