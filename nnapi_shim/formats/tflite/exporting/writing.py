"""Serializes subgraphs as .tflite bytes with the generated builders of the package `tflite`."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import flatbuffers
import numpy as np
import tflite

from nnapi_shim.formats.graph.tensor import Tensor
from nnapi_shim.formats.tflite.exporting.subgraph import Subgraph
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.formats.tflite.exporting.versions import version

SCHEMA_VERSION = 3
ALIGNMENT = 16
SIGNATURE = "serving_default"
OLD_CODES = 127
"""Codes from this number on do not fit in deprecated_builtin_code, which then has this number."""

MIN_RUNTIME_VERSION = "2.18.0"
"""The first release of TensorFlow Lite with all operator versions that are written."""


def written(subgraphs: Sequence[Subgraph]) -> bytes:
    """The serialized file; its signature is of the first subgraph."""
    return _Writer(subgraphs).file()


OTHER_TABLES = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "LSH_PROJECTION": "LSHProjectionOptions",
    "LSTM": "LSTMOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MULTINOMIAL": "RandomOptions",
    "PADV2": "PadV2Options",
    "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
    "TOPK_V2": "TopKV2Options",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    **dict.fromkeys(["MEAN", "SUM", "REDUCE_ALL", "REDUCE_ANY"], "ReducerOptions"),
    **dict.fromkeys(["REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"], "ReducerOptions"),
}
"""Operator -> the schema's table of its options, if it is not called like the operator."""


def options_table(kind: str) -> str:
    """The schema's table of the options of an operator; "" if it has none."""
    name = "".join(word.capitalize() for word in kind.split("_")) + "Options"
    name = OTHER_TABLES.get(kind, name)
    return name if hasattr(tflite.BuiltinOptions, name) else ""


@cache
def _functions(table: str) -> Any:
    return import_module(f"tflite.{table}")


class _Writer:
    def __init__(self, subgraphs: Sequence[Subgraph]) -> None:
        self.subgraphs = subgraphs
        self.b = flatbuffers.Builder(1024)
        self.codes: dict[tuple[str, int], int] = {}
        self.buffers: list[bytes] = [b""]
        self.buffer_of: dict[bytes, int] = {}

    # Parts of a flatbuffer

    def table(self, name: str, **fields: Any) -> int:
        """A table; fields have the schema's names in camel case, None is left out."""
        functions = _functions(name)
        getattr(functions, f"{name}Start")(self.b)
        for field, value in fields.items():
            if value is not None:
                getattr(functions, f"{name}Add{field}")(self.b, value)
        return int(getattr(functions, f"{name}End")(self.b))

    def vector(self, values: Sequence[Any], dtype: Any = np.int32) -> int:
        """A vector of numbers."""
        return int(self.b.CreateNumpyVector(np.asarray(values, dtype)))

    def offsets(self, values: Sequence[int]) -> int:
        """A vector of tables."""
        self.b.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.b.PrependUOffsetTRelative(value)
        return int(self.b.EndVector())

    def aligned(self, data: bytes) -> int:
        """A vector of bytes aligned to ALIGNMENT."""
        self.b.StartVector(1, len(data), ALIGNMENT)
        self.b.head = self.b.head - len(data)
        self.b.Bytes[self.b.head : self.b.head + len(data)] = data
        return int(self.b.EndVector())

    # Tables of the schema

    def file(self) -> bytes:
        """The whole file."""
        pairs = [self.subgraph(subgraph) for subgraph in self.subgraphs]
        signature = self.signature(pairs[0][1])
        runtime_version = self.buffer(MIN_RUNTIME_VERSION.encode().ljust(16, b"\0"))
        name = self.b.CreateString("min_runtime_version")
        metadata = self.table("Metadata", Name=name, Buffer=runtime_version)
        buffers = [self._buffer(data) for data in self.buffers]
        codes = [self.operator_code(*code) for code in self.codes]
        description = self.b.CreateString("nnapi_shim")
        listed = {
            "OperatorCodes": self.offsets(codes),
            "Subgraphs": self.offsets([offset for offset, _ in pairs]),
            "Buffers": self.offsets(buffers),
            "Metadata": self.offsets([metadata]),
            "SignatureDefs": self.offsets([signature]),
        }
        model = self.table("Model", Version=SCHEMA_VERSION, Description=description, **listed)
        self.b.Finish(model, b"TFL3")
        return bytes(self.b.Output())

    def _buffer(self, data: bytes) -> int:
        where = self.aligned(data) if data else None
        return self.table("Buffer", Data=where)

    def buffer(self, data: bytes) -> int:
        """The index of the buffer with these bytes, which is added if new."""
        if data not in self.buffer_of:
            self.buffer_of[data] = len(self.buffers)
            self.buffers.append(data)
        return self.buffer_of[data]

    def signature(self, indexes: dict[int, int]) -> int:
        """The SignatureDef with the names of the model's inputs and outputs."""
        main = self.subgraphs[0]
        lists = []
        for tensors in (main.inputs, main.outputs):
            maps = []
            names: set[str] = set()
            for t in tensors:
                label = t.name if t.name not in names else f"{t.name}_{len(names)}"
                names.add(label)
                name = self.b.CreateString(label)
                maps.append(self.table("TensorMap", Name=name, TensorIndex=indexes[id(t)]))
            lists.append(self.offsets(maps))
        key = self.b.CreateString(SIGNATURE)
        return self.table(
            "SignatureDef", Inputs=lists[0], Outputs=lists[1], SignatureKey=key, SubgraphIndex=0
        )

    def subgraph(self, graph: Subgraph) -> tuple[int, dict[int, int]]:
        """A SubGraph, and the index of each tensor by its identity."""
        indexes: dict[int, int] = {}
        tensors: list[Tensor] = []
        listed = [*graph.inputs, *graph.outputs]
        for operator in graph.operators:
            listed += [t for t in (*operator.inputs, *operator.outputs) if t is not None]
        for t in listed:
            if id(t) not in indexes:
                indexes[id(t)] = len(tensors)
                tensors.append(t)
        offsets = [self.tensor(t, at) for at, t in enumerate(tensors)]
        operators = [self.operator(operator, indexes) for operator in graph.operators]
        name = self.b.CreateString(graph.name)
        listed_in = self.vector([indexes[id(t)] for t in graph.inputs])
        listed_out = self.vector([indexes[id(t)] for t in graph.outputs])
        tables = self.offsets(offsets), self.offsets(operators)
        offset = self.table(
            "SubGraph",
            Tensors=tables[0],
            Inputs=listed_in,
            Outputs=listed_out,
            Operators=tables[1],
            Name=name,
        )
        return offset, indexes

    def tensor(self, t: Tensor, index: int) -> int:
        """A Tensor with its quantization and, for a constant, its buffer."""
        buffer = 0 if t.value is None else self.buffer(np.ascontiguousarray(t.value).tobytes())
        sizes = t.dimensions if t.value is None else t.value.shape
        shape = self.vector([size or 1 for size in sizes] if t.value is None else sizes)
        signature = None
        if t.value is None and 0 in sizes:
            signature = self.vector([size or -1 for size in sizes])
        name = self.b.CreateString(t.name or f"tensor_{index}")
        return self.table(
            "Tensor",
            Shape=shape,
            Type=type_code(t.type),
            Buffer=buffer,
            Name=name,
            Quantization=self.quantization(t),
            ShapeSignature=signature,
            HasRank=bool(sizes) or None,
            IsVariable=t.is_variable or None,
        )

    def quantization(self, t: Tensor) -> int | None:
        """The QuantizationParameters; None without a scale."""
        if t.channel_quant is not None:
            scales, axis = t.channel_quant
            pair = self.vector(scales, np.float32), self.vector([0] * len(scales), np.int64)
            return self.table(
                "QuantizationParameters", Scale=pair[0], ZeroPoint=pair[1], QuantizedDimension=axis
            )
        if not t.scale:
            return None
        pair = self.vector([t.scale], np.float32), self.vector([t.zero_point], np.int64)
        return self.table("QuantizationParameters", Scale=pair[0], ZeroPoint=pair[1])

    def operator(self, operator: Any, indexes: dict[int, int]) -> int:
        """An Operator; options: those of the schema's table, or `custom`, raw bytes."""
        options = dict(operator.options)
        name, custom = options_table(operator.kind), options.pop("custom", None)
        fields: dict[str, Any] = {}
        if name:
            values = {
                key: self.vector(value)
                if isinstance(value, tuple)
                else self.b.CreateString(value)
                if isinstance(value, str)
                else value
                for key, value in options.items()
            }
            fields["BuiltinOptions"] = self.table(name, **values)
            fields["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, name)
        if custom is not None:
            fields["CustomOptions"] = self.b.CreateByteVector(custom)
        code = (operator.kind, version(operator))
        at = self.codes.setdefault(code, len(self.codes))
        ins = self.vector([-1 if t is None else indexes[id(t)] for t in operator.inputs])
        outs = self.vector([indexes[id(t)] for t in operator.outputs])
        return self.table("Operator", OpcodeIndex=at, Inputs=ins, Outputs=outs, **fields)

    def operator_code(self, kind: str, number: int) -> int:
        """The index of an OperatorCode; names that are no builtin's are custom operators."""
        builtin = getattr(tflite.BuiltinOperator, kind, None)
        custom = self.b.CreateString(kind) if builtin is None else None
        code = tflite.BuiltinOperator.CUSTOM if builtin is None else builtin
        return self.table(
            "OperatorCode",
            DeprecatedBuiltinCode=min(code, OLD_CODES),
            BuiltinCode=code,
            CustomCode=custom,
            Version=number,
        )
