"""The first pass of a partial import: which nodes NNAPI cannot express, and the type and dimensions
of every value.
"""

from collections.abc import Iterable, Sequence

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.reason import Reason
from nnapi_shim.formats.onnx.cut import RANK, Cutter
from nnapi_shim.formats.onnx.file import Argument, File, Graph, Node
from nnapi_shim.formats.onnx.importing.control_flow import free_names
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.hints import hints_of
from nnapi_shim.formats.onnx.importing.model import lower, require_opset
from nnapi_shim.formats.onnx.importing.value import OPERAND_TYPES, Value
from nnapi_shim.formats.onnx.onnxruntime_part import output_types, scalars, session


class Survey:
    """The nodes of a file, each tried on its own.

    reasons: why NNAPI cannot express nodes. importing: the values, of which those of refused nodes
    are taken for inputs of the model.
    """

    def __init__(self, file: File, inputs: Sequence[Argument], folder: str | None) -> None:
        self.file = file
        self.cutter = Cutter(file)
        self.reasons: list[Reason] = []
        self.reads = {node.number: reads(node) for node in file.graph.nodes}
        self._folder = folder
        self._nodes = {id(node) for node in file.graph.nodes}
        self._tests: list[Node] = []
        _require_order(file, self.reads)
        graph = file.graph
        self.importing = Importing(file, graph, Room(len(file.data)), hints_of(graph))
        self.importing.lower = self._lower
        self.types: dict[str, Argument] = {}
        """Types and dimensions of the inputs, and of outputs of refused nodes."""
        for item in inputs:
            self._define(item)
        for node in graph.nodes:
            self._lower(self.importing, node)
        for node in graph.nodes:  # those that nothing reads are lowered last
            for name in filter(None, node.outputs):
                if name in self.importing.deferred:
                    self.importing.value(name)
        self._keep_infinities()
        self.reasons.sort(key=lambda reason: reason.number or 0)

    def _lower(self, importing: Importing, node: Node) -> None:
        """Lower a node of the graph, or note why it is refused. Of an inner graph: lower it."""
        if id(node) not in self._nodes:
            lower(importing, node)
            return
        fused = set(importing.done)
        try:
            require_opset(self.file)
            lower(importing, node)
        except NnapiError as error:
            importing.done &= fused  # what was to be lowered with it is tried on its own
            if error.rule == INFINITY or _tests_infinities(node, self.file):
                self._tests.append(node)
            self.reasons.append(Reason(node.number, node.kind, error.message))
            for item in self._typed(node):
                self._define(item)

    def _keep_infinities(self) -> None:
        """Refuse the nodes that compute what a refused node tests for infinities and NaN, since
        NNAPI's operations clamp infinities.
        """
        tests = {
            name: node
            for node in self._tests
            for name in self.reads[node.number]
            if self.known(name) is None
        }
        refused = {reason.number for reason in self.reasons}
        for node in reversed(self.file.graph.nodes):
            test = next((tests[name] for name in node.outputs if name in tests), None)
            if test is None:
                continue
            computed = (name for name in self.reads[node.number] if self.known(name) is None)
            tests.update(dict.fromkeys(computed, test))
            if node.number not in refused:
                why = (
                    f"operator {test.number} {test.kind} tests values that follow from its results "
                    "for infinities or NaN, and NNAPI's operations clamp infinities"
                )
                self.reasons.append(Reason(node.number, node.kind, why))

    def _define(self, item: Argument) -> None:
        """Add a value that NNAPI does not compute."""
        self.types[item.name] = item
        self.importing.values.pop(item.name, None)
        define(self.importing, item)

    def argument(self, name: str) -> Argument:
        """The type and the dimensions of a value."""
        if name not in self.types:
            value = self._value(name)
            if value is not None:
                return Argument(name, value.type, value.shape)
            # It was computed together with the node that reads it.
            writer = next(node for node in self.file.graph.nodes if name in node.outputs)
            self.types.update((item.name, item) for item in self._typed(writer))
        return self.types[name]

    def known(self, name: str) -> Value | None:
        """A value that is known at import."""
        value = None if name in self.types else self._value(name)
        if value is None or (value.array is None and name not in self.file.graph.constants):
            return None
        return value

    def _value(self, name: str) -> Value | None:
        importing = self.importing
        is_there = name in importing.values or name in importing.deferred
        return importing.value(name) if is_there or name in self.file.graph.constants else None

    def quantization(self, name: str) -> tuple[float, int]:
        """The scale and zero point of bytes."""
        value = self.importing.values.get(name)
        operand = None if value is None else value.operand
        return (0.0, 0) if operand is None else (operand.scale, operand.zero_point)

    def seed(self, importing: Importing) -> None:
        """Add what is known at import to the import of a part."""
        for name in self.importing.values:
            if name[:1] != "\0" and (value := self.known(name)) is not None:
                importing.values[name] = value
        for name, item in self.importing.quantized.items():
            if name in importing.values and self.known(item.bytes) is not None:
                importing.quantized[name] = item

    def constants(self, names: Iterable[str]) -> dict[str, Value]:
        """Those of some values that are known at import."""
        values = {name: value for name in names if (value := self.known(name)) is not None}
        for name, value in values.items():
            array = value.array
            if array is not None and 0 in array.strides:  # it is larger than its memory
                self.importing.room.take(array.nbytes, f"{name[:80]!r}")
        return values

    def _typed(self, node: Node) -> list[Argument]:
        """The outputs of a node, as ONNX Runtime infers them."""
        names = self.reads[node.number]
        constants = self.constants(names)
        inputs = [self.argument(name) for name in names if name not in constants]
        outputs = list(filter(None, node.outputs))
        first = f"operator {node.number} {node.kind}"
        cut = self.cutter.cut([node], inputs, outputs, constants)
        types = output_types(session(cut, self._folder, first, is_run=False))
        unclear = [
            item.name for item in types.values() if item.shape is None and item.type.isalnum()
        ]
        if unclear:  # of rank 0, or of unknown rank
            results = [*outputs, *(RANK + name for name in unclear)]
            cut = self.cutter.cut([node], inputs, results, constants, unclear)
            opened = session(cut, self._folder, first, is_run=False)
            for name in scalars(opened, unclear):
                types[name] = types[name]._replace(shape=())
        return [types[name] for name in outputs]


def reads(node: Node) -> tuple[str, ...]:
    """The values that a node and its inner graphs read."""
    names = dict.fromkeys(filter(None, node.inputs))
    for value in node.attributes.values():
        if isinstance(value, Graph):
            names.update(dict.fromkeys(free_names(value)))
    return tuple(names)


INFINITY = "import.onnx.infinity"
"""The rule of nodes that are refused because NNAPI's operations clamp infinities."""


def _tests_infinities(node: Node, file: File) -> bool:
    """Whether a node, its inner graphs or its function have an IsInf or IsNaN."""
    if node.kind in ("IsInf", "IsNaN"):
        return True
    inner = [value.nodes for value in node.attributes.values() if isinstance(value, Graph)]
    if node.kind in file.functions:
        inner.append(file.functions[node.kind].nodes)
    return any(_tests_infinities(item, file) for nodes in inner for item in nodes)


def define(importing: Importing, item: Argument) -> bool:
    """Make a value an input of a model; whether it can be one."""
    name, shape = item.name, item.shape
    if shape is None or not all(isinstance(size, int) for size in shape):
        kind = f"is {item.type}" if not item.type.isalnum() else "has unknown dimensions"
        importing.unreadable[name] = f"{name[:80]!r} {kind} before a run"
        return False
    known = tuple(int(size) for size in shape)
    if 0 in known:
        importing.unreadable[name] = f"{name[:80]!r} has no elements"
    elif item.type not in OPERAND_TYPES:
        importing.values[name] = Value(name, item.type, known)
    else:
        try:
            importing.take(item, known)
            return True
        except NnapiError as error:
            importing.unreadable[name] = error.message
    return False


def _require_order(file: File, reads: dict[int, tuple[str, ...]]) -> None:
    """Refuse nodes that read what no node before them writes, and values written twice."""
    known = {item.name for item in file.graph.inputs} | {*file.graph.constants}
    for node in file.graph.nodes:
        for name in reads[node.number]:
            if name not in known:
                raise bad_data(
                    f"operator {node.number} {node.kind} reads {name[:80]!r}, which no operator "
                    "before it writes",
                    "import.onnx.part.order",
                )
        for name in filter(None, node.outputs):
            if name in known:
                raise bad_data(
                    f"operator {node.number} {node.kind} writes {name[:80]!r}, which exists",
                    "import.onnx.part.twice",
                )
            known.add(name)
    for item in file.graph.outputs:
        if item.name not in known:
            raise bad_data(
                f"no operator writes output {item.name[:80]!r}", "import.onnx.part.output"
            )
