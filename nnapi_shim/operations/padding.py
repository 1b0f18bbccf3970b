"""PAD, PAD_V2 and MIRROR_PAD."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Iterator
from nnapi_shim.operations.declare import BoundOperation, form
from nnapi_shim.operations.rules import (
    expect_source,
    outputs_fit,
    rank_at_most,
    rank_limit,
    same_parameters,
    same_rank,
    source_dimensions,
    zero_point_level,
)
from nnapi_shim.operations.signatures import F16, F32, QS8, QU8, movement, rows

REFLECT, SYMMETRIC = 0, 1


def paddings(op: BoundOperation) -> Iterator[tuple[int, int]]:
    """(before, after) per axis."""
    return zip(op.paddings[::2], op.paddings[1::2], strict=True)


def pair_per_dimension(op: BoundOperation) -> None:
    """Paddings holds two numbers of at least 0 per dimension of the input."""
    rank = len(op.input.dimensions)
    expect_source(op, "paddings", rank, 2)
    if len(op.paddings) != 2 * rank:
        raise op_failed(
            f"paddings has {len(op.paddings)} elements; its dimensions must be [{rank}, 2]",
            "pad.paddings-dimensions",
        )
    if min(op.paddings) < 0:
        raise op_failed(f"paddings is {list(op.paddings)}; none may be negative", "pad.paddings")


def a_row_per_dimension(op: BoundOperation) -> None:
    """Paddings is [rank of the input, 2], as far as is known."""
    source_dimensions("paddings", len(op.input.dimensions), 2)(op)


def mirror_is_long_enough(op: BoundOperation) -> None:
    """Paddings are below the size for REFLECT, and at most the size for SYMMETRIC."""
    if op.mode not in (REFLECT, SYMMETRIC):
        raise op_failed(
            f"mode is {op.mode}; allowed are 0 (REFLECT) and 1 (SYMMETRIC)", "mirror-pad.mode"
        )
    for axis, (size, pair) in enumerate(zip(op.input.dimensions, paddings(op), strict=True)):
        most = size - 1 if op.mode == REFLECT else size
        if max(pair) > most:
            raise op_failed(
                f"paddings of axis {axis} are {list(pair)}; allowed are 0 to {most}",
                "mirror-pad.paddings",
            )


def padded(op: BoundOperation) -> list[Dimensions]:
    """Every size plus both paddings."""
    return [
        tuple(
            before + size + after
            for size, (before, after) in zip(op.input.dimensions, paddings(op), strict=True)
        )
    ]


PAD = movement(
    OperationType.PAD,
    doc="output = input with zeros before and after it along each axis i, paddings[i] of them.",
    types=rows("T T", f32=2, f16=3, qu8=2, qs8=4),
    forms=[form("input paddings:TENSOR_INT32")],
    values=["paddings"],
    rules=[rank_at_most(4, "input"), zero_point_level],
    checks=[rank_limit(4, "input"), pair_per_dimension, outputs_fit],
    legacy=True,
    shape=padded,
)

PAD_V2 = movement(
    OperationType.PAD_V2,
    doc="output = input with elements pad_value before and after it along each axis i, "
    "paddings[i] of them; a quantized tensor gets the lowest 8 bits of pad_value.",
    columns="input pad_value -> output",
    types={
        "f32": (3, F32, T.FLOAT32, F32),
        "f16": (3, F16, T.FLOAT16, F16),
        "qu8": (3, QU8, T.INT32, QU8),
        "qs8": (4, QS8, T.INT32, QS8),
    },
    forms=[form("input paddings:TENSOR_INT32 pad_value")],
    values=["paddings"],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input"), pair_per_dimension, outputs_fit],
    legacy=True,
    shape=padded,
)

MIRROR_PAD = movement(
    OperationType.MIRROR_PAD,
    doc="output = input with its mirror image before and after it, along each axis; mode 0 "
    "(REFLECT) does not repeat the border element, mode 1 (SYMMETRIC) does.",
    types=rows("T T", f32=7, f16=7, i32=7, qu8=7, qs8=7),
    forms=[form("input paddings:TENSOR_INT32 mode:INT32")],
    values=["paddings"],
    rules=[
        same_parameters("input", "output"),
        same_rank("input", "output"),
        a_row_per_dimension,
    ],
    checks=[pair_per_dimension, mirror_is_long_enough, outputs_fit],
    shape=padded,
)
