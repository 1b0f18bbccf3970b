"""Operators one by one, as LiteRT runs them: each gives the same in a model."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.formats.tflite.building import Array, Spec, one_operator


class Case(NamedTuple):
    """A file of one operator. steps: how far quantized results may be apart."""

    name: str
    make: Callable[[], bytes]
    steps: int
    tolerance: float
    inputs: Callable[[], list[Array]] | None

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def F(*shape: int) -> Spec:
    return Spec("FLOAT32", shape)


def I(*shape: int) -> Spec:  # noqa: E743
    return Spec("INT32", shape)


def B(*shape: int) -> Spec:
    return Spec("BOOL", shape)


def Q(*shape: int, scale: float = 0.05, zero: int = 3) -> Spec:
    return Spec("INT8", shape, scale, zero)


def U(*shape: int, scale: float = 0.05, zero: int = 120) -> Spec:
    return Spec("UINT8", shape, scale, zero)


def i32(*numbers: Any) -> Array:
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32)


def f32(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def s8(*shape: int, scale: float | list[float] = 0.02, dim: int = 0, type: str = "INT8") -> Spec:
    dtype, low = (np.int8, -127) if type == "INT8" else (np.uint8, 0)
    value = np.random.default_rng(1).integers(low, low + 255, shape).astype(dtype)
    return Spec(type, shape, scale, 0 if type == "INT8" else 128, dim, value)


def bias(count: int, scale: float | list[float]) -> Spec:
    value = np.random.default_rng(2).integers(-500, 500, count).astype(np.int32)
    return Spec("INT32", (count,), scale, 0, 0, value)


def case(
    name: str,
    inputs: list[Any],
    outputs: list[Spec],
    kind: str = "",
    *,
    tag: str = "",
    steps: int = 1,
    tolerance: float = 1e-5,
    given: Callable[[], list[Array]] | None = None,
    version: int = 1,
    **fields: Any,
) -> None:
    title = "-".join(filter(None, (name, outputs[0].type.lower(), tag)))

    def make() -> bytes:
        return one_operator(name, inputs, outputs, kind, version, **fields)

    CASES.append(Case(title, make, steps, tolerance, given))


# Convolutions

for fused, code in (("none", 0), ("relu", 1), ("relu1", 2), ("relu6", 3)):
    case(
        "CONV_2D",
        [F(1, 5, 6, 2), f32(3, 2, 3, 2), f32(3)],
        [F(1, 3, 3, 3)],
        "Conv2DOptions",
        tag=fused,
        padding=0,
        strideW=2,
        strideH=2,
        fusedActivationFunction=code,
    )
case(
    "CONV_2D",
    [F(1, 7, 7, 2), f32(3, 2, 2, 2), f32(3)],
    [F(1, 5, 5, 3)],
    "Conv2DOptions",
    tag="dilated",
    padding=1,
    strideW=1,
    strideH=1,
    dilationWFactor=2,
    dilationHFactor=2,
)
case(
    "CONV_2D",
    [F(1, 5, 5, 4), f32(6, 2, 2, 2), f32(6)],
    [F(1, 4, 4, 6)],
    "Conv2DOptions",
    tag="grouped",
    padding=1,
    strideW=1,
    strideH=1,
)
case(
    "CONV_2D",
    [Q(1, 5, 5, 2), s8(3, 2, 2, 2), bias(3, 0.001)],
    [Q(1, 4, 4, 3, scale=0.1)],
    "Conv2DOptions",
    padding=1,
    strideW=1,
    strideH=1,
    version=3,
)
case(
    "CONV_2D",
    [Q(1, 5, 5, 2), s8(3, 2, 2, 2, scale=[0.01, 0.02, 0.03]), bias(3, [0.0005, 0.001, 0.0015])],
    [Q(1, 4, 4, 3, scale=0.1)],
    "Conv2DOptions",
    tag="per_channel",
    padding=1,
    strideW=1,
    strideH=1,
    version=3,
)
case(
    "CONV_2D",
    [U(1, 5, 5, 2), s8(3, 2, 2, 2, type="UINT8"), bias(3, 0.001)],
    [U(1, 4, 4, 3, scale=0.1)],
    "Conv2DOptions",
    padding=1,
    strideW=1,
    strideH=1,
)
case(
    "DEPTHWISE_CONV_2D",
    [F(1, 5, 5, 2), f32(1, 2, 2, 4), f32(4)],
    [F(1, 4, 4, 4)],
    "DepthwiseConv2DOptions",
    padding=1,
    strideW=1,
    strideH=1,
    depthMultiplier=2,
)
case(
    "DEPTHWISE_CONV_2D",
    [Q(1, 5, 5, 2), s8(1, 2, 2, 2, scale=[0.01, 0.02], dim=3), bias(2, [0.0005, 0.001])],
    [Q(1, 4, 4, 2, scale=0.1)],
    "DepthwiseConv2DOptions",
    padding=1,
    strideW=1,
    strideH=1,
    depthMultiplier=1,
    version=3,
)
case(
    "TRANSPOSE_CONV",
    [i32(1, 6, 6, 3), f32(3, 2, 2, 2), F(1, 3, 3, 2)],
    [F(1, 6, 6, 3)],
    "TransposeConvOptions",
    padding=0,
    strideW=2,
    strideH=2,
)
case(
    "TRANSPOSE_CONV",
    [i32(1, 6, 6, 3), f32(3, 2, 2, 2), F(1, 3, 3, 2), f32(3)],
    [F(1, 6, 6, 3)],
    "TransposeConvOptions",
    tag="bias",
    padding=0,
    strideW=2,
    strideH=2,
    version=3,
)
case(
    "FULLY_CONNECTED",
    [F(2, 4), f32(3, 4), f32(3)],
    [F(2, 3)],
    "FullyConnectedOptions",
    fusedActivationFunction=1,
)
case(
    "FULLY_CONNECTED",
    [F(2, 3, 4), f32(5, 4), None],
    [F(2, 3, 5)],
    "FullyConnectedOptions",
    tag="keep",
    keepNumDims=True,
    version=5,
)
case(
    "FULLY_CONNECTED",
    [Q(2, 4), s8(3, 4), bias(3, 0.001)],
    [Q(2, 3, scale=0.1)],
    "FullyConnectedOptions",
    version=4,
)
case(
    "FULLY_CONNECTED",
    [U(2, 4), s8(3, 4, type="UINT8"), bias(3, 0.001)],
    [U(2, 3, scale=0.1)],
    "FullyConnectedOptions",
)
case(
    "FULLY_CONNECTED",
    [F(2, 4), s8(3, 4), f32(3)],
    [F(2, 3)],
    "FullyConnectedOptions",
    tag="hybrid",
    tolerance=0.05,
    version=3,
)
case(
    "CONV_2D",
    [F(1, 5, 5, 2), s8(3, 2, 2, 2, scale=[0.01, 0.02, 0.03]), f32(3)],
    [F(1, 4, 4, 3)],
    "Conv2DOptions",
    tag="hybrid",
    tolerance=0.15,
    padding=1,
    strideW=1,
    strideH=1,
    version=5,
)

# Pooling, images

for pool in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
    case(
        pool,
        [F(1, 5, 5, 2)],
        [F(1, 2, 2, 2)],
        "Pool2DOptions",
        padding=1,
        strideW=2,
        strideH=2,
        filterWidth=2,
        filterHeight=2,
        fusedActivationFunction=3,
    )
case(
    "AVERAGE_POOL_2D",
    [Q(1, 5, 5, 2)],
    [Q(1, 3, 3, 2)],
    "Pool2DOptions",
    padding=0,
    strideW=2,
    strideH=2,
    filterWidth=2,
    filterHeight=2,
    version=2,
)
for corners, half in ((False, False), (True, False), (False, True)):
    for resize, kind in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        case(
            resize,
            [F(1, 3, 4, 2), i32(5, 7)],
            [F(1, 5, 7, 2)],
            kind,
            tag=f"{corners:d}{half:d}",
            alignCorners=corners,
            halfPixelCenters=half,
        )

# Arithmetic

for binary, kind in (
    ("ADD", "AddOptions"),
    ("SUB", "SubOptions"),
    ("MUL", "MulOptions"),
    ("DIV", "DivOptions"),
):
    case(binary, [F(2, 3), F(3)], [F(2, 3)], kind, fusedActivationFunction=1)
    if binary != "DIV":
        case(binary, [Q(2, 3), Q(2, 3, scale=0.03, zero=-4)], [Q(2, 3, scale=0.1)], kind, version=2)
        case(binary, [U(2, 3), U(2, 3, scale=0.03)], [U(2, 3, scale=0.1)], kind)
    case(
        binary,
        [I(2, 3), I(2, 3)],
        [I(2, 3)],
        kind,
        given=lambda: [i32([[7, -7, 5], [-9, 9, 0]]), i32([[2, 2, -3], [-4, 1, 5]])],
    )
case(
    "DIV",
    [U(2, 3), U(2, 3)],
    [U(2, 3, scale=0.1)],
    "DivOptions",
    version=2,
    given=lambda: [
        np.array([[130, 140, 90], [1, 2, 250]], np.uint8),
        np.array([[140, 90, 150], [200, 220, 60]], np.uint8),
    ],
)
case(
    "FLOOR_DIV",
    [I(2, 3), I(3)],
    [I(2, 3)],
    "FloorDivOptions",
    given=lambda: [i32([[7, -7, 5], [-9, 9, 0]]), i32([2, 2, -3])],
)
case("FLOOR_DIV", [F(2, 3), F(3)], [F(2, 3)], "FloorDivOptions", version=2)
case(
    "FLOOR_MOD",
    [I(2, 3), I(3)],
    [I(2, 3)],
    "FloorModOptions",
    given=lambda: [i32([[7, -7, 5], [-9, 9, 0]]), i32([2, 2, -3])],
)
case("ADD_N", [F(2, 3), F(2, 3), F(2, 3)], [F(2, 3)], "AddNOptions")
case(
    "POW",
    [F(2, 3), f32(3)],
    [F(2, 3)],
    "PowOptions",
    given=lambda: [np.abs(f32(2, 3, seed=5)) + 0.1],
)
case("SQUARED_DIFFERENCE", [F(2, 3), F(3)], [F(2, 3)], "SquaredDifferenceOptions")
case(
    "SQUARED_DIFFERENCE",
    [Q(2, 3), Q(2, 3)],
    [Q(2, 3, scale=0.5, zero=-128)],
    "SquaredDifferenceOptions",
    version=2,
)
for either in ("MAXIMUM", "MINIMUM"):
    case(either, [F(2, 3), F(3)], [F(2, 3)], "MaximumMinimumOptions")
    case(either, [I(2, 3), I(3)], [I(2, 3)], "MaximumMinimumOptions")
    case(either, [Q(2, 3), Q(3)], [Q(2, 3)], "MaximumMinimumOptions", version=2)

# One input

for unary, kind in (
    ("ABS", "AbsOptions"),
    ("CEIL", ""),
    ("ELU", ""),
    ("EXP", "ExpOptions"),
    ("FLOOR", ""),
    ("HARD_SWISH", "HardSwishOptions"),
    ("LOGISTIC", ""),
    ("NEG", "NegOptions"),
    ("RELU", ""),
    ("RELU6", ""),
    ("RELU_N1_TO_1", ""),
    ("RELU_0_TO_1", ""),
    ("SIN", ""),
    ("SIGN", ""),
    ("SQUARE", "SquareOptions"),
    ("TANH", ""),
    ("ZEROS_LIKE", "ZerosLikeOptions"),
    ("LOG_SOFTMAX", "LogSoftmaxOptions"),
    ("L2_NORMALIZATION", "L2NormOptions"),
):
    case(unary, [F(2, 5)], [F(2, 5)], kind)
for root in ("SQRT", "RSQRT", "LOG"):
    case(root, [F(2, 5)], [F(2, 5)], given=lambda: [np.abs(f32(2, 5)) + 0.1])
case("LOGISTIC", [Q(2, 5)], [Q(2, 5, scale=1 / 256, zero=-128)])
case("TANH", [U(2, 5)], [U(2, 5, scale=1 / 128, zero=128)])
case("HARD_SWISH", [Q(2, 5)], [Q(2, 5, scale=0.1)], "HardSwishOptions")
case("RELU", [Q(2, 5)], [Q(2, 5, scale=0.05, zero=3)], version=2)
case("ABS", [Q(2, 5)], [Q(2, 5, scale=0.06, zero=-128)], "AbsOptions", version=2)
case("EXP", [Q(2, 5, scale=0.01)], [Q(2, 5, scale=0.03)], "ExpOptions", version=2)
case("LEAKY_RELU", [F(2, 5)], [F(2, 5)], "LeakyReluOptions", alpha=0.2)
case("LEAKY_RELU", [Q(2, 5)], [Q(2, 5, scale=0.06)], "LeakyReluOptions", alpha=0.2, version=2)
case("LEAKY_RELU", [U(2, 5)], [U(2, 5, scale=0.06)], "LeakyReluOptions", alpha=0.2)
case("PRELU", [F(1, 2, 2, 3), f32(1, 1, 3)], [F(1, 2, 2, 3)])
case("GELU", [F(2, 5)], [F(2, 5)], "GeluOptions", approximate=True)
case("SOFTMAX", [F(2, 5)], [F(2, 5)], "SoftmaxOptions", beta=0.5)
case(
    "SOFTMAX", [Q(2, 5)], [Q(2, 5, scale=1 / 256, zero=-128)], "SoftmaxOptions", beta=1.0, version=2
)
case(
    "LOCAL_RESPONSE_NORMALIZATION",
    [F(1, 2, 2, 6)],
    [F(1, 2, 2, 6)],
    "LocalResponseNormalizationOptions",
    radius=2,
    bias=1.0,
    alpha=0.5,
    beta=0.75,
)

# Along axes

for reduce in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
    case(reduce, [F(2, 3, 4), i32(1, -1)], [F(2)], "ReducerOptions")
    case(
        reduce,
        [F(2, 3, 4), np.array(1, np.int32)],
        [F(2, 1, 4)],
        "ReducerOptions",
        tag="keep",
        keepDims=True,
    )
    case(reduce, [F(2, 3), i32(0, 1)], [F()], "ReducerOptions", tag="all")
case("MEAN", [Q(1, 4, 4, 3), i32(1, 2)], [Q(1, 3, scale=0.04, zero=1)], "ReducerOptions", version=2)
case("REDUCE_MAX", [Q(2, 3), i32([1])], [Q(2)], "ReducerOptions", version=2)
case("SUM", [Q(2, 3), i32([1])], [Q(2, scale=0.2)], "ReducerOptions", version=2)
for logic in ("REDUCE_ANY", "REDUCE_ALL"):
    case(logic, [B(3, 4), i32([1])], [B(3)], "ReducerOptions")
for index in ("ARG_MAX", "ARG_MIN"):
    kind = "ArgMaxOptions" if index == "ARG_MAX" else "ArgMinOptions"
    case(index, [F(3, 4), np.array(-1, np.int32)], [I(3)], kind, outputType=2)
    case(
        index,
        [F(3, 4), np.array(-1, np.int32)],
        [Spec("INT64", (3,))],
        kind,
        tag="long",
        outputType=4,
    )
case("TOPK_V2", [F(3, 6), np.array(2, np.int32)], [F(3, 2), I(3, 2)], "TopKV2Options")

# Shapes

case("RESHAPE", [F(2, 6), i32(3, -1)], [F(3, 4)], "ReshapeOptions", newShape=[3, -1])
case("RESHAPE", [F(2, 6)], [F(3, 4)], "ReshapeOptions", tag="option", newShape=[3, 4])
case("RESHAPE", [I(2, 6), i32(3, 4)], [I(3, 4)], "ReshapeOptions", newShape=[3, 4])
case(
    "RESHAPE", [F(2, 6), I(2)], [F(3, 4)], "", tag="computed", given=lambda: [f32(2, 6), i32(3, 4)]
)
case("SQUEEZE", [F(1, 3, 1, 2)], [F(3, 1, 2)], "SqueezeOptions", squeezeDims=[0])
case("SQUEEZE", [I(1, 3, 1, 2)], [I(3, 2)], "SqueezeOptions", squeezeDims=[])
case("EXPAND_DIMS", [F(2, 3), np.array(1, np.int32)], [F(2, 1, 3)], "ExpandDimsOptions")
case("TRANSPOSE", [F(2, 3, 4), i32(2, 0, 1)], [F(4, 2, 3)], "TransposeOptions")
case("BROADCAST_TO", [F(3, 1), i32(2, 3, 4)], [F(2, 3, 4)], "BroadcastToOptions", version=2)
case("TILE", [F(2, 3), i32(2, 2)], [F(4, 6)], "TileOptions")
case("FILL", [i32(2, 3), F()], [F(2, 3)], "FillOptions", given=lambda: [np.array(2.5, np.float32)])
case("REVERSE_V2", [F(2, 3), i32([1])], [F(2, 3)], "ReverseV2Options")
case(
    "ONE_HOT",
    [I(4), np.array(3, np.int32), np.array(5, np.float32), np.array(-1, np.float32)],
    [F(4, 3)],
    "OneHotOptions",
    axis=-1,
    given=lambda: [i32(0, 2, 1, 5)],
)
case(
    "ONE_HOT",
    [I(4), np.array(3, np.int32), np.array(5, np.int32), np.array(0, np.int32)],
    [I(3, 4)],
    "OneHotOptions",
    axis=0,
    given=lambda: [i32(0, 2, 1, 5)],
)

# Parts

case("CONCATENATION", [F(2, 3), F(2, 1)], [F(2, 4)], "ConcatenationOptions", axis=-1)
case("CONCATENATION", [I(2, 4), I(2, 6)], [I(2, 10)], "ConcatenationOptions", axis=1)
case("CONCATENATION", [I(2, 3), I(1, 3)], [I(3, 3)], "ConcatenationOptions", axis=0, tag="rows")
case("CONCATENATION", [Q(2, 3), Q(2, 1)], [Q(2, 4)], "ConcatenationOptions", axis=1)
case("PACK", [F(2, 3), F(2, 3)], [F(2, 2, 3)], "PackOptions", valuesCount=2, axis=1)
case("PACK", [I(), I()], [I(2)], "PackOptions", tag="numbers", valuesCount=2, axis=0)
case("UNPACK", [F(2, 3)], [F(2), F(2), F(2)], "UnpackOptions", num=3, axis=-1)
case("UNPACK", [I(2)], [I(), I()], "UnpackOptions", tag="numbers", num=2, axis=0)
case("SPLIT", [np.array(1, np.int32), F(2, 6)], [F(2, 3), F(2, 3)], "SplitOptions", numSplits=2)
case(
    "SPLIT_V",
    [F(2, 6), i32(1, 3, -1), np.array(1, np.int32)],
    [F(2, 1), F(2, 3), F(2, 2)],
    "SplitVOptions",
    numSplits=3,
)
case("SLICE", [F(3, 4), i32(1, 0), i32(-1, 2)], [F(2, 2)], "SliceOptions")
case("SLICE", [I(3, 4), i32(1, 0), i32(-1, 2)], [I(2, 2)], "SliceOptions")
case("STRIDED_SLICE", [F(3, 4), i32(0, 3), i32(3, 0), i32(2, -1)], [F(2, 3)], "StridedSliceOptions")
case(  # x[-1], as TensorFlow writes it
    "STRIDED_SLICE",
    [F(4, 5, 6), i32(-1, 0, 0), i32(0, 0, 0), i32(1, 1, 1)],
    [F(5, 6)],
    "StridedSliceOptions",
    tag="last",
    beginMask=6,
    endMask=6,
    shrinkAxisMask=1,
)
case(
    "STRIDED_SLICE",
    [F(3, 4), i32(1, 0), i32(2, 0), i32(1, 1)],
    [F(4)],
    "StridedSliceOptions",
    tag="masks",
    endMask=2,
    shrinkAxisMask=1,
)
case(
    "STRIDED_SLICE",
    [F(3, 4, 2), i32(0, 1), i32(0, 2), i32(1, 1)],
    [F(3, 4, 1)],
    "StridedSliceOptions",
    tag="ellipsis",
    ellipsisMask=1,
)
case(
    "STRIDED_SLICE",
    [F(3, 4), i32(0, 0), i32(0, 2), i32(1, 1)],
    [F(1, 2, 4)],
    "StridedSliceOptions",
    tag="new",
    newAxisMask=1,
)
case(
    "STRIDED_SLICE",
    [I(4), i32([2]), i32([3]), i32([1])],
    [I()],
    "StridedSliceOptions",
    tag="number",
    shrinkAxisMask=1,
)
case(
    "STRIDED_SLICE",
    [F(3, 4), i32([1]), i32([3]), i32([1])],
    [F(2, 4)],
    "StridedSliceOptions",
    tag="short",
)
case(
    "GATHER",
    [F(4, 3), I(2, 2)],
    [F(2, 2, 3)],
    "GatherOptions",
    given=lambda: [f32(4, 3), i32([[0, 3], [1, 1]])],
)
case("GATHER", [F(4, 3), np.array(2, np.int32)], [F(4)], "GatherOptions", tag="number", axis=1)
case("GATHER", [Q(4, 3), i32(2, 0)], [Q(4, 2)], "GatherOptions", axis=-1)
case(
    "GATHER_ND",
    [F(3, 4, 2), I(2, 2)],
    [F(2, 2)],
    "GatherNdOptions",
    given=lambda: [f32(3, 4, 2), i32([[0, 3], [2, 1]])],
)
case("PAD", [F(2, 3), i32([[1, 0], [0, 2]])], [F(3, 5)], "PadOptions")
case("PAD", [Q(2, 3), i32([[1, 0], [0, 2]])], [Q(3, 5)], "PadOptions", version=2)
case("PAD", [F(2, 3), np.array([[1, 0], [0, 2]], np.int64)], [F(3, 5)], "PadOptions", tag="int64")
case(
    "PADV2", [F(2, 3), i32([[1, 0], [0, 2]]), np.array(2.5, np.float32)], [F(3, 5)], "PadV2Options"
)
for mode in (0, 1):
    case(
        "MIRROR_PAD",
        [F(2, 3), i32([[1, 1], [2, 0]])],
        [F(4, 5)],
        "MirrorPadOptions",
        tag=str(mode),
        mode=mode,
    )
case(
    "SPACE_TO_BATCH_ND",
    [F(1, 4, 5, 2), i32(2, 3), i32([[0, 0], [1, 0]])],
    [F(6, 2, 2, 2)],
    "SpaceToBatchNDOptions",
)
case(
    "SPACE_TO_BATCH_ND",
    [F(1, 6, 2), i32([2]), i32([[0, 2]])],
    [F(2, 4, 2)],
    "SpaceToBatchNDOptions",
    tag="line",
)
case(
    "BATCH_TO_SPACE_ND",
    [F(6, 2, 2, 2), i32(2, 3), i32([[0, 0], [0, 0]])],
    [F(1, 4, 6, 2)],
    "BatchToSpaceNDOptions",
)
case(
    "BATCH_TO_SPACE_ND",
    [F(6, 2, 2, 2), i32(2, 3), i32([[1, 0], [1, 2]])],
    [F(1, 3, 3, 2)],
    "BatchToSpaceNDOptions",
    tag="crops",
)
case("SPACE_TO_DEPTH", [F(1, 4, 4, 2)], [F(1, 2, 2, 8)], "SpaceToDepthOptions", blockSize=2)
case("DEPTH_TO_SPACE", [F(1, 2, 2, 8)], [F(1, 4, 4, 2)], "DepthToSpaceOptions", blockSize=2)

# Comparisons

for comparison in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    case(comparison, [F(2, 3), F(3)], [B(2, 3)])
    case(comparison, [I(2, 3), I(3)], [B(2, 3)], tag="int32")
for logic in ("LOGICAL_AND", "LOGICAL_OR"):
    case(logic, [B(2, 3), B(3)], [B(2, 3)])
case("LOGICAL_NOT", [B(2, 3)], [B(2, 3)], "LogicalNotOptions")
case("SELECT", [B(2, 3), F(2, 3), F(2, 3)], [F(2, 3)], "SelectOptions")
case("SELECT_V2", [B(3), F(2, 3), F(1)], [F(2, 3)], "SelectV2Options")
case("SELECT_V2", [B(2, 1), I(2, 3), I(3)], [I(2, 3)], "SelectV2Options")
case("SELECT_V2", [B(2, 3), B(2, 3), B(2, 3)], [B(2, 3)], "SelectV2Options")

# Types

case("CAST", [F(2, 3)], [I(2, 3)], "CastOptions", inDataType=0, outDataType=2)
case("CAST", [I(2, 3)], [F(2, 3)], "CastOptions", inDataType=2, outDataType=0)
case("CAST", [B(2, 3)], [F(2, 3)], "CastOptions", tag="bool", inDataType=6, outDataType=0)
case("CAST", [F(2, 3)], [B(2, 3)], "CastOptions", inDataType=0, outDataType=6)
case(
    "CAST",
    [Spec("UINT8", (2, 3))],
    [F(2, 3)],
    "CastOptions",
    tag="uint8",
    inDataType=3,
    outDataType=0,
)
case("QUANTIZE", [F(2, 5)], [Q(2, 5, scale=0.02)], "QuantizeOptions")
case("QUANTIZE", [Q(2, 5)], [U(2, 5, scale=0.07)], "QuantizeOptions", tag="again", version=2)
case("DEQUANTIZE", [U(2, 5)], [F(2, 5)], "DequantizeOptions")
case("DEQUANTIZE", [Q(2, 5)], [F(2, 5)], "DequantizeOptions", version=2)

# Tables, products

case("EMBEDDING_LOOKUP", [I(3), f32(5, 2)], [F(3, 2)], given=lambda: [i32(4, 0, 1)])
case(
    "HASHTABLE_LOOKUP",
    [I(3), i32(1, 4, 9), f32(3, 2)],
    [F(3, 2), Spec("UINT8", (3,))],
    given=lambda: [i32(4, 5, 1)],
)
case("BATCH_MATMUL", [F(2, 3, 4), F(2, 4, 5)], [F(2, 3, 5)], "BatchMatMulOptions")
case(
    "BATCH_MATMUL",
    [F(2, 4, 3), f32(5, 4)],
    [F(2, 3, 5)],
    "BatchMatMulOptions",
    tag="turned",
    adjX=True,
    adjY=True,
)
case(
    "BATCH_MATMUL",
    [Q(2, 3, 4), Q(2, 4, 5)],
    [Q(2, 3, 5, scale=0.2)],
    "BatchMatMulOptions",
    version=3,
)

# More of quantized values

case(
    "TRANSPOSE_CONV",
    [
        i32(1, 6, 6, 3),
        s8(3, 2, 2, 2, scale=[0.01, 0.02, 0.03]),
        Q(1, 3, 3, 2),
        bias(3, [0.0005, 0.001, 0.0015]),
    ],
    [Q(1, 6, 6, 3, scale=0.1)],
    "TransposeConvOptions",
    padding=0,
    strideW=2,
    strideH=2,
    version=3,
)
case(
    "DEPTHWISE_CONV_2D",
    [U(1, 5, 5, 2), s8(1, 2, 2, 4, type="UINT8"), bias(4, 0.001)],
    [U(1, 4, 4, 4, scale=0.1)],
    "DepthwiseConv2DOptions",
    padding=1,
    strideW=1,
    strideH=1,
    depthMultiplier=2,
)
case(
    "FULLY_CONNECTED",
    [Q(2, 4), s8(3, 4, scale=[0.01, 0.02, 0.03]), bias(3, [0.0005, 0.001, 0.0015])],
    [Q(2, 3, scale=0.1)],
    "FullyConnectedOptions",
    tag="per_channel",
    version=12,
)
case(
    "PRELU",
    [Q(1, 2, 2, 3), Spec("INT8", (1, 1, 3), 0.01, 0, 0, np.array([[[9, -20, 50]]], np.int8))],
    [Q(1, 2, 2, 3, scale=0.06)],
)
case("ELU", [Q(2, 5)], [Q(2, 5, scale=0.04)], version=1)
case(
    "RSQRT",
    [Q(2, 5, scale=0.05, zero=-128)],
    [Q(2, 5, scale=0.02, zero=-128)],
    version=2,
    given=lambda: [np.array([[-100, 0, 20, 127, 50], [60, 70, 80, 90, -90]], np.int8)],
)
case("RELU", [Q(2, 5)], [Q(2, 5, scale=0.03, zero=-128)], tag="scaled", version=2)
case(
    "CONCATENATION",
    [U(2, 3), U(2, 1, scale=0.03)],
    [U(2, 4, scale=0.06)],
    "ConcatenationOptions",
    axis=1,
)
case(
    "SPLIT",
    [np.array(1, np.int32), Q(2, 6)],
    [Q(2, 3), Q(2, 3)],
    "SplitOptions",
    numSplits=2,
    version=2,
)
case(
    "STRIDED_SLICE",
    [Q(3, 4), i32(0, 1), i32(3, 4), i32(2, 2)],
    [Q(2, 2)],
    "StridedSliceOptions",
    version=2,
)
case(
    "SPACE_TO_BATCH_ND",
    [Q(1, 4, 4, 2), i32(2, 2), i32([[0, 0], [2, 0]])],
    [Q(4, 2, 3, 2)],
    "SpaceToBatchNDOptions",
    version=2,
)
case(  # LiteRT rounds the scale to 1/1024 and computes in integers, NNAPI in float32
    "RESIZE_BILINEAR",
    [Q(1, 3, 4, 2), i32(5, 7)],
    [Q(1, 5, 7, 2)],
    "ResizeBilinearOptions",
    steps=3,
    halfPixelCenters=True,
    version=2,
)
case(
    "RESIZE_NEAREST_NEIGHBOR",
    [Q(1, 3, 4, 2), i32(5, 7)],
    [Q(1, 5, 7, 2)],
    "ResizeNearestNeighborOptions",
    version=2,
)
case(
    "MAX_POOL_2D",
    [Q(1, 5, 5, 2)],
    [Q(1, 2, 2, 2)],
    "Pool2DOptions",
    padding=1,
    strideW=2,
    strideH=2,
    filterWidth=2,
    filterHeight=2,
    version=2,
)
case("TRANSPOSE", [Q(2, 3), i32(1, 0)], [Q(3, 2)], "TransposeOptions", version=2)
case("SELECT_V2", [B(2, 3), Q(2, 3), Q(1)], [Q(2, 3)], "SelectV2Options")
case("GREATER", [Q(2, 3), Q(2, 3)], [B(2, 3)], "GreaterOptions", tag="int8", version=2)
case(
    "L2_NORMALIZATION",
    [Q(2, 5, zero=0)],
    [Q(2, 5, scale=1 / 128, zero=0)],
    "L2NormOptions",
    version=2,
)
case("LOG_SOFTMAX", [Q(2, 5)], [Q(2, 5, scale=16 / 256, zero=127)], "LogSoftmaxOptions", version=2)
case(
    "PADV2",
    [Q(2, 3), i32([[1, 0], [0, 2]]), Spec("INT8", (), 0.05, 3, 0, np.array(17, np.int8))],
    [Q(3, 5)],
    "PadV2Options",
    version=2,
)
case(
    "DEPTH_TO_SPACE",
    [Q(1, 2, 2, 8)],
    [Q(1, 4, 4, 2)],
    "DepthToSpaceOptions",
    blockSize=2,
    version=2,
)
case("PACK", [Q(2, 3), Q(2, 3)], [Q(2, 2, 3)], "PackOptions", valuesCount=2, axis=0, version=2)
case("UNPACK", [Q(2, 3)], [Q(3), Q(3)], "UnpackOptions", num=2, axis=0, version=2)
case("TILE", [Q(2, 3), i32(2, 1)], [Q(4, 3)], "TileOptions", version=3)

# More of the rest

case(
    "MEAN",
    [F(2, 3, 4), I(2)],
    [F(2)],
    "ReducerOptions",
    tag="computed",
    given=lambda: [f32(2, 3, 4), i32(1, 2)],
)
case(
    "BATCH_MATMUL",
    [F(2, 1, 3, 4), F(5, 4, 2)],
    [F(2, 5, 3, 2)],
    "BatchMatMulOptions",
    tag="broadcast",
)
case(
    "LSH_PROJECTION",
    [f32(3, 4), I(5)],
    [I(3)],
    "LSHProjectionOptions",
    type=1,
    given=lambda: [i32(12345, 54321, 67890, 9876, -12345678)],
)
case(
    "LSH_PROJECTION",
    [f32(3, 4), I(5), f32(5)],
    [I(12)],
    "LSHProjectionOptions",
    tag="dense",
    type=2,
    given=lambda: [i32(12345, 54321, 67890, 9876, -12345678)],
)
case(
    "TOPK_V2",
    [I(2, 6), np.array(2, np.int32)],
    [I(2, 2), I(2, 2)],
    "TopKV2Options",
    given=lambda: [i32([[3, 1, 7, 2, 9, 5], [1, 2, 3, 4, 5, 6]])],
)
case("SIGN", [I(2, 3)], [I(2, 3)], "SignOptions")
case("CAST", [B(2, 3)], [I(2, 3)], "CastOptions", tag="bool", inDataType=6, outDataType=2)
case("SQUARED_DIFFERENCE", [I(2, 3), I(3)], [I(2, 3)], "SquaredDifferenceOptions")
case("FLOOR_DIV", [F(2, 3), F(2, 3)], [F(2, 3)], "FloorDivOptions", tag="same", version=2)
case(
    "CAST",
    [I(2, 3)],
    [Spec("UINT8", (2, 3))],
    "CastOptions",
    inDataType=2,
    outDataType=3,
    given=lambda: [i32([[0, 1, 2], [100, 200, 255]])],
)
