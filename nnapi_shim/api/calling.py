"""The implementation of Model's typed methods: from named arguments to an operation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nnapi_shim.api.argument_types import listed, shown
from nnapi_shim.api.names import member
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.types import Sizes, Type
from nnapi_shim.api.view import OperandView
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType, PaddingCode
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.declare import Form, Operation

CELL_ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU1": 2, "RELU6": 3, "TANH": 4, "SIGMOID": 6}

PADS = ("pad_left", "pad_right", "pad_top", "pad_bottom")
PAIRS = ("stride", "dilation", "filter")
"""Parameters that expand to a width and a height."""


class Output(NamedTuple):
    """The output parameters of a typed method.

    like: an operand whose scale and zero point the outputs get.
    """

    dimensions: Sizes
    name: str | Sequence[str]
    scale: float | None = None
    zero_point: int = 0
    like: Operand | OperandView | None = None
    type: Type | None = None


class Calling:
    """The base of a class with typed methods."""

    operation: Callable[..., Any]
    """`Model.operation`."""

    def _one(self, type: OperationType, arguments: Mapping[str, Any], output: Output) -> Operand:
        """Add an operation with one output; returns it."""
        (result,) = self._several(type, arguments, output, None)
        return result

    def _several(
        self,
        type: OperationType,
        arguments: Mapping[str, Any],
        output: Output,
        count: int | None,
    ) -> tuple[Operand, ...]:
        """Add an operation with several outputs; count: their number, if the operation leaves it
        open.
        """
        scale, zero_point, output_type = output.scale, output.zero_point, output.type
        if output.like is not None:
            if scale is not None:
                message = "scale and like are both given; use one of them"
                raise bad_data(message, "model.operation.scale-and-like").at(type.name)
            scale, zero_point = output.like.scale, output.like.zero_point
            if output_type is None and type in (OperationType.QUANTIZE, OperationType.CAST):
                output_type = output.like.type
        result = self.operation(
            type,
            inputs_of(declaration_of(type), arguments),
            output=output_type,
            output_count=count,
            dimensions=output.dimensions,
            scale=scale,
            zero_point=zero_point,
            name=output.name,
        )
        return result if isinstance(result, tuple) else (result,)


def inputs_of(declaration: Operation, arguments: Mapping[str, Any]) -> list[Any]:
    """The inputs of an operation in order, in the shortest form with all given arguments.

    Raises BAD_DATA if no form has all of them.
    """
    values = _spread(declaration, arguments)
    defaults = declaration.defaults
    given_names = {name for name, value in values.items() if not _is(value, defaults.get(name))}
    needed = given_names - {name for name, value in values.items() if value is None}
    best: Form | None = None
    for accepted in sorted(declaration.forms, key=lambda form: len(form.inputs.names)):
        names = set(accepted.inputs.names)
        complete = all(_is_there(declaration, name, values) for name in names)
        if needed <= names and complete:
            best = accepted
            break
    if best is None:
        raise _no_form(declaration, needed).at(declaration.type.name)
    inputs: list[Any] = []
    for name, type in zip(best.inputs.names, best.inputs.types, strict=True):
        value = values.get(name, defaults.get(name))
        if name == best.inputs.repeated:
            inputs += listed(name, value, "a list of operands, numbers and arrays")
        else:
            inputs.append(_fitting(declaration, name, type, value))
    return inputs


def _is(value: Any, default: Any) -> bool:
    """Whether an argument equals the default."""
    plain = isinstance(value, bool | int | float) and isinstance(default, bool | int | float)
    return value is default or (plain and bool(value == default))


def _is_there(declaration: Operation, name: str, values: Mapping[str, Any]) -> bool:
    """Whether an input has a value or may be omitted."""
    if values.get(name) is not None or name in declaration.omittable:
        return True
    default = declaration.defaults.get(name)
    return default is not None or all(name in form.inputs.names for form in declaration.forms)


def _no_form(declaration: Operation, arguments: set[str]) -> NnapiError:
    forms = declaration.forms
    common = set.intersection(*(set(accepted.inputs.names) for accepted in forms))
    alternatives = dict.fromkeys(
        ", ".join(
            name
            for name in accepted.inputs.names
            if name not in common and declaration.defaults.get(name) is None
        )
        for accepted in forms
    )
    names = ", ".join(sorted(arguments - common)) or "nothing"
    return bad_data(
        f"{names} given; it takes {' or '.join(form for form in alternatives if form)}",
        "model.operation.arguments",
    )


def _spread(declaration: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by input name: padding, stride and the like are expanded to several inputs."""
    values = dict(arguments)
    names = {name for accepted in declaration.forms for name in accepted.inputs.names}
    for name in PAIRS:
        if f"{name}_width" in names:
            width, height = _pair(name, values.pop(name))
            values |= {f"{name}_width": width, f"{name}_height": height}
    padding = values.get("padding")
    if "padding" in names and isinstance(padding, list | tuple):
        if len(padding) != len(PADS):
            message = (
                f"padding is {shown(padding)}; it must be a scheme, or (left, right, top, bottom)"
            )
            raise bad_data(message, "model.operation.padding").at(declaration.type.name)
        del values["padding"]
        values |= dict(zip(PADS, padding, strict=True))
    elif isinstance(padding, str):
        values["padding"] = int(member(PaddingCode, padding))
    activation = values.get("activation")
    if isinstance(activation, str):
        if activation in CELL_ACTIVATIONS and "LSTM" in declaration.type.name:
            values["activation"] = CELL_ACTIVATIONS[activation]
        else:
            values["activation"] = int(member(FuseCode, activation))
    return values


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple):
        return value, value
    if len(value) != 2:
        raise bad_data(
            f"{name} is {shown(value)}; it must be (width, height)",
            "model.operation.width-and-height",
        )
    return value[0], value[1]


def _fitting(declaration: Operation, name: str, type: OperandType | None, value: Any) -> Any:
    """A Python number as the scalar type of its input: an int for INT32, a bool for BOOL, a float
    where every form has a float.
    """
    if isinstance(value, bool) and type is OperandType.INT32:
        return int(value)
    if isinstance(value, int) and type is OperandType.BOOL:
        return bool(value)
    if isinstance(value, int) and type is None and _is_real(declaration, name):
        return float(value)
    return value


def _is_real(declaration: Operation, name: str) -> bool:
    """Whether an input is a float scalar in every form."""
    rows = [declaration.row_types(row) for row in declaration.types.values()]
    kinds = {row[name] for row in rows if name in row}
    return bool(kinds) and kinds <= {OperandType.FLOAT32, OperandType.FLOAT16}
