"""RELU RELU1 RELU6 TANH LOGISTIC as steps."""

from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Step, record
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation

CLAMP = record(input=ADDRESS, output=ADDRESS, count=INT64, low=FLOAT32, high=FLOAT32)

FLOAT_MAX = 3.4028234663852886e38


def lower_relu(op: BoundOperation) -> list[Step]:
    """Clamp to [0, largest]."""
    return [
        Step(
            CLAMP,
            f"clamp_{op.variant}",
            in_place="input",
            input=op.input,
            output=op.output,
            count=element_count(op.output.dimensions),
            low=0.0,
            high=FLOAT_MAX,
        )
    ]
