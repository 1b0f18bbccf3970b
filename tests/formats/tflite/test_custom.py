"""Custom operators that many models have."""

import contextlib
import struct

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from flatbuffers import flexbuffers

from nnapi_shim import Compilation, NnapiError
from tests.formats.tflite.building import Building, one_operator
from tests.formats.tflite.cases import F, f32, i32
from tests.formats.tflite.running import DEVICES, Litert, assert_same, model_of

OPTIONS = {
    "max_detections": 6,
    "max_classes_per_detection": 1,
    "detections_per_class": 100,
    "use_regular_nms": False,
    "nms_iou_threshold": 0.5,
    "num_classes": 2,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}


def detections(threshold: float, activation: str, *, regular: bool = False) -> bytes:
    made = Building()
    boxes, raw, scores = made.tensor(F(1, 6, 4)), made.tensor(F(1, 6, 3)), made.tensor(F(1, 6, 3))
    if activation:
        made.operator(activation, [raw], [scores])
    at = np.arange(6, dtype=np.float32) / 6
    anchors = made.constant(np.stack([at, at, at * 0 + 0.1, at * 0 + 0.1], 1).astype(np.float32))
    outputs = [
        made.tensor(F(1, 6, 4)),
        *(made.tensor(F(1, 6)) for _ in range(2)),
        made.tensor(F(1)),
    ]
    messages = OPTIONS | {"nms_score_threshold": threshold, "use_regular_nms": regular}
    custom = bytes(flexbuffers.Dumps(messages))
    arguments = [boxes, scores if activation else raw, anchors]
    made.operator("TFLite_Detection_PostProcess", arguments, outputs, custom=custom)
    made.ends([boxes, raw], outputs)
    return made.file()


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("activation", ["RELU", "LOGISTIC"])
@pytest.mark.parametrize("device", DEVICES)
def test_scores_that_are_all_taken(device: str, activation: str, regular: bool) -> None:
    data = detections(-1e8, activation, regular=regular)
    inputs = [f32(1, 6, 4) * 0.1, f32(1, 6, 3, seed=3)]
    assert_same(Compilation(model_of(data), device).run(*inputs), Litert(data).run(*inputs))


def test_scores_that_may_be_below_0() -> None:
    with pytest.raises(NnapiError, match=r"its score threshold is -0\.5, and scores may be below"):
        model_of(detections(-0.5, ""))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("padding", "strides"), [(1, (2, 2)), (2, (2, 3)), (2, (1, 1))])
def test_transposed_convolution_with_bias(
    padding: int, strides: tuple[int, int], device: str
) -> None:
    """The same as TRANSPOSE_CONV of LiteRT with the dimensions that follow."""
    data, weights, bias = F(1, 3, 4, 2), f32(3, 2, 3, 2), f32(3, seed=1)
    height, width = 3 * strides[1], 4 * strides[0]
    if padding == 2:
        height, width = 2 * strides[1] + 2, 3 * strides[0] + 3
    fields = {"padding": padding - 1, "strideW": strides[0], "strideH": strides[1]}
    plain = one_operator(
        "TRANSPOSE_CONV",
        [i32(1, height, width, 3), weights, data, bias],
        [F(1, height, width, 3)],
        "TransposeConvOptions",
        **fields,
    )
    custom = struct.pack("<iii", padding, *strides)
    file = one_operator(
        "Convolution2DTransposeBias",
        [data, weights, bias],
        [F(1, height, width, 3)],
        custom=custom,
    )
    x = f32(1, 3, 4, 2, seed=2)
    assert_same(Compilation(model_of(file), device).run(x), Litert(plain).run(x))


def test_damaged_options() -> None:
    for custom in (b"", b"\0" * 11, struct.pack("<iii", 3, 1, 1), struct.pack("<iii", 1, 0, 1)):
        file = one_operator(
            "Convolution2DTransposeBias",
            [F(1, 3, 4, 2), f32(3, 2, 3, 2), f32(3)],
            [F(1, 3, 4, 3)],
            custom=custom,
        )
        with pytest.raises(NnapiError, match=r"Convolution2DTransposeBias: (its options|padding)"):
            model_of(file)


def test_any_options_of_detections_are_read_or_refused() -> None:
    custom = bytes(flexbuffers.Dumps(OPTIONS | {"nms_score_threshold": 0.1}))
    outputs = [F(1, 6, 4), F(1, 6), F(1, 6), F(1)]
    inputs = [F(1, 6, 4), F(1, 6, 3), f32(6, 4)]
    for at in range(len(custom)):
        for value in (0, 0x7F, 0xA1, 0xFF):
            damaged = custom[:at] + bytes([value]) + custom[at + 1 :]
            name = "TFLite_Detection_PostProcess"
            with contextlib.suppress(NnapiError):
                model_of(one_operator(name, inputs, outputs, custom=damaged)).close()
