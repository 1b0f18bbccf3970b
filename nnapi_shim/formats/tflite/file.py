"""Reads and checks a .tflite file; the result is plain values.

Constants are views into the bytes of the file.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.checked import Reader
from nnapi_shim.formats.tflite.graph import FileGraph as FileGraph
from nnapi_shim.formats.tflite.graph import Operator as Operator
from nnapi_shim.formats.tflite.graph import check_order, require_all, tensor_indexes
from nnapi_shim.formats.tflite.quantization import Quantization, quantization, with_blocks
from nnapi_shim.formats.tflite.sparsity import read_sparsity
from nnapi_shim.formats.tflite.tensor import DTYPES as DTYPES
from nnapi_shim.formats.tflite.tensor import MOST_SHOWN, elements
from nnapi_shim.formats.tflite.tensor import Tensor as Tensor
from nnapi_shim.hints import NamedTuple

EXTERNAL_BUFFER = 10
"""The position of Tensor.external_buffer in the schema; the package `tflite` lacks it."""

MOST_DIMENSIONS = 64
"""The highest rank of a tensor, as of numpy arrays."""


class Signature(NamedTuple):
    """A named entry point of a file. inputs, outputs: index of a tensor -> name."""

    key: str
    graph: int
    inputs: Mapping[int, str]
    outputs: Mapping[int, str]


class File(NamedTuple):
    """The contents of a file."""

    data: bytes
    description: str
    graphs: tuple[FileGraph, ...]
    signatures: tuple[Signature, ...]


def contents(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises BAD_DATA if it is no regular file."""
    # Non-blocking: opening a pipe must not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise bad_data(f"{os.fspath(path)} is no regular file", "file.not-plain")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def is_tflite(data: bytes) -> bool:
    """Whether the bytes have the file identifier TFL3."""
    return data[4:8] == schema.IDENTIFIER


def read(data: bytes) -> File:
    """Read and check a file.

    Raises BAD_DATA for a file that is not .tflite, is damaged, or has a newer schema; ImportError
    without the packages that read it.
    """
    if not is_tflite(data):
        raise bad_data(
            "it is no .tflite file: the identifier TFL3 is missing at byte 4",
            "import.tflite.file.identifier",
        )
    if len(data) < 16:
        raise bad_data(
            f"it has {len(data)} bytes, which is no whole .tflite file",
            "import.tflite.file.too-short",
        )
    reader = Reader(data)
    model = reader.root("the model", "Model")
    version = reader.get("the model", model, "Version")
    if version != schema.VERSION:
        raise bad_data(
            f"it has schema version {version}; supported is version {schema.VERSION}",
            "import.tflite.file.schema-version",
        )
    return _Model(reader, model).file()


class _Model:
    """Reads a file with the tables that its graphs share."""

    def __init__(self, reader: Reader, model: Any) -> None:
        self._reader = reader
        self._model = model
        self._require_known("the model", "Model", model)
        self._codes = [
            self._code(f"operator code {at}", code)
            for at, code in enumerate(reader.tables("the model", model, "OperatorCodes"))
        ]
        self._buffers = reader.tables("the model", model, "Buffers")
        self._types = schema.names("TensorType")

    def file(self) -> File:
        """Read the whole file."""
        reader, model = self._reader, self._model
        description = reader.text("the model", reader.get("the model", model, "Description"))
        tables = reader.tables("the model", model, "Subgraphs")
        if not tables:
            raise bad_data("the file has no graph", "import.tflite.file.no-graph")
        graphs = tuple(self._graph(number, table) for number, table in enumerate(tables))
        signatures = tuple(
            self._signature(at, table, graphs)
            for at, table in enumerate(reader.tables("the model", model, "SignatureDefs"))
        )
        return File(reader.data, description, graphs, signatures)

    def _unknown(self, location: str, table: str, item: Any) -> str:
        """A message about the first field that this version does not know, or ""."""
        known = schema.field_count(table)
        newer = [at for at, offset in enumerate(item.slots[known:], known) if offset]
        return (
            f"field {newer[0]} of its {table} is newer than this version, which knows {known}"
            if newer
            else ""
        )

    def _require_known(self, location: str, table: str, item: Any) -> None:
        unknown = self._unknown(location, table, item)
        if unknown:
            raise bad_data(f"{location}: {unknown}", "import.tflite.file.unknown-field")

    def _code(self, location: str, code: Any) -> tuple[str, bool]:
        """The name of an operator code, and whether it is a custom operator."""
        get = self._reader.get
        # Old files have deprecated_builtin_code, new ones builtin_code; the larger is valid. The
        # package's BuiltinCode() returns the deprecated one below 127, so both are read here.
        number = max(
            self._reader.slot(location, code, 3), get(location, code, "DeprecatedBuiltinCode")
        )
        self._require_known(location, "OperatorCode", code)
        name = schema.names("BuiltinOperator").get(number, f"BUILTIN_{number}")
        if name != "CUSTOM":
            return name, False
        name = (
            self._reader.text(location, get(location, code, "CustomCode"))[:MOST_SHOWN] or "CUSTOM"
        )
        return name if name.isprintable() else repr(name), True

    def _graph(self, number: int, table: Any) -> FileGraph:
        reader = self._reader
        at = f"graph {number}"
        self._require_known(at, "SubGraph", table)
        name = reader.text(at, reader.get(at, table, "Name"))
        where = f"{at}, " if number else ""
        read = [
            self._tensor(f"{where}tensor {index}", index, tensor)
            for index, tensor in enumerate(reader.tables(at, table, "Tensors"))
        ]
        tensors = tuple(with_blocks(tensor, scaled, read) for tensor, scaled in read)
        operators = tuple(
            self._operator(where, index, operator, tensors)
            for index, operator in enumerate(reader.tables(at, table, "Operators"))
        )
        inputs, outputs = (
            tuple(tensor_indexes(f"{at}: {kind}", reader.numbers(at, table, field), tensors))
            for kind, field in (("input", "Inputs"), ("output", "Outputs"))
        )
        graph = FileGraph(
            number, name, tensors, operators, require_all(at, inputs), require_all(at, outputs)
        )
        check_order(where, graph)
        return graph

    def _operator(
        self, where: str, number: int, operator: Any, tensors: Sequence[Tensor]
    ) -> Operator:
        reader = self._reader
        location = f"{where}operator {number}"
        code = reader.get(location, operator, "OpcodeIndex")
        if not 0 <= code < len(self._codes):
            raise bad_data(
                f"{location}: code {code} does not exist; the file has {len(self._codes)}",
                "import.tflite.file.operator-code",
            )
        name, is_custom = self._codes[code]
        location = f"{location} {name}"
        inputs, outputs, between = (
            tuple(
                tensor_indexes(
                    f"{location}: {kind}", reader.numbers(location, operator, f), tensors
                )
            )
            for kind, f in (
                ("input", "Inputs"),
                ("output", "Outputs"),
                ("intermediate", "Intermediates"),
            )
        )
        unread = self._unknown(location, "Operator", operator)
        custom = None
        if is_custom:
            form = reader.get(location, operator, "CustomOptionsFormat")
            unread = unread or (f"its options have format {form}; known is 0" if form else "")
            custom = reader.array(location, operator, "CustomOptions").tobytes()
            start = reader.get(location, operator, "LargeCustomOptionsOffset")
            size = reader.get(location, operator, "LargeCustomOptionsSize")
            if start > 1:
                custom = self._beyond(location, start, size).tobytes()
        options: Mapping[str, Any] = {}
        if not is_custom:
            options, newer = self._options(location, operator)
            unread = unread or newer
        return Operator(
            number,
            name,
            inputs,
            require_all(location, outputs),
            options,
            custom,
            tuple(index for index in between if index is not None),
            unread,
        )

    def _options(self, location: str, operator: Any) -> tuple[Mapping[str, Any], str]:
        """The options of an operator, and a message about an unknown field or ""."""
        reader = self._reader
        type = reader.get(location, operator, "BuiltinOptionsType")
        field = "BuiltinOptions"
        if not type or not reader.has(operator, field):
            field = "BuiltinOptions2"
            type = reader.get(location, operator, "BuiltinOptions2Type")
        if not type or not reader.has(operator, field):
            return {}, ""
        known = schema.names(field)
        if type not in known:
            raise bad_data(
                f"{location}: options {type} belong to no operator",
                "import.tflite.file.options",
            )
        options = reader.union(location, operator, field, known[type])
        return reader.fields(location, options), self._unknown(location, known[type], options)

    def _beyond(self, location: str, start: int, size: int) -> Array:
        """Bytes anywhere in the file, usually after the flatbuffer."""
        if start + size > len(self._reader.data):
            raise bad_data(
                f"{location}: bytes {start} to {start + size}; "
                f"the file has {len(self._reader.data)}",
                "import.tflite.file.beyond-end",
            )
        return np.frombuffer(self._reader.data, np.uint8, size, start)

    def _bytes(self, location: str, number: int) -> Array:
        """The contents of a buffer; buffer 0 is that of tensors without contents."""
        if not 0 <= number < len(self._buffers):
            raise bad_data(
                f"{location}: buffer {number}; the file has {len(self._buffers)}",
                "import.tflite.file.buffer-index",
            )
        buffer, reader = self._buffers[number], self._reader
        self._require_known(f"buffer {number}", "Buffer", buffer)
        start = reader.get(location, buffer, "Offset")
        if start > 1:
            return self._beyond(location, start, reader.get(location, buffer, "Size"))
        return reader.view(location, buffer, "Data")

    def _tensor(self, location: str, index: int, tensor: Any) -> tuple[Tensor, Quantization]:
        reader = self._reader
        name = reader.text(location, reader.get(location, tensor, "Name"))
        code = reader.get(location, tensor, "Type")
        if code not in self._types:
            raise bad_data(
                f"{location}: element type {code}; known are those up to {max(self._types)}",
                "import.tflite.tensor.type",
            )
        type = self._types[code]
        shape = reader.numbers(location, tensor, "Shape")
        signature = reader.numbers(location, tensor, "ShapeSignature")
        if len(shape) > MOST_DIMENSIONS:
            raise bad_data(
                f"{location}: it has {len(shape)} dimensions", "import.tflite.tensor.rank"
            )
        if any(size < 0 for size in shape):
            raise bad_data(f"{location}: shape {list(shape)}", "import.tflite.tensor.shape")
        if signature and len(signature) != len(shape):
            raise bad_data(
                f"{location}: shape {list(shape)}, and in its signature {list(signature)}",
                "import.tflite.tensor.shape-signature",
            )
        dimensions = tuple(
            0 if declared < 0 else size
            for size, declared in zip(shape, signature or shape, strict=True)
        )
        scaled = quantization(reader, location, type, shape, tensor)
        sparsity = reader.get(location, tensor, "Sparsity")
        result = Tensor(
            index,
            name,
            type,
            shape,
            dimensions,
            scaled.scales,
            scaled.zero_points,
            scaled.channel_dim,
            is_variable=bool(reader.get(location, tensor, "IsVariable")),
            is_sparse=sparsity is not None,
            unread=self._unread(location, tensor) or scaled.unread,
        )
        bytes_ = self._bytes(location, reader.get(location, tensor, "Buffer"))
        if bytes_.size and sparsity is not None:
            result = result._replace(sparsity=read_sparsity(reader, location, sparsity, bytes_))
        if not bytes_.size or result.is_sparse or result.unread:
            return result, scaled
        if type == "INT4" or type == "BOOL":
            # Counted per tensor: each may become an array, though tensors may share bytes.
            reader.spend(location, bytes_.size)
        if type in DTYPES or type == "INT4":
            return result._replace(value=elements(location, result, bytes_)), scaled
        reader.spend(location, bytes_.size)
        return result._replace(data=bytes_.tobytes()), scaled

    def _unread(self, location: str, tensor: Any) -> str:
        """Why the contents of a tensor are not understood, or ""."""
        reader = self._reader
        if reader.slot(location, tensor, EXTERNAL_BUFFER, "I"):
            return "its contents lie in another file (external_buffer)"
        if reader.length(location, tensor, "VariantTensors"):
            return "it holds tensors (variant_tensors)"
        table = reader.get(location, tensor, "Quantization")
        unknown = table and self._unknown(location, "QuantizationParameters", table)
        return unknown or self._unknown(location, "Tensor", tensor)

    def _signature(self, at: int, table: Any, graphs: Sequence[FileGraph]) -> Signature:
        reader = self._reader
        location = f"signature {at}"
        self._require_known(location, "SignatureDef", table)
        key = reader.text(location, reader.get(location, table, "SignatureKey"))
        location = f"{location} {key[:MOST_SHOWN]!r}"
        number = reader.get(location, table, "SubgraphIndex")
        if not 0 <= number < len(graphs):
            raise bad_data(
                f"{location}: graph {number}; the file has {len(graphs)}",
                "import.tflite.signature.graph",
            )

        def names(field: str, tensors: Sequence[int]) -> dict[int, str]:
            result, allowed = {}, set(tensors)
            for item in reader.tables(location, table, field):
                index = reader.get(location, item, "TensorIndex")
                if index not in allowed:
                    raise bad_data(
                        f"{location}: {field} has tensor {index}, which is none of them",
                        "import.tflite.signature.tensor",
                    )
                result[index] = reader.text(location, reader.get(location, item, "Name"))
            return result

        graph = graphs[number]
        return Signature(
            key, number, names("Inputs", graph.inputs), names("Outputs", graph.outputs)
        )
