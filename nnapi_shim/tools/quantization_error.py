"""The error of a quantized model against its float model, operation by operation."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.intermediates import Intermediates
from nnapi_shim.api.model import Model
from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand
from nnapi_shim.runtime.slicing import with_parameters
from nnapi_shim.tools.input_files import quantized_if_real
from nnapi_shim.tools.inputs import Picture, made_up, read_inputs
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.report import Report

_CONVERSIONS = (OperationType.QUANTIZE, OperationType.DEQUANTIZE)


@dataclass(frozen=True)
class OperationError:
    """The error of an output of an operation, in real numbers.

    number, float_number: of the operation in the quantized and in the float model. largest, mean:
    of the absolute error; steps: the largest in quantization steps, None if it is not quantized.
    sqnr_db: signal to quantization noise ratio in decibels; infinite without an error. clipped:
    share of the float values outside of the quantized range; None if it is not quantized.
    """

    number: int
    float_number: int
    name: str
    output: str
    largest: float
    mean: float
    steps: float | None
    sqnr_db: float
    clipped: float | None


@dataclass(frozen=True)
class QuantizationErrors(Report):
    """All errors, in execution order. unmatched, float_unmatched: operations, without QUANTIZE and
    DEQUANTIZE, that have no counterpart in the other model.
    """

    model: str
    float_model: str
    made_up: bool
    operations: tuple[OperationError, ...]
    unmatched: tuple[str, ...]
    float_unmatched: tuple[str, ...]


def quantization_error(
    source: Source,
    float_source: Source,
    inputs: Sequence[str | os.PathLike[str]] = (),
    *,
    device: str = "nnapi-cpu",
    picture: Picture | None = None,
    seed: int = 0,
) -> QuantizationErrors:
    """Run a quantized model and its float model on the same inputs, and compare the outputs of
    their operations.

    Operations are matched by the sequence of their types. inputs: files, as in read_inputs;
    without files, random numbers from `seed`. Each model uses its own values, so errors add up.
    Raises BAD_DATA for models whose inputs differ, or without equal operations.
    """
    model, other = model_of(source), model_of(float_source)
    if _is_quantized(other) and not _is_quantized(model):
        raise bad_data(
            f"{name_of(source)} has no quantized operand; the quantized model comes first, its "
            "float model after --float",
            "tool.quantization.not-quantized",
        )
    on_model, on_other = Compilation(model, device), Compilation(other, device)
    _require_equal_inputs(on_model, on_other)
    if inputs:
        values = read_inputs(on_model, inputs, picture)
        other_values = read_inputs(on_other, inputs, picture)
    else:
        other_values = made_up(on_other.inputs, seed)
        values = [
            quantized_if_real(value, argument)
            for value, argument in zip(other_values, on_model.inputs, strict=True)
        ]
    pairs, unmatched, other_unmatched = _matched(model, other)
    if not pairs:
        raise bad_data(
            "no operation of the quantized model has a counterpart in the float model",
            "tool.quantization.no-match",
        )
    actual, expected = on_model.intermediates(*values), on_other.intermediates(*other_values)
    scales = with_parameters(model.finished.main)
    errors = [
        _error(pair, operand.name or role, operand, scales[operand.index], values)
        for pair in pairs
        for role, operand, values in _outputs(*pair, actual, expected)
    ]
    return QuantizationErrors(
        name_of(source),
        name_of(float_source),
        not inputs,
        tuple(filter(None, errors)),
        unmatched,
        other_unmatched,
    )


def _require_equal_inputs(model: Compilation, other: Compilation) -> None:
    """Raise BAD_DATA unless the inputs have the same dimensions."""
    shapes, others = ([a.dimensions for a in each.inputs] for each in (model, other))
    if shapes != others:
        raise bad_data(
            f"the inputs of the models have dimensions {shapes} and {others}; they must be equal",
            "tool.quantization.inputs",
        )


def _is_quantized(model: Model) -> bool:
    """Whether the model has a quantized operand."""
    return any(operand.type in QUANTIZED_RANGE for operand in model.finished.main.operands)


def _matched(
    model: Model, other: Model
) -> tuple[list[tuple[OperationView, OperationView]], tuple[str, ...], tuple[str, ...]]:
    """Pairs of operations of the same type in the same order, and the titles of the others."""
    views, others = (
        [view for view in each.operations if view.type not in _CONVERSIONS]
        for each in (model, other)
    )
    names, other_names = [v.name for v in views], [v.name for v in others]
    pairs = []
    matcher = SequenceMatcher(None, names, other_names, autojunk=False)
    for start, other_start, length in matcher.get_matching_blocks():
        pairs += [(views[start + at], others[other_start + at]) for at in range(length)]
    numbers = {view.number for view, _ in pairs}
    other_numbers = {view.number for _, view in pairs}
    return (
        pairs,
        tuple(f"{v.number} {v.name}" for v in views if v.number not in numbers),
        tuple(f"{v.number} {v.name}" for v in others if v.number not in other_numbers),
    )


def _outputs(
    view: OperationView,
    float_view: OperationView,
    actual: Intermediates,
    expected: Intermediates,
) -> Iterator[tuple[str, OperandView, tuple[Array, Array]]]:
    """Role, operand and both values of each output of a pair of operations."""
    outputs = zip(view.output_roles, view.outputs, float_view.outputs, strict=False)
    for role, operand, float_operand in outputs:
        if operand in actual and float_operand in expected:
            yield role, operand, (actual[operand], expected[float_operand])


def _error(
    pair: tuple[OperationView, OperationView],
    output: str,
    operand: OperandView,
    parameters: Operand,
    values: tuple[Array, Array],
) -> OperationError | None:
    """The error of an output; None for values of other dimensions, or none at all."""
    actual, expected = (np.asarray(value, np.float64) for value in values)
    if actual.shape != expected.shape or not actual.size:
        return None
    scale, zero_point = parameters.scale, parameters.zero_point
    is_quantized = operand.type in QUANTIZED_RANGE and scale > 0
    clipped = None
    if is_quantized:
        actual = (actual - zero_point) * scale
        low, high = ((end - zero_point) * scale for end in QUANTIZED_RANGE[operand.type])
        outside = (expected < low - scale / 2) | (expected > high + scale / 2)
        clipped = float(outside.mean())
    error = np.abs(actual - expected)
    view, float_view = pair
    noise, signal = float((error**2).sum()), float((expected**2).sum())
    return OperationError(
        view.number,
        float_view.number,
        view.name,
        output,
        float(error.max()),
        float(error.mean()),
        float(error.max() / scale) if is_quantized else None,
        10 * math.log10(signal / noise) if noise and signal else (math.inf if not noise else 0.0),
        clipped,
    )
