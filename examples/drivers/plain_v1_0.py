"""A device for HAL 1.0: some operations on float32, computed where they are called."""

import numpy as np
from example_graph import Array, Graph, T, TooSmallError, activated, supported

from nnapi_shim.drivers.versioned.validate import validate_model, validate_request
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal import v1_0

Status = v1_0.ErrorStatus
Op = v1_0.OperationType


def fully_connected(values: Array, weights: Array, bias: Array, activation: Array) -> Array:
    """The input flattened to rows, times the weights."""
    rows = values.reshape(-1, weights.shape[1])
    return activated(rows @ weights.T + bias, activation)


def softmax(values: Array, beta: Array) -> Array:
    """Along the last dimension."""
    powers = np.exp((values - values.max(axis=-1, keepdims=True)) * beta)
    return powers / powers.sum(axis=-1, keepdims=True)


def concatenation(*inputs: Array) -> Array:
    """The inputs one behind the other; the last one is the axis."""
    return np.concatenate(inputs[:-1], axis=int(inputs[-1]))


def depth_to_space(values: Array, block: Array) -> Array:
    """Blocks of channels become blocks of pixels."""
    n, h, w, c = values.shape
    b = int(block)
    spread = values.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return spread.reshape(n, h * b, w * b, c // (b * b))


def space_to_depth(values: Array, block: Array) -> Array:
    """Blocks of pixels become blocks of channels."""
    n, h, w, c = values.shape
    b = int(block)
    packed = values.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return packed.reshape(n, h // b, w // b, c * b * b)


FORMULAS = {
    Op.ADD: lambda a, b, activation: activated(a + b, activation),
    Op.MUL: lambda a, b, activation: activated(a * b, activation),
    Op.FLOOR: np.floor,
    Op.RELU: lambda x: np.maximum(x, 0),
    Op.RELU1: lambda x: np.clip(x, -1, 1),
    Op.RELU6: lambda x: np.clip(x, 0, 6),
    Op.TANH: np.tanh,
    Op.LOGISTIC: lambda x: 1 / (1 + np.exp(-x)),
    Op.RESHAPE: lambda x, shape: x.reshape(shape),
    Op.CONCATENATION: concatenation,
    Op.SOFTMAX: softmax,
    Op.FULLY_CONNECTED: fully_connected,
    Op.DEPTH_TO_SPACE: depth_to_space,
    Op.SPACE_TO_DEPTH: space_to_depth,
}
TYPES = dict.fromkeys(FORMULAS, (T.TENSOR_FLOAT32,))


class Device:
    """v1_0.IDevice."""

    def getCapabilities(self) -> tuple[Status, v1_0.Capabilities]:
        """Quicker than the reference device, slower than compiled code."""
        performance = v1_0.PerformanceInfo(execTime=0.7, powerUsage=0.7)
        return Status.NONE, v1_0.Capabilities(performance, performance)

    def getSupportedOperations(self, model: v1_0.Model) -> tuple[Status, tuple[bool, ...]]:
        """What there are formulas for."""
        try:
            validate_model(model)
        except NnapiError:
            return Status.INVALID_ARGUMENT, ()
        return Status.NONE, supported(model, FORMULAS, TYPES)

    def prepareModel(self, model: v1_0.Model, callback: v1_0.IPreparedModelCallback) -> Status:
        """Look at the model and answer at once."""
        status, answers = self.getSupportedOperations(model)
        if status == Status.NONE and not all(answers):
            status = Status.INVALID_ARGUMENT
        prepared = PreparedModel(model) if status == Status.NONE else None
        callback.notify(status, prepared)
        return status

    def getStatus(self) -> v1_0.DeviceStatus:
        """It does nothing between two calls."""
        return v1_0.DeviceStatus.AVAILABLE


class PreparedModel:
    """v1_0.IPreparedModel."""

    def __init__(self, model: v1_0.Model) -> None:
        self._graph = Graph(model, FORMULAS)

    def execute(self, request: v1_0.Request, callback: v1_0.IExecutionCallback) -> Status:
        """Compute, then answer."""
        status = self._run(request)
        callback.notify(status)
        return status

    def _run(self, request: v1_0.Request) -> Status:
        try:
            validate_request(request, self._graph.model)
        except NnapiError:
            return Status.INVALID_ARGUMENT
        try:
            self._graph.run(request)
        except TooSmallError:
            return Status.OUTPUT_INSUFFICIENT_SIZE
        except (ValueError, IndexError):  # dimensions or values that do not fit together
            return Status.GENERAL_FAILURE
        return Status.NONE
