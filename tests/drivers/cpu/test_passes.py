"""Passes over a graph: each acts, is reported, can be disabled, and changes no result."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Model
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.passes import NAMES
from nnapi_shim.drivers.cpu.passes.graph.fuse_layer_norm import LEAST, LONGEST, MOST
from nnapi_shim.drivers.cpu.program import library, threads
from nnapi_shim.tools.explain import explain

F32, U8, S8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
WITH_FLOAT16 = tuple(name for name, tier in TIERS.items() if tier.float16)
WITH_BYTE_WEIGHTS = tuple(name for name, tier in TIERS.items() if tier.byte_weights)
WITH_QUADS = tuple(name for name, tier in TIERS.items() if tier.tiling.group == 4)
"""Whose words are four bytes of the input, as they are."""
RANDOM = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def filtered(model: Model, x: Any, kind: str = "conv", **others: Any) -> Any:
    """A convolution of 3 x 3 of an image with 4 channels; quantized if that is."""
    shape = (1, 3, 3, 4) if kind == "depthwise" else (5, 3, 3, 4)
    depth = 4 if kind == "depthwise" else 5
    function = model.depthwise_conv_2d if kind == "depthwise" else model.conv_2d
    extra = [1] if kind == "depthwise" else []
    if x.scale:
        weights = model.constant(RANDOM.integers(0, 255, shape).astype(np.uint8), U8, 0.02, 120)
        bias = model.constant(np.arange(depth, dtype=np.int32), "TENSOR_INT32", x.scale * 0.02)
        return function(x, weights, bias, *extra, scale=0.5, zero_point=100, **others)
    return function(x, normal(*shape), normal(depth), *extra, **others)


def activations(model: Model) -> Any:
    x = model.input(F32, [1, 6, 6, 4])
    y = model.relu6(filtered(model, x, padding="SAME"))
    z = model.relu(model.add(y, normal(1, 6, 6, 5)))
    return model.relu1(model.mul(z, normal(5)))  # which stays where it is


def quantized_activations(model: Model) -> Any:
    x = model.input(U8, [1, 6, 6, 4], 0.05, 128)
    y = model.relu(filtered(model, x, padding="SAME"))
    return model.relu6(model.average_pool_2d(y, padding="VALID", stride=2, filter=2))


def padding(model: Model) -> Any:
    x = model.input(F32, [2, 6, 7, 4])
    padded = model.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]])
    y = filtered(model, padded, padding="VALID", stride=2)
    return model.pad_v2(y, [[0, 0], [1, 1], [1, 1], [0, 0]], np.float32(1))  # which is no zero


def quantized_padding(model: Model) -> Any:
    x = model.input(U8, [1, 7, 7, 4], 0.05, 7)
    padded = model.pad_v2(x, [[0, 0], [1, 1], [2, 0], [0, 0]], np.int32(7))
    return filtered(model, padded, "depthwise", padding="VALID", stride=2)


def dilation(model: Model) -> Any:
    x = model.input(F32, [1, 5, 6, 4])
    blocks = model.space_to_batch_nd(x, [2, 3], [[2, 3], [3, 3]])
    y = filtered(model, blocks, "depthwise", padding="VALID", activation="RELU6")
    return model.batch_to_space_nd(y, [2, 3])


def quantization(model: Model) -> Any:
    x = model.input(U8, [1, 6, 6, 4], 0.05, 128)

    def converted(operand: Any, kind: str, scale: float, zero_point: int) -> Any:
        real = model.dequantize(operand, output=F32)
        return model.quantize(real, output=kind, scale=scale, zero_point=zero_point)

    same = converted(x, U8, 0.05, 128)
    shifted = converted(same, S8, 0.05, 1)
    other = converted(shifted, U8, 0.031, 200)
    return model.add(same, other, scale=0.1, zero_point=9)


def transposes(model: Model) -> Any:
    x = model.input(F32, [2, 3, 4, 5])
    same = model.relu(model.transpose(model.transpose(x, [0, 2, 3, 1]), [0, 3, 1, 2]))
    return model.transpose(model.transpose(same, [1, 0, 2, 3]), [3, 1, 2, 0])


def constants(model: Model) -> Any:
    x = model.input(F32, [4])
    stored = model.constant(np.array([3, 200, 9, 77], np.uint8), U8, 0.25, 8)
    weights = model.mul(model.dequantize(stored, output=F32), normal(4))
    return model.add(x, weights)


def residual(model: Model) -> Any:
    x = model.relu(model.input(F32, [1, 96, 97, 32]))
    # Three rows and columns would have a kernel whose tiles are not cut.
    weights = normal(1, 2, 3, 32) / 8
    y = model.depthwise_conv_2d(x, weights, normal(32), 1, padding="SAME")
    weights = normal(32, 1, 1, 32) / 8
    z = model.conv_2d(y, weights, normal(32), padding="VALID", activation="RELU6")
    return model.add(x, z)


def additions(model: Model) -> Any:
    """Columns that fill no vector, of two images; a clamp between, and one behind."""
    x = model.input(F32, [2, 7, 5, 9])
    y = model.conv_2d(x, normal(24, 1, 1, 9), normal(24), padding="VALID", activation="RELU6")
    z = model.conv_2d(x, normal(24, 1, 1, 9), normal(24), padding="VALID")
    both = model.add(y, z, activation="RELU1")
    # What is added is the image as well, which other tiles still read.
    product = model.conv_2d(both, normal(24, 5, 5, 24), normal(24), padding="SAME")
    return model.relu(model.sub(model.add(product, both), normal(24)))


def quantized_additions(model: Model, kind: str = U8, zero: int = 128) -> Any:
    """The product has the larger scale, or the smaller one. Float32 is enough for all but the last
    sum, which has halves.
    """

    def product(x: Any, columns: int, scale: float, **others: Any) -> Any:
        shape = columns, 1, 1, x.dimensions[3]
        weights = model.constant(RANDOM.integers(-9, 9, shape).astype(np.int8), S8, 0.02, 0)
        bias = model.constant(np.arange(columns, dtype=np.int32), "TENSOR_INT32", x.scale * 0.02)
        if kind == U8:
            stored = RANDOM.integers(0, 255, shape).astype(np.uint8)
            weights = model.constant(stored, U8, 0.02, 120)
        return model.conv_2d(
            x, weights, bias, padding="VALID", scale=scale, zero_point=zero - 28, **others
        )

    x = model.input(kind, [2, 7, 5, 24], 0.05, zero)
    y = model.add(x, product(x, 24, 0.3), scale=0.19, zero_point=zero)
    z = model.add(product(y, 24, 0.1, activation="RELU"), y, scale=0.41, zero_point=zero - 9)
    u = model.add(z, product(z, 24, 0.4), scale=0.79, zero_point=zero - 1, activation="RELU")
    v = model.add(product(u, 70, 0.7), product(u, 70, 0.9), scale=0.25, zero_point=zero)
    return model.add(product(v, 70, 0.9), v, scale=0.1, zero_point=zero)


ADDED = (1, 5, 8) if tier().rounds_down else (1, 3, 5, 8)
"""The product with RELU is requantized by rounding down where that is possible."""


def signed_additions(model: Model) -> Any:
    return quantized_additions(model, S8, 0)


def quantized_rows(model: Model) -> Any:
    """Of two images."""
    x = model.input(U8, [2, 100, 90, 48], 0.05, 128)
    weights = RANDOM.integers(0, 255, (64, 1, 1, 48)).astype(np.uint8)
    bias = model.constant(np.arange(64, dtype=np.int32), "TENSOR_INT32", 0.001)
    filter = model.constant(weights, U8, 0.02, 128)
    y = model.conv_2d(x, filter, bias, padding="VALID", scale=0.5, zero_point=100)
    few = model.constant(RANDOM.integers(0, 255, (24, 1, 1, 64)).astype(np.uint8), U8, 0.02, 128)
    bias = model.constant(np.arange(24, dtype=np.int32), "TENSOR_INT32", 0.01)
    return model.conv_2d(y, few, bias, padding="VALID", scale=0.7, zero_point=3)


def parts(model: Model) -> Any:
    """Channels that lie apart, rows that lie together; both are read from further on."""
    x = model.input(F32, [1, 9, 8, 6])
    one = model.conv_2d(x, normal(5, 1, 1, 6), normal(5), padding="VALID")
    other = model.conv_2d(x, normal(3, 3, 3, 6), normal(3), padding="SAME", activation="RELU")
    both = model.concatenation([one, other], 3)
    first, second, third = model.split(both, 1, 3)
    repeated = model.concatenation([model.tanh(first), model.relu(second), third], 1)
    return model.add(repeated, both)


def normalised(model: Model) -> Any:
    """Over the last dimension, and what shares of it remain."""
    x = model.input(F32, [2, 48, 112])
    apart = model.sub(x, model.mean(x, [2], keep_dims=True))
    variance = model.mean(model.mul(apart, apart), [2], keep_dims=True)
    y = model.add(model.mul(model.div(apart, model.sqrt(variance)), normal(112)), normal(112))
    return model.softmax(model.mul(y, model.logistic(y)))


def overwritten(model: Model) -> Any:
    """What all rows need, and a step of the same chain would write over."""
    x = model.input(F32, [128, 128])
    columns = model.mean(x, [0])
    y = model.mul(x, columns)
    rows = model.add(columns, normal(128))
    return model.mul(y, model.reshape(rows, [128, 1]))


def made_real(model: Model) -> Any:
    x = model.input(U8, [100, 121], 0.05, 128)
    real = model.relu1(model.dequantize(x, output=F32))
    whole = model.reduce_max(real, [1], keep_dims=True)
    return model.quantize(model.sub(real, whole), output=S8, scale=0.02, zero_point=100)


def quantized_sums(model: Model) -> Any:
    x = model.input(U8, [2, 5, 6, 70], 0.05, 128)
    real = model.dequantize(x, output=F32)
    y = model.quantize(model.reduce_sum(real, [1, -2]), output=S8, scale=0.31, zero_point=-9)
    real = model.dequantize(y, output=F32)
    return model.quantize(model.mean(real, [1], keep_dims=True), output=U8, scale=0.2)


def of_bytes(model: Model) -> Any:
    """Functions of one byte, also through floats."""
    x = model.input(U8, [3, 40, 50], 0.05, 128)
    y = model.mul(x, model.logistic(x), scale=0.03, zero_point=20)
    real = model.dequantize(
        model.quantize(model.dequantize(y, output=F32), output=S8, scale=0.02), output=F32
    )
    three = model.constant(np.array([[3]], np.float32), F32)
    z = model.mul(real, model.div(model.relu6(model.add(real, three)), np.float32([6])))
    z = model.quantize(model.tanh(z), output=S8, scale=1 / 128)
    kept = model.logistic(z)
    return model.add(kept, model.mul(kept, z, scale=1 / 128, zero_point=-5), scale=1 / 64)


def chosen_bytes(model: Model) -> Any:
    """A function of one byte with cases, a conversion and a sine."""
    real = model.dequantize(model.input(U8, [3, 40, 50], 0.05, 128), output=F32)
    wave = model.sin(real)
    chosen = model.select(model.less(real, np.float32([0])), wave, model.cast(real, output=F32))
    return model.quantize(chosen, output=S8, scale=0.05)


def gelu(model: Model) -> Any:
    """With factors in either order; what is almost one stays as it is."""
    x = model.input(F32, [3, 1, 7, 41])

    def cubic(y: Any, other: Any) -> Any:
        number = abs(normal(1, 1))
        cube = model.mul(number, model.mul(other, model.mul(y, y)))
        share = model.tanh(model.mul(model.add(cube, y), np.float32([0.8])))
        return model.mul(model.mul(model.add(share, np.float32([1])), y), np.float32([0.5]))

    return model.add(cubic(x, x), cubic(x, model.neg(x)))


def layer_norms(model: Model) -> Any:
    """One by the formula, one whose factors stand the other way round, and two that are almost
    one: another axis, and a mean that something else needs.
    """

    def normed(x: Any, axis: int = -1, *, swapped: bool = False, shared: bool = False) -> Any:
        mean = model.mean(x, [axis], keep_dims=True)
        apart = model.sub(x, mean)
        variance = model.mean(model.mul(apart, apart), [axis], keep_dims=True)
        least = np.full((1, 1, 1), 1e-5, np.float32)
        deviation = model.sqrt(
            model.add(least, variance) if swapped else model.add(variance, least)
        )
        y, gain, bias = model.div(apart, deviation), normal(37), normal(1, 1, 37)
        y = model.add(bias, model.mul(gain, y)) if swapped else model.add(model.mul(y, gain), bias)
        return model.mul(y, mean) if shared else y

    x = model.input(F32, [3, 5, 37])
    return normed(normed(normed(normed(x), 2, swapped=True), 1), shared=True)


def branches(model: Model) -> Any:
    """Two ways of small steps; what follows a step of the first stands behind the second's."""
    x = model.input(F32, [64, 96])
    first = model.softmax(model.transpose(x, [1, 0]), beta=1.0)
    second = model.transpose(model.softmax(x, beta=1.0), [1, 0])
    first = model.abs(first)
    second = model.l2_normalization(second)
    return model.maximum(first, second)


def exact_halves(model: Model) -> Any:
    """Weights that float16 has, and as many others, which are read for two rows."""
    model.relax_computation_float32_to_float16()
    weights = (normal(520, 520) / 64).astype(np.float16).astype(np.float32)
    x = model.input(F32, [1, 520])
    y = model.fully_connected(x, weights, normal(520))
    return model.fully_connected(model.reshape(y, [2, 260]), normal(1040, 260) / 64, normal(1040))


def stored_weights(model: Model) -> Any:
    """Weights of bytes for one row and for two."""
    scales = {"type": "TENSOR_QUANT8_ASYMM_SIGNED", "scale": 0.0003, "zero_point": 0}
    x = model.input(F32, [1, 720])
    for rows in (1, 2):
        values = RANDOM.integers(-128, 128, (720, 720 // rows)).astype(np.int8)
        weights = model.dequantize(model.constant(values, **scales), output=F32)
        x = model.reshape(x, [rows, 720 // rows])
        x = model.fully_connected(x, weights, normal(720))
    return x


def embeddings(model: Model) -> Any:
    x = model.input(F32, [9, 32])
    mean = model.mean(model.gather(x, 0, np.int32([[8, 0, 3], [3, 7, 7]])), [1])
    lookup = model.embedding_lookup(np.int32([1, 2, 2, 5, 8]), x)
    total = model.reduce_sum(lookup, [0], keep_dims=True)
    along_another = model.mean(model.gather(x, 1, np.int32(range(16))), [0], keep_dims=True)
    wider = model.concatenation([along_another, along_another], 1)
    return model.add(model.add(mean, total), wider)


class Case(NamedTuple):
    """A model that a pass rewrites, and the operations that its report names."""

    build: Callable[[Model], Any]
    name: str
    operations: tuple[int, ...]
    tolerance: float = 0.0
    tiers: tuple[str, ...] = ()
    """Those on which it acts, if not on all."""

    def expected(self) -> tuple[int, ...]:
        return () if self.tiers and library.current().tier not in self.tiers else self.operations


CASES = [
    Case(activations, "fuse_activations", (1, 3)),
    Case(quantized_activations, "fuse_activations", (1, 3)),
    Case(padding, "fuse_padding", (0,)),
    Case(quantized_padding, "fuse_padding", (0,)),
    Case(dilation, "fuse_dilation", (1,), 1e-6),
    Case(quantization, "merge_quantization", (1, 3, 5)),
    Case(transposes, "merge_transposes", (1, 4)),
    Case(constants, "fold_constants", (0, 1)),
    Case(embeddings, "sum_gathered", (1, 3)),
    Case(additions, "fuse_additions", (2, 4)),
    Case(quantized_additions, "fuse_additions", ADDED),
    Case(signed_additions, "fuse_additions", ADDED),
    Case(residual, "fuse_tiles", (2,)),
    Case(parts, "write_in_place", (2, 2, 3, 3, 3, 6, 6)),
    # Other tiers make int16 of bytes first, which is a step of its own.
    Case(quantized_rows, "fuse_tiles", (1,), tiers=WITH_QUADS),
    Case(quantized_sums, "sum_bytes", (2, 5)),
    Case(of_bytes, "tabulate_bytes", (1, 13)),
    Case(chosen_bytes, "tabulate_bytes", (5,)),
    Case(gelu, "fuse_gelu", (8,)),
    Case(layer_norms, "fuse_layer_norm", (8, 17)),
    Case(normalised, "fuse_elementwise", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
    Case(overwritten, "fuse_elementwise", (2, 4)),
    Case(made_real, "fuse_elementwise", (1, 2, 3, 4)),
    Case(branches, "run_parallel", (2, 3, 5)),
    Case(stored_weights, "keep_weights_q8", (0, 2, 3, 5), 1e-5, tiers=WITH_BYTE_WEIGHTS),
    Case(exact_halves, "compress_weights_f16", (0,), tiers=WITH_FLOAT16),
]


def built(case: Case) -> Model:
    model = Model()
    RANDOM.bit_generator.state = np.random.default_rng(11).bit_generator.state
    model.outputs(case.build(model))
    model.finish()
    return model


def values(model: Model) -> np.ndarray:
    (inputs,) = model.input_operands
    if inputs.scale:
        stored = np.arange(np.prod(inputs.dimensions)).reshape(inputs.dimensions)
        return stored.astype(np.int8 if inputs.type.name == S8 else np.uint8)
    return np.random.default_rng(5).normal(size=inputs.dimensions).astype(np.float32) * 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.build.__name__)
def test_it_acts_and_changes_no_result(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # With many threads, fuse_tiles leaves steps apart that would have too few tiles together.
    monkeypatch.setattr(threads, "count", lambda: 2)
    model = built(case)
    x = values(model)
    actual = [done.operation for done in explain(model).passes if done.name == case.name]
    assert tuple(sorted(actual)) == case.expected()
    with_it = model.compile("nnapi-cpu").run(x)
    between = model.compile("nnapi-cpu").intermediates(x)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", f"-{case.name}")
    assert case.name not in {done.name for done in explain(model).passes}
    without = model.compile("nnapi-cpu").run(x)
    expected = model.compile("nnapi-reference").run(x)
    (output,) = model.output_operands
    for result in (with_it, between[output]):
        np.testing.assert_allclose(result, without, rtol=case.tolerance, atol=case.tolerance)
    np.testing.assert_allclose(with_it, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [F32, U8])
@pytest.mark.parametrize("shape", [(1, 33, 8, 24), (1, 96, 97, 32)])
def test_a_short_row_is_no_tensor(
    kind: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an ADD behind a product adds to every pixel; there are copies of it for a part alone."""
    model = Model()
    depth = shape[3]
    quantized = () if kind == F32 else (0.05, 128)
    x = model.input(kind, shape, *quantized)
    if kind == F32:
        y = model.conv_2d(x, normal(depth, 1, 1, depth), normal(depth), padding="VALID")
        model.outputs(model.add(y, normal(depth)))
    else:
        stored = RANDOM.integers(0, 255, (depth, 1, 1, depth)).astype(np.uint8)
        weights = model.constant(stored, U8, 0.02, 120)
        bias = model.constant(np.arange(depth, dtype=np.int32), "TENSOR_INT32", 0.001)
        y = model.conv_2d(x, weights, bias, padding="VALID", scale=0.7, zero_point=90)
        row = model.constant(np.arange(depth, dtype=np.uint8) * 7, U8, 0.3, 9)
        model.outputs(model.add(y, row, scale=0.9, zero_point=70))
    model.finish()
    inputs = values(model)
    actual = model.compile("nnapi-cpu").run(inputs)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-all")
    np.testing.assert_array_equal(actual, model.compile("nnapi-cpu").run(inputs))


@pytest.mark.parametrize("bad", [-1, 9, 2**31 - 1])
def test_a_sum_of_rows_names_the_index_outside(bad: int) -> None:
    model = Model()
    x, indices = model.input(F32, [9, 32]), model.input("TENSOR_INT32", [2, 3])
    model.outputs(model.mean(model.gather(x, 0, indices), [1]))
    model.finish()
    assert [done.name for done in explain(model).passes] == ["sum_gathered"]
    compilation = model.compile("nnapi-cpu")
    rows = normal(9, 32)
    chosen = np.int32([[0, 8, 8], [1, 1, 3]])
    np.testing.assert_allclose(compilation.run(rows, chosen), rows[chosen].mean(1), rtol=1e-5)
    chosen[1, 2] = bad
    with pytest.raises(
        nnapi_shim.NnapiError, match=f"number 5 of indices is {bad}; allowed are 0 to 8"
    ):
        compilation.run(rows, chosen)


def test_all_passes_are_tested() -> None:
    assert {case.name for case in CASES} == set(NAMES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.build.__name__)
def test_what_an_output_needs_is_computed(case: Case) -> None:
    """Everything between the operations is an output as well."""
    model = built(case)
    x = values(model)
    between = model.compile("nnapi-cpu").intermediates(x)
    expected = model.compile("nnapi-reference").intermediates(x)
    assert set(map(int, (operand.index for operand in between))) == {
        operand.index for operand in expected
    }
    for operand in expected:
        np.testing.assert_allclose(
            between[operand.index].astype(float), expected[operand.index], rtol=1e-5, atol=1e-5
        )


CACHED = activations, quantization, constants


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.build in CACHED],
    ids=lambda case: case.build.__name__,
)
def test_cached_programs_know_which_passes_made_them(
    case: Case, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = built(case)
    x = values(model)
    expected = model.compile("nnapi-cpu").run(x)
    files = set()
    for setting in ("", "", "-all"):
        monkeypatch.setenv("NNAPI_SHIM_PASSES", setting)
        compiled = model.compile("nnapi-cpu", cache=(tmp_path, bytes(32)))
        np.testing.assert_array_equal(compiled.run(x), expected)
        files.add(frozenset(tmp_path.iterdir()))
    assert sorted(map(len, files)) == [1, 2]


def test_a_name_that_is_none_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-fold_constants,-fold_paper")
    model = built(CASES[0])
    assert explain(model).passes
    assert "NNAPI_SHIM_PASSES is 'fold_paper', which is not used" in capfd.readouterr().err


def test_a_folded_bias_has_the_scale_that_its_operation_gives() -> None:
    """It declares another, which counts for nothing in a temporary."""
    model = Model()
    x = model.input("TENSOR_QUANT8_ASYMM", [2, 3], 0.5, 0)
    weights = model.constant(np.ones((3, 3), np.uint8), "TENSOR_QUANT8_ASYMM", 0.5, 0)
    values = model.constant(np.int32([[4, 8, 12]]), "TENSOR_INT32", 0.25, 0)
    shape, none = model.constant(np.int32([3])), model.constant(0, "INT32")
    bias = model.add_operand("TENSOR_INT32", [3], 0.75)
    y = model.add_operand("TENSOR_QUANT8_ASYMM", [2, 3], 1.0)
    model.add_operation("RESHAPE", [values, shape], [bias])
    model.add_operation("FULLY_CONNECTED", [x, weights, bias, none], [y])
    model.outputs(y)
    model.finish()
    inputs = np.uint8([[2, 0, 0], [0, 4, 8]])
    actual = [model.compile(device).run(inputs) for device in ("nnapi-cpu", "nnapi-reference")]
    assert actual[0].tolist() == actual[1].tolist()


def test_what_fails_fails_in_the_run_and_is_named() -> None:
    """Constant positions that are outside: compiling succeeds, with passes as without."""
    model = Model()
    x = model.input(F32, [2])
    taken = model.gather(np.ones(3, np.float32), 0, np.array([1, 9], np.int32))
    model.outputs(model.add(x, taken))
    model.finish()
    compiled = model.compile("nnapi-cpu")
    with pytest.raises(nnapi_shim.NnapiError, match=r"operation 0 \(?GATHER|GATHER \(operation 0"):
        compiled.run(np.zeros(2, np.float32))


def test_layer_norm_of_what_is_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinity, NaN, and squares beyond float32 go on as they do step by step."""
    model = built(next(case for case in CASES if case.name == "fuse_layer_norm"))
    inputs = np.random.default_rng(3).normal(size=(3, 5, 37)).astype(np.float32)
    inputs[0, 0, 3], inputs[0, 1, 20], inputs[0, 2, 36] = np.inf, -np.inf, np.nan
    inputs[1, 0], inputs[1, 1, 4], inputs[2, 2] = 7, 1e30, 0
    actual = model.compile("nnapi-cpu").intermediates(inputs)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-all")
    expected = model.compile("nnapi-cpu").run(inputs)
    result = model.compile("nnapi-cpu").intermediates(inputs)
    monkeypatch.delenv("NNAPI_SHIM_PASSES")
    np.testing.assert_array_equal(model.compile("nnapi-cpu").run(inputs), expected)
    for operand in result:
        np.testing.assert_array_equal(actual[operand.index], result[operand.index])


def layer_norm(length: int, least: float = 1e-5, gain: float = 1.0) -> set[str]:
    """What is done to a model of one."""
    model = Model()
    x = model.input(F32, [2, length])
    apart = model.sub(x, model.mean(x, [1], keep_dims=True))
    variance = model.mean(model.mul(apart, apart), [1], keep_dims=True)
    deviation = model.sqrt(model.add(variance, np.full((1, 1), least, np.float32)))
    y = model.mul(model.div(apart, deviation), np.full(length, gain, np.float32))
    model.outputs(model.add(y, normal(length)))
    model.finish()
    return {done.name for done in explain(model).passes}


@pytest.mark.parametrize(
    ("least", "gain"),
    [(0.0, 1.0), (LEAST / 2, 1.0), (MOST * 2, 1.0), (np.nan, 1.0), (1e-5, 1e30), (1e-5, np.inf)],
)
def test_layer_norm_that_may_leave_float32_stays(least: float, gain: float) -> None:
    """Separate steps clamp infinite results; the fused step does not."""
    assert "fuse_layer_norm" not in layer_norm(5, least, gain)


@pytest.mark.parametrize("least", [LEAST, MOST])
def test_layer_norm_at_its_bounds_is_one_step(least: float) -> None:
    assert "fuse_layer_norm" in layer_norm(5, least)


def test_layer_norm_of_long_rows_stays() -> None:
    """The fused step checks the deadline only between rows."""
    assert "fuse_layer_norm" in layer_norm(LONGEST)
    assert "fuse_layer_norm" not in layer_norm(LONGEST + 1)


def test_infinite_weights_keep_padding_outside() -> None:
    """0 times infinity is no number, also where the 0 is padding."""
    model = Model()
    x = model.input(F32, [1, 3, 3, 1])
    padded = model.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
    weights = np.full((1, 3, 3, 1), np.inf, np.float32)
    model.outputs(model.depthwise_conv_2d(padded, weights, [0.0], 1, padding="VALID"))
    model.finish()
    assert not explain(model).passes


def test_unknown_dimensions_are_left_to_the_run() -> None:
    model = Model()
    x = model.input(F32, [None, 3])
    model.outputs(model.relu(model.add(x, normal(3))))
    model.finish()
    assert not explain(model).passes
    inputs = np.array([[-1e9, 0, 1e9]], np.float32)
    assert model.compile("nnapi-cpu").run(inputs)[0, 0] == 0


def test_operations_whose_inputs_only_a_run_knows() -> None:
    """Their output shapes follow from input values, whether the declared shapes agree or not."""
    for declared, works in ((5, True), (4, False)):
        with Model() as model:
            x, z = model.input(F32, None), model.add_operand(F32, [declared])
            model.add_operation("TILE", [x, model.constant(np.int32([5]), "TENSOR_INT32")], [z])
            model.outputs(z, model.logistic(z))
        compiled = nnapi_shim.Compilation(model, "nnapi-cpu")
        if works:
            tiled, actual = compiled.run(np.float32([0]))
            assert tiled.tolist() == [0] * 5 and actual.tolist() == [0.5] * 5
        else:
            with pytest.raises(nnapi_shim.NnapiError, match="OP_FAILED"):
                compiled.run(np.float32([0]))
