"""Operators that LiteRT computes on stored elements, with other scales in than out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import NnapiError
from tests.formats.tflite.building import Spec, one_operator
from tests.formats.tflite.cases import B, I, i32
from tests.formats.tflite.running import Litert, compare, model_of

SCALES = {
    "INT8": ((0.05, 3), (0.1, -4)),
    "UINT8": ((0.05, 120), (0.1, 9)),
    "INT16": ((0.05, 0), (0.1, 0)),
}
"""Of the inputs and of the outputs. All 16-bit zero points are 0."""


def forms(type: str) -> Iterator[tuple[str, list[Any], list[Spec], str, dict[str, Any]]]:
    def a(*shape: int) -> Spec:
        return Spec(type, shape, *SCALES[type][0])

    def b(*shape: int) -> Spec:
        return Spec(type, shape, *SCALES[type][1])

    yield "RESHAPE", [a(2, 6), i32([3, 4])], [b(3, 4)], "ReshapeOptions", {"newShape": [3, 4]}
    yield "TRANSPOSE", [a(2, 6), i32([1, 0])], [b(6, 2)], "TransposeOptions", {}
    yield "SLICE", [a(6), i32([1]), i32([3])], [b(3)], "SliceOptions", {}
    yield "STRIDED_SLICE", [a(6), i32([1]), i32([5]), i32([2])], [b(2)], "StridedSliceOptions", {}
    yield "SQUEEZE", [a(1, 6)], [b(6)], "SqueezeOptions", {"squeezeDims": [0]}
    yield "GATHER", [a(6), i32([1, 3])], [b(2)], "GatherOptions", {"axis": 0}
    yield "GATHER_ND", [a(6), i32([[1], [3]])], [b(2)], "GatherNdOptions", {}
    yield "SPLIT", [np.array(0, np.int32), a(4)], [b(2), b(2)], "SplitOptions", {"numSplits": 2}
    yield (
        "SPLIT_V",
        [a(4), i32([1, 3]), np.array(0, np.int32)],
        [b(1), b(3)],
        "SplitVOptions",
        {"numSplits": 2},
    )
    yield (
        "SPACE_TO_DEPTH",
        [a(1, 2, 2, 1)],
        [b(1, 1, 1, 4)],
        "SpaceToDepthOptions",
        {"blockSize": 2},
    )
    yield (
        "DEPTH_TO_SPACE",
        [a(1, 1, 1, 4)],
        [b(1, 2, 2, 1)],
        "DepthToSpaceOptions",
        {"blockSize": 2},
    )
    yield "PAD", [a(3), i32([[1, 1]])], [b(5)], "PadOptions", {}
    yield "TILE", [a(3), i32([2])], [b(6)], "TileOptions", {}
    yield "REVERSE_V2", [a(3), i32([0])], [b(3)], "ReverseV2Options", {}
    yield "BROADCAST_TO", [a(1, 3), i32([2, 3])], [b(2, 3)], "BroadcastToOptions", {}
    yield (
        "RESIZE_NEAREST_NEIGHBOR",
        [a(1, 2, 2, 1), i32([4, 4])],
        [b(1, 4, 4, 1)],
        "ResizeNearestNeighborOptions",
        {},
    )
    yield "SELECT", [B(3), a(3), a(3)], [b(3)], "SelectOptions", {}
    yield "SELECT_V2", [B(3), a(3), a(3)], [b(3)], "SelectV2Options", {}
    yield (
        "MAX_POOL_2D",
        [a(1, 2, 2, 1)],
        [b(1, 1, 1, 1)],
        "Pool2DOptions",
        {"padding": 1, "strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2},
    )
    yield (
        "AVERAGE_POOL_2D",
        [a(1, 2, 2, 1)],
        [b(1, 1, 1, 1)],
        "Pool2DOptions",
        {"padding": 1, "strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2},
    )
    yield "TOPK_V2", [a(6), np.array(2, np.int32)], [b(2), I(2)], "TopKV2Options", {}


WITHOUT = {("INT16", "DEPTH_TO_SPACE"), ("INT16", "SPACE_TO_DEPTH")}
"""LiteRT has no kernel for them."""
CASES = [(t, form) for t in SCALES for form in forms(t) if (t, form[0]) not in WITHOUT]


@pytest.mark.parametrize(("type", "form"), CASES, ids=[f"{t}-{f[0]}" for t, f in CASES])
def test_elements_are_copied(type: str, form: Any) -> None:
    """Bit for bit."""
    name, inputs, outputs, kind, fields = form
    for version in range(1, 6):
        data = one_operator(name, inputs, outputs, kind, version, **fields)
        try:
            Litert(data)
        except (RuntimeError, ValueError):
            continue  # the type came with a later version
        compare(data)
        return
    pytest.fail("LiteRT refuses it")


def test_outputs_of_different_scales() -> None:
    outputs = [Spec("INT8", (2,), scale) for scale in (0.1, 0.2)]
    inputs = [np.array(0, np.int32), Spec("INT8", (4,), 0.1)]
    data = one_operator("SPLIT", inputs, outputs, "SplitOptions", numSplits=2)
    with pytest.raises(NnapiError, match="SPLIT: its outputs have different scales, which LiteRT"):
        model_of(data)
