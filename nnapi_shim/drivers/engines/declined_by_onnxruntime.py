"""What execution providers of ONNX Runtime get wrong, on the processor; those that are not named
leave operations to it.
"""

from typing import Any

from nnapi_shim.drivers.engines.declined import HALVES, QUANTIZED, Declined, always, has_type

_OPENVINO = "onnxruntime-openvino"
_SEEN_WITH_OPENVINO = "1.24.1"
_is_quantized = has_type(*QUANTIZED)


def _has_filter_at_zero(node: Any) -> bool:
    is_unsigned = node.filter.type.name == "TENSOR_QUANT8_ASYMM"
    return is_unsigned and not node.filter.zero_point and bool(node.input.zero_point)


DECLINED = (
    Declined(
        ("IF", "WHILE"),
        has_type(*HALVES),
        "with float16 tensors",
        "a conversion to float16 that only an inner graph reads gets lost",
        "1.31.1",
    ),
    Declined(
        ("LSTM", "WHILE"),
        always,
        "",
        "the model does not compile",
        _SEEN_WITH_OPENVINO,
        _OPENVINO,
    ),
    Declined(
        ("DEPTHWISE_CONV_2D", "GROUPED_CONV_2D"),
        _has_filter_at_zero,
        "with an unsigned filter whose zero point is 0, and an input with another one",
        "the model does not compile",
        _SEEN_WITH_OPENVINO,
        _OPENVINO,
    ),
    Declined(
        ("MEAN",),
        lambda node: _is_quantized(node) and not isinstance(node.named.get("axes"), tuple),
        "with quantized tensors and axes that are no constant",
        "the model does not compile",
        _SEEN_WITH_OPENVINO,
        _OPENVINO,
    ),
    Declined(
        ("SLICE",),
        lambda node: not isinstance(node.named.get("size"), tuple) or -1 in node.size,
        "with a size of -1, or one that is no constant",
        "the result has no elements",
        _SEEN_WITH_OPENVINO,
        _OPENVINO,
    ),
)
