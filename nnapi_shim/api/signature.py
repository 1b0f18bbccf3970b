"""Matches the inputs of a Python program with the declaration of an operation.

Inputs need no types: a number becomes the scalar type of the declaration, and outputs get the type,
    dimensions and parameters that follow from the inputs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.arrays import as_array, elements, natural_type
from nnapi_shim.api.operand import Operand
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.declare import UNSET, BoundOperand, Match, Operation
from nnapi_shim.operations.resolve import check_omitted, resolve

Input = Operand | ArrayLike | None
"""An input of an operation: an operand, a constant, or None for an omitted one."""

_FITTING = {
    "b": {T.BOOL, T.TENSOR_BOOL8},
    "i": {T.INT32, T.UINT32, T.FLOAT32, T.FLOAT16, T.TENSOR_INT32}
    | {T.TENSOR_FLOAT32, T.TENSOR_FLOAT16},
    "u": {T.INT32, T.UINT32},
    "f": {T.FLOAT32, T.FLOAT16, T.TENSOR_FLOAT32, T.TENSOR_FLOAT16},
}
"""numpy kind of numbers and lists -> possible operand types."""


class Use(NamedTuple):
    """A declared use of an operation, with the types of all operands."""

    match: Match
    inputs: tuple[T, ...]
    outputs: tuple[T, ...]


class Result(NamedTuple):
    """The declared properties of an output."""

    type: T
    dimensions: Dimensions
    scale: float
    zero_point: int


_KINDS = {bool: "b", int: "i", float: "f"}
"""Type of a Python number -> kind of its numpy type."""


def _accepts(type: T, value: Input) -> bool:
    """Whether an input can be an operand of this type."""
    if value is None:
        return True
    if isinstance(value, Operand):
        return value.type is type
    kind = _KINDS.get(value.__class__)
    if kind is not None and -(2**63) <= value < 2**63:  # type: ignore[operator]
        return type in SCALARS and type in _FITTING[kind]
    array = as_array(value)
    if (array.ndim == 0) is not (type in SCALARS):
        return False
    if isinstance(value, np.ndarray) and array.ndim:
        return natural_type(value) is type and type not in QUANTIZED_RANGE
    return type in _FITTING.get(array.dtype.kind, ())


def use_of(
    declaration: Operation,
    inputs: list[Any],
    output: T | None,
    output_count: int | None = None,
) -> tuple[Use, list[Any]]:
    """The use of an operation that matches the inputs, and the inputs: if no use takes them, with
    tensors of one element for numbers, as in `add(x, 1.0)`.

    Raises as `chosen_use`.
    """
    try:
        return chosen_use(declaration, inputs, output, output_count), inputs
    except NnapiError:
        lifted = _with_tensors(declaration, inputs, output_count)
        if lifted is None:
            raise
    return chosen_use(declaration, lifted, output, output_count), lifted


def _with_tensors(
    declaration: Operation, inputs: Sequence[Input], output_count: int | None
) -> list[Input] | None:
    """The inputs with tensors in place of numbers, of the type of the first tensor; None if a use
    takes the numbers, or none takes tensors.
    """
    uses = [types[0] for types, _ in declaration.uses(len(inputs), output_count)]
    same = next((it.type for it in inputs if isinstance(it, Operand) and it.type in _PLAIN), None)
    if same is None or any(all(map(_accepts, types, inputs)) for types in uses):
        return None
    for types in uses:
        lifted = [
            type is same and not isinstance(value, Operand) and _is_number(value)
            for type, value in zip(types, inputs, strict=True)
        ]
        if all(
            lift or _accepts(type, value)
            for lift, type, value in zip(lifted, types, inputs, strict=True)
        ):
            return [
                elements(as_array(value).reshape(1), same) if lift else value  # type: ignore[arg-type]
                for lift, value in zip(lifted, inputs, strict=True)
            ]
    return None


_PLAIN = (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16, T.TENSOR_INT32)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def chosen_use(
    declaration: Operation,
    inputs: Sequence[Input],
    output: T | None,
    output_count: int | None = None,
) -> Use:
    """The use of an operation that matches the inputs and the requested output type.

    output_count: None for the smallest possible number of outputs.
    Raises BAD_DATA if no use matches, and if several output types are possible.
    """
    uses = [
        Use(match, *types)
        for types, match in declaration.uses(len(inputs), output_count)
        if all(map(_accepts, types[0], inputs))
    ]
    if not uses:
        types = _natural_types(inputs)
        outputs = [
            signature[1]
            for signature, _ in declaration.uses(len(inputs), output_count)
            if signature[0] == types
        ]
        declaration.match(types, outputs[0] if outputs else _any_outputs(declaration, output_count))
        raise bad_data(
            "a quantized constant needs a scale: Model.constant takes one",
            "model.operation.constant-scale",
        )
    fewest = min(len(use.outputs) for use in uses)
    uses = [use for use in uses if len(use.outputs) == fewest]
    same_inputs = [use for use in uses if use.inputs == uses[0].inputs]
    fitting = same_inputs if output is None else [u for u in uses if output in u.outputs]
    if not fitting or (output is None and len({use.outputs for use in fitting}) > 1):
        names = " or ".join(dict.fromkeys(use.outputs[0].name for use in same_inputs))
        raise bad_data(
            f"the output may be {names}; `output` says which"
            if output is None
            else f"the output cannot be {output.name}; with these inputs it is {names}",
            "model.operation.output-type",
        )
    return fitting[0]


def _any_outputs(declaration: Operation, count: int | None) -> tuple[T, ...]:
    """Output types of some use; the type of the first is repeated as needed."""
    accepted = declaration.outputs_of(declaration.forms[0])
    columns = declaration.row_types(next(iter(declaration.types.values())))
    pairs = zip(accepted.names, accepted.types, strict=True)
    types = tuple(columns[name] if type is None else type for name, type in pairs)
    return types if count is None else types[:1] * count


def _natural_types(inputs: Sequence[Input]) -> tuple[T, ...]:
    """The default types of the inputs; an omitted one counts as a number."""
    return tuple(
        value.type if isinstance(value, Operand) else natural_type(0 if value is None else value)
        for value in inputs
    )


def results(
    use: Use,
    inputs: Sequence[Operand],
    dimensions: Dimensions = (),
    scale: float | None = None,
    zero_point: int = 0,
) -> list[Result]:
    """The outputs of an operation, as far as they follow from its inputs.

    dimensions: of every output, as requested by the program; () if not.
    scale, zero_point: of the quantized outputs; None if the operation determines them.

    Raises the errors of adding the operation and, if all dimensions and values are known, those of
    computing it.
    """
    declaration = use.match.operation
    outputs = [BoundOperand(-1, type, dimensions, is_model_output=True) for type in use.outputs]
    for output in outputs:
        if output.type in QUANTIZED_RANGE and scale is not None:
            output.scale, output.zero_point = scale, zero_point
    values = [_value(operand, at in use.match.value_positions) for at, operand in enumerate(inputs)]
    indexes = tuple(operand.index for operand in inputs)
    op = declaration.bind(use.match, values, outputs, lambda at: _tensor(inputs[at]), indexes)
    for operand, name in zip(inputs, use.match.input_names, strict=True):
        if operand.is_omitted:
            check_omitted(op, name)
    if scale is None:
        for output, (own_scale, own_zero_point) in zip(
            outputs, declaration.quantization(op), strict=True
        ):
            output.scale, output.zero_point = own_scale, own_zero_point
    for output, name in zip(outputs, use.match.output_names, strict=True):
        if output.type in QUANTIZED_RANGE and not output.scale:
            raise bad_data(
                f"{name} is {output.type.name}; it needs `scale` and `zero_point`",
                "model.operation.output-scale",
            )
    declaration.required_level(op)
    if all(o.is_known or o.is_omitted for o in inputs) and UNSET not in values:
        resolve(op)
    return [Result(o.type, o.dimensions, o.scale, o.zero_point) for o in outputs]


def _tensor(operand: Operand) -> BoundOperand:
    return BoundOperand(
        operand.index,
        operand.type,
        operand.dimensions,
        operand.scale,
        operand.zero_point,
        operand.channel_quant,
    )


def _value(operand: Operand, is_value: bool) -> Any:
    """The value bound to an input name: see Operation.bind."""
    if operand.is_omitted:
        return None
    if not is_value:
        return _tensor(operand)
    if operand.value is None:
        return UNSET
    contents = operand.value.ravel().tolist()
    return contents[0] if operand.type in SCALARS else tuple(contents)
