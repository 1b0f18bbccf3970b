"""Every use that the declarations accept, and random examples of each.

A use is one row of an operation's type table with one of its forms. What an example needs beyond
that, sizes and scalars that go together, stands in plans/, one file per family.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import ASYMMETRIC, QUANTIZED_RANGE, SCALARS, SYMMETRIC
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.operations import registry
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Operands, Operation
from nnapi_shim.operations.rules import copied_as_stored
from tests.operations.plans import merged, planners
from tests.operations.plans.common import Plan, Random
from tests.single import Value, omitted, scalar, tensor

Types = tuple[T, ...]
PLANS = planners()
AMPLITUDE = merged("AMPLITUDE")
CHANNEL_DIM = merged("CHANNEL_DIM")
OUTPUT_SCALE = merged("OUTPUT_SCALE")
CHECKED = merged("CHECKED")


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


def _spread(operands: Operands, count: int) -> list[tuple[str, T | None]]:
    """Names and fixed types, those of the one that repeats `count` times."""
    return [
        pair
        for pair in zip(operands.names, operands.types, strict=True)
        for _ in range(count if pair[0] == operands.repeated else 1)
    ]


def uses(operation: Operation, repeats: range = range(1, 4)) -> Iterator[Use]:
    """Every row x form of an operation; an operand that repeats does so `repeats` times."""
    for form in operation.forms:
        outputs_of = operation.outputs_of(form)
        for count in repeats if form.inputs.repeated or outputs_of.repeated else (1,):
            inputs, outputs = _spread(form.inputs, count), _spread(outputs_of, count)
            for variant, (since, *row) in operation.types.items():
                by_name = dict(
                    zip(operation.input_columns + operation.output_names, row, strict=True)
                )
                yield Use(
                    operation,
                    variant,
                    max(since, form.since),
                    tuple(name for name, _ in inputs),
                    tuple(by_name[name] if type is None else type for name, type in inputs),
                    tuple(by_name[name] if type is None else type for name, type in outputs),
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


Contents = Callable[[T, Dimensions, Random, str], Value]
"""Makes a tensor of a type and dimensions for the operation of that name."""


def example(
    use: Use,
    rng: Random,
    batch: int = 2,
    contents: Contents | None = None,
    plan: Plan | None = None,
    output_scale: Callable[[Random], float] | None = None,
) -> Example:
    """Random sizes, parameters and contents; the first dimension of the data is `batch`.

    plan: sizes and scalars, if they are not to be random.

    contents: where tensors come from that the plan gives no contents for, if they are not to be
        random numbers.
    output_scale: of the outputs that may have any, if it is not to fit the inputs.
    """
    name = use.operation.type.name
    contents = contents or random_contents
    plan = plan or PLANS[name](use, rng, batch)
    repeated = {name: iter(plan[name]) for name in use.names if use.names.count(name) > 1}
    inputs: list[Value] = []
    for position, (operand, type) in enumerate(zip(use.names, use.inputs, strict=True)):
        expected = next(repeated[operand]) if operand in repeated else _single(plan[operand])
        if isinstance(expected, Value):
            inputs.append(expected)
        elif expected is None:
            inputs.append(omitted(type))
        elif type in SCALARS:
            inputs.append(scalar(type, expected))
        elif operand == "bias" and type == T.TENSOR_INT32:
            inputs.append(_bias(inputs[position - 2], inputs[position - 1], expected, rng))
        else:
            inputs.append(contents(type, expected, rng, name))
    fitting = OUTPUT_SCALE.get(name, _some_scale)
    scale = output_scale(rng) if output_scale else fitting(inputs, rng)
    free = [_parameters(type, rng, scale) for type in use.outputs]
    if copied_as_stored in use.operation.remarks:  # as the input, which is what programs mean
        free = [tensor(type) for type in use.outputs]
    return with_outputs(use, inputs, free)


def with_outputs(use: Use, inputs: list[Value], free: list[Value]) -> Example:
    """The example with these inputs; its outputs have the parameters of `free` where they may."""
    computed = use.operation.quantization(_bound(use, inputs, free))
    if (use.operation.type.name, use.variant) in CHECKED:
        computed = [CHECKED[use.operation.type.name, use.variant]]
    outputs = [
        Value(value.operand._replace(scale=scale, zero_point=zero_point))
        for value, (scale, zero_point) in zip(free, computed, strict=True)
    ]
    return Example(use, inputs, outputs, _bound(use, inputs, outputs))


def _single(expected: Any) -> Any:
    """A list for a name that repeats once holds one item."""
    return expected[0] if isinstance(expected, list) else expected


def _some_scale(inputs: list[Value], rng: Random) -> float:
    return float(rng.uniform(0.02, 0.1))


def _parameters(type: T, rng: Random, scale: float) -> Value:
    """An operand without contents, its zero point random."""
    low, high = QUANTIZED_RANGE.get(type, (0, 0))
    if type in ASYMMETRIC:
        return tensor(type, None, scale, int(rng.integers(low, high + 1)))
    return tensor(type, None, scale if type in SYMMETRIC else 0.0)


def random_contents(type: T, dimensions: Dimensions, rng: Random, name: str) -> Value:
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
    if type == T.TENSOR_BOOL8:
        return tensor(type, rng.integers(0, 2, dimensions))
    amplitude = AMPLITUDE.get(name, 8.0)
    return tensor(type, rng.uniform(-amplitude, amplitude, dimensions))


def _bias(source: Value, weights: Value, dimensions: Dimensions, rng: Random) -> Value:
    """A quantized bias: its scale is the product of the two others in float32."""
    product = np.float32(source.operand.scale) * np.float32(weights.operand.scale)
    return tensor(T.TENSOR_INT32, rng.integers(-2000, 2000, dimensions), float(product))


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
    for position, value in enumerate(inputs):
        if value.is_omitted:
            arguments[position] = None
    for position in match.value_positions:
        value = inputs[position]
        if value.is_omitted:
            continue
        scalar_ = value.operand.type in SCALARS
        arguments[position] = value.array.item() if scalar_ else tuple(value.array.ravel().tolist())
    return declaration.bind(match, arguments, operands[len(inputs) :], operands.__getitem__)


TOLERANCE = {
    T.TENSOR_FLOAT32: (1e-5, 5 * 2**-23),
    T.TENSOR_FLOAT16: (5 * 2**-10, 5 * 2**-10),
    T.TENSOR_INT32: (0, 0),
    T.INT32: (0, 0),
    T.TENSOR_BOOL8: (0, 0),
    T.TENSOR_QUANT8_ASYMM: (1, 0),
    T.TENSOR_QUANT8_ASYMM_SIGNED: (1, 0),
    T.TENSOR_QUANT8_SYMM: (1, 0),
    T.TENSOR_QUANT16_ASYMM: (1, 0),
    T.TENSOR_QUANT16_SYMM: (1, 0),
}
"""How far a device may be from the reference device, by output type: (absolute, relative)."""
