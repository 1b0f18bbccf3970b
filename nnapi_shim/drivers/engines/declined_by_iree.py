"""What IREE gets wrong or does not compile, and what no conformance vector has been computed of.

Compiling takes seconds, so an operation is taken only when its vectors have been computed.
"""

from nnapi_shim.drivers.engines.declined import HALVES, QUANTIZED, Declined, always, has_type
from nnapi_shim.hal.enums import OperationType

_SEEN = "3.13.0"

PROVEN = (
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "DIV",
    "FULLY_CONNECTED",
    "LOGISTIC",
    "MAX_POOL_2D",
    "MUL",
    "PAD",
    "RELU",
    "RELU1",
    "RELU6",
    "RESHAPE",
    "SOFTMAX",
    "SUB",
    "TANH",
)
"""Operations whose vectors without float16 and quantized tensors have all been computed, on the
processor and by Vulkan (lavapipe of Mesa 22.3.6).
"""

DECLINED: tuple[Declined, ...] = (
    Declined(
        tuple(each.name for each in OperationType if each.name not in PROVEN),
        always,
        "",
        "not tried with this engine",
        _SEEN,
    ),
    Declined(
        PROVEN,
        has_type(*HALVES, *QUANTIZED),
        "with float16 and quantized tensors",
        "not tried with this engine",
        _SEEN,
    ),
)
