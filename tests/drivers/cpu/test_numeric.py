"""The number helpers of the kernels, against numpy."""

import functools

import numba
import numpy as np
import pytest

from nnapi_shim.drivers.cpu.codegen import exponential, logarithm, numeric, simd, sine


def vectorised(function, result):
    """The helper applied to every element of an array, in one compiled loop."""

    @numba.njit(error_model="numpy")
    def loop(x, y):
        for i in range(len(x)):
            y[i] = function(x[i])

    def apply(x):
        y = np.empty(len(x), result)
        loop(x, y)
        return y

    return apply


@pytest.fixture(params=["hardware", "integers"])
def half_conversions(request, monkeypatch):
    """(half_to_float, float_to_half) by the processor's instructions, and without them."""
    if request.param == "integers":
        monkeypatch.setattr(numeric.ISA, "tier", numeric.ISA.tier._replace(float16=False))
    elif not numeric.ISA.tier.float16:
        pytest.skip("this tier has no instructions for float16")
    return (
        vectorised(numeric.half_to_float, np.float32),
        vectorised(numeric.float_to_half, np.uint16),
    )


def same_bits(actual, expected):
    """Equal bits, or NaN in the same places and with the same sign."""
    word = np.dtype(f"u{actual.itemsize}")
    same = (actual.view(word) == expected.view(word)) | (np.isnan(actual) & np.isnan(expected))
    assert same.all(), np.flatnonzero(~same)[:10]
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


def test_every_half(half_conversions):
    halves = np.arange(1 << 16, dtype=np.uint16)
    widened = half_conversions[0](halves)
    same_bits(widened, halves.view(np.float16).astype(np.float32))
    same_bits(half_conversions[1](widened).view(np.float16), halves.view(np.float16))


def test_floats_to_halves(half_conversions):
    random = np.random.default_rng(1)
    anything = random.integers(0, 1 << 32, 1 << 20, dtype=np.uint32).view(np.float32)
    in_range = np.exp2(random.uniform(-27, 17, 1 << 18)).astype(np.float32)
    # Between all neighbouring halves: the middle, where ties are, and what is just beside it.
    finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    steps = np.append(finite, np.float32(65536))
    middles = (steps[:-1] + steps[1:]) / 2
    beside = [np.nextafter(middles, np.float32(limit)) for limit in (-np.inf, np.inf)]
    positive = np.concatenate([in_range, middles, *beside])
    values = np.concatenate([anything, positive, -positive]).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16)
    same_bits(half_conversions[1](values).view(np.float16), expected)


def units_off(actual, expected):
    """Distance in units of the last place of a float32."""
    return np.abs(actual - expected) / np.spacing(np.abs(expected).astype(np.float32))


@pytest.mark.parametrize(
    ("name", "formula", "limit"),
    [
        ("exp", np.exp, 2),
        ("exp_negative", np.exp, 2),
        ("expm1", np.expm1, 2),
        ("logistic", lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))), 3),
        ("tanh", np.tanh, 3),
    ],
)
def test_exponential_functions(name, formula, limit):
    random = np.random.default_rng(2)
    sizes = np.exp(random.uniform(-90, np.log(87), 1 << 18))
    x = np.concatenate([random.uniform(-20, 20, 1 << 18), sizes, -sizes]).astype(np.float32)
    x = -np.abs(x) if name == "exp_negative" else x
    apply = vectorised(getattr(exponential, name), np.float32)
    assert units_off(apply(x), formula(x.astype(np.float64))).max() < limit


@pytest.mark.parametrize("count", [1, 5, 16, 33, 1 << 16])
def test_exponentials_of_vectors(count):
    random = np.random.default_rng(count)
    x = random.uniform(-20, 20, count).astype(np.float32)
    for run, (formula, limit) in zip(vector_functions(), VECTOR_FORMULAS, strict=True):
        y = np.full(count + 1, 7, np.float32)
        run(x.ctypes.data, y.ctypes.data, count)
        assert units_off(y[:-1], formula(x.astype(np.float64))).max() < limit
        assert y[-1] == 7
    ends = np.array([np.nan, np.inf, -np.inf, -300, 300], np.float32)
    expected = [[np.nan, np.inf, 0, 0, np.inf], [np.nan, 1, 0, 0, 1], [np.nan, 1, -1, -1, 1]]
    for run, results in zip(vector_functions(), expected, strict=True):
        y = np.empty_like(ends)
        run(ends.ctypes.data, y.ctypes.data, len(ends))
        np.testing.assert_array_equal(y, np.array(results, np.float32))


VECTOR_FORMULAS = [(np.exp, 2), (lambda x: 1 / (1 + np.exp(-x)), 3), (np.tanh, 3)]


@functools.cache
def vector_functions():
    """exp, logistic and tanh of float32[count] at an address, as kernels have them."""

    def compiled(formula):
        mapping = simd.mapping(lambda x, _: formula(x))
        return numba.njit(lambda x, y, count: mapping(x, y, count, np.float32(0)))

    return [
        compiled(formula)
        for formula in (exponential.exp_of, exponential.logistic_of, exponential.tanh_of)
    ]


def test_exponential_functions_at_the_ends():
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0, -0.0, 1e-42, 88.73, -104], np.float32)
    nan, inf = np.nan, np.inf
    ends = {
        "exp": [nan, inf, 0, inf, 0, 1, 1, 1, inf, 0],
        "exp_negative": [nan, 1, 0, 1, 0, 1, 1, 1, 1, 0],
        "expm1": [nan, inf, -1, inf, -1, 0, 0, 1e-42, inf, -1],
        "logistic": [nan, 1, 0, 1, 0, 0.5, 0.5, 0.5, 1, 0],
        "tanh": [nan, 1, -1, 1, -1, 0, -0.0, 1e-42, 1, -1],
    }
    for name, expected in ends.items():
        inputs = np.minimum(x, 0) if name == "exp_negative" else x
        actual = vectorised(getattr(exponential, name), np.float32)(inputs)
        expected = np.array(expected, np.float32)
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-44)
    np.testing.assert_array_equal(np.signbit(actual[1:]), np.signbit(x[1:]))
    below = vectorised(exponential.exp, np.float32)(np.array([-90, -100, -103], np.float32))
    np.testing.assert_allclose(below, np.exp([-90.0, -100, -103]), atol=1.5e-45, rtol=1e-6)


def test_log():
    random = np.random.default_rng(3)
    x = np.concatenate([np.exp(random.uniform(-103, 88, 1 << 18)), random.uniform(0.5, 2, 1 << 18)])
    x = x.astype(np.float32)
    x = x[x != 1]
    actual = vectorised(logarithm.log, np.float32)(x)
    assert units_off(actual, np.log(x.astype(np.float64))).max() < 2
    ends = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -1, 1], np.float32)
    expected = [np.nan, np.inf, np.nan, -np.inf, -np.inf, np.nan, 0]
    np.testing.assert_array_equal(vectorised(logarithm.log, np.float32)(ends), expected)


def test_power():
    random = np.random.default_rng(4)
    logarithms, products = random.uniform(-80, 80, 1 << 18), random.uniform(-87, 88, 1 << 18)
    x = np.exp(np.where(random.random(1 << 18) < 0.5, logarithms, logarithms / 80))
    x = x.astype(np.float32)
    y = (products / np.log(x.astype(np.float64))).astype(np.float32)

    @numba.njit(error_model="numpy")
    def loop(x, y, z):
        for i in range(len(x)):
            z[i] = logarithm.power(x[i], y[i])

    actual = np.empty_like(x)
    loop(x, y, actual)
    assert units_off(actual, x.astype(np.float64) ** y.astype(np.float64)).max() < 2


def test_sine():
    random = np.random.default_rng(5)
    small = random.uniform(-8192, 8192, 1 << 20) * random.choice((1, 1e-3), 1 << 20)
    small = small.astype(np.float32)
    actual = vectorised(sine.sine, np.float32)(small)
    np.testing.assert_allclose(actual, np.sin(small.astype(np.float64)), rtol=0, atol=1.2e-7)


def test_rounded():
    x = np.array(
        [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.49999997, 0, 8388607, 255.5], np.float32
    )
    expected = [1, -1, 2, 3, -3, 0, 0, 0, 8388607, 256]
    assert vectorised(numeric.rounded, np.int32)(x).tolist() == expected


def test_ordered():
    x = np.array([-np.inf, -3, -1e-42, 0, 1e-42, 1, np.inf], np.float32)
    keys = vectorised(numeric.ordered, np.int32)(x)
    assert (np.diff(keys) > 0).all()
    np.testing.assert_array_equal(vectorised(numeric.from_ordered, np.float32)(keys), x)
