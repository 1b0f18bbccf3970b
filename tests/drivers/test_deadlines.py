"""A deadline ends a run inside of an operation, however much there is to do in it."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, FuseCode, Priority, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.types import Request, RequestArgument
from tests.single import CONSTANT, INPUT, Value, build, f32, i32, omitted, q16, qu8

MILLISECOND = 10**6
LIMIT_NS = 100 * MILLISECOND
SOON = 8.0
"""Seconds after which a run is not bounded by its deadline: what is asked for takes minutes."""

NONE, SAME = FuseCode.NONE, 1

Case = tuple[Op, list[Any], list[Value]]


def zeros(*shape: int) -> Value:
    return f32(np.zeros(shape, np.float32))


def bytes_of(*shape: int) -> Value:
    return qu8(np.zeros(shape, np.uint8))


def apart(count: int, *more: int) -> Any:
    """Boxes that do not overlap."""
    at = np.arange(count, dtype=np.float32) * 4
    boxes = np.stack([at, np.zeros_like(at), at + 1, np.ones_like(at)], -1)
    return np.broadcast_to(boxes.reshape(count, *[1] * len(more), 4), (count, *more, 4))


def rois(count: int, size: float) -> list[Value]:
    return [f32([[0, 0, size, size]] * count), i32([0] * count)]


def roi_align(image: Value, output: Value, corners: list[Value] | None = None) -> Case:
    corners = corners or rois(1000, 100)
    scalars = [14, 14, 1.0, 1.0, 100, 100, False]
    return Op.ROI_ALIGN, [image, *corners, *scalars], [output]


def roi_pooling() -> Case:
    inputs = [zeros(1, 300, 300, 8), *rois(30000, 300)]
    return Op.ROI_POOLING, [*inputs, 1, 1, 1.0, 1.0, False], [f32()]


def detection(regular: bool) -> Case:
    count, classes = 200_000, 3
    scores = np.linspace(0.1, 1, count * classes, dtype=np.float32).reshape(1, count, classes)
    boxes = apart(count)
    centres, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    scalars = [1.0, 1.0, 1.0, 1.0, regular, count, 1, count, 0.0, 0.5, False]
    return (
        Op.DETECTION_POSTPROCESSING,
        [f32(scores), zeros(1, count, 4), f32(np.concatenate([centres, sizes], 1)), *scalars],
        [f32(), f32(), i32(), i32()],
    )


def box_with_nms_limit(kernel: int) -> Case:
    count, classes = 200_000, 3
    scores = np.linspace(0.1, 1, count * classes, dtype=np.float32).reshape(count, classes)
    boxes = apart(count, classes).reshape(count, 4 * classes)
    scalars = [0.0, -1, kernel, 0.5, 0.5, 0.0]
    return (
        Op.BOX_WITH_NMS_LIMIT,
        [f32(scores), f32(boxes), i32([0] * count), *scalars],
        [f32(), f32(), i32(), i32()],
    )


def generate_proposals() -> Case:
    size = 500
    scores = np.linspace(0, 1, size * size, dtype=np.float32).reshape(1, size, size, 1)
    info = f32([[4.0 * size, 4.0 * size]])
    scalars = [4.0, 4.0, -1, -1, 0.5, 0.0, False]
    return (
        Op.GENERATE_PROPOSALS,
        [f32(scores), zeros(1, size, size, 4), f32([[0, 0, 1, 1]]), info, *scalars],
        [f32(), f32(), i32()],
    )


def pool(type: Op, image: Value, output: Value) -> Case:
    return type, [image, SAME, 1, 1, 1000, 1000, NONE], [output]


def conv_2d(of: Callable[..., Value], output: Value) -> Case:
    if of is f32:
        filter, bias = zeros(512, 7, 7, 256), zeros(512)
    else:
        filter, bias = bytes_of(512, 3, 3, 256), i32(np.zeros(512), 1.0)
    image = zeros(1, 300, 300, 256) if of is f32 else bytes_of(1, 300, 300, 256)
    return Op.CONV_2D, [image, filter, bias, SAME, 1, 1, NONE], [output]


def wide_conv_2d() -> Case:
    """So many taps that a block of rows has no end."""
    inputs = [bytes_of(1, 512, 512, 64), bytes_of(8, 96, 96, 64), i32(np.zeros(8), 1.0)]
    # VALID, few outputs: the table of taps stays small.
    return Op.CONV_2D, [*inputs, 2, 8, 8, NONE], [qu8(scale=2.0)]


def depthwise() -> Case:
    inputs = [zeros(1, 600, 600, 8), zeros(1, 300, 300, 8), zeros(8)]
    return Op.DEPTHWISE_CONV_2D, [*inputs, SAME, 1, 1, 1, NONE], [f32()]


def transpose_conv_2d() -> Case:
    inputs = [zeros(1, 200, 200, 512), zeros(256, 4, 4, 512), zeros(256)]
    return Op.TRANSPOSE_CONV_2D, [*inputs, 0, 0, 0, 0, 2, 2, NONE, False], [f32()]


def fully_connected() -> Case:
    inputs = [zeros(8192, 4096), zeros(8192, 4096), zeros(8192)]
    return Op.FULLY_CONNECTED, [*inputs, NONE], [f32()]


def batch_matmul(side: int = 3000) -> Case:
    square = i32(np.zeros((side, side)))
    return Op.BATCH_MATMUL, [square, square, False, False], [i32()]


def sequence_lstm() -> Case:
    steps, units = 4000, 1024
    weights = [zeros(units, 8)] * 4 + [zeros(units, units)] * 4
    none = omitted(T.TENSOR_FLOAT32)
    inputs = [zeros(steps, 1, 8), *weights, *[none] * 3, *[zeros(units)] * 4, none, none]
    inputs += [zeros(1, units), zeros(1, units), 4, 0.0, 0.0, True, *[none] * 4]
    return Op.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, [f32()]


def sequence_rnn() -> Case:
    steps, units = 8000, 2048
    inputs = [zeros(steps, 1, 8), zeros(units, 8), zeros(units, units), zeros(units)]
    return Op.UNIDIRECTIONAL_SEQUENCE_RNN, [*inputs, zeros(1, units), 4, 1], [f32()]


def lsh_projection() -> Case:
    hash, items = zeros(1, 32), i32(np.zeros((50_000, 1000), np.int32))
    return Op.LSH_PROJECTION, [hash, items, zeros(50_000), 2], [i32()]


def local_response() -> Case:
    """A NaN, so that every window is summed anew."""
    image = np.zeros((20_000, 64), np.float32)
    image[0] = np.nan
    return Op.LOCAL_RESPONSE_NORMALIZATION, [f32(image), 10_000, 1.0, 1.0, 0.5, 0], [f32()]


def resize_bytes() -> Case:
    return Op.RESIZE_BILINEAR, [bytes_of(1, 2, 10_000_000, 1), 1, 20_000], [qu8()]


HUGE: dict[str, Callable[[], Case]] = {
    "ROI_ALIGN": lambda: roi_align(zeros(1, 100, 100, 8), f32()),
    "ROI_ALIGN quantized": lambda: roi_align(
        bytes_of(1, 100, 100, 8), qu8(scale=2.0), _rois_in_eighths(1000, 100)
    ),
    "ROI_POOLING": roi_pooling,
    "DETECTION_POSTPROCESSING per class": lambda: detection(True),
    "DETECTION_POSTPROCESSING best class": lambda: detection(False),
    "BOX_WITH_NMS_LIMIT hard": lambda: box_with_nms_limit(0),
    "BOX_WITH_NMS_LIMIT gaussian": lambda: box_with_nms_limit(2),
    "GENERATE_PROPOSALS": generate_proposals,
    "AVERAGE_POOL_2D": lambda: pool(Op.AVERAGE_POOL_2D, zeros(1, 1500, 1500, 1), f32()),
    "AVERAGE_POOL_2D quantized": lambda: pool(
        Op.AVERAGE_POOL_2D, bytes_of(1, 1500, 1500, 1), qu8()
    ),
    "MAX_POOL_2D": lambda: pool(Op.MAX_POOL_2D, zeros(1, 1500, 1500, 1), f32()),
    "L2_POOL_2D": lambda: pool(Op.L2_POOL_2D, zeros(1, 1500, 1500, 1), f32()),
    "CONV_2D": lambda: conv_2d(f32, f32()),
    "CONV_2D quantized": lambda: conv_2d(qu8, qu8(scale=2.0)),
    "CONV_2D of many taps": wide_conv_2d,
    "DEPTHWISE_CONV_2D": depthwise,
    "TRANSPOSE_CONV_2D": transpose_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": sequence_rnn,
    "LSH_PROJECTION": lsh_projection,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
}
"""Much work in little memory."""

HUGE_ON_CPU: dict[str, Callable[[], Case]] = {**HUGE, "RESIZE_BILINEAR": resize_bytes}
"""With those that nnapi-reference has no memory for."""


def _rois_in_eighths(count: int, size: float) -> list[Value]:
    return [q16([[0, 0, 8 * size, 8 * size]] * count, 0.125), i32([0] * count)]


WEIGHTED = (
    Op.CONV_2D, Op.TRANSPOSE_CONV_2D, Op.UNIDIRECTIONAL_SEQUENCE_LSTM,
    Op.UNIDIRECTIONAL_SEQUENCE_RNN,
)  # fmt: skip
"""Operations whose weights are constants, so that they are packed before the run begins."""

LONG_ROW = 1 << 25


def row() -> Value:
    return zeros(1, LONG_ROW)


LONG: dict[str, Callable[[], Case]] = {
    "SOFTMAX": lambda: (Op.SOFTMAX, [row(), 1.0], [f32()]),
    "SOFTMAX quantized": lambda: (
        Op.SOFTMAX,
        [bytes_of(1, 2 * LONG_ROW), 1.0],
        [qu8(scale=1 / 256)],
    ),
    "SOFTMAX of lanes": lambda: (Op.SOFTMAX, [zeros(LONG_ROW // 2, 2), 1.0, 0], [f32()]),
    "LOG_SOFTMAX": lambda: (Op.LOG_SOFTMAX, [row(), 1.0, -1], [f32()]),
    "L2_NORMALIZATION": lambda: (Op.L2_NORMALIZATION, [zeros(1, 2 * LONG_ROW)], [f32()]),
    "INSTANCE_NORMALIZATION": lambda: (
        Op.INSTANCE_NORMALIZATION,
        [zeros(1, LONG_ROW // 4, 1, 4), 1.0, 0.0, 0.1, False],
        [f32()],
    ),
    "TOPK_V2": lambda: (Op.TOPK_V2, [row(), LONG_ROW // 2], [f32(), i32()]),
    "RANDOM_MULTINOMIAL": lambda: (Op.RANDOM_MULTINOMIAL, [row(), 9, i32([1, 2])], [i32()]),
    "TRANSPOSE": lambda: (Op.TRANSPOSE, [zeros(129, LONG_ROW // 128), i32([1, 0])], [f32()]),
}
"""A single row of much memory: seconds at 1 GB, and more than a few milliseconds at 128 MB."""


def refused(device: Any, case: Case, limit_ns: int) -> tuple[NnapiError, float]:
    """What a run with a limit ends with once it has begun, and the processor time it took."""
    type, inputs, outputs = case
    built = build(type, inputs, outputs, CONSTANT if type in WEIGHTED else INPUT, first_is=INPUT)
    prepared = device.prepareModel(
        built.model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )
    sources = built.inputs
    targets = [np.empty(1 << 28, np.uint8) for _ in outputs]
    request = Request(
        tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in sources),
        tuple(RequestArgument(t.ctypes.data, t.nbytes, ()) for t in targets),
    )
    execution = prepared.createReusableExecution(request, False, 0)
    while True:
        began = time.process_time()
        with pytest.raises(NnapiError) as error:
            execution.compute(time.monotonic_ns() + limit_ns)
        if error.value.code is not ResultCode.MISSED_DEADLINE_PERSISTENT:
            return error.value, time.process_time() - began


@pytest.mark.parametrize(
    ("device", "name"),
    [(CpuDevice, name) for name in HUGE_ON_CPU] + [(ReferenceDevice, name) for name in HUGE],
)
def test_much_work(device, name):
    error, seconds = refused(device(), HUGE_ON_CPU[name](), LIMIT_NS)
    assert error.code is ResultCode.MISSED_DEADLINE_TRANSIENT, error
    assert name.split()[0] in error.message
    assert seconds < SOON


@pytest.mark.parametrize("name", LONG)
def test_a_long_row(name):
    error, seconds = refused(CpuDevice(), LONG[name](), 5 * MILLISECOND)
    assert error.code is ResultCode.MISSED_DEADLINE_TRANSIENT, error
    assert name.split()[0] in error.message
    assert seconds < SOON
