"""A device for HAL 1.1: the operations that 1.1 added, computed on a thread of its own.

It answers the way a real accelerator does: the call returns at once, the callback comes later.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

import numpy as np
from example_graph import Array, Graph, T, TooSmallError, activated, supported

from nnapi_shim.drivers.versioned.validate import validate_model, validate_request
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal import v1_0, v1_1

Status = v1_0.ErrorStatus
Op = v1_1.OperationType


def mean(values: Array, axes: Array, keep: Array) -> Array:
    """Over some axes."""
    wanted = tuple({int(axis) % values.ndim for axis in axes})
    return values.mean(axis=wanted, keepdims=bool(keep > 0), dtype=np.float64)


def squeeze(values: Array, axes: Array | None) -> Array:
    """Without dimensions of size 1: all, or those that are named."""
    if axes is None:
        return values.squeeze()
    return values.squeeze(tuple({int(axis) % values.ndim for axis in axes}))


def transpose(values: Array, permutation: Array | None) -> Array:
    """The dimensions in another order."""
    return values.transpose(None if permutation is None else permutation.tolist())


def space_to_batch_nd(values: Array, block: Array, paddings: Array) -> Array:
    """Blocks of pixels become images of the batch."""
    (b0, b1), ((top, bottom), (left, right)) = block.tolist(), paddings.tolist()
    padded = np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)))
    n, h, w, c = padded.shape
    split = padded.reshape(n, h // b0, b0, w // b1, b1, c).transpose(2, 4, 0, 1, 3, 5)
    return split.reshape(b0 * b1 * n, h // b0, w // b1, c)


def batch_to_space_nd(values: Array, block: Array) -> Array:
    """Images of the batch become blocks of pixels."""
    b0, b1 = block.tolist()
    n, h, w, c = values.shape
    joined = values.reshape(b0, b1, n // (b0 * b1), h, w, c).transpose(2, 3, 0, 4, 1, 5)
    return joined.reshape(n // (b0 * b1), h * b0, w * b1, c)


def strided_slice(
    values: Array,
    begins: Array,
    ends: Array,
    strides: Array,
    begin_mask: Array,
    end_mask: Array,
    shrink_axis_mask: Array,
) -> Array:
    """Every stride-th element from begin to before end, along every axis."""
    gone = []
    for axis, (begin, end, stride) in enumerate(
        zip(begins.tolist(), ends.tolist(), strides.tolist(), strict=True)
    ):
        size, bit = values.shape[axis], 1 << axis
        low, high = (0, size) if stride > 0 else (-1, size - 1)
        first = min(max(begin + size * (begin < 0), low), high)
        last = min(max(end + size * (end < 0), low), high)
        if begin_mask & bit:
            first = 0 if stride > 0 else size - 1
        if end_mask & bit:
            last = high if stride > 0 else low
        if shrink_axis_mask & bit:
            last, stride = first + 1, 1
            gone.append(axis)
        values = values.take(range(first, last, stride), axis)
    return values.squeeze(tuple(gone))


FORMULAS = {
    Op.ADD: lambda a, b, activation: activated(a + b, activation),
    Op.SUB: lambda a, b, activation: activated(a - b, activation),
    Op.MUL: lambda a, b, activation: activated(a * b, activation),
    Op.DIV: lambda a, b, activation: activated(a / b, activation),
    Op.MEAN: mean,
    Op.PAD: lambda x, paddings: np.pad(x, paddings.tolist()),
    Op.SQUEEZE: squeeze,
    Op.TRANSPOSE: transpose,
    Op.SPACE_TO_BATCH_ND: space_to_batch_nd,
    Op.BATCH_TO_SPACE_ND: batch_to_space_nd,
    Op.STRIDED_SLICE: strided_slice,
}
ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MEAN)
TYPES = {
    # What only moves elements does so for quantized ones, too: a zero point in HAL 1.1 is 0.
    kind: (T.TENSOR_FLOAT32,) if kind in ARITHMETIC else (T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM)
    for kind in FORMULAS
}


class Device:
    """v1_1.IDevice, with one thread that does all the work."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._running = False
        Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            self._running = True
            job()
            del job  # what it holds must not live until the next one
            self._running = False

    def later(self, job: Callable[[], None]) -> None:
        """Do a job, which must not raise, when those before it are done."""
        self._jobs.put(job)

    def getCapabilities_1_1(self) -> tuple[Status, v1_1.Capabilities]:
        """Quicker than the reference device, slower than compiled code."""
        performance = v1_0.PerformanceInfo(execTime=0.8, powerUsage=0.6)
        return Status.NONE, v1_1.Capabilities(performance, performance, performance)

    def getSupportedOperations_1_1(self, model: v1_1.Model) -> tuple[Status, tuple[bool, ...]]:
        """What there are formulas for."""
        try:
            validate_model(model)
        except NnapiError:
            return Status.INVALID_ARGUMENT, ()
        return Status.NONE, supported(model, FORMULAS, TYPES)

    def prepareModel_1_1(
        self,
        model: v1_1.Model,
        preference: v1_1.ExecutionPreference,
        callback: v1_0.IPreparedModelCallback,
    ) -> Status:
        """Look at the model, and prepare it on the thread."""
        status, answers = self.getSupportedOperations_1_1(model)
        if status == Status.NONE and not all(answers):
            status = Status.INVALID_ARGUMENT
        if status != Status.NONE:
            callback.notify(status, None)
            return status
        self.later(lambda: callback.notify(Status.NONE, PreparedModel(self, model)))
        return Status.NONE

    def getStatus(self) -> v1_0.DeviceStatus:
        """Busy while there is work."""
        busy = self._running or not self._jobs.empty()
        return v1_0.DeviceStatus.BUSY if busy else v1_0.DeviceStatus.AVAILABLE


class PreparedModel:
    """v1_0.IPreparedModel."""

    def __init__(self, device: Device, model: v1_1.Model) -> None:
        self._device = device
        self._graph = Graph(model, FORMULAS)

    def execute(self, request: v1_0.Request, callback: v1_0.IExecutionCallback) -> Status:
        """Look at the request, and compute it on the thread."""
        try:
            validate_request(request, self._graph.model)
        except NnapiError:
            callback.notify(Status.INVALID_ARGUMENT)
            return Status.INVALID_ARGUMENT
        self._device.later(lambda: callback.notify(self._run(request)))
        return Status.NONE

    def _run(self, request: v1_0.Request) -> Status:
        try:
            self._graph.run(request)
        except TooSmallError:
            return Status.OUTPUT_INSUFFICIENT_SIZE
        except (ValueError, IndexError):  # dimensions or values that do not fit together
            return Status.GENERAL_FAILURE
        return Status.NONE
