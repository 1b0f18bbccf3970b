"""Small .tflite files, put together operator by operator."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Array = np.ndarray[Any, np.dtype[Any]]


class Spec(NamedTuple):
    """A tensor: type, shape, quantization."""

    type: str
    shape: tuple[int, ...]
    scale: float | Sequence[float] = 0.0
    zero_point: int = 0
    channel_dim: int = 0
    value: Array | None = None
    name: str = ""
    signature: tuple[int, ...] | None = None
    is_variable: bool = False


def code(enumeration: str, name: str) -> int:
    return int(getattr(getattr(schema, enumeration), name))


def options(operator: Any, kind: str, fields: dict[str, Any]) -> None:
    """Give an operator its options; `kind` is the name of their table."""
    table = getattr(schema, f"{kind}T")()
    for name, value in fields.items():
        assert hasattr(table, name), f"{kind} has no {name}"
        setattr(table, name, value)
    operator.builtinOptionsType = code("BuiltinOptions", kind)
    operator.builtinOptions = table


class Building:
    """A file under construction."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "made by a test"
        self.model.buffers = [schema.BufferT()]
        self.model.subgraphs = []
        self.model.operatorCodes = []
        self.model.signatureDefs = []
        self.graph()

    def graph(self) -> int:
        """Begin another graph; its number."""
        graph = schema.SubGraphT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
        graph.name = f"graph {len(self.model.subgraphs)}"
        self.model.subgraphs.append(graph)
        return len(self.model.subgraphs) - 1

    @property
    def current(self) -> Any:
        return self.model.subgraphs[-1]

    def tensor(self, spec: Spec) -> int:
        """Add a tensor; its number."""
        tensor = schema.TensorT()
        tensor.name = spec.name or f"t{len(self.current.tensors)}"
        tensor.type = code("TensorType", spec.type)
        tensor.shape = list(spec.shape)
        tensor.hasRank = True
        tensor.isVariable = spec.is_variable
        if spec.signature is not None:
            tensor.shapeSignature = list(spec.signature)
        if spec.scale:
            scales = list(np.atleast_1d(spec.scale))
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = [spec.zero_point] * len(scales)
            tensor.quantization.quantizedDimension = spec.channel_dim
        tensor.buffer = 0
        if spec.value is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(spec.value).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.current.tensors.append(tensor)
        return len(self.current.tensors) - 1

    def constant(self, value: Any, scale: float = 0.0, **more: Any) -> int:
        array = np.asarray(value)
        type = {"bool": "BOOL"}.get(array.dtype.name, array.dtype.name.upper())
        return self.tensor(Spec(type, array.shape, scale, value=array, **more))

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        kind: str = "",
        custom: bytes | None = None,
        **fields: Any,
    ) -> None:
        """Add an operator. custom: the options of a custom one."""
        item, kind_of = schema.OperatorT(), schema.OperatorCodeT()
        is_custom = custom is not None
        number = code("BuiltinOperator", "CUSTOM" if is_custom else name)
        kind_of.builtinCode = number
        kind_of.deprecatedBuiltinCode = min(number, 127)
        kind_of.version = 1
        if is_custom:
            kind_of.customCode = name
            item.customOptions = list(custom or b"")
        self.model.operatorCodes.append(kind_of)
        item.opcodeIndex = len(self.model.operatorCodes) - 1
        item.inputs, item.outputs = list(inputs), list(outputs)
        if kind:
            options(item, kind, fields)
        self.current.operators.append(item)

    def signature(
        self, key: str, inputs: dict[str, int], outputs: dict[str, int], graph: int = 0
    ) -> None:
        item = schema.SignatureDefT()
        item.signatureKey, item.subgraphIndex = key, graph
        sides = []
        for names in (inputs, outputs):
            sides.append([])
            for name, index in names.items():
                entry = schema.TensorMapT()
                entry.name, entry.tensorIndex = name, index
                sides[-1].append(entry)
        item.inputs, item.outputs = sides
        self.model.signatureDefs.append(item)

    def ends(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Say what goes in and out of the graph."""
        self.current.inputs, self.current.outputs = list(inputs), list(outputs)

    def version(self, number: int) -> None:
        """The version of the operator that was added last."""
        self.model.operatorCodes[-1].version = number

    def file(self) -> bytes:
        """The bytes."""
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def one_operator(
    name: str,
    inputs: Sequence[Spec | Array | None],
    outputs: Sequence[Spec],
    kind: str = "",
    version: int = 1,
    **fields: Any,
) -> bytes:
    """A file of one operator; arrays are constants, None is an input that is left out."""
    made = Building()
    numbers, arguments = [], []
    for item in inputs:
        if item is None:
            numbers.append(-1)
        elif isinstance(item, Spec):
            numbers.append(made.tensor(item))
            if item.value is None and not item.is_variable:
                arguments.append(numbers[-1])
        else:
            numbers.append(made.constant(item))
    results = [made.tensor(spec) for spec in outputs]
    made.operator(name, numbers, results, kind, **fields)
    made.version(version)
    made.ends(arguments, results)
    return made.file()
