"""Examples of the uses with scales, zero points and stored values of all kinds.

What an operation fixes stays as it is: parameters of boxes, of states, of outputs that have no
choice. Operands that had equal parameters have equal ones afterwards.
"""

from collections.abc import Callable

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import ASYMMETRIC, QUANTIZED_RANGE, SYMMETRIC
from tests.operations.cases import OUTPUT_SCALE, Example, Use, example, with_outputs
from tests.operations.plans.common import Random, pick
from tests.single import Value, tensor

Scale = Callable[[Random], float]
Parameters = tuple[T, float, int]

SMALLEST, LARGEST = 1e-38, 3e38
EXTREME = (SMALLEST, 1e-30, 1e-9, 2.0**-8, 1.0, 1 + 2.0**-23, 255.0, 2.0**31, 1e30, LARGEST)
FIXED = (T.TENSOR_QUANT16_ASYMM, T.TENSOR_QUANT16_SYMM)
"""Types of boxes and of the states and gains of LSTMs."""

MOST_ELEMENTS = 4096
"""Of an input: what becomes of more may not fit the buffers of tests.single."""

KINDS = ("plain", "equal", "decimal", "random", "fitting", "wide", "extreme")
"""plain: as in tests.operations. equal: the same parameters everywhere. decimal: scales that people
write, whose quotients are halves, or would be if float32 had them. random: any scales from 2^-20 to
2^20. fitting: inputs like that, close to each other, and an output scale with which most results
are inside the type. wide: the same with inputs from 2^-90 to 2^90. extreme: scales at the ends of
float32."""


def variation(use: Use, seed: int, number: int) -> Example:
    """Example `number` of a use; the same numbers give the same example."""
    rng = np.random.default_rng((seed, number))
    plain = example(use, rng)
    while _elements(plain) > MOST_ELEMENTS:
        plain = example(use, rng)
    kind = KINDS[number % len(KINDS)]
    if kind == "plain":
        return plain
    scale_of = _scales(kind, rng)
    chosen: dict[Parameters, tuple[float, int]] = {}
    equal = (scale_of(rng), _zero_point(T.TENSOR_QUANT8_ASYMM, rng))

    def parameters(type: T) -> tuple[float, int]:
        if kind == "equal":
            low, _ = QUANTIZED_RANGE[type]
            return equal[0], equal[1] + low if type in ASYMMETRIC else 0
        return scale_of(rng), _zero_point(type, rng)

    def renewed(value: Value) -> Value:
        type, scale, zero_point = value.operand.type, value.operand.scale, value.operand.zero_point
        if value.is_omitted or type not in QUANTIZED_RANGE or type in FIXED:
            return value
        quant = value.operand.channel_quant
        array = value.array if value.array is None else _with_ends(value.array, zero_point, rng)
        if quant is not None:
            scales = tuple([scale_of(rng) for _ in quant.scales])
            operand = value.operand._replace(channel_quant=quant._replace(scales=scales))
            return value._replace(operand=operand, array=array)
        key = type, scale, zero_point
        if key not in chosen:
            chosen[key] = parameters(type)
        scale, zero_point = chosen[key]
        operand = value.operand._replace(scale=scale, zero_point=zero_point)
        return value._replace(operand=operand, array=array)

    name = use.operation.type.name
    if name == "QUANTIZED_16BIT_LSTM":  # all it leaves open are the parameters of the weights
        return plain
    inputs = [renewed(value) for value in plain.inputs]
    inputs = _with_bias_scales(use, inputs)
    outputs = []
    for value in plain.outputs:
        type, zero_point = value.operand.type, value.operand.zero_point
        if type in QUANTIZED_RANGE:
            scale, zero_point = parameters(type)
            if kind in ("fitting", "wide"):
                scale = _fitting(name, inputs, rng) or scale
            value = tensor(type, None, scale, zero_point if type in ASYMMETRIC else 0)
        outputs.append(value)
    if name == "QUANTIZE":
        inputs = [_around_halves(inputs[0], outputs[0], rng)]
    return with_outputs(use, inputs, outputs)


def _elements(sample: Example) -> int:
    """Of the largest input."""
    return max(0 if value.array is None else value.array.size for value in sample.inputs)


def _scales(kind: str, rng: Random) -> Scale:
    """Where the scales of an example of a kind come from."""
    if kind == "extreme":
        return lambda rng: _float32(rng.choice(EXTREME))
    if kind == "decimal":
        return lambda rng: _float32(pick(rng, range(1, 13)) / pick(rng, (8, 10, 100, 255)))
    if kind == "random":
        return lambda rng: _float32(2.0 ** rng.uniform(-20, 20))
    reach = 90 if kind == "wide" else 20
    middle = rng.uniform(-reach, reach)
    return lambda rng: _float32(2.0 ** (middle + rng.uniform(-3, 3)))


def _float32(scale: float) -> float:
    return float(np.float32(min(max(scale, SMALLEST), LARGEST)))


def _zero_point(type: T, rng: Random) -> int:
    """One of the ends or the middle of the type, or any."""
    low, high = QUANTIZED_RANGE[type]
    if type in SYMMETRIC or type not in ASYMMETRIC:
        return 0
    return pick(rng, (low, high, (low + high + 1) // 2, rng.integers(low, high + 1)))


def _with_ends(array: np.ndarray, zero_point: int, rng: Random) -> np.ndarray:
    """Some of the values at the ends of the type, or, in half of the arrays, none."""
    if rng.random() < 0.5:
        return array
    limits = np.iinfo(array.dtype)
    ends = rng.choice((limits.min, limits.max, zero_point), array.shape)
    return np.where(rng.random(array.shape) < 0.3, ends, array).astype(array.dtype)


def _with_bias_scales(use: Use, inputs: list[Value]) -> list[Value]:
    """Biases in the product of the scales of the two operands in front of them."""
    if "bias" not in use.names:
        return inputs
    at = use.names.index("bias")
    source, weights, bias = (value.operand for value in inputs[at - 2 : at + 1])
    if bias.type == T.TENSOR_INT32 and weights.channel_quant is None:
        with np.errstate(over="ignore", under="ignore"):
            product = float(np.float32(source.scale) * np.float32(weights.scale))
        inputs[at] = inputs[at]._replace(operand=bias._replace(scale=product))
    return inputs


def _fitting(name: str, inputs: list[Value], rng: Random) -> float:
    """A scale that suits the inputs; 0 where none of them is quantized."""
    scales = [value.operand.scale for value in inputs if value.operand.type in QUANTIZED_RANGE]
    if not any(scales):
        return 0
    with np.errstate(over="ignore"):
        scale = OUTPUT_SCALE[name](inputs, rng) if name in OUTPUT_SCALE else max(scales)
        return _float32(scale * 2.0 ** rng.uniform(-2, 2))


def _around_halves(value: Value, target: Value, rng: Random) -> Value:
    """Real numbers halfway between two steps of the output and next to that, and special ones."""
    array = value.array
    with np.errstate(over="ignore", under="ignore"):
        halves = rng.integers(-600, 600, array.shape) / 2 * target.operand.scale
        result = halves.astype(array.dtype)
        result = np.nextafter(result, rng.choice((-1, 1), array.shape).astype(array.dtype) * result)
        result = np.where(rng.random(array.shape) < 0.5, halves.astype(array.dtype), result)
    special = rng.choice((np.inf, -np.inf, np.nan, 0.0, -0.0), array.shape)
    result = np.where(rng.random(array.shape) < 0.1, special, result)
    return value._replace(array=result.astype(array.dtype))
