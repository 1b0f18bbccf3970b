"""Random tensors of every element type, and how near a result must come to the real number, or that
it must be the reference device's.
"""

from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.drivers.reference.device import ReferenceDevice
from tests import single
from tests.drivers.cpu.single import Single
from tests.single import Value


class Quantized(NamedTuple):
    """Scale and zero point; those of unsigned numbers, 128 lower for signed ones."""

    scale: float = 0.05
    zero_point: int = 120


AWKWARD_SIZES = (1, 3, 17, 1023)
USUAL = Quantized()
ACTIVATIONS = [(-np.inf, np.inf), (0, np.inf), (-1, 1), (0, 6)]

RELATIVE = {"f32": 6e-7, "f16": 2**-11 * 1.002}
"""One rounding for float16; for float32 what the polynomials may lose."""

HALF_STEP = 2**-25
"""Half of what the last place of the smallest float16 numbers is worth."""


def tensor(variant: str, values: Any = None, quantized: Quantized = USUAL) -> Value:
    """An operand; quantized values are raw and unsigned."""
    if variant in ("f32", "f16", "i32"):
        return getattr(single, variant)(values)
    shift = 128 if variant == "qs8" else 0
    raw = None if values is None else np.asarray(values).astype(int) - shift
    scale, zero_point = quantized
    return getattr(single, variant)(raw, scale, zero_point - shift)


def random_tensor(
    variant: str, random: Any, shape: Any, quantized: Quantized = USUAL
) -> tuple[Value, Any]:
    """An operand and the real numbers (integers for i32) that it stands for."""
    if variant == "i32":
        values = random.integers(-(2**31), 2**31, shape)
        return tensor(variant, values), values
    if variant in ("f32", "f16"):
        made = tensor(variant, random.normal(0, 4, shape))
        return made, made.array.astype(np.float64)
    raw = random.integers(0, 256, shape)
    return tensor(variant, raw, quantized), (raw - quantized.zero_point) * np.float64(
        np.float32(quantized.scale)
    )


def expect(
    variant: str,
    found: Any,
    wanted: Any,
    quantized: Quantized = USUAL,
    absolute: float = 1e-30,
    off: float = 0.001,
) -> None:
    """Compare with real numbers. Quantized: within 1, and equal but for a share `off`."""
    if variant in RELATIVE:
        if variant == "f16":
            wanted = np.where(np.abs(wanted) >= 65520, np.copysign(np.inf, wanted), wanted)
            absolute = max(absolute, HALF_STEP * 1.002)
        np.testing.assert_allclose(found, wanted, rtol=RELATIVE[variant], atol=absolute)
        return
    scale, zero_point = quantized
    steps = wanted / np.float64(np.float32(scale))
    raw = np.clip(np.trunc(steps + np.copysign(0.5, steps)) + zero_point, 0, 255)
    difference = np.abs(found.astype(int) + (128 if variant == "qs8" else 0) - raw)
    assert difference.max(initial=0) <= 1
    assert (difference > 0).mean() <= off, "rounded otherwise"


def expect_of_reference(type: Any, inputs: Any, output: Value, found: Any) -> None:
    """Quantized results that are defined in integers: those of nnapi-reference, exactly."""
    wanted = Single(ReferenceDevice(), type, inputs, output, found.shape).checked()
    np.testing.assert_array_equal(found, wanted)
