"""RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU as steps."""

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN, WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS, MAP, element_wise, translated
from nnapi_shim.drivers.cpu.lowering.fixed_point import (
    SHORT,
    decomposed,
    input_radius,
    short_multiplier,
)
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    FLOAT32_MAX,
    INT64,
    Buffer,
    Record,
    Space,
    Step,
    record,
)
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32

CLAMP = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, low=FLOAT32, high=FLOAT32)
CLAMP_RAW = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, low=INT64, high=INT64)
ELU = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, alpha=FLOAT32)
GELU = record(
    Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS,
    cubic=FLOAT32, inner=FLOAT32, one=FLOAT32, half=FLOAT32,
)  # fmt: skip
"""x * (tanh((x + x * x * x * cubic) * inner) + one) * half."""
PRELU_QUANTIZED = record(
    Space.PAIRS, **WALK_FIELDS,
    zero0=INT64, zero1=INT64, zero_point=INT64, lowest=INT64, highest=INT64,
    **{f"{side}_{name}": kind for side in ("positive", "negative") for name, kind in SHORT.items()},
)  # fmt: skip
"""zero0, zero1: negated. positive, negative: the multipliers of positive inputs, and of negative
ones times alpha."""

TABLE = {"output": ADDRESS, "zero": INT64, "lowest": INT64, "zero_point": INT64}
"""output: byte[256], the result for each stored byte. zero: zero point of the input."""
SQUASHED = record(**TABLE, mantissa=INT64, exponent=INT64, radius=INT64)
HARD_SWISH = record(
    **TABLE, product=INT64, product_down=INT64, share=INT64, share_up=INT64, share_down=INT64
)
"""product, share: 16-bit multipliers of the input, for the product and for the clamped factor."""


def lower_relu(op: BoundOperation) -> list[Step]:
    """Clamp to [0, largest]."""
    return [_clamp(op, FuseCode.RELU)]


def lower_relu1(op: BoundOperation) -> list[Step]:
    """Clamp to [-1, 1]."""
    return [_clamp(op, FuseCode.RELU1)]


def lower_relu6(op: BoundOperation) -> list[Step]:
    """Clamp to [0, 6]."""
    return [_clamp(op, FuseCode.RELU6)]


def lower_tanh(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return _squashed(op, "tanh")


def lower_logistic(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return _squashed(op, "logistic")


def lower_elu(op: BoundOperation) -> list[Step]:
    """Float only: the operation has no quantized form."""
    return [element_wise(ELU, f"elu_{op.variant}", op, alpha=op.alpha)]


def lower_hard_swish(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results. Multipliers are float32 quotients."""
    if op.variant in ("f32", "f16"):
        return [element_wise(MAP, f"hard_swish_{op.variant}", op)]
    scale = float32(op.input.scale / 128)
    product, product_exponent = _multiplier_16(float32(scale / op.output.scale))
    share, share_exponent = _multiplier_16(float32(scale / float32(3 / 32768)))
    return _through_table(
        op,
        HARD_SWISH,
        "hard_swish_table",
        product=product,
        product_down=-product_exponent,
        share=share,
        share_up=max(share_exponent, 0),
        share_down=max(-share_exponent, 0),
    )


def lower_prelu(op: BoundOperation) -> list[Step]:
    """Quantized: one multiplier for positive inputs and one for negative, computed in float32."""
    source, alpha, target = op.input, op.alpha, op.output
    if op.variant in ("f32", "f16"):
        return pairwise(PLAIN, f"prelu_{op.variant}", source, alpha, target)
    lowest, highest = QUANTIZED_RANGE[target.type]
    positive = short_multiplier(float32(source.scale / target.scale))
    negative = short_multiplier(float32(source.scale * alpha.scale) / target.scale)
    return pairwise(
        PRELU_QUANTIZED,
        f"prelu_{op.variant}",
        source,
        alpha,
        target,
        zero0=-source.zero_point,
        zero1=-alpha.zero_point,
        zero_point=target.zero_point,
        lowest=lowest,
        highest=highest,
        **{f"positive_{name}": value for name, value in positive.items()},
        **{f"negative_{name}": value for name, value in negative.items()},
    )


def _clamp(op: BoundOperation, activation: FuseCode) -> Step:
    """Quantized: clamps stored values, because input and output have the same parameters."""
    if op.variant in ("f32", "f16"):
        low, high = float_bounds(activation)
        return element_wise(CLAMP, f"clamp_{op.variant}", op, low=low, high=high)
    lowest, highest = quantized_bounds(activation, op.input)
    return element_wise(CLAMP_RAW, f"clamp_{op.variant}", op, low=lowest, high=highest)


def _squashed(op: BoundOperation, name: str) -> list[Step]:
    """LOGISTIC and TANH; quantized ones in Q4.27 (semantics.md 6.9, 6.10)."""
    if op.variant in ("f32", "f16"):
        return [element_wise(MAP, f"{name}_{op.variant}", op)]
    mantissa, exponent = decomposed(min(op.input.scale * 2.0**27, FLOAT32_MAX))
    scale = {"mantissa": mantissa, "exponent": exponent, "radius": input_radius(exponent, 4)}
    return _through_table(op, SQUASHED, f"{name}_bytes", **scale)


def _through_table(op: BoundOperation, layout: Record, kernel: str, **fields: Any) -> list[Step]:
    """A step that fills a table at compilation, and the lookup step."""
    table = Buffer(256)
    lowest, _ = QUANTIZED_RANGE[op.output.type]
    fill = Step(
        layout,
        kernel,
        once=True,
        output=table,
        zero=op.input.zero_point,
        lowest=lowest,
        zero_point=op.output.zero_point,
        **fields,
    )
    return [fill, translated(op, table)]


def _multiplier_16(multiplier: float) -> tuple[int, int]:
    """As `decomposed`, with the mantissa rounded to 16 bits."""
    mantissa, exponent = decomposed(min(multiplier, FLOAT32_MAX))
    return min((mantissa + 2**15) >> 16, 2**15 - 1), exponent
