"""Operations as calls of the typed methods of Model.

A call is tried on a small model: it is used only if it adds the same operation with the same
outputs.
"""

import inspect
import keyword
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.calling import CELL_ACTIVATIONS, PADS, PAIRS
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.source.graphs import number_text
from nnapi_shim.hal.enums import FuseCode, PaddingCode


class Argument(NamedTuple):
    """An argument of a method: an operand or several, or a literal."""

    operands: tuple[OperandView, ...] = ()
    literal: Any = None
    is_list: bool = False

    def text(self, names: Mapping[int, str]) -> str:
        """The argument as source."""
        if not self.operands and not self.is_list:
            return _literal(self.literal)
        listed = ", ".join(names[operand.index] for operand in self.operands)
        return f"[{listed}]" if self.is_list else listed

    def value(self, trial: "_Trial") -> Any:
        """The argument for the small model."""
        if not self.operands and not self.is_list:
            return self.literal
        values = [trial.operand(operand) for operand in self.operands]
        return values if self.is_list else values[0]


class TypedCall(NamedTuple):
    """A call of a method of Model. returns_tuple: of outputs, even of a single one."""

    method: str
    returns_tuple: bool
    positional: tuple[Argument, ...]
    named: dict[str, Argument]

    def arguments(self, names: Mapping[int, str]) -> Iterator[str]:
        """The arguments as source; names: variables of operands."""
        yield from (argument.text(names) for argument in self.positional)
        yield from (f"{name}={argument.text(names)}" for name, argument in self.named.items())

    def operands(self) -> Iterator[OperandView]:
        """The operands that need variables."""
        for argument in (*self.positional, *self.named.values()):
            yield from argument.operands


def typed_call(view: OperationView) -> TypedCall | None:
    """The call that adds an operation; None if no typed method adds the same one."""
    method = view.name.lower()
    method = f"{method}_" if keyword.iskeyword(method) else method
    function = getattr(Model, method, None)
    if view.match is None or function is None:
        return None
    if any(operand.subgraph is not None for operand in view.inputs):
        return None
    signature = inspect.signature(function)
    parameters = signature.parameters
    arguments = _arguments(view)
    if arguments is None or not arguments.keys() <= parameters.keys():
        return None
    for options in _options(view, parameters.keys()):
        call = _call(method, signature, {**arguments, **options})
        if _Trial().adds(call, view):
            return call
    return None


def _arguments(view: OperationView) -> dict[str, Argument] | None:
    """The inputs as arguments by parameter; None if one has no known value."""
    repeated = view.match.repeated if view.match else ()
    arguments: dict[str, Argument] = {}
    for role, operand in zip(view.roles, view.inputs, strict=True):
        argument = _argument(view, role, operand)
        if argument is None:
            return None
        if role in repeated:
            before = arguments.get(role, Argument(is_list=True))
            argument = Argument((*before.operands, *argument.operands), None, True)
        arguments[role] = argument
    for pair in PAIRS:
        if f"{pair}_width" in arguments:
            width = arguments.pop(f"{pair}_width").literal
            height = arguments.pop(f"{pair}_height").literal
            arguments[pair] = Argument(literal=width if width == height else (width, height))
    if PADS[0] in arguments:
        arguments["padding"] = Argument(literal=tuple(arguments.pop(pad).literal for pad in PADS))
    return arguments


def _argument(view: OperationView, role: str, operand: OperandView) -> Argument | None:
    if operand.is_omitted:
        return Argument()
    if not operand.is_scalar or not operand.is_constant:
        return Argument((operand,))
    if operand.value is None:
        return None
    value = operand.value.item()
    codes: dict[str, int] = {}
    if role == "activation":
        codes = CELL_ACTIVATIONS if "LSTM" in view.name else {code.name: code for code in FuseCode}
    elif role == "padding":
        codes = {code.name: code for code in PaddingCode}
    names = [name for name, code in codes.items() if code == value]
    return Argument(literal=names[0] if names else value)


def _options(view: OperationView, parameters: Any) -> Iterator[dict[str, Argument]]:
    """Properties of outputs to give, fewest first."""
    first = view.outputs[0]
    always: dict[str, Argument] = {}
    names = [operand.name for operand in view.outputs]
    if any(names):
        always["name"] = Argument(literal=names[0] if len(names) == 1 else names)
    scale = {"scale": first.scale, "zero_point": first.zero_point}
    choices: list[dict[str, Any]] = [
        {},
        {"output_count": len(view.outputs)},
        {"output": first.type.name},
        {"dimensions": list(first.dimensions)},
    ]
    if first.scale:
        choices = [with_scale for each in choices for with_scale in (each, {**each, **scale})]
    for choice in choices:
        if choice.keys() <= parameters:
            yield {**{name: Argument(literal=value) for name, value in choice.items()}, **always}


def _call(method: str, signature: inspect.Signature, arguments: dict[str, Argument]) -> TypedCall:
    """The call without arguments that equal their defaults."""
    positional: list[Argument] = []
    named: dict[str, Argument] = {}
    for name, parameter in signature.parameters.items():
        if name not in arguments:
            continue
        argument = arguments[name]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not named:
            positional.append(argument)
        elif argument.operands or argument.is_list or argument.literal != parameter.default:
            named[name] = argument
    # The annotations of typed methods are texts.
    returns_tuple = signature.return_annotation != Operand.__name__
    return TypedCall(method, returns_tuple, tuple(positional), named)


class _Trial:
    """A model with one operation, whose other operands are inputs."""

    def __init__(self) -> None:
        self.model = Model()
        self.made: dict[int, Operand] = {}

    def operand(self, operand: OperandView) -> Operand:
        """An operand like this one; a constant has the same value."""
        if operand.index not in self.made:
            self.made[operand.index] = self._operand(operand)
        return self.made[operand.index]

    def _operand(self, operand: OperandView) -> Operand:
        scale, zero_point = operand.scale, operand.zero_point
        if operand.value is None:
            sizes = None if operand.is_scalar else operand.dimensions
            return self.model.input(operand.type, sizes, scale, zero_point)
        if operand.channel_quant is not None:
            scales, axis = operand.channel_quant
            return self.model.constant(operand.value, operand.type, scales=scales, channel_dim=axis)
        return self.model.constant(operand.value, operand.type, scale, zero_point)

    def adds(self, call: TypedCall, view: OperationView) -> bool:
        """Whether the call adds the operation, apart from inputs that have their defaults."""
        try:
            getattr(self.model, call.method)(
                *(argument.value(self) for argument in call.positional),
                **{name: argument.value(self) for name, argument in call.named.items()},
            )
        except NnapiError:
            return False
        (added,) = self.model.operations
        return len(added.outputs) == len(view.outputs) and (
            all(map(_are_alike, added.outputs, view.outputs)) and _has_inputs_of(added, view)
        )


def _are_alike(one: OperandView, other: OperandView) -> bool:
    return (one.type, one.dimensions, one.scale, one.zero_point) == (
        other.type,
        other.dimensions,
        other.scale,
        other.zero_point,
    )


def _has_inputs_of(added: OperationView, view: OperationView) -> bool:
    """Whether the inputs have the same types, and the same values where they are scalars."""
    wanted = dict(zip(view.roles, view.inputs, strict=True))
    for role, operand in zip(added.roles, added.inputs, strict=True):
        other = wanted.get(role)
        if other is None or operand.type is not other.type:
            return False
        if operand.is_omitted is not other.is_omitted:
            return False
        value = operand.value if operand.is_scalar else None
        if value is not None and (other.value is None or value.tobytes() != other.value.tobytes()):
            return False
    return True


def _literal(value: Any) -> str:
    """A number or text as source; floats as the shortest decimal of the float32."""
    if isinstance(value, float):
        return number_text(value) if np.isfinite(value) else f'float("{value}")'
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | tuple):
        items = ", ".join(map(_literal, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return repr(value)


def quoted(value: str) -> str:
    """A text as a string between double quotes."""
    text = repr(value)
    inner = text[1:-1].replace('"', '\\"') if text[0] == "'" else text[1:-1]
    return f'"{inner}"'
