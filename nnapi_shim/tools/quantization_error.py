"""The error of a quantized model against its float model, operation by operation."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.intermediates import Intermediates
from nnapi_shim.api.model import Model
from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand
from nnapi_shim.runtime.slicing import with_parameters
from nnapi_shim.tools.input_files import quantized_if_real
from nnapi_shim.tools.inputs import Picture, made_up, read_inputs
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.operation_pairs import matched
from nnapi_shim.tools.report import Report


@dataclass(frozen=True)
class OperationError:
    """The error of an output of an operation, in real numbers.

    number, float_number: of the operation in the quantized and in the float model; of the
    activation after it, if only the other model has it fused. largest, mean: of the absolute error;
    steps: the largest in quantization steps, None if it is not quantized. sqnr_db: signal to
    quantization noise ratio in decibels; infinite without an error. clipped: share of the float
    values outside of the quantized range; None if it is not quantized.
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
    """All errors, in execution order. unmatched, float_unmatched: operations and activations,
    without QUANTIZE and DEQUANTIZE, that have no counterpart in the other model. left_out:
    descriptions of pairs whose values could not be compared.
    """

    model: str
    float_model: str
    made_up: bool
    operations: tuple[OperationError, ...]
    unmatched: tuple[str, ...]
    float_unmatched: tuple[str, ...]
    left_out: tuple[str, ...] = ()


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

    Operations are matched by the sequence of their types; one with a fused activation is compared
    with the activation of the other model. inputs: files, as in read_inputs; without files, random
    numbers from `seed`. Each model uses its own values, so errors add up.
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
    shapes = [[a.dimensions for a in each.inputs] for each in (on_model, on_other)]
    if shapes[0] != shapes[1]:
        raise bad_data(
            f"the inputs of the models have dimensions {shapes[0]} and {shapes[1]}; they must be "
            "equal",
            "tool.quantization.inputs",
        )
    if inputs:
        values = read_inputs(on_model, inputs, picture)
        other_values = read_inputs(on_other, inputs, picture)
    else:
        other_values = made_up(on_other.inputs, seed)
        values = [
            quantized_if_real(value, argument)
            for value, argument in zip(other_values, on_model.inputs, strict=True)
        ]
    found_pairs = matched(model, other)
    if not found_pairs.pairs:
        raise bad_data(
            "no operation of the quantized model has a counterpart in the float model",
            "tool.quantization.no-match",
        )
    found, wanted = on_model.intermediates(*values), on_other.intermediates(*other_values)
    scales = with_parameters(model.finished.main)
    errors, left_out = [], []
    for pair in found_pairs.pairs:
        for role, operand, both in _outputs(*pair, found, wanted):
            output = operand.name or role
            if _squeezed(both[0]) != _squeezed(both[1]):
                shapes_of = " and ".join(str(list(value.shape)) for value in both)
                left_out.append(f"{pair[0].number} {pair[0].name}, {output}: {shapes_of}")
            elif both[0].size:
                errors.append(_error(pair, output, operand, scales[operand.index], both))
    return QuantizationErrors(
        name_of(source),
        name_of(float_source),
        not inputs,
        tuple(errors),
        found_pairs.unmatched,
        found_pairs.float_unmatched,
        tuple(left_out),
    )


def _is_quantized(model: Model) -> bool:
    """Whether the model has a quantized operand."""
    return any(operand.type in QUANTIZED_RANGE for operand in model.finished.main.operands)


def _outputs(
    view: OperationView,
    float_view: OperationView,
    found: Intermediates,
    wanted: Intermediates,
) -> Iterator[tuple[str, OperandView, tuple[Array, Array]]]:
    """Role, operand and both values of each output of a pair of operations."""
    outputs = zip(view.output_roles, view.outputs, float_view.outputs, strict=False)
    for role, operand, float_operand in outputs:
        if operand in found and float_operand in wanted:
            yield role, operand, (found[operand], wanted[float_operand])


def _squeezed(value: Array) -> list[int]:
    """Its dimensions without those of size 1, which models keep or leave out."""
    return [size for size in value.shape if size != 1]


def _error(
    pair: tuple[OperationView, OperationView],
    output: str,
    operand: OperandView,
    parameters: Operand,
    values: tuple[Array, Array],
) -> OperationError:
    """The error of an output."""
    found, wanted = (np.asarray(value, np.float64).reshape(-1) for value in values)
    scale, zero_point = parameters.scale, parameters.zero_point
    is_quantized = operand.type in QUANTIZED_RANGE and scale > 0
    clipped = None
    if is_quantized:
        found = (found - zero_point) * scale
        low, high = ((end - zero_point) * scale for end in QUANTIZED_RANGE[operand.type])
        outside = (wanted < low - scale / 2) | (wanted > high + scale / 2)
        clipped = float(outside.mean())
    error = np.abs(found - wanted)
    view, float_view = pair
    noise, signal = float((error**2).sum()), float((wanted**2).sum())
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
