"""Repeated operations: operations that lowering cannot tell apart are lowered once.

Lowering reads a BoundOperation and nothing else. Operations with equal keys (kinds.py) have
BoundOperations that differ only in the indexes of operands, at which lowering does not look. So
their steps differ only in the operands and Buffers that they name.
"""

from operator import itemgetter

from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable, Use
from nnapi_shim.drivers.cpu.program.record import Alias, At, Buffer, Step
from nnapi_shim.errors import Where
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import Any, Callable, Sequence
from nnapi_shim.operations.declare import BoundOperand


class Lowered:
    """The steps of an operation, and the properties of its outputs.

    steps: of the operation that was lowered.
    scheduled: those that run in the program; the others are packed at compilation.
    empty: the outputs that are filled with zeros.
    tensors: the operands that steps name.
    is_block: whether a repetition can be a Block: nothing but the steps of `scheduled`, none of
        which runs in place.
    """

    def __init__(
        self,
        use: Use,
        steps: Sequence[Step | Alias],
        scheduled: Sequence[Step],
        empty: Sequence[BoundOperand],
    ) -> None:
        self.scheduled = scheduled
        self.tensors = use.tensors
        at = use.positions
        self.pick: Callable[[Sequence[int]], Sequence[int]] = (
            itemgetter(*at) if len(at) > 1 else lambda indexes: [indexes[it] for it in at]
        )
        """Inputs and outputs of an operation -> its tensors."""
        self._outputs = [(it.dimensions, it.scale, it.zero_point) for it in use.outputs]
        self._empty = [use.outputs.index(output) for output in empty]
        self.is_block = (
            not empty
            and not any(step.in_place for step in scheduled)
            and _are_packed_for_all(steps, scheduled)
        )
        self._steps = scheduled if self.is_block else steps
        self._made: _Template | None = None
        self._written: list[int] | None = None

    @property
    def _template(self) -> "_Template":
        if self._made is None:
            self._made = _Template(self.tensors, self._steps, self.is_block)
        return self._made

    @property
    def written(self) -> list[int]:
        """The numbers of the tensors that the scheduled steps write."""
        if self._written is None:
            values = [_base(step.fields[name]) for step in self.scheduled for name in step.writes]
            indexes = {value.index for value in values if isinstance(value, BoundOperand)}
            self._written = [n for n, it in enumerate(self.tensors) if it.index in indexes]
        return self._written

    def repeat(
        self, item: Operation, operands: OperandTable
    ) -> tuple[list[Step | Alias], list[BoundOperand]]:
        """Steps and empty outputs of another operation with the same key; sets its outputs."""
        outputs = self._set(item, operands)
        tensors = [operands.bound(index) for index in self.pick(item.inputs + item.outputs)]
        return self._template.steps(tensors), [outputs[at] for at in self._empty]

    def block(self, item: Operation, operands: OperandTable, where: Where) -> "Block":
        """Another operation with the same key, as a block; sets its outputs."""
        self._set(item, operands)
        return Block(self, self.pick(item.inputs + item.outputs), where)

    def _set(self, item: Operation, operands: OperandTable) -> list[BoundOperand]:
        """The outputs of an operation, with their properties set."""
        outputs = [operands.bound(index) for index in item.outputs]
        for output, properties in zip(outputs, self._outputs, strict=True):
            output.dimensions, output.scale, output.zero_point = properties
        return outputs

    def steps_of(self, tensors: Sequence[BoundOperand]) -> list[Step]:
        """The scheduled steps of a block."""
        return self._template.steps(tensors)  # type: ignore[return-value]


def _are_packed_for_all(steps: Sequence[Step | Alias], scheduled: Sequence[Step]) -> bool:
    """Whether all but the scheduled steps are packed once for all repetitions: they read no
    operands.
    """
    remaining, packed = set(scheduled), set()
    for step in steps:
        if isinstance(step, Alias):
            return False
        if step not in remaining:
            for _, name in step.record.addresses:
                base = _base(step.fields[name])
                if name == "output":
                    packed.add(base)
                elif isinstance(base, BoundOperand) or (
                    isinstance(base, Buffer) and base not in packed
                ):
                    return False
    return True


class Block:
    """The steps of a repeated operation, not made yet.

    lowered: the operation that it repeats. indexes: its tensors, as in `lowered.tensors`.
    """

    __slots__ = ("indexes", "lowered", "where")

    def __init__(self, lowered: Lowered, indexes: Sequence[int], where: Where) -> None:
        self.lowered = lowered
        self.indexes = indexes
        self.where = where

    def written(self) -> list[int]:
        """The operands that the steps write."""
        return [self.indexes[at] for at in self.lowered.written]

    def steps(self, operands: OperandTable) -> list[Step]:
        """The steps."""
        return self.lowered.steps_of([operands.bound(index) for index in self.indexes])


class _Template:
    """The steps of an operation, to be made again with other tensors and new Buffers.

    _recipes: how to make what the steps name beside tensors: (-1, length) for a Buffer; for others
        the number of their base among the tensors and results of recipes, and the offset of an At
        or the operand that is a view of the base.
    _steps: each step, with the name and number of each field that holds one of them.
    _is_block: whether packed Buffers stay.
    """

    __slots__ = ("_is_block", "_numbers", "_recipes", "_steps", "_tensor_count")

    def __init__(
        self, tensors: Sequence[BoundOperand], steps: Sequence[Step | Alias], is_block: bool
    ) -> None:
        self._tensor_count = len(tensors)
        self._is_block = is_block
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
        return [(name, self._number(value)) for name, value in values if self._is_named(value)]

    def _is_named(self, value: Any) -> bool:
        """Whether the value of an ADDRESS field differs from repetition to repetition."""
        base = _base(value)
        if isinstance(base, Buffer):
            return not (self._is_block and base.address is not None)
        return isinstance(base, BoundOperand)

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

    def steps(self, tensors: Sequence[BoundOperand]) -> list[Step | Alias]:
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


def _base(value: Any) -> Any:
    """The operand, Buffer or constant of an ADDRESS field."""
    while isinstance(value, At):
        value = value.base
    return value
