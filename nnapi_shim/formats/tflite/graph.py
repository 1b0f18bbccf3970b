"""Graphs of a .tflite file as plain values, and checks of their connections."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.tensor import Tensor
from nnapi_shim.hints import NamedTuple


class Operator(NamedTuple):
    """An operator. name: the schema name, or the name of a custom operator.

    An omitted input is None. options: field name -> value. custom: the options of a custom
    operator. unread: a message about a field that this version does not understand, or "".
    """

    number: int
    name: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = {}
    custom: bytes | None = None
    intermediates: tuple[int, ...] = ()
    unread: str = ""

    def __str__(self) -> str:
        return f"operator {self.number} {self.name}"


class FileGraph(NamedTuple):
    """A graph of a file; inputs and outputs are tensor indices."""

    number: int
    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def require_all(location: str, indexes: Sequence[int | None]) -> tuple[int, ...]:
    """The indices, none of which may be omitted."""
    present = tuple(index for index in indexes if index is not None)
    if len(present) < len(indexes):
        raise bad_data(
            f"{location}: an input or output is tensor -1", "import.tflite.file.argument-omitted"
        )
    return present


def tensor_indexes(
    location: str, indexes: Sequence[int], tensors: Sequence[Tensor]
) -> Iterator[int | None]:
    """Tensor indices of a graph; -1 becomes None."""
    for at, index in enumerate(indexes):
        if not -1 <= index < len(tensors):
            raise bad_data(
                f"{location} {at} is tensor {index}; the graph has {len(tensors)}",
                "import.tflite.file.tensor-index",
            )
        yield None if index < 0 else index


def check_order(where: str, graph: FileGraph) -> None:
    """Require that each tensor is written once, before it is read."""
    inputs = set(graph.inputs)
    if len(inputs) < len(graph.inputs):
        raise bad_data(
            f"{where}a tensor is an input of the graph twice", "import.tflite.file.input-twice"
        )
    written = {index: operator for operator in graph.operators for index in operator.outputs}
    if len(written) < sum(len(operator.outputs) for operator in graph.operators):
        raise bad_data(
            f"{where}a tensor is the output of two operators", "import.tflite.file.output-twice"
        )
    for operator in graph.operators:
        for index in operator.outputs:
            tensor = graph.tensors[index]
            if index in inputs or tensor.value is not None:
                kind = "an input of the graph" if index in inputs else "a constant"
                raise bad_data(
                    f"{where}{operator}: its output, {tensor}, is {kind}",
                    "import.tflite.file.output-kind",
                )
        for at, read_index in enumerate(operator.inputs):
            origin = None if read_index is None else written.get(read_index)
            if origin is not None and origin.number >= operator.number:
                raise bad_data(
                    f"{where}{operator}: input {at} is tensor {read_index}, which {origin} "
                    "writes later",
                    "import.tflite.file.order",
                )
