"""PartialModel: models for the operators that NNAPI can express, LiteRT for the others."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation, unique_names
from nnapi_shim.api.devices import Choice
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.importing.reason import Reason
from nnapi_shim.formats.tflite.file import File, FileGraph, Tensor
from nnapi_shim.formats.tflite.importing.model import Names
from nnapi_shim.formats.tflite.importing.tensors import OPERAND_TYPES
from nnapi_shim.formats.tflite.litert_part import LitertPart, converted, value_of
from nnapi_shim.formats.tflite.parts import Part, parts_of
from nnapi_shim.hal.enums import OperandType


class PartialModel:
    """A graph of a file in parts that run in sequence.

        partial = nnapi_shim.load("model.tflite", partial=True)
        partial.compile("nnapi-cpu").run(image)

    inputs, outputs: names. parts: each with its operators and its Model, or the reasons why it has
        none.
    """

    def __init__(self, file: File, graph: FileGraph, names: Names) -> None:
        self._file = file
        self.graph = graph
        self.inputs = unique_names(
            [names.inputs.get(index) or graph.tensors[index].name for index in graph.inputs],
            "input",
        )
        self.outputs = unique_names(
            [names.outputs.get(index) or graph.tensors[index].name for index in graph.outputs],
            "output",
        )
        self.parts = tuple(parts_of(file, graph, names))

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why NNAPI cannot express operators, in operator order."""
        return tuple(reason for part in self.parts for reason in part.reasons)

    def __repr__(self) -> str:
        summary = ", ".join(
            f"{len(part.operators)} operators on {'LiteRT' if part.model is None else 'NNAPI'}"
            for part in self.parts
        )
        return f"<PartialModel: {summary}>"

    def compile(self, devices: Choice | None = None, **options: Any) -> "PartialCompilation":
        """Compile all parts.

        devices, options: as of Compilation, for the parts that are models.
        Raises NnapiError as Compilation does, and BAD_DATA for what LiteRT refuses; ImportError
        without LiteRT if a part needs it.
        """
        steps: list[_Model | LitertPart] = []
        for part in self.parts:
            if part.model is None:
                steps.append(LitertPart(self._file, self.graph, part))
            else:
                compilation = Compilation(part.model, devices, **options)
                steps.append(_Model(self.graph, part, compilation))
        return PartialCompilation(self, steps)


class PartialCompilation:
    """A compiled PartialModel. One run at a time.

    input_names, output_names: as those of a Compilation. devices: those of the parts, and "LiteRT".
    """

    def __init__(self, model: PartialModel, steps: "Sequence[_Model | LitertPart]") -> None:
        self.model = model
        self.input_names, self.output_names = model.inputs, model.outputs
        self.devices = tuple(dict.fromkeys(name for step in steps for name in step.devices))
        self._steps = steps
        self._lock = threading.Lock()

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """As those of a Compilation; 64-bit integers are reported as TENSOR_INT32.

        Raises BAD_DATA for other types that NNAPI does not have. LiteRT can run them.
        """
        return _arguments(self.model.graph, self.model.graph.inputs, self.input_names)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """As `inputs`."""
        return _arguments(self.model.graph, self.model.graph.outputs, self.output_names)

    def run(self, *inputs: ArrayLike, **named: ArrayLike) -> Any:
        """Compute: returns an array, or a tuple of arrays for several outputs.

        inputs: one for each input, by position or by name.
        Raises NnapiError.
        """
        graph = self.model.graph
        arguments = list(inputs)
        for name in self.model.inputs[len(arguments) :]:
            if name not in named:
                raise bad_data(
                    f"input {name!r} is not given", "import.tflite.partial.input-missing"
                )
            arguments.append(named.pop(name))
        if named or len(arguments) != len(graph.inputs):
            expected = ", ".join(map(repr, self.model.inputs))
            raise bad_data(f"the model has the inputs {expected}", "import.tflite.partial.inputs")
        values = {
            index: converted(graph.tensors[index], value)
            for index, value in zip(graph.inputs, arguments, strict=True)
        }
        with self._lock:
            for step in self._steps:
                step.run(values)
        results = tuple(value_of(graph.tensors[index], values) for index in graph.outputs)
        return results[0] if len(results) == 1 else results

    def reset(self) -> None:
        """Reset all states."""
        with self._lock:
            for step in self._steps:
                step.reset()


class _Model:
    """A part that runs on NNAPI devices."""

    def __init__(self, graph: FileGraph, part: Part, compilation: Compilation) -> None:
        self._graph = graph
        self._part = part
        self._compilation = compilation
        self.devices = tuple(item.name for item in compilation.runtime.devices)

    def run(self, values: dict[int, Array]) -> None:
        """Compute the outputs of the part from `values`."""
        arrays = [value_of(self._graph.tensors[index], values) for index in self._part.inputs]
        results = self._compilation.run(*(np.atleast_1d(value) for value in arrays))
        if len(self._part.outputs) == 1:
            results = (results,)
        for index, result in zip(self._part.outputs, results, strict=True):
            values[index] = result

    def reset(self) -> None:
        """Reset all states."""
        self._compilation.reset()


def _arguments(
    graph: FileGraph, indexes: Sequence[int], names: Sequence[str]
) -> tuple[Argument, ...]:
    pairs = zip(indexes, names, strict=True)
    return tuple(_argument(graph.tensors[index], name) for index, name in pairs)


def _argument(tensor: Tensor, name: str) -> Argument:
    """The Argument of an input or output."""
    type = OperandType.TENSOR_INT32 if tensor.type == "INT64" else OPERAND_TYPES.get(tensor.type)
    if type is None:
        raise bad_data(
            f"{tensor} is {tensor.type}, which has no type in NNAPI", "import.tflite.type"
        )
    return Argument(type, tensor.dimensions or (1,), tensor.scale, tensor.zero_point, name)
