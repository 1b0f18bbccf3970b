"""Quantized results against real numbers: the formula of the TENSOR_FLOAT32 row of an operation, on
the numbers that the quantized operands stand for.

It finds what both devices get wrong in the same way: parameters that are mixed up, a bias with the
wrong scale, bounds of an activation.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations import operation
from tests.operations.cases import Use, uses
from tests.random_models.graph import Node
from tests.random_models.running import evaluate
from tests.single import Value, f32, scalar

STEPS = 1.5
"""Half a step for rounding, and the step that a device may be off."""

OF_A_SUM = 1e-3
"""RESIZE_BILINEAR truncates a float32 sum plus a half toward zero (semantics.md 7.8): a result
below 0 is up to STEPS off by definition, and the sum itself by its rounding.
"""

LEFT_OUT = {
    OperationType.CAST: "it takes the stored numbers, whatever their scale",
    OperationType.LSH_PROJECTION: "it hashes the bytes of the stored numbers",
    OperationType.HASHTABLE_LOOKUP: "rows that are not found hold zero bytes (semantics.md 10.2)",
    OperationType.BOX_WITH_NMS_LIMIT: "boxes overlap a little more or less when they are rounded",
    OperationType.GENERATE_PROPOSALS: "boxes overlap a little more or less when they are rounded",
}
"""Operations of which a quantized result does not stand for the real one, and why."""

COARSE = 8.0
"""From this scale of their input on, TANH and LOGISTIC give nothing but the lowest and the highest
result: the radius within which the reference computes is 0, so 0 gives the lowest (semantics.md
5.7).
"""


class Far(Exception):  # noqa: N818 (a result of a test)
    """A result is too far from the real one."""


def check(
    node: Node, inputs: Sequence[Value], outputs: Sequence[Value], actual: Sequence[Any]
) -> None:
    """Raise Far if a quantized result of an operation is too far from the real one."""
    types = tuple([value.operand.type for value in inputs])
    results = tuple([value.operand.type for value in outputs])
    names = _real_use(node.type, types, results)
    saturates = node.type in (OperationType.TANH, OperationType.LOGISTIC)
    if names is None or (saturates and inputs[0].operand.scale >= COARSE):
        return
    reals = [_real(name, at, inputs, type) for at, (name, type) in enumerate(names[0])]
    reference = [
        Value(f32().operand if type == T.TENSOR_FLOAT32 else output.operand._replace(dimensions=()))
        for type, output in zip(names[1], outputs, strict=True)
    ]
    try:
        expected = evaluate(node, reals, reference)
    except NnapiError as error:
        raise Far(f"{node.type.name}: real numbers are refused, {error.message}") from error
    for position, (output, ours, theirs) in enumerate(zip(outputs, actual, expected, strict=True)):
        allowed = STEPS + _weights_off(node, inputs, output)
        if node.type is OperationType.RESIZE_BILINEAR:
            allowed += OF_A_SUM
        _compare(f"output {position} of {node.type.name}", output, ours, theirs, allowed)


def _weights_off(node: Node, inputs: Sequence[Value], output: Value) -> float:
    """Steps by which the rounded weights of quantized ROI_ALIGN may move a result: there are four
    of them, each off by up to half of 1/255 (semantics.md 12.8).
    """
    if node.type != OperationType.ROI_ALIGN:
        return 0.0
    image = inputs[0].operand
    farthest = max(abs(end - image.zero_point) for end in QUANTIZED_RANGE[image.type])
    return 4 * 0.5 / 255 * farthest * image.scale / output.operand.scale


@cache
def _real_use(
    type: OperationType, inputs: tuple[T, ...], outputs: tuple[T, ...]
) -> tuple[tuple[tuple[str, T], ...], tuple[T, ...]] | None:
    """Names and types of the inputs, types of the outputs, of the use with real numbers."""
    if type in LEFT_OUT or not any(kind in QUANTIZED_RANGE for kind in (*inputs, *outputs)):
        return None
    names = operation(type).match(inputs, outputs).input_names
    for use in uses(operation(type), range(1, len(inputs) + 1)):
        if use.names == names and len(use.outputs) == len(outputs) and _fits(use, inputs, outputs):
            return tuple(zip(use.names, use.inputs, strict=True)), use.outputs
    return None


def _fits(use: Use, inputs: Sequence[T], outputs: Sequence[T]) -> bool:
    """Whether a use has real numbers where another has quantized ones."""
    if use.inputs == tuple(inputs):
        return False
    for name, real, arguments in zip(use.names, use.inputs, inputs, strict=True):
        if arguments in QUANTIZED_RANGE or (arguments == T.TENSOR_INT32 and name.endswith("bias")):
            if real != T.TENSOR_FLOAT32:
                return False
        elif real != arguments and (arguments, real) != (T.INT32, T.FLOAT32):
            return False
    return all(
        real == arguments or (arguments in QUANTIZED_RANGE and real == T.TENSOR_FLOAT32)
        for real, arguments in zip(use.outputs, outputs, strict=True)
    )


def _real(name: str, position: int, inputs: Sequence[Value], reference: T) -> Value:
    """The real numbers that an input stands for."""
    value = inputs[position]
    operand, array = value.operand, value.array
    if operand.type == reference or value.is_omitted or array is None:
        return value._replace(operand=operand._replace(type=reference))
    if operand.type == T.INT32:
        source = inputs[0].operand
        low, high = QUANTIZED_RANGE[source.type]
        stored = (int(array) - low) % (high - low + 1) + low
        return scalar(T.FLOAT32, (stored - source.zero_point) * source.scale)
    if operand.type == T.TENSOR_INT32:
        quant = inputs[position - 1].operand.channel_quant
        scale: Any = operand.scale
        if quant is not None:
            scale = inputs[position - 2].operand.scale * np.float64(quant.scales)
        return f32(array * scale)
    quant = operand.channel_quant
    if quant is not None:
        shape = [1] * array.ndim
        shape[quant.channel_dim] = -1
        return f32(array * np.reshape(np.float64(quant.scales), shape))
    return f32((array.astype(np.float64) - operand.zero_point) * operand.scale)


def _compare(what: str, output: Value, actual: Any, expected: Any, allowed: float) -> None:
    operand = output.operand
    if actual.shape != expected.shape:
        raise Far(f"{what}: {list(actual.shape)}; real numbers give {list(expected.shape)}")
    if expected.dtype.kind != "f":
        if not np.array_equal(actual, expected):
            raise Far(f"{what} is not what real numbers give")
        return
    steps = expected.astype(np.float64) / operand.scale + operand.zero_point
    distance = np.abs(actual - np.clip(steps, *QUANTIZED_RANGE[operand.type]))
    distance[np.isnan(steps)] = 0
    if not (distance <= allowed).all():
        at = tuple(np.argwhere(distance > allowed)[0].tolist())
        raise Far(
            f"{what} is more than {allowed:.3g} steps from the real number at {list(at)}: "
            f"{actual[at]}, expected {steps[at]:.3f}"
        )
