"""Tensors and nodes of a graph that is being exported."""

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
    """A tensor: an operand of the model, or one that the exporter adds. Compared by identity.

    dimensions: 0 for an unknown size. value: the contents of a constant, else None. is_variable:
        whether the runtime keeps its contents from run to run.
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
        """The number of dimensions."""
        return len(self.dimensions)

    @property
    def is_quantized(self) -> bool:
        """Whether the elements have a scale."""
        return self.type in QUANTIZED

    @property
    def parameters(self) -> tuple[T, float, int]:
        """Type, scale and zero point."""
        return self.type, self.scale, self.zero_point

    def like(self, dimensions: Dimensions | None = None, type: T | None = None) -> "Tensor":
        """A new tensor with the same type, scale and zero point."""
        return Tensor(
            self.type if type is None else type,
            self.dimensions if dimensions is None else dimensions,
            self.scale if type is None else 0.0,
            self.zero_point if type is None else 0,
        )


class Node:
    """An operation with its operands by name, as in BoundOperation.

    Tensors are Tensors, omitted ones None. Scalars and shape-determining tensors are Python values
    if the model has them as constants, else Tensors.
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
        """The same operation with other operands; `outputs` are bound to their names, too."""
        named = {**self.named, **changed}
        if outputs is not None:
            new = {id(old): new for new, old in zip(outputs, self.outputs, strict=True)}
            for name, value in self.named.items():
                if isinstance(value, Tensor) and id(value) in new:
                    named[name] = new[id(value)]
                elif isinstance(value, list) and value and id(value[0]) in new:
                    named[name] = outputs
        return Node(self.kind, named, self.outputs if outputs is None else outputs, self.number)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, including those of lists."""
        ids = {id(output) for output in self.outputs}
        return [
            name
            for name, value in self.named.items()
            if not (isinstance(value, Tensor) and id(value) in ids)
            and not (isinstance(value, list) and value and id(value[0]) in ids)
        ]

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that the node reads, including constants."""
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
    """A graph with its nodes in execution order."""

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor], nodes: list[Node]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.nodes = nodes
        self.carried: list[tuple[int, int, Array | None]] = []
        """(input, output, initial value) of states that are carried from run to run."""
        self.foreign: list[str] = []
        """Messages for operations without a declaration."""


def constant(value: Any, type: T | None = None) -> Tensor:
    """A constant; by default float32, int32 or bool, by its value."""
    array = np.asarray(value)
    if type is None:
        kinds = {"f": T.TENSOR_FLOAT32, "i": T.TENSOR_INT32, "b": T.TENSOR_BOOL8}
        type = kinds[array.dtype.kind]
        dtypes = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32, T.TENSOR_BOOL8: np.bool_}
        array = array.astype(dtypes[type])
    return Tensor(type, array.shape, value=array)
