"""Convolutions, products, pooling, resizing, normalisation."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.formats.tflite.building import Spec
from tests.formats.tflite.forms.form import REALS, Form, form, i32, out, spec

CONV = {"padding": 0, "strideW": 1, "strideH": 1}


def weights(type: str, shape: tuple[int, ...], channel: int | None = None) -> Spec:
    """Constant weights. channel: the dimension that has scales."""
    generator = np.random.default_rng(list(shape))
    if type in ("FLOAT32", "FLOAT16"):
        value = generator.uniform(-1, 1, shape).astype(
            np.float32 if type == "FLOAT32" else np.float16
        )
        return Spec(type, shape, value=value)
    scale: Any = 0.01
    if channel is not None:
        scale = [0.01 + 0.002 * at for at in range(shape[channel])]
    if type == "UINT8":
        return Spec(type, shape, scale, 128, 0, generator.integers(0, 256, shape).astype(np.uint8))
    if type == "INT4":
        value = generator.integers(-7, 8, shape).astype(np.int8)
        flat = np.append(value.reshape(-1), [0] * (value.size % 2)).astype(np.uint8) & 15
        packed = flat[::2] | flat[1::2] << 4
        scale = np.asarray(scale) * 16
        scale = scale.tolist() if channel is not None else float(scale)
        return Spec(type, shape, scale, 0, channel or 0, packed)
    value = generator.integers(-127, 128, shape).astype(np.int8)
    return Spec(type, shape, scale, 0, channel or 0, value)


def bias(data: Spec, filter: Spec, count: int, type: str = "") -> Spec:
    """A bias for data and a filter."""
    generator = np.random.default_rng(count)
    if data.type in ("FLOAT32", "FLOAT16"):
        return weights(data.type, (count,))
    scale: Any = (np.asarray(filter.scale) * data.scale).tolist()
    type = type or ("INT64" if data.type == "INT16" else "INT32")
    value = generator.integers(-900, 900, count) * (30 if data.type == "INT16" else 1)
    return Spec(
        type, (count,), scale, 0, 0, value.astype(np.int64 if type == "INT64" else np.int32)
    )


KINDS = (
    ("FLOAT32", "FLOAT32", False),
    ("INT8", "INT8", False),
    ("INT8", "INT8", True),
    ("UINT8", "UINT8", False),
    ("INT16", "INT8", False),
    ("INT16", "INT8", True),
    ("INT8", "INT4", True),
    ("INT8", "INT4", False),
    ("FLOAT32", "INT8", False),
    ("FLOAT32", "INT8", True),
    ("FLOAT32", "INT4", True),
    ("FLOAT32", "INT4", False),
)
"""Types of data and weights, and whether the weights have scales by channel."""


def _result(type: str) -> Spec:
    wide = {"INT8": (0.15, 5), "UINT8": (0.15, 120), "INT16": (0.001, 0)}
    return Spec(type, (), *wide[type]) if type in wide else out(type)


def _tag(per_channel: bool, *more: Any) -> str:
    return "-".join(filter(None, ("channels" if per_channel else "", *map(str, more))))


def _loose(data: str, filter: str) -> dict[str, Any]:
    """LiteRT quantizes the data of hybrid ones while it runs."""
    return {"tolerance": 0.06} if data == "FLOAT32" and filter in ("INT8", "INT4") else {}


def convolutions() -> Iterator[Form]:
    """CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV."""
    options = (
        {},
        {"padding": 1},
        {"strideW": 2, "strideH": 3},
        {"padding": 1, "dilationWFactor": 2, "dilationHFactor": 2},
        {"fusedActivationFunction": 1},
        {"fusedActivationFunction": 2},
        {"fusedActivationFunction": 3},
        {"fusedActivationFunction": 4},
    )
    for data, filter, channels in KINDS:
        more = _loose(data, filter)
        for at, changed in enumerate(options):
            inputs = spec(data, (2, 5, 6, 4))
            kernel = weights(filter, (3, 2, 3, 4), 0 if channels else None)
            for biased in (True, False):
                if at and not biased:
                    continue
                last = bias(inputs, kernel, 3) if biased else None
                tag = _tag(channels, *(f"{k}{v}" for k, v in changed.items()))
                yield form(
                    "CONV_2D",
                    [inputs, kernel, last],
                    _result(data),
                    "Conv2DOptions",
                    tag,
                    **{**CONV, **changed},
                    **more,
                )
            # LiteRT takes hybrid ones with a scale per channel alone, and reads beyond one scale.
            for multiplier in (1, 2) if more == {} or channels else ():
                kernel = weights(filter, (1, 3, 2, 4 * multiplier), 3 if channels else None)
                yield form(
                    "DEPTHWISE_CONV_2D",
                    [inputs, kernel, bias(inputs, kernel, 4 * multiplier)],
                    _result(data),
                    "DepthwiseConv2DOptions",
                    tag,
                    depthMultiplier=multiplier,
                    **{**CONV, **changed},
                    **more,
                )
            if "dilationWFactor" in changed:
                continue
            image = spec(data, (2, 3, 3, 4))
            kernel = weights(filter, (3, 2, 3, 4), 0 if channels else None)
            height, width = 3 * changed.get("strideH", 1), 3 * changed.get("strideW", 1)
            if changed.get("padding"):
                height, width = height + 1, width + 2
            for last in ([], [bias(image, kernel, 3)]):
                yield form(
                    "TRANSPOSE_CONV",
                    [i32(2, height, width, 3), kernel, image, *last],
                    _result(data),
                    "TransposeConvOptions",
                    tag,
                    **{**CONV, **changed},
                    **more,
                )
        kernel = weights(filter, (6, 2, 2, 2), 0 if channels else None)
        inputs = spec(data, (1, 4, 4, 4))
        yield form(
            "CONV_2D",
            [inputs, kernel, bias(inputs, kernel, 6)],
            _result(data),
            "Conv2DOptions",
            _tag(channels, "grouped"),
            **CONV,
            **more,
        )
    for name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        inputs = spec("FLOAT32", (1, 4, 4, 1))
        yield form(
            name,
            [inputs, spec("FLOAT32", (1, 2, 2, 1)), weights("FLOAT32", (1,))],
            out("FLOAT32"),
            "Conv2DOptions" if name == "CONV_2D" else "DepthwiseConv2DOptions",
            "computed",
            **CONV,
        )
    yield form(
        "CONV_3D",
        [spec("FLOAT32", (1, 3, 3, 3, 1)), weights("FLOAT32", (2, 2, 2, 1, 2))],
        out("FLOAT32"),
        "Conv3DOptions",
        strideD=1,
        padding=0,
        strideW=1,
        strideH=1,
    )
    yield form(
        "CONV_3D_TRANSPOSE",
        [i32(1, 3, 3, 3, 1), weights("FLOAT32", (2, 2, 2, 1, 2)), spec("FLOAT32", (1, 3, 3, 3, 2))],
        out("FLOAT32"),
        "Conv3DOptions",
        strideD=1,
        padding=0,
        strideW=1,
        strideH=1,
    )


def products() -> Iterator[Form]:
    """FULLY_CONNECTED, BATCH_MATMUL."""
    for data, filter, channels in KINDS:
        more = _loose(data, filter)
        for shape in ((3, 8), (8,), (2, 3, 8), (1, 2, 3, 8), (1, 2, 1, 3, 8), (2, 4), (2, 2, 4)):
            for keep in (False, True):
                for code in (0, 1, 3, 4):
                    if code and (shape != (3, 8) or keep):
                        continue
                    inputs = spec(data, shape)
                    kernel = weights(filter, (5, 8), 0 if channels else None)
                    for last in (bias(inputs, kernel, 5), None):
                        yield form(
                            "FULLY_CONNECTED",
                            [inputs, kernel, last],
                            _result(data),
                            "FullyConnectedOptions",
                            _tag(channels, f"k{keep:d}", f"f{code}"),
                            keepNumDims=keep,
                            fusedActivationFunction=code,
                            **more,
                        )
        inputs, kernel = spec(data, (3, 8)), weights(filter, (5, 8), 0 if channels else None)
        if data == "INT16":
            for type in ("INT32", "INT64"):
                yield form(
                    "FULLY_CONNECTED",
                    [inputs, kernel, bias(inputs, kernel, 5, type)],
                    _result(data),
                    "FullyConnectedOptions",
                    _tag(channels, "bias"),
                )
    yield form(
        "FULLY_CONNECTED",
        [spec("FLOAT32", (3, 8)), spec("FLOAT32", (5, 8)), None],
        out("FLOAT32"),
        "FullyConnectedOptions",
        "computed",
    )
    yield form(
        "FULLY_CONNECTED",
        [spec("INT8", (3, 8)), spec("INT8", (5, 8), 1), None],
        _result("INT8"),
        "FullyConnectedOptions",
        "computed",
    )
    for type in REALS:
        for one, other in (
            ((3, 4), (4, 5)),
            ((2, 3, 4), (2, 4, 5)),
            ((2, 3, 4), (4, 5)),
            ((3, 4), (2, 4, 5)),
            ((2, 1, 3, 4), (3, 4, 5)),
            ((1, 2, 3, 4), (2, 2, 4, 5)),
            ((2, 1, 2, 3, 4), (2, 1, 2, 4, 5)),
        ):
            for turned in ((False, False), (True, False), (False, True), (True, True)):
                a = (*one[:-2], *(one[-2:][::-1] if turned[0] else one[-2:]))
                b = (*other[:-2], *(other[-2:][::-1] if turned[1] else other[-2:]))
                for second in (spec(type, b, 1), weights("INT8" if type == "INT16" else type, b)):
                    if type == "INT16" and second.value is not None:
                        continue
                    yield form(
                        "BATCH_MATMUL",
                        [spec(type, a), second],
                        _result(type),
                        "BatchMatMulOptions",
                        f"{turned[0]:d}{turned[1]:d}",
                        adjX=turned[0],
                        adjY=turned[1],
                    )
    yield form(
        "BATCH_MATMUL",
        [spec("FLOAT32", (3, 4)), weights("INT8", (4, 5))],
        out("FLOAT32"),
        "BatchMatMulOptions",
        tolerance=0.06,
    )


def pooling() -> Iterator[Form]:
    """Pools, resizing."""
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        for type in REALS:
            for padding in (0, 1):
                for strides in ((1, 1), (2, 3)):
                    for window in ((1, 1), (2, 3), (5, 5)):
                        for code in (0, 1, 2, 3, 4):
                            if code and window != (2, 3):
                                continue
                            yield form(
                                name,
                                [spec(type, (2, 5, 6, 3))],
                                out(type, 0),
                                "Pool2DOptions",
                                f"{padding}{strides}{window}f{code}".replace(" ", ""),
                                padding=padding,
                                strideW=strides[0],
                                strideH=strides[1],
                                filterWidth=window[0],
                                filterHeight=window[1],
                                fusedActivationFunction=code,
                            )
    for name, kind in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        for type in REALS:
            for size in ((1, 1), (3, 4), (5, 7), (2, 3), (6, 8), (9, 640)):
                for corners, half in ((False, False), (True, False), (False, True)):
                    yield form(
                        name,
                        [spec(type, (2, 3, 4, 2)), i32(list(size))],
                        out(type, 0),
                        kind,
                        f"{size}{corners:d}{half:d}",
                        steps=_beside(size) if (name, type) == ("RESIZE_BILINEAR", "INT8") else 1,
                        alignCorners=corners,
                        halfPixelCenters=half,
                    )


def _beside(size: tuple[int, int]) -> int:
    """Steps of RESIZE_BILINEAR that LiteRT's rounding of the scale to 1/1024 explains: a place is
    up to size / 2048 of a pixel beside, and two pixels are up to 255 apart. NNAPI has float32.
    """
    return 2 + sum(-(-255 * pixels // 2048) for pixels in size)


def normalising() -> Iterator[Form]:
    """SOFTMAX and what else goes along the last axis."""
    fixed = {"INT8": (1 / 256, -128), "UINT8": (1 / 256, 0), "INT16": (1 / 32768, 0)}
    for type in REALS:
        for shape in ((7,), (2, 7), (2, 3, 7), (1, 2, 3, 7), (2, 1, 2, 1, 7)):
            for beta in (1.0, 0.5, 3.0):
                result = out(type)
                if type in fixed:
                    result = Spec(type, (), *fixed[type])
                yield form(
                    "SOFTMAX",
                    [spec(type, shape)],
                    result,
                    "SoftmaxOptions",
                    str(beta),
                    beta=beta,
                    steps=16 if type == "INT16" else 1,
                    domains={0: "wide"},
                )
            logs = {"INT8": (16 / 256, 127), "UINT8": (16 / 256, 255)}
            yield form(
                "LOG_SOFTMAX",
                [spec(type, shape)],
                Spec(type, (), *logs[type]) if type in logs else out(type),
                "LogSoftmaxOptions",
            )
            units = {"INT8": (1 / 128, 0), "UINT8": (1 / 128, 128)}
            yield form(
                "L2_NORMALIZATION",
                [spec(type, shape)],
                Spec(type, (), *units[type]) if type in units else out(type),
                "L2NormOptions",
            )
        for radius in (0, 2, 9):
            yield form(
                "LOCAL_RESPONSE_NORMALIZATION",
                [spec(type, (1, 2, 2, 6))],
                out(type),
                "LocalResponseNormalizationOptions",
                str(radius),
                radius=radius,
                bias=1.0,
                alpha=0.5,
                beta=0.75,
            )


def forms() -> Iterator[Form]:
    """All of them."""
    for family in (convolutions, products, pooling, normalising):
        yield from family()
