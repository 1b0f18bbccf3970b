"""What LiteRT gets wrong on the processor, and what its CompiledModel does not run.

GPUs were not tried: they get what the processor gets right, of float32 and int32.
"""

from typing import Any

from nnapi_shim.drivers.engines.declined import HALVES, QUANTIZED, Declined, always, has_type
from nnapi_shim.hal.enums import OperationType

_SEEN = "2.3.0"

_SIZES = {
    "BATCH_TO_SPACE_ND": ("block_shape",),
    "FILL": ("dims",),
    "MEAN": ("axes",),
    "MIRROR_PAD": ("paddings",),
    "PAD": ("paddings",),
    "PAD_V2": ("paddings",),
    "RESHAPE": ("shape",),
    "SPACE_TO_BATCH_ND": ("block_shape", "paddings"),
    "STRIDED_SLICE": ("begin", "end", "strides"),
    "TILE": ("multiples",),
    "TRANSPOSE": ("perm",),
}
"""Operation -> inputs that decide the dimensions of its output."""


def _has_late_sizes(node: Any) -> bool:
    return any(not isinstance(node.named.get(name), tuple) for name in _SIZES[node.kind])


DECLINED: tuple[Declined, ...] = (
    Declined(("WHILE",), always, "", "a loop that does not end cannot be stopped", _SEEN),
    Declined(("RANK", "QUANTIZED_16BIT_LSTM"), always, "", "the result is not written", _SEEN),
    Declined(
        tuple(_SIZES),
        _has_late_sizes,
        "with dimensions that no constant decides",
        "CompiledModel has no memory for an output whose size only the run tells",
        _SEEN,
    ),
    Declined(
        tuple(each.name for each in OperationType),
        has_type(*HALVES, *QUANTIZED),
        "with float16 and quantized tensors",
        "not tried with this device",
        _SEEN,
        "litert-gpu",
    ),
)
