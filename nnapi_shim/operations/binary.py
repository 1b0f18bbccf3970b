"""Binary arithmetic with broadcasting.

ADD, SUB, MUL, DIV have a fused activation; MAXIMUM, MINIMUM, POW have none, and no limit of rank.
"""

from math import inf

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Sequence
from nnapi_shim.operations.declare import BoundOperation, Check, Operation, Rule, form
from nnapi_shim.operations.rules import (
    float32,
    fused_activation,
    rank_limit,
    ranks_at_most_if_all_known,
)
from nnapi_shim.operations.shapes import broadcast
from nnapi_shim.operations.signatures import rows


def product_fits(op: BoundOperation) -> None:
    """The output scale of a quantized product is greater than the product of the input scales."""
    if op.variant in ("qu8", "qs8"):
        product = float32(op.input0.scale * op.input1.scale)
        if not op.output.scale > product:
            raise bad_data(
                f"output has scale {op.output.scale:g}; it must be greater than the product of the "
                f"input scales, {product:g}",
                "mul.output-scale",
            )


def product_is_not_lost(op: BoundOperation) -> None:
    """The multiplier of a quantized product, the input scales over the output's, is not 0."""
    scales = op.input0.scale, op.input1.scale
    if _is_quantized(op) and not float32(scales[0] * scales[1]) / op.output.scale > 0:
        raise op_failed(
            f"the inputs have scales {scales[0]:g} and {scales[1]:g} and the output "
            f"{op.output.scale:g}; the product of the input scales must not be 0 relative to it",
            "mul.product-lost",
        )


def sum_fits(op: BoundOperation) -> None:
    """The reference adds in units of 2 * max(input scales) / 2^20, which the output must exceed,
    and which, like 2^20 times the output's scale, must be a float32.
    """
    if not _is_quantized(op):
        return
    largest, scale = max(op.input0.scale, op.input1.scale), op.output.scale
    unit, limit = float32(2 * largest), float32(2**20 * scale)
    if not unit < inf:
        raise op_failed(
            f"an input has scale {largest:g}; it must be less than 2^127", "binary.sum.input-scale"
        )
    if not limit < inf:
        raise op_failed(
            f"output has scale {scale:g}; it must be less than 2^108",
            "binary.sum.output-scale-too-large",
        )
    if not unit < limit:
        raise op_failed(
            f"output has scale {scale:g}; it must be greater than {unit / 2**20:g}",
            "binary.sum.output-scale-too-small",
        )


def _is_quantized(op: BoundOperation) -> bool:
    """Whether the variant is quantized."""
    is_empty = 0 in (*op.input0.dimensions, *op.input1.dimensions)
    return op.variant in ("qu8", "qs8") and not is_empty


def not_quantized(op: BoundOperation) -> None:
    """Differs: the documentation has no quantized DIV; the reference accepts the signed type when
    the operation is added, and fails when it is reached.
    """
    if op.variant == "qs8":
        raise op_failed("TENSOR_QUANT8_ASYMM_SIGNED operands cannot be divided", "div.quantized")


def binary(
    type: OperationType,
    doc: str,
    levels: dict[str, int],
    rules: Sequence[Rule] = (),
    checks: Sequence[Check] = (),
) -> Operation:
    """An arithmetic operation; `levels`: the first feature level of each variant."""
    return Operation(
        type,
        doc=doc,
        columns="input0 input1 -> output",
        types=rows("T T T", **levels),
        forms=[form("input0 input1 activation:INT32")],
        rules=[ranks_at_most_if_all_known(4, "input0", "input1"), *rules],
        checks=[rank_limit(4, "input0", "input1"), fused_activation, *checks],
        allow_zero_sized=True,
        shape=lambda op: [broadcast(op.input0.dimensions, op.input1.dimensions)],
        elementwise=True,
        work=1,
    )


def pairwise(
    type: OperationType,
    doc: str,
    columns: str,
    types: dict[str, tuple],  # type: ignore[type-arg]
    legacy: bool = False,
) -> Operation:
    """An operation on two tensors of any rank without more inputs; `columns` names them."""
    name0, name1, *_ = columns.split()
    return Operation(
        type,
        doc=doc,
        columns=columns,
        types=types,
        forms=[form(f"{name0} {name1}")],
        legacy=legacy,
        shape=lambda op: [broadcast(getattr(op, name0).dimensions, getattr(op, name1).dimensions)],
        elementwise=True,
        work=1,
    )


ADD = binary(
    OperationType.ADD,
    "output = act(input0 + input1).",
    {"f32": 1, "f16": 3, "i32": 4, "qu8": 1, "qs8": 4},
    checks=[sum_fits],
)
SUB = binary(
    OperationType.SUB,
    "output = act(input0 - input1).",
    {"f32": 2, "f16": 3, "i32": 4, "qu8": 3, "qs8": 4},
    checks=[sum_fits],
)
MUL = binary(
    OperationType.MUL,
    "output = act(input0 * input1).",
    {"f32": 1, "f16": 3, "i32": 4, "qu8": 1, "qs8": 4},
    rules=[product_fits],
    checks=[product_is_not_lost],
)
DIV = binary(
    OperationType.DIV,
    "output = act(input0 / input1); integers are rounded down, and x / 0 is 0.",
    {"f32": 2, "f16": 3, "i32": 4, "qs8": 4},
    checks=[not_quantized],
)

EXTREMES = rows("T T T", f32=3, f16=3, i32=3, qu8=3, qs8=4)
MAXIMUM = pairwise(
    OperationType.MAXIMUM,
    "output = max(input0, input1).",
    "input0 input1 -> output",
    EXTREMES,
    legacy=True,
)
MINIMUM = pairwise(
    OperationType.MINIMUM,
    "output = min(input0, input1).",
    "input0 input1 -> output",
    EXTREMES,
    legacy=True,
)
POW = pairwise(
    OperationType.POW,
    "output = base^exponent.",
    "base exponent -> output",
    rows("T T T", f32=3, f16=3),
    legacy=True,
)
