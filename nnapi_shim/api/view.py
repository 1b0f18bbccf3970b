"""Read access to the operands and operations of a model, during and after construction.

Constants are read-only numpy arrays that share the model's memory.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nnapi_shim import address
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.html import html_table
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.declare import Match
from nnapi_shim.runtime import model as runtime
from nnapi_shim.runtime.draft import Draft
from nnapi_shim.runtime.referenced import Part

L = OperandLifeTime

_BESIDE = (OperationType.OEM_OPERATION,)
"""Operations of the specification without a declaration."""


class OperandView:
    """An operand of a graph.

    index: its number in the program. name: its name in the program, or "".
    type, dimensions, scale, zero_point, channel_quant, lifetime: as declared; a 0 in `dimensions`
    is an unknown size, () an unknown rank or a scalar.
    """

    __slots__ = (
        "_graph",
        "channel_quant",
        "dimensions",
        "index",
        "lifetime",
        "name",
        "scale",
        "type",
        "zero_point",
    )

    def __init__(self, graph: "GraphView", index: int, operand: Any, name: str) -> None:
        self._graph = graph
        self.index = index
        self.name = name
        self.type: OperandType = operand.type
        self.dimensions: Dimensions = operand.dimensions
        self.scale: float = operand.scale
        self.zero_point: int = operand.zero_point
        self.channel_quant: SymmPerChannelQuantParams | None = operand.channel_quant
        self.lifetime: OperandLifeTime = operand.lifetime

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<operand {self.index}{name} {self}>"

    def __str__(self) -> str:
        kind = self.type.name
        return kind if self.is_scalar else f"{kind}{list(self.dimensions) or '[of unknown rank]'}"

    def _repr_html_(self) -> str:
        """All properties as HTML, for notebooks."""
        known = [
            ("operand", f"{self.index} {self.name}"),
            ("type", str(self)),
            ("quantization", self.quantization),
            ("lifetime", self.lifetime.name),
            ("written by", "" if self.producer is None else repr(self.producer)),
            ("read by", ", ".join(map(repr, self.consumers))),
        ]
        return "\n".join(html_table(("", ""), [row for row in known if row[1]], 0))

    @property
    def quantization(self) -> str:
        """A text of scale and zero point, or of the per-channel scales; "" without quantization."""
        if self.channel_quant is not None:
            count = len(self.channel_quant.scales)
            return f"{count} scales along dimension {self.channel_quant.channel_dim}"
        return f"scale {self.scale:g}, zero point {self.zero_point}" if self.scale else ""

    @property
    def is_scalar(self) -> bool:
        """Whether it is a scalar, not a tensor."""
        return self.type in SCALARS

    @property
    def is_constant(self) -> bool:
        """Whether the model has its value."""
        return self.lifetime in (L.CONSTANT_COPY, L.CONSTANT_REFERENCE)

    @property
    def is_omitted(self) -> bool:
        """Whether it represents an omitted input."""
        return self.lifetime is L.NO_VALUE

    @property
    def value(self) -> Array | None:
        """The contents of a constant, read-only and without a copy; rank 0 for a scalar. None for
        other operands, and for operands of extensions.
        """
        data = self._graph.contents(self.index) if self.is_constant else None
        dtype = DTYPES.get(self.type)
        if data is None or dtype is None:
            return None
        array: Array = np.frombuffer(data, dtype).reshape(self.dimensions)
        array.flags.writeable = False
        return array

    @property
    def subgraph(self) -> "GraphView | None":
        """The graph that an operand of type MODEL refers to; None for others."""
        return self._graph.referenced(self.index) if self.lifetime is L.SUBGRAPH else None

    @property
    def producer(self) -> "OperationView | None":
        """The operation that writes it; None for inputs and constants."""
        return self._graph.producers.get(self.index)

    @property
    def consumers(self) -> "tuple[OperationView, ...]":
        """The operations that read it, each once."""
        return tuple(self._graph.readers.get(self.index, ()))


class OperationView:
    """An operation of a graph.

    number: its number in the program. type: an OperationType; an int for an extension operation.
        inputs, outputs: its operands, in order.
    """

    __slots__ = ("_match", "inputs", "number", "outputs", "type")

    def __init__(
        self,
        number: int,
        type: OperationType | int,
        inputs: tuple[OperandView, ...],
        outputs: tuple[OperandView, ...],
    ) -> None:
        self.number = number
        self.type = type
        self.inputs = inputs
        self.outputs = outputs
        self._match: Match | None = None

    @property
    def name(self) -> str:
        """CONV_2D and the like; "extension 0x10001" for an extension operation."""
        kind = self.type
        return kind.name if isinstance(kind, OperationType) else f"extension {kind:#x}"

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(operand.name or str(operand.index) for operand in operands)
            for operands in (self.inputs, self.outputs)
        )
        return f"<operation {self.number} {self.name}: {inputs} -> {outputs}>"

    @property
    def match(self) -> Match | None:
        """The declared form that matches its operands; None without a declaration or match."""
        if self._match is None and isinstance(self.type, OperationType):
            if self.type in _BESIDE:
                return None
            inputs, outputs = (
                tuple(operand.type for operand in operands)
                for operands in (self.inputs, self.outputs)
            )
            try:
                self._match = declaration_of(self.type).match(inputs, outputs)
            except NnapiError:
                return None
        return self._match

    @property
    def roles(self) -> tuple[str, ...]:
        """The declared names of its inputs, one for each; "input 0" and so on without a match."""
        match = self.match
        return match.input_names if match else _numbered("input", self.inputs)

    @property
    def output_roles(self) -> tuple[str, ...]:
        """The declared names of its outputs, one for each."""
        match = self.match
        return match.output_names if match else _numbered("output", self.outputs)

    @property
    def named(self) -> Mapping[str, Any]:
        """Declared name -> OperandView, or a list of them for a repeated name; inputs and outputs.

        Inputs that the form does not have are absent.
        """
        match = self.match
        repeated = match.repeated if match else ()
        by_name: dict[str, Any] = {name: [] for name in repeated if name}
        for names, operands in (
            (self.roles, self.inputs),
            (self.output_roles, self.outputs),
        ):
            for name, operand in zip(names, operands, strict=True):
                if name in repeated:
                    by_name[name].append(operand)
                else:
                    by_name[name] = operand
        return by_name


def _numbered(kind: str, operands: Sequence[OperandView]) -> tuple[str, ...]:
    return tuple(f"{kind} {at}" for at in range(len(operands)))


class _Source(NamedTuple):
    """The source of a graph: a model under construction, or a finished one."""

    operands: Sequence[Any]
    operations: Sequence[hal.Operation]
    inputs: Sequence[int]
    outputs: Sequence[int]


class GraphView:
    """A graph: that of a model, or one that IF or WHILE refers to."""

    def __init__(self, model: Draft | Part, names: Mapping[int, str] | None = None) -> None:
        self._of = model
        self._referenced: dict[int, GraphView] = {}
        if isinstance(model, Part):
            main = model.own.main
            source = _Source(
                main.operands, main.operations, main.input_indexes, main.output_indexes
            )
        else:
            source = _Source(model.operands, model.operations, model.inputs, model.outputs)
        operand_names = names or {}
        self.operands = tuple(
            OperandView(self, index, operand, operand_names.get(index, ""))
            for index, operand in enumerate(source.operands)
        )
        """All operands, by their numbers."""
        get = self.operands.__getitem__
        self.operations = tuple(
            OperationView(
                item.number, item.type, tuple(map(get, item.inputs)), tuple(map(get, item.outputs))
            )
            for item in source.operations
        )
        """All operations; those of a finished model in execution order."""
        self.input_operands = tuple(map(get, source.inputs))
        self.output_operands = tuple(map(get, source.outputs))

    @cached_property
    def producers(self) -> Mapping[int, OperationView]:
        """Index of an operand -> the operation that writes it."""
        return {operand.index: item for item in self.operations for operand in item.outputs}

    @cached_property
    def readers(self) -> Mapping[int, Sequence[OperationView]]:
        """Index of an operand -> the operations that read it."""
        result: dict[int, list[OperationView]] = {}
        for item in self.operations:
            for index in dict.fromkeys(operand.index for operand in item.inputs):
                result.setdefault(index, []).append(item)
        return result

    def contents(self, index: int) -> Any:
        """The bytes of a constant, which keep its memory alive; None if they cannot be read."""
        if isinstance(self._of, Draft):
            return _drafted(self._of.operands[index].value)
        own = self._of.own
        where = own.main.operands[index].location
        if own.main.operands[index].lifetime is L.CONSTANT_COPY:
            return memoryview(own.operand_values)[where.offset : where.offset + where.length]
        pool = own.pools[where.pool_index]
        # A copy: the program may change or unmap its memory.
        return address.read(pool.map() + where.offset, where.length)

    def referenced(self, index: int) -> "GraphView":
        """The graph that an operand refers to; one object for each."""
        if isinstance(self._of, Draft):
            return of(self._of.operands[index].value)
        number = self._of.own.main.operands[index].location.offset
        if number not in self._referenced:
            inner = self._of.inner[number]
            self._referenced[number] = GraphView(inner, inner.names)
        return self._referenced[number]


def _drafted(value: Any) -> Any:
    """The bytes of a constant of a model under construction."""
    if isinstance(value, tuple):
        if len(value) == 3:
            memory, offset, length = value
            return address.read(memory.map() + offset, length)
        return address.read(*value)
    return value


def of(model: runtime.Model) -> GraphView:
    """The current graph of a model."""
    return GraphView(model.part or model.draft, model.operand_names)
