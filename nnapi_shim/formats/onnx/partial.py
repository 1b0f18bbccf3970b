"""A file as a PartialModel, with ONNX Runtime for what NNAPI cannot express."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.argument import Argument as Description
from nnapi_shim.api.names import unique_names
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.partial import PartialModel
from nnapi_shim.formats.importing.parts import Dataflow, DataflowNode, Part, parts_of
from nnapi_shim.formats.importing.reason import Reason
from nnapi_shim.formats.onnx.file import Argument, File
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.hints import hints_of
from nnapi_shim.formats.onnx.importing.model import finish, lower
from nnapi_shim.formats.onnx.importing.value import OPERAND_TYPES
from nnapi_shim.formats.onnx.onnxruntime_part import OnnxruntimePart, converted
from nnapi_shim.formats.onnx.survey import Survey, define


def partial_model(
    file: File, shapes: Mapping[str, tuple[int, ...]], folder: str | None
) -> PartialModel:
    """The graph of a file in parts. Raises ImportError without ONNX Runtime if a part needs it."""
    graph = file.graph
    inputs = [item._replace(shape=shapes.get(item.name, item.shape)) for item in graph.inputs]
    survey = Survey(file, inputs, folder)
    peer = _Onnxruntime(survey, folder)
    names, outputs = [item.name for item in inputs], [item.name for item in graph.outputs]
    return PartialModel(
        peer,
        list(zip(names, unique_names(names, "input"), strict=True)),
        list(zip(outputs, unique_names(outputs, "output"), strict=True)),
        parts_of(_flow(survey, outputs), survey.reasons, peer.attempt),
    )


def _flow(survey: Survey, outputs: Sequence[str]) -> Dataflow:
    """The nodes without those whose results are known at import and no outputs of the graph."""
    operators = []
    for node in survey.file.graph.nodes:
        results = tuple(filter(None, node.outputs))
        known = (name not in outputs and survey.known(name) is not None for name in results)
        if not all(known):
            names = survey.reads[node.number]
            computed = tuple(name for name in names if survey.known(name) is None)
            operators.append(DataflowNode(node.number, node.kind, computed, results))
    names = tuple(item.name for item in survey.file.graph.inputs)
    return Dataflow(tuple(operators), names, tuple(outputs))


class _Onnxruntime:
    """ONNX Runtime, with the values of a file."""

    name = "ONNX Runtime"

    def __init__(self, survey: Survey, folder: str | None) -> None:
        self._survey = survey
        self._folder = folder

    def attempt(self, part: Part) -> tuple[Part, Sequence[Reason]]:
        """A part with its model, or the reasons why it has none."""
        survey = self._survey
        whole = survey.file.graph
        graph = whole._replace(
            inputs=tuple(survey.argument(name) for name in part.inputs),
            outputs=tuple(Argument(name, "", None) for name in part.outputs),
            nodes=tuple(whole.nodes[operator.number] for operator in part.operators),
        )
        room = Room(len(survey.file.data))
        importing = Importing(survey.file, graph, room, hints_of(graph))
        importing.lower = lower
        survey.seed(importing)
        inputs = tuple(item.name for item in graph.inputs if define(importing, item))
        reasons: list[Reason] = []
        for node in graph.nodes:
            if importing.missing.isdisjoint(node.inputs):
                try:
                    lower(importing, node)
                    continue
                except NnapiError as error:
                    reasons.append(Reason(node.number, node.kind, error.message))
            importing.missing.update(filter(None, node.outputs))
        if not reasons:
            finish(importing, reasons)
        model = None if reasons else importing.model
        return part._replace(model=model, inputs=inputs), reasons

    def part(self, part: Part) -> OnnxruntimePart:
        """A part that ONNX Runtime runs."""
        survey = self._survey
        nodes = [survey.file.graph.nodes[operator.number] for operator in part.operators]
        inputs = [survey.argument(name) for name in part.inputs]
        names = dict.fromkeys(name for node in nodes for name in survey.reads[node.number])
        own = {name for node in nodes for name in node.outputs}
        constants = survey.constants([name for name in names if name not in own])
        content = survey.cutter.cut(nodes, inputs, part.outputs, constants)
        return OnnxruntimePart(content, self._folder, part, inputs)

    def converted(self, name: Any, value: Any) -> Any:
        """A value as an array of its type in the file."""
        return converted(self._survey.argument(name), value)

    def value_of(self, name: Any, values: Mapping[Any, Any]) -> Any:
        """The value of a name; a scalar has dimensions [1]."""
        if name in values:
            value = values[name]
        else:
            known = self._survey.known(name)
            if known is None or known.array is None:
                raise bad_data(f"{name[:80]!r} has no value", "import.onnx.no-value")
            value = known.array
        return np.atleast_1d(value) if isinstance(value, np.ndarray | np.generic) else value

    def argument(self, key: Any, name: str) -> Description:
        """The description of an input or output."""
        item = self._survey.argument(key)
        type = OPERAND_TYPES.get(item.type)
        if type is None:
            raise bad_data(
                f"{key[:80]!r} is {item.type}, which has no type in NNAPI", "import.onnx.type"
            )
        shape = () if item.shape is None else item.shape or (1,)
        sizes = tuple(size if isinstance(size, int) else 0 for size in shape)
        return Description(type, sizes, *self._survey.quantization(key), name)
