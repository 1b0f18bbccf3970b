"""Operators that move elements: parts, joins, edges."""

from collections.abc import Iterator

import numpy as np

from tests.formats.tflite.building import Spec
from tests.formats.tflite.forms.form import (
    ALL,
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


def parts() -> Iterator[Form]:
    """SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, GATHER, GATHER_ND, UNPACK."""
    for type in ALL:
        for shape, begin, size in (
            ((5,), (1,), (3,)),
            ((3, 4), (1, 0), (-1, 2)),
            ((2, 3, 4), (0, 1, 2), (2, 2, 1)),
            ((1, 3, 4, 2), (0, 1, 0, 1), (1, 2, 4, 1)),
            ((2, 1, 3, 1, 2), (1, 0, 1, 0, 0), (1, 1, 2, 1, 2)),
        ):
            for bits in (np.int32, np.int64):
                yield form(
                    "SLICE",
                    [spec(type, shape), np.array(begin, bits), np.array(size, bits)],
                    _same(type),
                    "SliceOptions",
                )
        cases = (
            ((5,), (1,), (4,), (2,), {}),
            ((5,), (-1,), (-6,), (-1,), {}),
            ((5,), (4,), (0,), (-2,), {"endMask": 1}),
            ((3, 4), (0, 3), (3, 0), (2, -1), {}),
            ((3, 4), (1, 0), (2, 4), (1, 1), {"shrinkAxisMask": 1}),
            ((3, 4), (-1, 1), (0, 3), (1, 1), {"shrinkAxisMask": 1}),
            ((3, 4), (1, -2), (2, 0), (1, 1), {"shrinkAxisMask": 3}),
            ((3, 4), (-1, 1), (0, 3), (1, 1), {"shrinkAxisMask": 1, "beginMask": 1}),
            ((3, 4), (2, -1), (0, 3), (2, 1), {"shrinkAxisMask": 3, "beginMask": 3}),
            ((3, 4), (1, 1), (0, 3), (-1, 1), {"shrinkAxisMask": 1}),
            ((3, 4, 2), (0, 1), (0, 2), (1, 1), {"ellipsisMask": 1}),
            ((3, 4), (0, 0), (0, 2), (1, 1), {"newAxisMask": 1}),
            ((3, 4), (1,), (3,), (1,), {}),
            ((3, 4), (9, -9), (-9, 9), (-1, 1), {}),
            ((3, 4), (1, 1), (1, 2), (1, 1), {"offset": True}),
            ((3, 4), (1, 1), (3, 3), (1, 1), {"beginMask": 1, "endMask": 2}),
            ((1, 4, 4, 2), (0, 0, 1, 0), (1, 4, 4, 2), (1, 2, 2, 1), {}),
            ((2, 1, 3, 1, 2), (0, 0, 1, 0, 0), (2, 1, 3, 1, 2), (1, 1, 1, 1, 1), {}),
            ((2, 3), (1, 1), (1, 1), (1, 1), {}),
        )
        for shape, begin, end, strides, masks in cases:
            inputs = [spec(type, shape), *(i32(list(r)) for r in (begin, end, strides))]
            tag = f"{begin}{end}{strides}" + "".join(f"{k}{v}" for k, v in masks.items())
            yield form("STRIDED_SLICE", inputs, _same(type), "StridedSliceOptions", tag, **masks)
        for axis in (0, 1, -1):
            yield form(
                "SPLIT",
                [number(axis), spec(type, (2, 4))],
                [_same(type)] * 2,
                "SplitOptions",
                str(axis),
                numSplits=2,
            )
            yield form(
                "SPLIT_V",
                [spec(type, (3, 4)), i32(1, 2) if axis == 0 else i32(3, -1), number(axis)],
                [_same(type)] * 2,
                "SplitVOptions",
                str(axis),
                numSplits=2,
            )
            yield form(
                "UNPACK",
                [spec(type, (2, 2))],
                [_same(type)] * 2,
                "UnpackOptions",
                str(axis),
                num=2,
                axis=axis,
            )
            yield form(
                "UNPACK",
                [spec(type, (2, 2, 2, 2, 2))],
                [_same(type)] * 2,
                "UnpackOptions",
                str(axis),
                num=2,
                axis=axis,
            )
            for bits in ("INT32", "INT64", "INT16"):
                yield form(
                    "GATHER",
                    [spec(type, (4, 4, 2)), spec(bits, (3,))._replace(scale=0.0)],
                    _same(type),
                    "GatherOptions",
                    str(axis),
                    axis=axis,
                    domains={1: "below:2"},
                )
            yield form(
                "GATHER",
                [spec(type, (4, 4, 2)), i32([[1, 0], [0, 1]])],
                _same(type),
                "GatherOptions",
                str(axis),
                axis=axis,
            )
            yield form(
                "GATHER",
                [spec(type, (4, 4, 2)), number(1)],
                _same(type),
                "GatherOptions",
                str(axis),
                axis=axis,
            )
        yield form(
            "SPLIT",
            [number(1), spec(type, (2, 4, 1, 2, 1))],
            [_same(type)] * 2,
            "SplitOptions",
            numSplits=2,
        )
        yield form(
            "GATHER",
            [spec(type, (2, 4, 3)), i32([[1, 0], [3, 2]])],
            _same(type),
            "GatherOptions",
            "batch",
            axis=1,
            batchDims=1,
        )
        yield form(
            "GATHER",
            [spec(type, (2, 4, 1, 3, 1)), i32([1, 0])],
            _same(type),
            "GatherOptions",
            "5",
            axis=1,
        )
        for indices in ([[0, 1], [1, 2]], [[1], [0]], [1, 2], [[[1, 2]], [[0, 0]]]):
            yield form(
                "GATHER_ND",
                [spec(type, (2, 3, 2)), i32(indices)],
                _same(type),
                "GatherNdOptions",
                str(indices),
            )


def joins() -> Iterator[Form]:
    """CONCATENATION, PACK."""
    for type in ALL:
        for axis in (0, 1, -1):
            for which in (0, 1):
                pair = [spec(type, (2, 3)), spec(type, (2, 3), which)]
                yield form(
                    "CONCATENATION",
                    pair,
                    out(type, 2 * which),
                    "ConcatenationOptions",
                    f"{axis}-{which}",
                    axis=axis,
                )
            yield form(
                "PACK",
                [spec(type, (2, 3))] * 2,
                _same(type),
                "PackOptions",
                str(axis),
                axis=axis,
                valuesCount=2,
            )
        yield form(
            "CONCATENATION",
            [spec(type, (2, 3)), constant(type, np.ones((2, 1)), 0)],
            _same(type),
            "ConcatenationOptions",
            axis=1,
        )
        yield form(
            "CONCATENATION", [spec(type, (2, 3))], _same(type), "ConcatenationOptions", axis=1
        )
        yield form(
            "CONCATENATION",
            [spec(type, (2, 1, 3, 1, 2))] * 2,
            _same(type),
            "ConcatenationOptions",
            axis=2,
        )
        for code in (1, 3, 4):
            yield form(
                "CONCATENATION",
                [spec(type, (2, 3))] * 2,
                _same(type),
                "ConcatenationOptions",
                f"f{code}",
                axis=1,
                fusedActivationFunction=code,
            )
        yield form("PACK", [spec(type)] * 3, _same(type), "PackOptions", axis=0, valuesCount=3)
        yield form("PACK", [spec(type, (2, 3))], _same(type), "PackOptions", axis=0, valuesCount=1)
        yield form(
            "PACK",
            [spec(type, (1, 2, 1, 3))] * 2,
            _same(type),
            "PackOptions",
            axis=1,
            valuesCount=2,
        )


def edges() -> Iterator[Form]:
    """PAD, PADV2, MIRROR_PAD, blocks."""
    for type in ALL:
        for shape, around in (
            ((4,), [[1, 2]]),
            ((2, 3), [[1, 0], [0, 2]]),
            ((1, 3, 3, 2), [[0, 0], [1, 1], [2, 0], [0, 0]]),
            ((1, 3, 1, 2, 2), [[0, 0], [1, 1], [0, 0], [2, 0], [0, 0]]),
        ):
            for bits in (np.int32, np.int64):
                pads = np.array(around, bits)
                yield form("PAD", [spec(type, shape), pads], _same(type), "PadOptions")
                yield form(
                    "PADV2",
                    [spec(type, shape), pads, constant(type, 1, 0)],
                    _same(type),
                    "PadV2Options",
                )
            yield form("PADV2", [spec(type, shape), pads, spec(type)], _same(type), "PadV2Options")
        for mode in (0, 1):
            yield form(
                "MIRROR_PAD",
                [spec(type, (3, 4)), i32([[1, 2], [0, 3]])],
                _same(type),
                "MirrorPadOptions",
                str(mode),
                mode=mode,
            )
        for size in (1, 2):
            yield form(
                "SPACE_TO_DEPTH",
                [spec(type, (1, 4, 6, 2))],
                _same(type),
                "SpaceToDepthOptions",
                str(size),
                blockSize=size,
            )
            yield form(
                "DEPTH_TO_SPACE",
                [spec(type, (1, 2, 3, 8))],
                _same(type),
                "DepthToSpaceOptions",
                str(size),
                blockSize=size,
            )
        for shape, block, pads in (
            ((1, 4, 4, 2), (2, 2), [[0, 0], [0, 0]]),
            ((1, 3, 5, 1), (2, 3), [[1, 0], [0, 1]]),
            ((2, 4, 3), (2,), [[0, 0]]),
            ((1, 4, 4, 2), (1, 1), [[0, 0], [0, 0]]),
        ):
            yield form(
                "SPACE_TO_BATCH_ND",
                [spec(type, shape), i32(list(block)), i32(pads)],
                _same(type),
                "SpaceToBatchNDOptions",
                str(pads),
            )
        for shape, block, crops in (
            ((4, 2, 3, 2), (2, 2), [[0, 0], [0, 0]]),
            ((4, 2, 3, 2), (2, 2), [[1, 0], [0, 2]]),
            ((2, 2, 3), (2,), [[1, 0]]),
            ((4, 2, 3, 1), (1, 1), [[0, 1], [0, 0]]),
        ):
            yield form(
                "BATCH_TO_SPACE_ND",
                [spec(type, shape), i32(list(block)), i32(crops)],
                _same(type),
                "BatchToSpaceNDOptions",
                str(crops),
            )


def forms() -> Iterator[Form]:
    """All of them."""
    for family in (parts, joins, edges):
        yield from family()
