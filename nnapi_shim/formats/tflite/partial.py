"""A graph of a .tflite file as a PartialModel, with LiteRT for what NNAPI cannot express."""

from collections.abc import Mapping, Sequence
from typing import Any

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.names import unique_names
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.importing.partial import PartialModel
from nnapi_shim.formats.importing.parts import Part
from nnapi_shim.formats.tflite.file import File, FileGraph
from nnapi_shim.formats.tflite.importing.model import Names
from nnapi_shim.formats.tflite.importing.tensors import OPERAND_TYPES
from nnapi_shim.formats.tflite.litert_part import LitertPart, converted, value_of
from nnapi_shim.formats.tflite.parts import partitioned
from nnapi_shim.hal.enums import OperandType


def partial_model(file: File, graph: FileGraph, names: Names) -> PartialModel:
    """A graph in parts."""

    def named(indexes: Sequence[int], known: Mapping[int, str], what: str) -> Any:
        own_names = [known.get(index) or graph.tensors[index].name for index in indexes]
        return list(zip(indexes, unique_names(own_names, what), strict=True))

    return PartialModel(
        Litert(file, graph),
        named(graph.inputs, names.inputs, "input"),
        named(graph.outputs, names.outputs, "output"),
        partitioned(file, graph, names),
    )


class Litert:
    """LiteRT, with the tensors of a graph."""

    name = "LiteRT"

    def __init__(self, file: File, graph: FileGraph) -> None:
        self._file = file
        self._graph = graph

    def part(self, part: Part) -> LitertPart:
        """A part that LiteRT runs."""
        return LitertPart(self._file, self._graph, part)

    def converted(self, index: Any, value: Any) -> Array:
        """A value as an array of the tensor's type; raises BAD_DATA."""
        return converted(self._graph.tensors[index], value)

    def value_of(self, index: Any, values: Mapping[Any, Array]) -> Array:
        """The current value of a tensor."""
        return value_of(self._graph.tensors[index], values)

    def argument(self, index: Any, name: str) -> Argument:
        """The Argument of an input or output."""
        tensor = self._graph.tensors[index]
        is_wide = tensor.type == "INT64"
        type = OperandType.TENSOR_INT32 if is_wide else OPERAND_TYPES.get(tensor.type)
        if type is None:
            raise bad_data(
                f"{tensor} is {tensor.type}, which has no type in NNAPI", "import.tflite.type"
            )
        return Argument(type, tensor.dimensions or (1,), tensor.scale, tensor.zero_point, name)
