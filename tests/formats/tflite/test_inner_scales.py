"""Graphs that are called with other scales than their own: LiteRT passes the stored elements."""

from collections.abc import Sequence

import numpy as np
import pytest
from flatbuffers import flexbuffers

pytest.importorskip("ai_edge_litert")

from ai_edge_litert import schema_py_generated as schema

from nnapi_shim import NnapiError
from tests.formats.tflite.building import Array, Building, Spec, code
from tests.formats.tflite.cases import B, Q, U
from tests.formats.tflite.running import Litert, assert_same, compare, model_of
from tests.formats.tflite.test_partial import partial


def call(made: Building, inputs: Sequence[int], outputs: Sequence[int], graph: int) -> None:
    """Add a composite."""
    made.operator("STABLEHLO_COMPOSITE", inputs, outputs)
    table = schema.StableHLOCompositeOptionsT()
    table.name, table.decompositionSubgraphIndex = "odml.something", graph
    table.compositeAttributes = list(flexbuffers.Dumps({}))
    item = made.current.operators[-1]
    item.builtinOptions2 = table
    item.builtinOptions2Type = code("BuiltinOptions2", "StableHLOCompositeOptions")


def one_inside(made: Building, specs: Sequence[Spec], name: str = "RELU") -> None:
    """Add a graph of one operator."""
    made.graph()
    arguments, result = map(made.tensor, specs)
    made.operator(name, [arguments], [result])
    made.ends([arguments], [result])


def composite(specs: Sequence[Spec], name: str = "RELU") -> bytes:
    """Specs: the input outside and inside, the output inside and outside."""
    made = Building()
    x, y = made.tensor(specs[0]), made.tensor(specs[3])
    call(made, [x], [y], 1)
    made.ends([x], [y])
    one_inside(made, specs[1:3], name)
    return made.file()


def branches(outer: Sequence[Spec], then: Sequence[Spec], otherwise: Sequence[Spec]) -> bytes:
    """RELU or RELU6."""
    made = Building()
    choice, x, y = made.tensor(B(1)), made.tensor(outer[0]), made.tensor(outer[1])
    made.operator("IF", [choice, x], [y], "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    made.ends([choice, x], [y])
    one_inside(made, then)
    one_inside(made, otherwise, "RELU6")
    return made.file()


def loop(outer: Sequence[Spec], condition: Spec, body: Sequence[Spec]) -> bytes:
    """MUL and RELU6 of a value while its sum is less than 100 steps."""
    made = Building()
    x, y = map(made.tensor, outer)
    made.operator("WHILE", [x], [y], "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
    made.ends([x], [y])
    made.graph()
    value, most, more = made.tensor(condition), made.tensor(condition._replace(shape=())), 0
    more = made.tensor(B())
    axes = made.constant(np.array([0], np.int32))
    made.operator("REDUCE_MAX", [value, axes], [most], "ReducerOptions")
    limit = np.array(100, np.int8 if condition.type == "INT8" else np.int16)
    limit_index = made.tensor(condition._replace(shape=(), value=limit))
    made.operator("LESS", [most, limit_index], [more], "LessOptions")
    made.ends([value], [more])
    made.graph()
    arguments, result = map(made.tensor, body)
    made.operator("ADD", [arguments, arguments], [result], "AddOptions")
    made.ends([arguments], [result])
    return made.file()


EVERY = {
    "INT8": np.arange(-128, 128).astype(np.int8),
    "UINT8": np.arange(256).astype(np.uint8),
    "INT16": np.arange(-32768, 32768, 257).astype(np.int16),
}
"""Elements of each type."""


def specs(type: str, *scales: tuple[float, int]) -> list[Spec]:
    return [Spec(type, EVERY[type].shape, *pair) for pair in scales]


SCALES = {
    "INT8": ((0.05, 3), (0.1, -4), (0.2, 7), (0.4, 9)),
    "UINT8": ((0.05, 120), (0.1, 1), (0.2, 130), (0.4, 9)),
    "INT16": ((0.05, 0), (0.1, 0), (0.1, 0), (0.05, 0)),  # no rounding, whose halves differ
}
KINDS = pytest.mark.parametrize("type", sorted(EVERY))


@KINDS
def test_composite(type: str) -> None:
    """All elements, bit for bit."""
    compare(composite(specs(type, *SCALES[type])), EVERY[type])


@KINDS
def test_only_the_inputs_or_outputs_differ(type: str) -> None:
    first, second, *_ = SCALES[type]
    for scales in ((first, second, second, second), (first, first, first, second)):
        compare(composite(specs(type, *scales)), EVERY[type])


@KINDS
def test_if(type: str) -> None:
    """Each branch has scales of its own."""
    a, b, c, d = specs(type, *SCALES[type])
    for outer in ((a, b), (a, a), (c, a)):
        for choice in (True, False):
            compare(branches(outer, (b, c), (d, d)), np.array([choice]), EVERY[type])


@KINDS
def test_if_with_equal_scales(type: str) -> None:
    """Nothing is added for them."""
    pair = specs(type, *SCALES[type][:1] * 2)
    data = branches(pair, pair, pair)
    model = compare(data, np.array([True]), EVERY[type])
    names = {operation.name for operation in model.operations}
    assert names == {"IF"} or type == "INT16"


@pytest.mark.parametrize("type", ["INT8", "INT16"])
def test_while(type: str) -> None:
    """The condition, the body's input, its output and the result read the same elements."""
    shape = (5,)
    a, b, c, d = (Spec(type, shape, *pair) for pair in SCALES[type])
    value = np.array([-100, 5, 9, 2, 17], EVERY[type].dtype)
    compare(loop((a, d), b, (c, c)), value)
    compare(loop((a, a), a, (b, a)), value)


def test_elements_without_a_scale() -> None:
    """Integers to the one side, quantized to the other."""
    bare = Spec("INT8", (256,))
    quantized = Q(256)
    compare(composite([bare, quantized, quantized, quantized]), EVERY["INT8"])


def test_free_dimensions() -> None:
    a, b, c, d = (Spec("INT8", (1, 4), *pair, signature=(-1, 4)) for pair in SCALES["INT8"])
    for data in (composite([a, b, c, d]),):
        for batch in (1, 3):
            value = EVERY["INT8"][: 4 * batch].reshape(batch, 4)
            compare(data, value)


def test_rank_5() -> None:
    """Its operand has fewer dimensions."""
    made = Building()
    flat, shape = (2, 32), (2, 2, 2, 2, 4)
    x, high = made.tensor(Q(*flat)), made.tensor(Q(*shape))
    back, y = made.tensor(Q(*shape, scale=0.3)), made.tensor(Q(*flat, scale=0.3))
    sizes = [made.constant(np.array(it, np.int32)) for it in (shape, flat)]
    made.operator("RESHAPE", [x, sizes[0]], [high], "ReshapeOptions", newShape=list(shape))
    call(made, [high], [back], 1)
    made.operator("RESHAPE", [back, sizes[1]], [y], "ReshapeOptions", newShape=list(flat))
    made.ends([x], [y])
    one_inside(made, [Q(*shape, scale=0.1), Q(*shape, scale=0.2, zero=-9)])
    compare(made.file(), EVERY["INT8"][:64].reshape(flat))


def test_constants() -> None:
    """The graph reads the elements of a constant with its own scale."""
    made = Building()
    x, y = made.tensor(Q(4)), made.tensor(Q(4))
    weights = made.constant(np.array([5, -7, 100, -128], np.int8), 0.5, zero_point=10)
    call(made, [x, weights], [y], 1)
    made.ends([x], [y])
    made.graph()
    a, b, c = made.tensor(Q(4)), made.tensor(Q(4, scale=0.25, zero=-3)), made.tensor(Q(4))
    made.operator("ADD", [a, b], [c], "AddOptions")
    made.ends([a, b], [c])
    compare(made.file(), np.array([1, -20, 30, 40], np.int8))


def test_other_types() -> None:
    """LiteRT gives the tensor inside the type of that outside, which no kernel expects."""
    why = "UINT8; allowed is the same type"
    with pytest.raises(NnapiError, match=rf"t0' is INT8 and is passed as .*'t0', which is {why}"):
        model_of(composite([Q(4), U(4), U(4), Q(4)]))
    with pytest.raises(
        NnapiError,
        match="graph 1: input tensor 0 't0': TENSOR_QUANT8_ASYMM_SIGNED is passed as "
        "TENSOR_QUANT8_ASYMM; allowed is the same type",
    ):
        model_of(branches([Q(4), Q(4)], [U(4), U(4)], [Q(4), Q(4)]))


def test_partial() -> None:
    """Between operators that LiteRT runs."""
    a, b, c, d = (Spec("INT8", (4,), *pair) for pair in SCALES["INT8"])
    made = Building()
    real = Spec("FLOAT32", (4,))
    x, turned, low, high, result, y = map(made.tensor, (real, real, a, d, real, real))
    axis = made.constant(np.int32(0))
    made.operator("CUMSUM", [x, axis], [turned], "CumsumOptions")
    made.operator("QUANTIZE", [turned], [low], "QuantizeOptions")
    call(made, [low], [high], 1)
    made.operator("DEQUANTIZE", [high], [result], "DequantizeOptions")
    made.operator("CUMSUM", [result, axis], [y], "CumsumOptions")
    made.ends([x], [y])
    one_inside(made, [b, c])
    model = partial(made.file())
    names = [[operator.name for operator in part.operators] for part in model.parts]
    assert names == [["CUMSUM"], ["QUANTIZE", "STABLEHLO_COMPOSITE", "DEQUANTIZE"], ["CUMSUM"]]
    value: Array = np.array([0.5, 1, -0.25, 2], np.float32)
    assert_same(model.compile("nnapi-cpu").run(value), Litert(made.file()).run(value))


def test_many_callers_with_scales_of_their_own() -> None:
    """Each needs a model of its own, whose memory the size of the file bounds."""
    made = Building()
    choice, x = made.tensor(B(1)), made.tensor(Q(1))
    fields = {"thenSubgraphIndex": 1, "elseSubgraphIndex": 1}
    last = x
    for at in range(300):
        arguments, last = last, made.tensor(Q(1, scale=1 + at / 8))
        made.operator("IF", [choice, arguments], [last], "IfOptions", **fields)
    made.ends([choice, x], [last])
    made.graph()
    first = end = made.tensor(Q(1))
    for _ in range(300):
        arguments, end = end, made.tensor(Q(1))
        made.operator("RELU", [arguments], [end])
    made.ends([first], [end])
    with pytest.raises(
        NnapiError, match=r"graph 1, imported again for other scales, takes \d+ bytes"
    ):
        model_of(made.file())
