"""Every use that the declarations accept, and random examples of each.

A use is one row of an operation's type table with one of its forms. What an example needs beyond
that, sizes and scalars that go together, stands in PLANS, one function per kind of operation.
"""

from collections.abc import Callable, Iterator
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import ASYMMETRIC, QUANTIZED_RANGE, SCALARS, SYMMETRIC
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.operations import registry
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Operation
from tests.single import Value, scalar, tensor

Types = tuple[T, ...]
Random = np.random.Generator


class Use(NamedTuple):
    """A declared use: operand names and types, the row and the level that it comes from."""

    operation: Operation
    variant: str
    since: int
    names: tuple[str, ...]
    inputs: Types
    outputs: Types

    def __str__(self) -> str:
        return f"{self.operation.type.name}-{self.variant}-{len(self.inputs)}in"


def uses(operation: Operation, repeats: range = range(1, 4)) -> Iterator[Use]:
    """Every row x form of an operation; an input that repeats does so `repeats` times."""
    for form in operation.forms:
        for count in repeats if form.variadic >= 0 else (1,):
            columns = [
                pair
                for position, pair in enumerate(zip(form.names, form.types, strict=True))
                for _ in range(count if position == form.variadic else 1)
            ]
            for variant, (since, *row) in operation.types.items():
                by_name = dict(
                    zip(operation.input_columns + operation.output_names, row, strict=True)
                )
                yield Use(
                    operation,
                    variant,
                    max(since, form.since),
                    tuple(name for name, _ in columns),
                    tuple(by_name[name] if type is None else type for name, type in columns),
                    tuple(by_name[name] for name in operation.output_names),
                )


USES = [use for operation in registry() for use in uses(operation)]


class Example(NamedTuple):
    """Contents for the inputs of a use, and its outputs without dimensions.

    op: the use, bound; the dimensions of its inputs are known.
    """

    use: Use
    inputs: list[Value]
    outputs: list[Value]
    op: BoundOperation


def example(use: Use, rng: Random, batch: int = 2) -> Example:
    """Random sizes, parameters and contents; the first dimension of the data is `batch`."""
    name = use.operation.type.name
    plan = PLANS[name](use, rng, batch)
    repeated = iter(plan.get("inputs", ()))
    inputs: list[Value] = []
    for position, (operand, type) in enumerate(zip(use.names, use.inputs, strict=True)):
        wanted = next(repeated) if operand == "inputs" else plan[operand]
        if isinstance(wanted, Value):
            inputs.append(wanted)
        elif type in SCALARS:
            inputs.append(scalar(type, wanted))
        elif operand == "bias" and type == T.TENSOR_INT32:
            inputs.append(_bias(inputs[position - 2], inputs[position - 1], wanted, rng))
        else:
            inputs.append(_contents(type, wanted, rng, name))
    scale = _output_scale(name, inputs, rng)
    free = [_parameters(type, rng, scale) for type in use.outputs]
    computed = use.operation.quantization(_bound(use, inputs, free))
    if (name, use.variant) in CHECKED:
        computed = [CHECKED[name, use.variant]]
    outputs = [
        Value(value.operand._replace(scale=scale, zero_point=zero_point))
        for value, (scale, zero_point) in zip(free, computed, strict=True)
    ]
    return Example(use, inputs, outputs, _bound(use, inputs, outputs))


AMPLITUDE = {"CONV_2D": 1.0, "DEPTHWISE_CONV_2D": 1.0, "FULLY_CONNECTED": 1.0}
"""Largest floating-point input where it is not 8: long sums of it keep to the tolerance."""

CHANNEL_DIM = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}
"""Dimension that per-channel scales belong to, where it is not free."""

CHECKED = {("SOFTMAX", "qu8"): (1 / 256, 0), ("SOFTMAX", "qs8"): (1 / 256, -128)}
"""Output parameters that are the operand's own, and checked to be these."""


def _parameters(type: T, rng: Random, scale: float) -> Value:
    """An operand without contents, its zero point random."""
    low, high = QUANTIZED_RANGE.get(type, (0, 0))
    if type in ASYMMETRIC:
        return tensor(type, None, scale, int(rng.integers(low, high + 1)))
    return tensor(type, None, scale if type in SYMMETRIC else 0.0)


def _contents(type: T, dimensions: Dimensions, rng: Random, name: str) -> Value:
    """A tensor of random values."""
    if type in QUANTIZED_RANGE:
        low, high = QUANTIZED_RANGE[type]
        raw = rng.integers(low, high + 1, dimensions)
        if type == T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
            dim = CHANNEL_DIM.get(name, len(dimensions) - 1)
            scales = np.float32(rng.uniform(0.002, 0.1, dimensions[dim])).tolist()
            return tensor(type, raw, channel_quant=SymmPerChannelQuantParams(tuple(scales), dim))
        chosen = _parameters(type, rng, rng.uniform(0.01, 0.1)).operand
        return tensor(type, raw, chosen.scale, chosen.zero_point)
    if type == T.TENSOR_INT32:
        small, large = rng.integers(-9, 10, dimensions), rng.integers(-(2**31), 2**31, dimensions)
        return tensor(type, np.where(rng.random(dimensions) < 0.5, small, large))
    amplitude = AMPLITUDE.get(name, 8.0)
    return tensor(type, rng.uniform(-amplitude, amplitude, dimensions))


def _bias(source: Value, weights: Value, dimensions: Dimensions, rng: Random) -> Value:
    """A quantized bias: its scale is the product of the two others in float32."""
    product = np.float32(source.operand.scale) * np.float32(weights.operand.scale)
    return tensor(T.TENSOR_INT32, rng.integers(-2000, 2000, dimensions), float(product))


def _output_scale(name: str, inputs: list[Value], rng: Random) -> float:
    """One with which most results fall inside the type, where the operation leaves it open."""
    scales = [value.operand.scale for value in inputs]
    if name in ("ADD", "SUB"):
        return scales[0] + scales[1]
    if name == "MUL":
        return scales[0] * scales[1] * 150
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        weights = inputs[1]
        quant = weights.operand.channel_quant
        scale = scales[1] if quant is None else sum(quant.scales) / len(quant.scales)
        terms = 9 if name == "DEPTHWISE_CONV_2D" else prod(weights.operand.dimensions[1:])
        return scales[0] * scale * 90 * sqrt(terms)
    return float(rng.uniform(0.02, 0.1))


def _bound(use: Use, inputs: list[Value], outputs: list[Value]) -> BoundOperation:
    declaration = use.operation
    match = declaration.match(use.inputs, use.outputs)
    operands = [
        BoundOperand(
            index,
            value.operand.type,
            value.operand.dimensions,
            value.operand.scale,
            value.operand.zero_point,
            value.operand.channel_quant,
        )
        for index, value in enumerate((*inputs, *outputs))
    ]
    arguments: list[Any] = list(operands[: len(inputs)])
    for position in match.value_positions:
        value = inputs[position]
        scalar_ = value.operand.type in SCALARS
        arguments[position] = value.array.item() if scalar_ else tuple(value.array.tolist())
    return declaration.bind(match, arguments, operands[len(inputs) :])


# Plans: by operand name, the dimensions of a tensor, the value of a scalar, or both in a Value.

Plan = dict[str, Any]
SIZES = (1, 2, 3, 5, 8, 17)
DEPTHS = (1, 2, 3, 4, 8, 19, 33)


def _pick(rng: Random, choices: Any) -> int:
    return int(rng.choice(choices))


def _dimensions(rng: Random, batch: int, rank: int) -> Dimensions:
    return (batch, *(_pick(rng, SIZES) for _ in range(rank - 1)))


def _activation(use: Use, rng: Random) -> int:
    return 0 if use.variant == "i32" else _pick(rng, range(4))


def elementwise(use: Use, rng: Random, batch: int) -> Plan:
    """One tensor of any rank."""
    return {"input": _dimensions(rng, batch, _pick(rng, range(1, 5)))}


def broadcast(use: Use, rng: Random, batch: int) -> Plan:
    """Two tensors; sizes of 1, and missing ones in front, in either."""
    full = _dimensions(rng, batch, _pick(rng, range(1, 5)))
    shapes = [full, full]
    if rng.random() < 0.7:
        narrow = tuple(1 if rng.random() < 0.4 else size for size in full)
        shapes[_pick(rng, (0, 1))] = narrow[_pick(rng, range(len(full))) :]
    return {"input0": shapes[0], "input1": shapes[1], "activation": _activation(use, rng)}


def sliding(use: Use, rng: Random, batch: int) -> Plan:
    """An image, and a window that fits into it."""
    depth = _pick(rng, DEPTHS)
    height, width = (_pick(rng, range(3, 9)) for _ in range(2))
    nchw = "nchw" in use.names and bool(rng.integers(2))
    plan: Plan = {
        "input": (batch, depth, height, width) if nchw else (batch, height, width, depth),
        "nchw": nchw,
        "padding": _pick(rng, (1, 2)),
        "activation": _activation(use, rng),
    }
    for size, name, before, after in (
        (height, "height", "pad_top", "pad_bottom"),
        (width, "width", "pad_left", "pad_right"),
    ):
        dilation = _pick(rng, (1, 2)) if "dilation_width" in use.names else 1
        taps = _pick(rng, range(1, (size - 1) // dilation + 2))
        plan[f"stride_{name}"] = _pick(rng, (1, 2, 3))
        plan[f"dilation_{name}"] = dilation
        plan[f"filter_{name}"] = taps
        plan[before], plan[after] = rng.integers(0, (taps - 1) * dilation + 1, 2).tolist()
    return plan


def convolution(use: Use, rng: Random, batch: int) -> Plan:
    """As `sliding`, with a filter for all channels."""
    plan = sliding(use, rng, batch)
    depth_in = plan["input"][1 if plan["nchw"] else 3]
    depth_out = _pick(rng, DEPTHS)
    plan["filter"] = (depth_out, plan["filter_height"], plan["filter_width"], depth_in)
    plan["bias"] = (depth_out,)
    return plan


def depthwise(use: Use, rng: Random, batch: int) -> Plan:
    """As `sliding`, with a filter for each channel."""
    plan = sliding(use, rng, batch)
    plan["depth_multiplier"] = _pick(rng, (1, 1, 2, 3))
    depth_out = plan["input"][1 if plan["nchw"] else 3] * plan["depth_multiplier"]
    plan["filter"] = (1, plan["filter_height"], plan["filter_width"], depth_out)
    plan["bias"] = (depth_out,)
    return plan


def fully_connected(use: Use, rng: Random, batch: int) -> Plan:
    """The input has rank 2 to 4 and is flattened to rows."""
    tail = _dimensions(rng, _pick(rng, SIZES), _pick(rng, range(1, 4)))
    units = _pick(rng, DEPTHS)
    return {
        "input": (batch, *tail),
        "weights": (units, prod(tail)),
        "bias": (units,),
        "activation": _activation(use, rng),
    }


def concatenation(use: Use, rng: Random, batch: int) -> Plan:
    """Equal sizes but for those along the axis."""
    first = _dimensions(rng, batch, _pick(rng, range(1, 5)))
    axis = _pick(rng, range(len(first)))
    sizes = [batch if axis == 0 else _pick(rng, SIZES) for _ in use.names[:-1]]
    return {"inputs": [(*first[:axis], size, *first[axis + 1 :]) for size in sizes], "axis": axis}


def softmax(use: Use, rng: Random, batch: int) -> Plan:
    """Any rank and axis."""
    dimensions = _dimensions(rng, batch, _pick(rng, range(1, 5)))
    axis = _pick(rng, range(-len(dimensions), len(dimensions)))
    return {"input": dimensions, "axis": axis, "beta": rng.uniform(0.1, 2)}


def reshape(use: Use, rng: Random, batch: int) -> Plan:
    """The same sizes in another order, one of them perhaps -1."""
    dimensions = _dimensions(rng, batch, _pick(rng, range(1, 5)))
    shape = rng.permutation(dimensions)
    if rng.random() < 0.5:
        shape[_pick(rng, range(len(shape)))] = -1
    return {"input": dimensions, "shape": tensor(T.TENSOR_INT32, shape)}


PLANS: dict[str, Callable[[Use, Random, int], Plan]] = {
    **dict.fromkeys(("RELU", "RELU1", "RELU6", "TANH", "LOGISTIC"), elementwise),
    **dict.fromkeys(("QUANTIZE", "DEQUANTIZE"), elementwise),
    **dict.fromkeys(("ADD", "SUB", "MUL", "DIV"), broadcast),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), sliding),
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "CONCATENATION": concatenation,
    "SOFTMAX": softmax,
    "RESHAPE": reshape,
}

TOLERANCE = {
    T.TENSOR_FLOAT32: (1e-5, 5 * 2**-23),
    T.TENSOR_FLOAT16: (5 * 2**-10, 5 * 2**-10),
    T.TENSOR_INT32: (0, 0),
    T.TENSOR_QUANT8_ASYMM: (1, 0),
    T.TENSOR_QUANT8_ASYMM_SIGNED: (1, 0),
}
"""How far a device may be from the reference device, by output type: (absolute, relative)."""
