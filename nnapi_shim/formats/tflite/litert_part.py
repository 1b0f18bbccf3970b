"""A part of a graph that LiteRT runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.importing.parts import Part
from nnapi_shim.formats.tflite.cut import cut, litert
from nnapi_shim.formats.tflite.file import DTYPES, File, FileGraph, Tensor


class LitertPart:
    """A part that LiteRT runs: with its default delegate (XNNPACK) if that accepts the part, else
    without.
    """

    devices: tuple[str, ...] = ("LiteRT",)

    def __init__(self, file: File, graph: FileGraph, part: Part) -> None:
        self._graph = graph
        self._part = part
        self._first = graph.operators[part.operators[0].number]
        self._data = cut(
            file,
            graph.number,
            [graph.operators[operator.number] for operator in part.operators],
            part.inputs,
            part.outputs,
        )
        self._shapes: list[tuple[int, ...]] = []
        self._is_plain = False
        try:
            self._interpreter = self._ready()
        except (RuntimeError, ValueError):
            self._give_up_delegate()

    def _ready(self) -> Any:
        package = litert()
        kinds = package.OpResolverType
        kind = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if self._is_plain else kinds.AUTO
        interpreter = package.Interpreter(
            model_content=self._data, experimental_op_resolver_type=kind
        )
        interpreter.allocate_tensors()
        return interpreter

    def _give_up_delegate(self) -> None:
        self._is_plain, self._shapes = True, []
        with self._refusing():
            self._interpreter = self._ready()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:
            message = " ".join(str(error).split())
            raise bad_data(
                f"LiteRT refuses {self._first} or what follows it: {message}",
                "import.tflite.litert-refuses",
            ) from None

    def run(self, values: dict[int, Array]) -> None:
        """Compute the outputs of the part from `values`."""
        arrays = [self._given(index, values) for index in self._part.inputs]
        if not self._is_plain:
            try:
                self._resize(arrays)
            except (RuntimeError, ValueError):
                self._give_up_delegate()  # as after a resize: states keep their last shapes
        with self._refusing():
            self._resize(arrays)
            interpreter = self._interpreter
            for detail, value in zip(interpreter.get_input_details(), arrays, strict=True):
                interpreter.set_tensor(detail["index"], value)
            interpreter.invoke()
        details = interpreter.get_output_details()
        for index, detail in zip(self._part.outputs, details, strict=True):
            values[index] = interpreter.get_tensor(detail["index"])

    def _resize(self, arrays: list[Array]) -> None:
        interpreter = self._interpreter
        shapes = [value.shape for value in arrays]
        if shapes == self._shapes:
            return
        for detail, shape in zip(interpreter.get_input_details(), shapes, strict=True):
            interpreter.resize_tensor_input(detail["index"], shape)
        interpreter.allocate_tensors()
        self._shapes = shapes

    def _given(self, index: int, values: Mapping[int, Array]) -> Array:
        tensor = self._graph.tensors[index]
        value = converted(tensor, value_of(tensor, values))
        return value.reshape(()) if not tensor.shape and value.size == 1 else value

    def reset(self) -> None:
        """Reset all states."""
        self._interpreter.reset_all_variables()


def converted(tensor: Tensor, value: ArrayLike) -> Array:
    """A value as an array of the tensor's type; raises BAD_DATA."""
    dtype = DTYPES.get(tensor.type)
    try:
        return np.asarray(value) if dtype is None else np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError):
        raise bad_data(
            f"{tensor} is {tensor.type}, and the value is not", "import.tflite.litert-value"
        ) from None


def value_of(tensor: Tensor, values: Mapping[int, Array]) -> Array:
    """The current value of a tensor: computed, or its contents in the file."""
    if tensor.number in values:
        return values[tensor.number]
    if tensor.value is None:
        raise bad_data(f"{tensor} has no value", "import.tflite.no-value")
    return tensor.value
