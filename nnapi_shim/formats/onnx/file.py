"""Reads and checks an .onnx file; the result is plain values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.errors import bad_data
from nnapi_shim.formats.onnx.schema import ATTRIBUTES, SCHEMA, TYPES
from nnapi_shim.formats.onnx.tensor import Constant, constant
from nnapi_shim.formats.onnx.wire import Reader, numbers

NEWEST_IR = 14
"""The newest version of the file format that is read."""

MOST_SHOWN = 80
"""The most characters of a name in a message."""

NO_TENSOR = "no tensor but"
"""How the type of a sequence, map or optional value begins."""

OWN = ("", "ai.onnx")
"""The domain of the standard operators."""


class Argument(NamedTuple):
    """An input or output of a graph.

    type: an element type; "" if it is not stated, "a sequence" and the like for other kinds.
    shape: a size, or the name of an unknown size ("" without), for each dimension; None if unknown.
    """

    name: str
    type: str
    shape: tuple[int | str, ...] | None


class Reference(NamedTuple):
    """An attribute of a function's node that is an attribute of the function."""

    name: str


class Node(NamedTuple):
    """A node. kind: the operator, with its domain in front unless it is a standard one. An omitted
    input or output is "". start, end: its bytes in the file.
    """

    number: int
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    name: str = ""
    start: int = 0
    end: int = 0


class Graph(NamedTuple):
    """A graph."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Constant]


class Function(NamedTuple):
    """An operator that the file defines."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    defaults: Mapping[str, Any]


class File(NamedTuple):
    """The contents of a file. opset: the version of the standard operators."""

    data: bytes
    graph: Graph
    opset: int
    functions: Mapping[str, Function]
    domains: Mapping[str, int]


def is_onnx(data: bytes) -> bool:
    """Whether the bytes start as an .onnx file does: a small ir_version, then another field."""
    return len(data) > 2 and data[0] == 8 and data[1] <= 2 * NEWEST_IR


def read(data: bytes, folder: str | None = None) -> File:
    """Read and check a file.

    folder: that of the file, for constants in other files.
    Raises BAD_DATA for a file that is damaged, newer, or has no graph.
    """
    model = Reader(data, SCHEMA).message("Model")
    if not 1 <= model.ir_version <= NEWEST_IR:
        raise bad_data(
            f"it has IR version {model.ir_version}; supported are 1 to {NEWEST_IR}",
            "import.onnx.file.ir-version",
        )
    if model.graph is None:
        raise bad_data("the file has no graph", "import.onnx.file.no-graph")
    domains = {item.domain: item.version for item in model.opset_import}
    opset = max((domains[name] for name in OWN if name in domains), default=1)
    reading = _Reading(folder)
    functions = {}
    for item in model.functions:
        functions[_kind(item.domain, item.name)] = Function(
            tuple(item.input),
            tuple(item.output),
            reading.nodes(item.node, f"function {item.name}: "),
            reading.attributes(item.attribute_proto, f"function {item.name}"),
        )
        for use in item.opset_import:
            if use.domain in OWN and use.version != opset:
                raise bad_data(
                    f"function {item.name} has opset {use.version}; the model has {opset}",
                    "import.onnx.file.function-opset",
                )
    return File(data, reading.graph(model.graph, ""), opset, functions, domains)


class _Reading:
    """Reads the graphs of a file."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def graph(self, graph: Any, where: str) -> Graph:
        constants: dict[str, Constant] = {}
        for at, item in enumerate(graph.initializer):
            label = f"{where}initializer {at} {item.name[:MOST_SHOWN]!r}"
            if item.name in constants:
                raise bad_data(f"{label} exists twice", "import.onnx.file.initializer-twice")
            constants[item.name] = constant(item, label, self._folder)
        if graph.sparse_initializer:
            raise bad_data(
                f"{where}it has sparse initializers, which are not read",
                "import.onnx.file.sparse",
            )
        inputs, outputs = (
            tuple(_argument(item) for item in items) for items in (graph.input, graph.output)
        )
        for what, items in (("input", inputs), ("output", outputs)):
            names = {item.name for item in items}
            if "" in names or (what == "input" and len(names) < len(items)):
                raise bad_data(
                    f"{where}the {what}s have no names, or a name twice",
                    "import.onnx.file.argument-names",
                )
        return Graph(
            graph.name,
            tuple(item for item in inputs if item.name not in constants),
            outputs,
            self.nodes(graph.node, where),
            constants,
        )

    def nodes(self, nodes: Any, where: str) -> tuple[Node, ...]:
        """The nodes of a graph or function."""
        result = []
        for number, node in enumerate(nodes):
            kind = _kind(node.domain, node.op_type) + (f":{node.overload}" if node.overload else "")
            label = f"{where}node {number} {kind}"
            attributes = self.attributes(node.attribute, label)
            result.append(
                Node(
                    number,
                    kind,
                    tuple(node.input),
                    tuple(node.output),
                    attributes,
                    node.name,
                    node.start,
                    node.end,
                )
            )
        return tuple(result)

    def attributes(self, items: Any, where: str) -> dict[str, Any]:
        """Name -> number, text, Constant, Graph, Reference, or list; None for other kinds."""
        result: dict[str, Any] = {}
        for item in items:
            label = f"{where}: attribute {item.name[:MOST_SHOWN]}"
            if item.reference:
                result[item.name] = Reference(item.reference)
                continue
            field = ATTRIBUTES.get(item.type) or _guessed(item)
            if field is None:
                result[item.name] = None  # its operator is refused
                continue
            result[item.name] = self._attribute(getattr(item, field), field, label)
        return result

    def _attribute(self, value: Any, field: str, label: str) -> Any:
        if field == "t" and value is not None:
            return constant(value, label, self._folder)
        if field == "g" and value is not None:
            return self.graph(value, f"{label}: ")
        if value is None:
            raise bad_data(f"{label} has no value", "import.onnx.file.attribute")
        if field == "s":
            return bytes(value).decode("utf-8", "replace")
        if field == "strings":
            return [bytes(text).decode("utf-8", "replace") for text in value]
        if field in ("ints", "floats"):
            return numbers(value, np.int64 if field == "ints" else np.float32).tolist()
        return value


def _guessed(item: Any) -> str | None:
    """The field of an attribute without type, as old files have."""
    if item.type:
        return None
    for field in ("t", "g", "floats", "ints", "strings", "s", "f", "i"):
        value = getattr(item, field)
        if value is not None and not (isinstance(value, list | bytes | int | float) and not value):
            return field
    return "i"


def _kind(domain: str, name: str) -> str:
    text = name if domain in OWN else f"{domain}.{name}"
    text = text[:MOST_SHOWN]
    return text if text.isprintable() else repr(text)


def _argument(item: Any) -> Argument:
    type = item.type
    if type is None:
        return Argument(item.name, "", None)
    if type.tensor is None:
        kinds = ("sequence", "map", "sparse", "optional")
        kind = next((kind for kind in kinds if getattr(type, kind) is not None), "")
        return Argument(item.name, f"{NO_TENSOR} {kind or 'of unknown kind'}", None)
    tensor = type.tensor
    name = TYPES.get(tensor.elem_type, f"type {tensor.elem_type}")
    if tensor.shape is None:
        return Argument(item.name, name, None)
    shape = tuple(_size(dim) for dim in tensor.shape.dim)
    return Argument(item.name, name, shape)


def _size(dim: Any) -> int | str:
    # A size of 0 is written as 0, or is absent if the size is not known.
    if dim.param or dim.end == dim.start or dim.value < 0:
        return str(dim.param)
    return int(dim.value)
