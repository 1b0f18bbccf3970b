"""Kinds of operands, and keys of operations made of them: what lowering can read of both."""

from operator import attrgetter

from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import Any
from nnapi_shim.operations import operation

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


class Kinds:
    """Kinds of operands: lowering cannot tell two inputs of the same kind apart.

    A kind is a number, and computed once for an operand. `forget` when an operand changes that was
    an input.
    """

    __slots__ = ("_kinds", "_numbers", "_operands")

    def __init__(self, operands: OperandTable) -> None:
        self._operands = operands
        self._numbers: dict[Any, int] = {}
        """Attributes, or contents -> kind."""
        self._kinds: dict[int, int] = {}
        """Operand -> kind."""

    def forget(self) -> None:
        """Compute all kinds anew; their numbers stay."""
        self._kinds.clear()

    def key(self, item: Operation) -> tuple[Any, ...]:
        """All that lowering can read of an operation; raises NeedsValue."""
        kinds = self._kinds
        inputs, outputs = item.inputs, item.outputs
        key: list[Any] = [item.type, len(inputs)]
        for index in inputs:
            kind = kinds.get(index)
            if kind is None:
                kind = kinds[index] = self._kind(index)
            key.append(kind)
        bound = self._operands.bound
        key += [_attributes(bound(index)) for index in outputs]
        if operation(item.type).values:  # tensors whose contents determine shapes
            key += self._contents(item)
        indexes = inputs + outputs
        if len(set(indexes)) < len(indexes):
            first: dict[int, int] = {}
            key += [first.setdefault(index, at) for at, index in enumerate(indexes)]
        return tuple(key)

    def _kind(self, index: int) -> int:
        operands = self._operands
        if operands.is_omitted(index):
            return self._number(("omitted", *_attributes(operands.bound(index))))
        if operands.declared[index].type in SCALARS:
            return self._number(operands.contents(index))
        is_constant = operands.owner(index) in operands.constant_addresses
        return self._number((is_constant, *_attributes(operands.bound(index))))

    def _number(self, what: Any) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def _contents(self, item: Operation) -> list[int]:
        """The kinds of the contents of tensors that the operation reads before a run."""
        operands, declaration = self._operands, operation(item.type)
        types = [
            tuple([operands.declared[at].type for at in of]) for of in (item.inputs, item.outputs)
        ]
        match = declaration.match(*types)
        return [
            self._number(operands.contents(item.inputs[at]))
            for at in match.value_positions
            if not operands.is_omitted(item.inputs[at])
        ]
