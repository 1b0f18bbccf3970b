"""What the processor plugin of OpenVINO gets wrong; its other plugins share the conversions."""

from typing import Any

from nnapi_shim.drivers.engines.declined import QUANTIZED, Declined, always, has_type

_SEEN = "2026.4.1"
_is_quantized = has_type(*QUANTIZED)


def _moves_a_stride(node: Any) -> bool:
    is_small = node.filter.dimensions[1:3] == (1, 1)
    return is_small and _is_quantized(node) and (node.stride_width, node.stride_height) != (1, 1)


DECLINED: tuple[Declined, ...] = (
    Declined(
        ("WHILE",),
        always,
        "",
        "a loop that does not end cannot be stopped",
        _SEEN,
    ),
    Declined(
        ("CONV_2D", "GROUPED_CONV_2D"),
        _moves_a_stride,
        "with quantized tensors, a filter of 1 x 1 and a stride",
        "the stride gets lost, and the model does not compile",
        _SEEN,
    ),
    Declined(
        ("MEAN",),
        lambda node: _is_quantized(node) and not isinstance(node.named.get("axes"), tuple),
        "with quantized tensors and axes that are no constant",
        "the model does not compile",
        _SEEN,
    ),
    Declined(
        ("SLICE",),
        lambda node: not isinstance(node.named.get("size"), tuple) or -1 in node.size,
        "with a size of -1, or one that is no constant",
        "the result has no elements",
        _SEEN,
    ),
    Declined(
        ("LOCAL_RESPONSE_NORMALIZATION", "SVDF"),
        always,
        "",
        "the result is wrong with most sizes",
        _SEEN,
        in_vectors=False,
    ),
    Declined(
        ("DIV",),
        has_type("TENSOR_INT32"),
        "with int32 tensors",
        "some quotients are too small by 1",
        _SEEN,
        in_vectors=False,
    ),
)
