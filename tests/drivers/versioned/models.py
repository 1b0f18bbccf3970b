"""Models for these tests, and a driver for HAL 1.0 whose every answer a test can choose."""

import numpy as np

import nnapi_shim
from nnapi_shim import FuseCode, OperandType
from nnapi_shim.drivers.versioned.memory import located
from nnapi_shim.hal import v1_0

Status = v1_0.ErrorStatus
FLOATS = OperandType.TENSOR_FLOAT32


def finished(build):
    """The canonical model that `build(model)` makes; it returns the outputs."""
    model = nnapi_shim.Model()
    outputs = build(model)
    model.outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    model.finish()
    return model.finished


def relu(dimensions=(2,)):
    """One operation."""
    return finished(
        lambda m: m.operation("RELU", [m.input(FLOATS, dimensions)], dimensions=dimensions)
    )


def mixed():
    """relu(log(a + 0.5)) and abs(relu(a)): LOG (operation 1) and ABS (4) are of level 3."""

    def build(m):
        a = m.input(FLOATS, [4])
        half = np.full(4, 0.5, np.float32)
        total = m.operation("ADD", [a, half, FuseCode.NONE])  # 0
        log = m.operation("LOG", [total])  # 1
        positive = m.operation("RELU", [a])  # 2
        return m.operation("RELU", [log]), m.operation("ABS", [positive])  # 3, 4

    return finished(build)


def keep(model, *numbers):
    """Per operation of a model, whether it is one of these."""
    return [item.number in numbers for item in model.main.operations]


class Driver:
    """RELU on float32, for HAL 1.0. Tests replace its methods."""

    version = "7"
    type = "ACCELERATOR"

    def __init__(self):
        self.models = []
        self.requests = []

    def getCapabilities(self):
        info = v1_0.PerformanceInfo(0.5, 0.25)
        return Status.NONE, v1_0.Capabilities(info, v1_0.PerformanceInfo(2.0, 4.0))

    def getSupportedOperations(self, model):
        self.models.append(model)
        return Status.NONE, tuple(o.type == v1_0.OperationType.RELU for o in model.operations)

    def prepareModel(self, model, callback):
        self.models.append(model)
        callback.notify(Status.NONE, self)
        return Status.NONE

    def getStatus(self):
        return v1_0.DeviceStatus.AVAILABLE

    def execute(self, request, callback):
        self.requests.append(request)
        values, expected = (
            np.frombuffer(located(a.location, request.pools), np.float32)
            for a in (request.inputs[0], request.outputs[0])
        )
        expected[:] = np.maximum(values, 0)
        callback.notify(Status.NONE)
        return Status.NONE
