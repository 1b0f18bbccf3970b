"""Operators that give tensors other dimensions, and that repeat elements."""

from collections.abc import Iterator

import numpy as np

from tests.formats.tflite.building import Spec
from tests.formats.tflite.forms.form import (
    ALL,
    SHAPES,
    Form,
    constant,
    form,
    i32,
    number,
    out,
    spec,
)


def _same(type: str) -> Spec:
    return out(type, 0)


def shapes() -> Iterator[Form]:
    """RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, SHAPE, RANK."""
    for type in ALL:
        for before, after in (
            ((2, 6), (3, -1)),
            ((2, 6), (12,)),
            ((1,), ()),
            ((), (1, 1)),
            ((2, 3, 2), (2, 1, 3, 1, 2)),
            ((2, 1, 3, 1, 2), (6, 2)),
            ((1, 2, 1, 2, 1, 3), (2, 2, 3)),
            ((1, 2, 1, 2, 1, 3), (3, 2, 1, 1, 2)),
        ):
            inputs = [spec(type, before), i32(list(after))]
            yield form(
                "RESHAPE",
                inputs,
                _same(type),
                "ReshapeOptions",
                newShape=list(after),
                tag=str(after),
            )
            yield form(
                "RESHAPE",
                inputs[:1],
                _same(type),
                "ReshapeOptions",
                newShape=list(after),
                tag=f"o{after}",
            )
        for shape, axes in (
            ((1, 3, 1, 2), ()),
            ((1, 3, 1, 2), (0,)),
            ((1, 3, 1, 2), (-2,)),
            ((1, 3, 1, 2), (0, 2)),
            ((1, 1), ()),
            ((2, 1, 3, 1, 2), (1,)),
            ((1, 2, 1, 2, 1, 3), ()),
        ):
            yield form(
                "SQUEEZE",
                [spec(type, shape)],
                _same(type),
                "SqueezeOptions",
                squeezeDims=list(axes),
                tag=str(axes),
            )
        for shape in SHAPES:
            for axis in (0, -1, len(shape)):
                yield form(
                    "EXPAND_DIMS",
                    [spec(type, shape), number(axis)],
                    _same(type),
                    "ExpandDimsOptions",
                    str(axis),
                )
            turned = tuple(range(len(shape)))[::-1], tuple(np.roll(range(len(shape)), 1).tolist())
            # LiteRT ends with a signal at the TRANSPOSE of a single number.
            for perm in dict.fromkeys(turned) if shape else ():
                yield form(
                    "TRANSPOSE",
                    [spec(type, shape), i32(list(perm))],
                    _same(type),
                    "TransposeOptions",
                    str(perm),
                )
            yield form("SHAPE", [spec(type, shape)], out("INT32"), "ShapeOptions", outType=2)
            yield form(
                "SHAPE", [spec(type, shape)], out("INT64"), "ShapeOptions", outType=4, tag="64"
            )
            yield form("RANK", [spec(type, shape)], out("INT32"), "RankOptions")
            for axis in range(len(shape)):
                yield form(
                    "REVERSE_V2",
                    [spec(type, shape), i32([axis])],
                    _same(type),
                    "ReverseV2Options",
                    str(axis),
                )
    for perm in ((0, 3, 1, 2, 4), (4, 2, 3, 1, 0), (0, 1, 3, 2, 4), (2, 0, 1, 3, 4)):
        for type in ("FLOAT32", "INT8", "INT32"):
            yield form(
                "TRANSPOSE",
                [spec(type, (2, 3, 2, 4, 3)), i32(list(perm))],
                _same(type),
                "TransposeOptions",
                str(perm),
            )
            yield form(
                "TRANSPOSE",
                [spec(type, (1, 3, 1, 4, 3)), i32(list(perm))],
                _same(type),
                "TransposeOptions",
                str(perm),
            )


def repeats() -> Iterator[Form]:
    """TILE, BROADCAST_TO, FILL, RANGE, ONE_HOT."""
    for type in ALL:
        for shape, times in (
            ((3,), (2,)),
            ((2, 3), (2, 1)),
            ((1, 2, 1, 3), (2, 1, 3, 1)),
            ((2, 1, 3, 1, 2), (1, 2, 1, 2, 1)),
        ):
            yield form(
                "TILE",
                [spec(type, shape), i32(list(times))],
                _same(type),
                "TileOptions",
                str(times),
            )
        for shape, to in (
            ((3,), (2, 3)),
            ((2, 1), (2, 4)),
            ((1,), (1,)),
            ((), (2, 2)),
            ((2, 1, 3), (2, 1, 2, 4, 3)),
            ((2, 3), (1, 2, 3)),
        ):
            for bits in (np.int32, np.int64):
                yield form(
                    "BROADCAST_TO",
                    [spec(type, shape), np.array(to, bits)],
                    _same(type),
                    "BroadcastToOptions",
                    str(to),
                )
        for to in ((), (4,), (2, 3), (2, 1, 2, 1, 2)):
            yield form("FILL", [i32(list(to)), spec(type)], _same(type), "FillOptions", str(to))
            yield form(
                "FILL", [i32(list(to)), constant(type, 1, 0)], _same(type), "FillOptions", str(to)
            )
        for axis in (-1, 0, 1):
            for depth in (4, 1):
                on, off = (constant(type, value, 0) for value in (1, 0))
                yield form(
                    "ONE_HOT",
                    [spec("INT32", (2, 3)), number(depth), on, off],
                    _same(type),
                    "OneHotOptions",
                    f"{axis}-{depth}",
                    axis=axis,
                    domains={0: "below:5"},
                )
    yield form(
        "ONE_HOT",
        [spec("INT32", ()), number(3), number(2), number(1)],
        out("INT32"),
        "OneHotOptions",
        axis=-1,
        domains={0: "below:3"},
    )
    yield form(
        "ONE_HOT",
        [spec("INT64", (2,)), number(3), number(2), number(1)],
        out("INT32"),
        "OneHotOptions",
        axis=-1,
        domains={0: "below:3"},
    )
    for type, limits in (
        ("INT32", (1, 9, 3)),
        ("INT64", (9, 1, -3)),
        ("FLOAT32", (0.5, 2.2, 0.5)),
        ("INT32", (3, 3, 1)),
    ):
        inputs = [number(value, type) for value in limits]
        yield form("RANGE", inputs, out(type), "RangeOptions", str(limits))
        yield form(
            "RANGE",
            [spec(type)] * 3,
            out(type),
            "RangeOptions",
            str(limits),
            domains={0: "is:0", 1: "is:6", 2: "is:2"},
        )


def forms() -> Iterator[Form]:
    """All of them."""
    yield from shapes()
    yield from repeats()
