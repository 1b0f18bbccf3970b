"""Outputs that are not below their zero point, as after RELU, are those of the reference device for
every sum next to a rounding boundary, and programs keep their rounding mode.
"""

import ctypes
import time
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from nnapi_shim import Execution, Model, NnapiError, ResultCode, address
from nnapi_shim.drivers.cpu.lowering import depthwise_interleaved, gemm, winograd_quantized
from nnapi_shim.drivers.cpu.lowering.packing import PACK_QUANTIZED, QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.profile import profile

pytestmark = pytest.mark.skipif(
    not tier().rounds_down, reason="this tier does not round down; test_tiers.py runs it"
)

Array = np.ndarray[Any, Any]
U8, S8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
PIXELS = np.arange(256, dtype=np.uint8)
STEPS = 255
SCALE = float(np.float32(0.7))
"""Of the outputs: multipliers have more bits than float32."""
SIGNATURE = "int32_t(*)(uintptr_t, int64_t, int64_t)"
"""Of a kernel with a deadline."""
UPWARD, NEAREST = 0x800, 0
"""FE_UPWARD and FE_TONEAREST of x86-64."""
MATH = ctypes.CDLL("libm.so.6")


def rounding_mode() -> int:
    """That of float32 instructions, from MXCSR; fegetround gives that of the x87 unit."""
    environment = (ctypes.c_uint32 * 8)()
    MATH.fegetenv(environment)
    return environment[7] >> 3 & 0xC00


def decomposed(multipliers: Array) -> tuple[Array, Array]:
    """(M, n) of multipliers below 1: M * 2^(-n - 31)."""
    mantissas, exponents = np.frexp(multipliers)
    return (mantissas * 2.0**31).astype(np.int64), -exponents.astype(np.int64)


def first_sums(multipliers: Array, steps: Array) -> Array:
    """The first sum that becomes so many steps, by semantics.md 5.3."""
    mantissas, shifts = decomposed(multipliers)
    offset = (1 << 30) + np.where(shifts > 0, np.int64(1) << (30 + shifts), 0)
    return -(-((steps << (31 + shifts)) - offset) // mantissas)


def random_scales(rng: np.random.Generator, least: float, most: float, count: int) -> Array:
    """Scales of filters, of which the multipliers are 2^least to 2^most."""
    return np.float32(SCALE * 2.0 ** rng.uniform(least, most, count)).astype(np.float64)


def closest(rng: np.random.Generator, count: int) -> Array:
    """Of many scales of filters, those with sums next to boundaries."""
    scales = random_scales(rng, -13, -9, 40000)
    mantissas, shifts = decomposed(scales / SCALE)
    offset = (1 << 30) + np.where(shifts > 0, np.int64(1) << (30 + shifts), 0)
    least, largest = mantissas, np.zeros_like(mantissas)
    for step in range(1, STEPS + 1):
        above = -((np.int64(step) << (31 + shifts)) - offset) % mantissas
        least, largest = np.minimum(least, above), np.maximum(largest, above)
    distance = (least + mantissas - largest) / 2.0 ** (31 + shifts)
    return np.asarray(scales[np.argsort(distance)[:count]])


def layer(
    scales: Array,
    bias: Array,
    *,
    kind: str = U8,
    zero: int = 0,
    activation: str = "RELU",
    depth: int = 1,
    size: int = 1,
    depthwise: bool = False,
    pixels: tuple[int, int] = (16, 16),
) -> Model:
    """A convolution of an image by weights of 1 in the middle, and of 0 behind the first channel:
    the sums of a column are its bias and the 255 above.
    """
    model, columns = Model(), len(bias)
    channels = columns if depthwise else depth
    x = model.input(kind, [1, *pixels, channels], 1.0, 0 if kind == U8 else -128)
    weights = np.zeros((1 if depthwise else columns, size, size, channels), np.int8)
    weights[:, size // 2, size // 2, : channels if depthwise else 1] = 1
    filter = model.constant(
        weights, scales=[float(each) for each in scales], channel_dim=3 if depthwise else 0
    )
    output = {"padding": "SAME", "activation": activation, "scale": SCALE, "zero_point": zero}
    added = model.constant(bias.astype(np.int32))
    if depthwise:
        model.outputs(model.depthwise_conv_2d(x, filter, added, 1, **output))
    else:
        model.outputs(model.conv_2d(x, filter, added, **output))
    model.finish()
    return model


def image(model: Model, kind: str = U8) -> Array:
    """Each value of a byte in all channels of a pixel."""
    pixels = PIXELS if kind == U8 else (PIXELS ^ 0x80).view(np.int8)
    shape = model._inputs[0].dimensions
    return np.ascontiguousarray(np.broadcast_to(pixels.reshape(1, 16, 16, 1), shape))


def check(model: Model, kind: str = U8) -> None:
    x = image(model, kind)
    actual = model.compile("nnapi-cpu").run(x)
    np.testing.assert_array_equal(actual, model.compile("nnapi-reference").run(x))


def test_the_closest_multipliers() -> None:
    """Of each, the first sums of all steps, and their neighbours."""
    rng = np.random.default_rng(1)
    steps = np.arange(1, STEPS + 1)
    for scale in closest(rng, 24):
        scales = np.full(STEPS, scale)
        bias = first_sums(scales / SCALE, steps) - rng.integers(1, 256, STEPS)
        check(layer(scales, bias))


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("kind", [U8, S8])
def test_random_layers(kind: str, depthwise: bool) -> None:
    """Scales per channel, bounds, zero points and depths at random."""
    rng = np.random.default_rng(2)
    acted: dict[Any, list[int]] = {gemm: [], depthwise_interleaved: [], winograd_quantized: []}
    floored_steps = gemm.floored_steps

    def observed(module: Any) -> Any:
        def seen(*arguments: Any) -> int:
            acted[module].append(floored_steps(*arguments))
            return acted[module][-1]

        return patch.object(module, "floored_steps", seen)

    with ExitStack() as stack:
        for module in acted:
            stack.enter_context(observed(module))
        for _ in range(40):
            size = int(rng.choice([1, 3]))
            columns = int(rng.integers(33, 300))
            depth = int(rng.choice([1, 3, 4, 16]))
            if size == 3 and rng.random() < 0.8:
                columns, depth = columns // 32 * 32, 64
            scales = random_scales(rng, -12, rng.choice([-6, 0]), columns)
            if rng.random() < 0.3:
                scales[rng.integers(columns)] = np.float32(1.7)
            steps = rng.integers(1, STEPS + 1, columns)
            bias = first_sums(np.minimum(scales / SCALE, 0.99), steps)
            bias -= rng.integers(-2, 258, columns)
            activation = str(rng.choice(["RELU", "RELU6", "NONE"]))
            least = 0 if kind == U8 else -128
            zero = int(rng.integers(least, least + 256)) if rng.random() < 0.5 else least
            model = layer(
                scales, bias, kind=kind, zero=zero, activation=activation, depth=depth,
                size=size, depthwise=depthwise,
            )  # fmt: skip
            check(model, kind)
    for module in [depthwise_interleaved] if depthwise else [gemm, winograd_quantized]:
        assert sum(steps > 0 for steps in acted[module]) >= 5 and 0 in acted[module]


def test_dead_columns() -> None:
    """Multipliers so small that no sum, or only sums that float32 does not have, reach a step."""
    rng = np.random.default_rng(3)
    scales = random_scales(rng, -23, -16, 300)
    bias = rng.integers(-(1 << 31), 1 << 31, 300)
    reached = rng.random(300) < 0.7
    steps = rng.integers(1, 16, 300)
    bias = np.where(reached, first_sums(scales / SCALE, steps) - rng.integers(0, 257, 300), bias)
    for first in range(300):  # any one of them may be the one that is wrong
        one = slice(first, first + 1)
        is_wide = first % 20 == 0
        check(layer(scales, bias) if is_wide else layer(scales[one], bias[one]))


def marks(multipliers: Array, bias: Array, steps: int, products: int = 4) -> list[bool]:
    """Whether the panels of one column each are requantized by rounding down."""
    tiling = tier().tiling_of(True)
    width, group = tiling.lanes, tiling.group
    kernel = "pack_s8" if group == 4 else "pack_s16"
    result = []
    for multiplier, added in zip(multipliers, bias, strict=True):
        arrays = {
            "filter": np.zeros(products, np.int8),
            "bias": np.array([added], np.int32),
            "multipliers": np.array([multiplier]),
            "output": np.zeros(width * (QUANTIZED_HEAD_BYTES + 4 * products), np.uint8),
        }
        sizes = {
            "columns": 1, "taps": 1, "depth": products, "width": width, "lanes": width,
            "group": group, "flip": 0, "filter_zero": 0, "input_zero": 0, "matrix_bytes": 0,
            "zero_point": 0, "steps": steps, "panels": 1,
        }  # fmt: skip
        values = {name: array.ctypes.data for name, array in arrays.items()} | sizes
        packed = PACK_QUANTIZED.pack(*PACK_QUANTIZED.values(values))
        where, _keep = address.address_of(packed)
        address.function(library.current().address(kernel), SIGNATURE)(where, 0, 0)
        mantissas = arrays["output"].view(np.int32)[4 * width : 5 * width]
        assert (mantissas[0] < 0) == (mantissas < 0).all()
        result.append(bool(mantissas[0] < 0))
    return result


def test_which_columns_round_down() -> None:
    rng = np.random.default_rng(4)
    usual = random_scales(rng, -11, 0, 1000) / SCALE
    none = np.zeros(1000, np.int64)
    assert np.mean(marks(usual, none, STEPS)) > 0.999
    assert not any(marks(usual, none, 0))
    assert 0.1 < np.mean(marks(closest(rng, 400) / SCALE, none[:400], STEPS)) < 0.9
    # Underflow, 1 and more, sums that may wrap, and those above 2^24.
    small, last = 2.0**-21.5, (1 << 31) - 1
    reached = int(first_sums(np.array([small]), np.array([12]))[0])
    cases = [
        (2.0**-40, 0, True), (1.0, 0, False), (3.7, 0, False), (0.01, last, False),
        (0.01, -last, False), (0.01, last - (1 << 24), True), (small, 1000, True),
        (small, 1 << 24, True), (small, reached, False), (small, reached + (1 << 20), True),
    ]  # fmt: skip
    multipliers, bias, expected = (np.array(values) for values in zip(*cases, strict=True))
    assert marks(multipliers, bias, STEPS) == expected.tolist()


@pytest.mark.parametrize(("zero", "is_fused"), [(0, False), (3, True)])
def test_an_addition_behind_it(zero: int, is_fused: bool) -> None:
    """It is fused into a product whose outputs may be below the zero point."""
    rng = np.random.default_rng(5)
    columns = 64
    multipliers = np.float32(rng.uniform(0.001, 0.01, columns)).astype(np.float64)
    bias = first_sums(multipliers, rng.integers(1, STEPS + 1, columns)) - 128
    model = Model()
    x = model.input(U8, [1, 16, 16, 1], 1.0, 0)
    other = model.input(U8, [1, 16, 16, columns], 1.3, 7)
    weights = np.ones((columns, 1, 1, 1), np.int8)
    filter = model.constant(weights, scales=multipliers.tolist(), channel_dim=0)
    added = model.constant(bias.astype(np.int32))
    y = model.conv_2d(x, filter, added, padding="VALID", scale=1.0, zero_point=zero)
    model.outputs(model.add(y, other, scale=2.1, zero_point=3))
    model.finish()
    assert ("fuse_additions" in {done.name for done in explain(model).passes}) is is_fused
    values = rng.integers(0, 256, (1, 16, 16, columns)).astype(np.uint8)
    inputs = PIXELS.reshape(1, 16, 16, 1), values
    actual = model.compile("nnapi-cpu").run(*inputs)
    np.testing.assert_array_equal(actual, model.compile("nnapi-reference").run(*inputs))


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("mode", [NEAREST, UPWARD])
def test_rounding_mode(mode: int, depthwise: bool) -> None:
    """Results do not depend on that of the program, which gets it back."""
    columns = 64
    scales = np.full(columns, np.float32(0.0123).astype(np.float64))
    bias = first_sums(scales / SCALE, np.arange(1, columns + 1)) - 100
    model = layer(scales, bias, depthwise=depthwise)
    x = image(model)
    expected = model.compile("nnapi-reference").run(x)
    compiled = model.compile("nnapi-cpu")
    MATH.fesetround(mode)
    try:
        actual = compiled.run(x)
        kept = rounding_mode()
    finally:
        MATH.fesetround(NEAREST)
    assert kept == mode
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("kernel", ["depthwise_interleaved", "winograd_4x4_q8", "winograd_q8"])
def test_a_deadline_in_the_middle(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets its mode back: of runs that end in a kernel, many round down there."""
    if kernel == "winograd_q8":
        if tier().tiling_of(True).group != 2:
            pytest.skip("the patches of this tier are all large")
        monkeypatch.setattr(winograd_quantized, "_pays_large", lambda *_: False)
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "1")
    depthwise = kernel == "depthwise_interleaved"
    rng = np.random.default_rng(6)
    scales = random_scales(rng, -11, -7, 64)
    pixels = (8, 10000) if depthwise else (200, 200)
    model = layer(scales, np.zeros(64), depth=64, size=3, depthwise=depthwise, pixels=pixels)
    assert kernel in {done.kernel for item in profile(model).operations for done in item.steps}
    x, y = (np.zeros((1, *pixels, 64), np.uint8) for _ in range(2))
    compiled = model.compile("nnapi-cpu")

    def run(limit_ns: int) -> int:
        """How long it took, or 0 after the deadline."""
        with Execution(compiled) as execution:
            execution.set_timeout(limit_ns)
            execution.set_input(0, x)
            execution.set_output(0, y)
            start = time.monotonic_ns()
            try:
                execution.compute()
            except NnapiError as error:
                assert error.code == ResultCode.MISSED_DEADLINE_TRANSIENT
                return 0
            return time.monotonic_ns() - start

    whole = min(run(10**11) for _ in range(5))
    late = 0
    for part in np.linspace(0.1, 0.9, 60):
        late += run(int(part * whole)) == 0
        kept = rounding_mode()
        MATH.fesetround(NEAREST)
        assert kept == NEAREST
    assert late >= 10
