"""PartialModel: what NNAPI can express of a file as models, the rest through LiteRT."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.cut import cut, litert
from nnapi_shim.formats.tflite.file import DTYPES, File, Graph, Operator, Tensor
from nnapi_shim.formats.tflite.importing.model import Names, Reason, attempt

HELD_TOGETHER = {"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}
"""Operators on variables, which no cut may part."""


class Part(NamedTuple):
    """Operators that run as one. inputs, outputs: numbers of tensors.

    model: None where LiteRT runs it. reasons: why it does.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    model: Model | None
    reasons: tuple[Reason, ...] = ()


class PartialModel:
    """A graph of a file, in parts that run one after the other.

        partial = nnapi_shim.load("model.tflite", partial=True)
        partial.compile("nnapi-cpu").run(image)

    inputs, outputs: names. parts: each with its operators and its Model, or with the reasons why
    it has none.
    """

    def __init__(self, file: File, graph: Graph, names: Names) -> None:
        self._file = file
        self.graph = graph
        self.inputs = tuple(
            names.inputs.get(index) or graph.tensors[index].name for index in graph.inputs
        )
        self.outputs = tuple(
            names.outputs.get(index) or graph.tensors[index].name for index in graph.outputs
        )
        self.parts = tuple(_parts(file, graph, names))

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why operators have no place in an NNAPI model, in their order."""
        return tuple(reason for part in self.parts for reason in part.reasons)

    def __repr__(self) -> str:
        told = ", ".join(
            f"{len(part.operators)} operators on {'LiteRT' if part.model is None else 'NNAPI'}"
            for part in self.parts
        )
        return f"<PartialModel: {told}>"

    def compile(self, devices: Choice | None = None, **options: Any) -> "PartialCompilation":
        """Make all parts ready.

        devices, options: as of Compilation, for the parts that are models.
        Raises NnapiError as Compilation does, and BAD_DATA for what LiteRT refuses; ImportError
        without LiteRT where it is needed.
        """
        steps = [
            _Litert(self._file, self.graph, part)
            if part.model is None
            else _Model(self.graph, part, Compilation(part.model, devices, **options))
            for part in self.parts
        ]
        return PartialCompilation(self, steps)


class PartialCompilation:
    """A PartialModel made ready. One run at a time."""

    def __init__(self, model: PartialModel, steps: "Sequence[_Model | _Litert]") -> None:
        self.model = model
        self._steps = steps
        self._lock = threading.Lock()

    def run(self, *inputs: ArrayLike, **named: ArrayLike) -> Any:
        """Compute: an array, or a tuple of arrays if there are several outputs.

        inputs: one for each input, in order or by name.
        Raises NnapiError.
        """
        graph = self.model.graph
        given = list(inputs)
        for name in self.model.inputs[len(given) :]:
            if name not in named:
                raise bad_data(f"input {name!r} is not given", "missing")
            given.append(named.pop(name))
        if named or len(given) != len(graph.inputs):
            wanted = ", ".join(map(repr, self.model.inputs))
            raise bad_data(f"the model has the inputs {wanted}", "inputs")
        values = {
            index: _as(graph.tensors[index], value)
            for index, value in zip(graph.inputs, given, strict=True)
        }
        with self._lock:
            for step in self._steps:
                step.run(values)
        results = tuple(_output(graph.tensors[index], values) for index in graph.outputs)
        return results[0] if len(results) == 1 else results

    def reset(self) -> None:
        """Begin anew with all states."""
        with self._lock:
            for step in self._steps:
                step.reset()


class _Model:
    """A part that runs on devices."""

    def __init__(self, graph: Graph, part: Part, compilation: Compilation) -> None:
        self._graph = graph
        self._part = part
        self._compilation = compilation

    def run(self, values: dict[int, Array]) -> None:
        """Compute the part's outputs from what is there."""
        given = [_output(self._graph.tensors[index], values) for index in self._part.inputs]
        results = self._compilation.run(*(np.atleast_1d(value) for value in given))
        if len(self._part.outputs) == 1:
            results = (results,)
        for index, result in zip(self._part.outputs, results, strict=True):
            values[index] = result

    def reset(self) -> None:
        """Begin anew with all states."""
        self._compilation.reset()


class _Litert:
    """A part that LiteRT runs."""

    def __init__(self, file: File, graph: Graph, part: Part) -> None:
        self._graph = graph
        self._part = part
        data = cut(file, graph.number, part.operators, part.inputs, part.outputs)
        try:
            self._interpreter = litert().Interpreter(model_content=data)
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise self._refused(error) from None
        self._shapes: list[tuple[int, ...]] = []

    def _refused(self, error: Exception) -> Exception:
        told = " ".join(str(error).split())
        return bad_data(f"LiteRT refuses {self._part.operators[0]} or what follows it: {told}")

    def run(self, values: dict[int, Array]) -> None:
        """Compute the part's outputs from what is there."""
        interpreter = self._interpreter
        given = [self._given(index, values) for index in self._part.inputs]
        shapes = [value.shape for value in given]
        try:
            if shapes != self._shapes:
                for detail, shape in zip(interpreter.get_input_details(), shapes, strict=True):
                    interpreter.resize_tensor_input(detail["index"], shape)
                interpreter.allocate_tensors()
                self._shapes = shapes
            for detail, value in zip(interpreter.get_input_details(), given, strict=True):
                interpreter.set_tensor(detail["index"], value)
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise self._refused(error) from None
        details = interpreter.get_output_details()
        for index, detail in zip(self._part.outputs, details, strict=True):
            values[index] = interpreter.get_tensor(detail["index"])

    def _given(self, index: int, values: Mapping[int, Array]) -> Array:
        tensor = self._graph.tensors[index]
        value = _as(tensor, _output(tensor, values))
        return value.reshape(()) if not tensor.shape and value.size == 1 else value

    def reset(self) -> None:
        """Begin anew with all states."""
        self._interpreter.reset_all_variables()


def _as(tensor: Tensor, value: ArrayLike) -> Array:
    dtype = DTYPES.get(tensor.type)
    try:
        return np.asarray(value) if dtype is None else np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError):
        raise bad_data(f"{tensor} is {tensor.type}, and a value for it is none", "value") from None


def _output(tensor: Tensor, values: Mapping[int, Array]) -> Array:
    if tensor.number in values:
        return values[tensor.number]
    if tensor.value is None:
        raise bad_data(f"nothing gives {tensor} a value", "no_value")
    return tensor.value


def _parts(file: File, graph: Graph, names: Names) -> Iterator[Part]:
    """The parts, in an order in which they can run."""
    _, reasons = attempt(file, graph, names)
    why: dict[int, list[Reason]] = {}
    _note(why, reasons, graph.operators if reasons and not _numbered(reasons) else ())
    is_held = any(operator.name in HELD_TOGETHER for operator in graph.operators)
    while True:
        outside = {operator.number for operator in graph.operators} if is_held and why else set(why)
        parts, again = [], False
        for operators, is_outside in _runs(graph, outside):
            part = _part(graph, operators)
            if not part.outputs and not is_held:
                continue  # nobody asks for what they compute
            if is_outside:
                told = (reason for operator in operators for reason in why.get(operator.number, ()))
                parts.append(part._replace(reasons=tuple(told)))
                continue
            model, reasons = attempt(file, _graph(graph, part), _names(names, graph, part))
            if model is None:
                _note(why, reasons, () if _numbered(reasons) else operators)
                again = True
                break
            parts.append(part._replace(model=model))
        if not again:
            yield from parts
            return


def _numbered(reasons: Sequence[Reason]) -> bool:
    return any(reason.number is not None for reason in reasons)


def _note(
    why: dict[int, list[Reason]], reasons: Sequence[Reason], operators: Sequence[Operator]
) -> None:
    """Keep reasons by operator; `operators`: those that reasons without a number are of."""
    for reason in reasons:
        if reason.number is not None:
            why.setdefault(reason.number, []).append(reason)
    for operator in operators:
        why.setdefault(operator.number, []).append(
            Reason(operator.number, operator.name, reasons[0].why)
        )


def _runs(graph: Graph, outside: Collection[int]) -> Iterator[tuple[list[Operator], bool]]:
    """Operators of one kind that can run together, as many as there are at a time."""
    waiting = list(graph.operators)
    written = {index for operator in waiting for index in operator.outputs}
    is_outside = bool(waiting) and waiting[0].number in outside
    while waiting:
        run, rest = [], []
        for operator in waiting:
            is_ready = not any(index in written for index in operator.inputs)
            if is_ready and (operator.number in outside) is is_outside:
                run.append(operator)
                written.difference_update(operator.outputs)
            else:
                rest.append(operator)
        if run:
            yield run, is_outside
        waiting, is_outside = rest, not is_outside


def _part(graph: Graph, operators: Sequence[Operator]) -> Part:
    """What goes in and comes out of operators that run together."""
    inside = {operator.number for operator in operators}
    made = {index for operator in operators for index in operator.outputs}
    written = {index for operator in graph.operators for index in operator.outputs}
    read = dict.fromkeys(
        index
        for operator in operators
        for index in operator.inputs
        if index is not None and index not in made and (index in written or index in graph.inputs)
    )
    used = {
        index
        for operator in graph.operators
        if operator.number not in inside
        for index in operator.inputs
    } | set(graph.outputs)
    given = tuple(index for operator in operators for index in operator.outputs if index in used)
    return Part(tuple(operators), tuple(read), given, None)


def _graph(graph: Graph, part: Part) -> Graph:
    """A part as a graph of its own."""
    return graph._replace(operators=part.operators, inputs=part.inputs, outputs=part.outputs)


def _names(names: Names, graph: Graph, part: Part) -> Names:
    """The names of those inputs and outputs of a part that are the whole's."""
    return Names(
        {index: name for index, name in names.inputs.items() if index in part.inputs},
        {index: name for index, name in names.outputs.items() if index in part.outputs},
    )
