"""What the processor plugin of OpenVINO gets wrong; its other plugins share the conversions."""

from nnapi_shim.drivers.engines.declined import QUANTIZED, Declined, always, has_type

_SEEN = "2026.4.1"

DECLINED: tuple[Declined, ...] = (
    Declined(
        ("WHILE",),
        always,
        "",
        "a loop that does not end cannot be stopped",
        _SEEN,
    ),
    Declined(
        ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D"),
        has_type(*QUANTIZED),
        "with quantized tensors",
        "its integer convolutions clip some results, and some models do not compile",
        _SEEN,
    ),
    Declined(
        ("MEAN",),
        has_type(*QUANTIZED),
        "with quantized tensors",
        "some models do not compile",
        _SEEN,
    ),
    Declined(
        ("SLICE",),
        lambda node: not isinstance(node.named.get("size"), tuple) or -1 in node.size,
        "with a size of -1, or one that is no constant",
        "the result has no elements",
        _SEEN,
    ),
)
