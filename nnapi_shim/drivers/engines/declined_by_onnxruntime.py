"""What ONNX Runtime gets wrong on the processor; other providers leave operations to it."""

from nnapi_shim.drivers.engines.declined import HALVES, Declined, has_type

DECLINED = (
    Declined(
        ("IF", "WHILE"),
        has_type(*HALVES),
        "with float16 tensors",
        "a conversion to float16 that only an inner graph reads gets lost",
        "1.31.1",
    ),
)
