"""Repeated operations: operations that lowering cannot tell apart are lowered once.

Lowering reads a BoundOperation and nothing else. Operations with equal keys have BoundOperations
that differ only in the indexes of operands, at which lowering does not look. So their steps differ
only in the operands and Buffers that they name.
"""

from collections.abc import Sequence
from operator import attrgetter

from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable
from nnapi_shim.drivers.cpu.program.record import Alias, At, Buffer, Step
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Match

KEYED = (
    "type",
    "dimensions",
    "scale",
    "zero_point",
    "channel_quant",
    "is_model_output",
    "is_omitted",
    "value",
)
"""The attributes of a BoundOperand, except its index."""

_attributes = attrgetter(*KEYED)


class Use:
    """An operation with the operands and values that lowering reads.

    tensors: the operands that steps may name.
    """

    __slots__ = ("_inputs", "_item", "_match", "_sources", "outputs", "tensors")

    def __init__(self, item: Operation, match: Match, operands: OperandTable) -> None:
        self._item, self._match = item, match
        bound, is_omitted, contents = operands.bound, operands.is_omitted, operands.contents
        values, has_sources = match.value_positions, match.operation.values
        inputs: list[Any] = []
        sources: dict[int, BoundOperand] = {}
        tensors: list[BoundOperand] = []
        for at, index in enumerate(item.inputs):
            if at in values:
                inputs.append(None if is_omitted(index) else contents(index))
                if has_sources:
                    sources[at] = source = bound(index)
                    tensors.append(source)
            elif is_omitted(index):
                inputs.append(None)
            else:
                operand = bound(index)
                inputs.append(operand)
                tensors.append(operand)
        self._inputs, self._sources = inputs, sources
        self.outputs = outputs = [bound(index) for index in item.outputs]
        self.tensors = tensors + outputs

    def key(self) -> tuple[Any, ...]:
        """All that lowering can read of the operation."""
        tensors = self.tensors
        key: list[Any] = [self._match, *map(_attributes, tensors)]
        for at, value in enumerate(self._inputs):
            # A number tells which inputs are omitted.
            key.append(at if isinstance(value, BoundOperand) else value)
        indexes = [operand.index for operand in tensors]
        if len(set(indexes)) < len(indexes):
            key += map(indexes.index, indexes)  # which of them are the same operand
        return tuple(key)

    def operation(self, base: int) -> BoundOperation:
        """The operation with its operands by name. base: as in `operations.bound_operation`."""
        item, match = self._item, self._match
        inputs = [*self._inputs]
        for at in match.value_positions:
            if inputs[at] is not None:
                inputs[at] = inputs[at].decoded()
        indexes = tuple([index - base for index in (*item.inputs, *item.outputs)])
        return match.operation.bind(match, inputs, self.outputs, self._sources.__getitem__, indexes)


class Lowered:
    """The steps of an operation, and the properties of its outputs.

    steps: of the operation that was lowered. empty: the outputs that are filled with zeros.
    """

    __slots__ = ("_empty", "_outputs", "_template", "_tensors", "steps")

    def __init__(
        self, use: Use, steps: Sequence[Step | Alias], empty: Sequence[BoundOperand]
    ) -> None:
        self.steps = steps
        self._tensors = use.tensors
        self._outputs = [(it.dimensions, it.scale, it.zero_point) for it in use.outputs]
        self._empty = [use.outputs.index(output) for output in empty]
        self._template: _Template | None = None

    def repeat(self, use: Use) -> tuple[list[Step | Alias], list[BoundOperand]]:
        """Steps and empty outputs of another operation with the same key; sets its outputs."""
        outputs = use.outputs
        for output, properties in zip(outputs, self._outputs, strict=True):
            output.dimensions, output.scale, output.zero_point = properties
        if self._template is None:
            self._template = _Template(self._tensors, self.steps)
        return self._template.steps(use.tensors), [outputs[at] for at in self._empty]


class _Template:
    """The steps of an operation, to be made again with other tensors and new Buffers.

    _recipes: how to make what the steps name beside tensors: (-1, length) for a Buffer; for others
        the number of their base among the tensors and results of recipes, and the offset of an At
        or the operand that is a view of the base.
    _steps: each step, with the name and number of each field that holds one of them.
    """

    __slots__ = ("_numbers", "_recipes", "_steps", "_tensor_count")

    def __init__(self, tensors: Sequence[BoundOperand], steps: Sequence[Step | Alias]) -> None:
        self._tensor_count = len(tensors)
        self._recipes: list[tuple[int, Any]] = []
        self._numbers: dict[Any, int] = {}
        for number, operand in enumerate(tensors):
            self._numbers.setdefault(operand, number)
            self._numbers.setdefault(operand.index, number)
        self._steps = [(step, self._named(step)) for step in steps]

    def _named(self, step: Step | Alias) -> list[tuple[str, int]]:
        if isinstance(step, Alias):
            return [(name, self._number(getattr(step, name))) for name in ("source", "target")]
        values = [(name, step.fields[name]) for _, name in step.record.addresses]
        return [(name, self._number(value)) for name, value in values if _is_named(value)]

    def _number(self, value: Any) -> int:
        """The number of a tensor, Buffer, At or view."""
        number = self._numbers.get(value)
        if number is None:
            if isinstance(value, Buffer):
                recipe = -1, value.length
            elif isinstance(value, At):
                recipe = self._number(value.base), value.offset
            else:
                recipe = self._numbers[value.index], value
            number = self._numbers[value] = self._tensor_count + len(self._recipes)
            self._recipes.append(recipe)
        return number

    def steps(self, tensors: list[BoundOperand]) -> list[Step | Alias]:
        """The steps with these tensors."""
        values: list[Any] = [*tensors]
        for base, what in self._recipes:
            if base < 0:
                values.append(Buffer(what))
            elif isinstance(what, int):
                values.append(At(values[base], what))
            else:
                view = what.copy()
                view.index = values[base].index
                values.append(view)
        steps: list[Step | Alias] = []
        for step, named in self._steps:
            if isinstance(step, Step):
                fields = step.fields.copy()
                for name, number in named:
                    fields[name] = values[number]
                steps.append(step.with_fields(fields))
            else:
                (_, source), (_, target) = named
                steps.append(Alias(values[source], values[target]))
        return steps


def _is_named(value: Any) -> bool:
    """Whether the value of an ADDRESS field refers to an operand or Buffer."""
    while isinstance(value, At):
        value = value.base
    return isinstance(value, (BoundOperand, Buffer))
