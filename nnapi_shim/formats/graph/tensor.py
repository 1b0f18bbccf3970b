"""Tensors and nodes of a graph that is on its way to another format."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.operations import operation as declaration_of

Array = NDArray[Any]

QUANTIZED = {
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_SYMM,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
    T.TENSOR_QUANT16_ASYMM,
    T.TENSOR_QUANT16_SYMM,
}


class Tensor:
    """A tensor: an operand of the model, or one that an export adds. Compared by identity.

    dimensions: a 0 is an unknown size. value: contents of a constant, else None. is_variable:
    whether an operator finds what it has left there in the run before.
    """

    __slots__ = (
        "channel_quant",
        "dimensions",
        "is_variable",
        "name",
        "scale",
        "type",
        "value",
        "zero_point",
    )

    def __init__(
        self,
        type: T,
        dimensions: Dimensions,
        scale: float = 0.0,
        zero_point: int = 0,
        *,
        name: str = "",
        value: Array | None = None,
        channel_quant: SymmPerChannelQuantParams | None = None,
    ) -> None:
        self.type = type
        self.dimensions = tuple(dimensions)
        self.scale = scale
        self.zero_point = zero_point
        self.name = name
        self.value = value
        self.channel_quant = channel_quant
        self.is_variable = False

    def __repr__(self) -> str:
        return f"<{self.name or 'tensor'} {self.type.name}{list(self.dimensions)}>"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dimensions)

    @property
    def is_quantized(self) -> bool:
        """Whether its elements stand for others by a scale."""
        return self.type in QUANTIZED

    @property
    def parameters(self) -> tuple[T, float, int]:
        """What decides which numbers its elements stand for."""
        return self.type, self.scale, self.zero_point

    def like(self, dimensions: Dimensions | None = None, type: T | None = None) -> "Tensor":
        """A new tensor of the same kind."""
        return Tensor(
            self.type if type is None else type,
            self.dimensions if dimensions is None else dimensions,
            self.scale if type is None else 0.0,
            self.zero_point if type is None else 0,
        )


class Node:
    """An operation with its operands by name, as a BoundOperation has them.

    Tensors are Tensors, omitted ones None; scalars, and the tensors whose values decide shapes,
    are plain values where the model has them as constants, else Tensors.
    """

    kind: str
    number: int
    outputs: list[Tensor]

    def __init__(
        self, kind: str, named: dict[str, Any], outputs: list[Tensor], number: int = -1
    ) -> None:
        declared = declaration_of(OperationType[kind])
        self.__dict__ = {**declared.absent, **named}
        self.kind = kind
        self.named = named
        self.outputs = outputs
        self.number = number

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('kind')} has no operand {name!r}")

    def with_operands(self, outputs: list[Tensor] | None = None, **changed: Any) -> "Node":
        """The same operation on other operands; `outputs` are also found by their names."""
        named = {**self.named, **changed}
        if outputs is not None:
            named |= {
                name: next(new for new, old in zip(outputs, self.outputs, strict=True) if old is v)
                for name, v in self.named.items()
                if isinstance(v, Tensor) and any(old is v for old in self.outputs)
            }
        return Node(self.kind, named, self.outputs if outputs is None else outputs, self.number)

    @property
    def input_names(self) -> list[str]:
        """Names of its inputs, also of those that are lists."""
        ids = {id(output) for output in self.outputs}
        return [
            name
            for name, value in self.named.items()
            if not (isinstance(value, Tensor) and id(value) in ids)
            and not (isinstance(value, list) and value and id(value[0]) in ids)
        ]

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that it reads, constants included."""
        result: list[Tensor] = []
        for name in self.input_names:
            value = self.named[name]
            result += [
                v
                for v in (value if isinstance(value, list) else [value])
                if v is not None and isinstance(v, Tensor)
            ]
        return result


class ExportGraph:
    """A graph: nodes in an order in which they can run."""

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor], nodes: list[Node]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.nodes = nodes
        self.carried: list[tuple[int, int, Array | None]] = []
        """(input, output, first value) of states that go from one run to the next."""
        self.foreign: list[str] = []
        """Operations that no declaration describes, in words."""


def constant(value: Any, type: T | None = None) -> Tensor:
    """A constant; float32, int32 and bool by themselves."""
    array = np.asarray(value)
    if type is None:
        kinds = {"f": T.TENSOR_FLOAT32, "i": T.TENSOR_INT32, "b": T.TENSOR_BOOL8}
        type = kinds[array.dtype.kind]
        dtypes = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32, T.TENSOR_BOOL8: np.bool_}
        array = array.astype(dtypes[type])
    return Tensor(type, array.shape, value=array)
