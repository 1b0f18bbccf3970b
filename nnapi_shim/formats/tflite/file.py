"""Reads and checks a .tflite file; the result is plain values.

Constants are views into the bytes of the file.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.checked import Reader
from nnapi_shim.formats.tflite.graph import Graph as Graph
from nnapi_shim.formats.tflite.graph import Operator as Operator
from nnapi_shim.formats.tflite.graph import check_order, require_all, tensor_indexes
from nnapi_shim.formats.tflite.quantization import Quantization, quantization, with_blocks
from nnapi_shim.formats.tflite.sparsity import read_sparsity
from nnapi_shim.formats.tflite.tensor import DTYPES as DTYPES
from nnapi_shim.formats.tflite.tensor import MOST_SHOWN, elements
from nnapi_shim.formats.tflite.tensor import Tensor as Tensor

EXTERNAL_BUFFER = 10
"""Position of Tensor.external_buffer in the schema; the package `tflite` does not have it."""

MOST_DIMENSIONS = 64
"""Of a tensor; numpy's arrays have no more."""


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
    graphs: tuple[Graph, ...]
    signatures: tuple[Signature, ...]


def contents(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file. Raises BAD_DATA for what is no plain file."""
    # Without waiting for somebody to write to a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise bad_data(f"{os.fspath(path)} is no plain file", "file.not-plain")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def is_tflite(data: bytes) -> bool:
    """Whether the bytes say that they are a .tflite file."""
    return data[4:8] == schema.IDENTIFIER


def read(data: bytes) -> File:
    """Read and check a file.

    Raises BAD_DATA for a file that is none, is damaged, or was made by a newer schema; ImportError
    without the packages that read it.
    """
    if not is_tflite(data):
        raise bad_data(
            "it is no .tflite file: the mark TFL3 is not at byte 4", "import.tflite.file.identifier"
        )
    if len(data) < 16:
        raise bad_data(
            f"it has {len(data)} bytes, which is no whole .tflite file",
            "import.tflite.file.too-short",
        )
    reader = Reader(data)
    model = reader.call("the model", schema.package().Model.GetRootAs, data, 0)
    version = reader.call("the model", model.Version)
    if version != schema.VERSION:
        raise bad_data(
            f"it has version {version} of the schema; read is version {schema.VERSION}",
            "import.tflite.file.schema-version",
        )
    return _Model(reader, model).file()


class _Model:
    """The reader of a file, with the tables that its graphs refer to."""

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
        """Everything."""
        reader, model = self._reader, self._model
        description = reader.text("the model", reader.call("the model", model.Description))
        tables = reader.tables("the model", model, "Subgraphs")
        if not tables:
            raise bad_data("the file has no graph", "import.tflite.file.no-graph")
        graphs = tuple(self._graph(number, table) for number, table in enumerate(tables))
        signatures = tuple(
            self._signature(at, table, graphs)
            for at, table in enumerate(reader.tables("the model", model, "SignatureDefs"))
        )
        return File(reader.data, description, graphs, signatures)

    def _unknown(self, place: str, table: str, item: Any) -> str:
        """The first field of a table that this version does not know, in words, or ""."""
        known = schema.field_count(table)
        more = [at for at, place in enumerate(self._reader.slots(place, item)) if place]
        newer = [at for at in more if at >= known]
        return (
            f"field {newer[0]} of its {table} is newer than this version, which knows {known}"
            if newer
            else ""
        )

    def _require_known(self, place: str, table: str, item: Any) -> None:
        unknown = self._unknown(place, table, item)
        if unknown:
            raise bad_data(f"{place}: {unknown}", "import.tflite.file.unknown-field")

    def _code(self, place: str, code: Any) -> tuple[str, bool]:
        """The name of an operator code, and whether it is a custom one."""
        call = self._reader.call
        # Old files have the one, new files the other: the larger is the one that is there. The
        # package's BuiltinCode() gives the old one for codes below 127, so it is read here.
        number = max(self._reader.slot(place, code, 3), call(place, code.DeprecatedBuiltinCode))
        self._require_known(place, "OperatorCode", code)
        name = schema.names("BuiltinOperator").get(number, f"BUILTIN_{number}")
        if name != "CUSTOM":
            return name, False
        name = self._reader.text(place, call(place, code.CustomCode))[:MOST_SHOWN] or "CUSTOM"
        return name if name.isprintable() else repr(name), True

    def _graph(self, number: int, table: Any) -> Graph:
        reader = self._reader
        at = f"graph {number}"
        self._require_known(at, "SubGraph", table)
        name = reader.text(at, reader.call(at, table.Name))
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
        graph = Graph(
            number, name, tensors, operators, require_all(at, inputs), require_all(at, outputs)
        )
        check_order(where, graph)
        return graph

    def _operator(
        self, where: str, number: int, operator: Any, tensors: Sequence[Tensor]
    ) -> Operator:
        reader = self._reader
        place = f"{where}operator {number}"
        code = reader.call(place, operator.OpcodeIndex)
        if not 0 <= code < len(self._codes):
            raise bad_data(
                f"{place}: code {code} of {len(self._codes)} is not there",
                "import.tflite.file.operator-code",
            )
        name, is_custom = self._codes[code]
        place = f"{place} {name}"
        inputs, outputs, between = (
            tuple(tensor_indexes(f"{place}: {kind}", reader.numbers(place, operator, f), tensors))
            for kind, f in (
                ("input", "Inputs"),
                ("output", "Outputs"),
                ("intermediate", "Intermediates"),
            )
        )
        unread = self._unknown(place, "Operator", operator)
        custom = None
        if is_custom:
            form = reader.call(place, operator.CustomOptionsFormat)
            unread = unread or (f"its options have format {form}; known is 0" if form else "")
            custom = reader.array(place, operator, "CustomOptions", 1).tobytes()
            start = reader.call(place, operator.LargeCustomOptionsOffset)
            size = reader.call(place, operator.LargeCustomOptionsSize)
            if start > 1:
                custom = self._beyond(place, start, size).tobytes()
        options: Mapping[str, Any] = {}
        if not is_custom:
            options, newer = self._options(place, operator)
            unread = unread or newer
        return Operator(
            number,
            name,
            inputs,
            require_all(place, outputs),
            options,
            custom,
            tuple(index for index in between if index is not None),
            unread,
        )

    def _options(self, place: str, operator: Any) -> tuple[Mapping[str, Any], str]:
        """The options of an operator, and which field of them is not known."""
        reader = self._reader
        type = reader.call(place, operator.BuiltinOptionsType)
        table = reader.call(place, operator.BuiltinOptions)
        known = schema.names("BuiltinOptions")
        if not type or table is None:
            type = reader.call(place, operator.BuiltinOptions2Type)
            table = reader.call(place, operator.BuiltinOptions2)
            known = schema.names("BuiltinOptions2")
        if not type or table is None:
            return {}, ""
        if type not in known:
            raise bad_data(
                f"{place}: options {type} are not those of any operator",
                "import.tflite.file.options",
            )
        options = getattr(schema.package(), known[type])()
        reader.call(place, options.Init, table.Bytes, table.Pos)
        reader.call(place, lambda: options)
        return reader.fields(place, options), self._unknown(place, known[type], options)

    def _beyond(self, place: str, start: int, size: int) -> Array:
        """Bytes anywhere in the file, mostly behind the flatbuffer."""
        if start + size > len(self._reader.data):
            raise bad_data(
                f"{place}: bytes {start} to {start + size}; the file has {len(self._reader.data)}",
                "import.tflite.file.beyond-end",
            )
        return np.frombuffer(self._reader.data, np.uint8, size, start)

    def _bytes(self, place: str, number: int) -> Array:
        """The contents of a buffer; the first is that of tensors without any."""
        if not 0 <= number < len(self._buffers):
            raise bad_data(
                f"{place}: buffer {number}; the file has {len(self._buffers)}",
                "import.tflite.file.buffer-index",
            )
        buffer, reader = self._buffers[number], self._reader
        self._require_known(f"buffer {number}", "Buffer", buffer)
        start = reader.call(place, buffer.Offset)
        if start > 1:
            return self._beyond(place, start, reader.call(place, buffer.Size))
        count: int = reader.call(f"{place}: data", buffer.DataLength)
        if not count:
            return np.empty(0, np.uint8)
        found = reader.call(f"{place}: data", buffer.DataAsNumpy)
        if not isinstance(found, np.ndarray) or found.size != count:
            raise bad_data(f"{place}: its data is not there", "import.tflite.file.buffer-data")
        return found

    def _tensor(self, place: str, index: int, tensor: Any) -> tuple[Tensor, Quantization]:
        reader = self._reader
        name = reader.text(place, reader.call(place, tensor.Name))
        code = reader.call(place, tensor.Type)
        if code not in self._types:
            raise bad_data(
                f"{place}: element type {code}; known are those up to {max(self._types)}",
                "import.tflite.tensor.type",
            )
        type = self._types[code]
        shape = reader.numbers(place, tensor, "Shape")
        signature = reader.numbers(place, tensor, "ShapeSignature")
        if len(shape) > MOST_DIMENSIONS:
            raise bad_data(f"{place}: it has {len(shape)} dimensions", "import.tflite.tensor.rank")
        if any(size < 0 for size in shape):
            raise bad_data(f"{place}: shape {list(shape)}", "import.tflite.tensor.shape")
        if signature and len(signature) != len(shape):
            raise bad_data(
                f"{place}: shape {list(shape)}, and in its signature {list(signature)}",
                "import.tflite.tensor.shape-signature",
            )
        dimensions = tuple(
            0 if told < 0 else size for size, told in zip(shape, signature or shape, strict=True)
        )
        scaled = quantization(reader, place, type, shape, tensor)
        made = Tensor(
            index,
            name,
            type,
            shape,
            dimensions,
            scaled.scales,
            scaled.zero_points,
            scaled.channel_dim,
            is_variable=bool(reader.call(place, tensor.IsVariable)),
            is_sparse=reader.call(place, tensor.Sparsity) is not None,
            unread=self._unread(place, tensor) or scaled.unread,
        )
        bytes_ = self._bytes(place, reader.call(place, tensor.Buffer))
        sparsity = reader.call(place, tensor.Sparsity)
        if bytes_.size and sparsity is not None:
            made = made._replace(sparsity=read_sparsity(reader, place, sparsity, bytes_))
        if not bytes_.size or made.is_sparse or made.unread:
            return made, scaled
        if type == "INT4" or type == "BOOL":
            # They may become arrays of their own, and tensors may share the bytes in the file.
            reader.spend(place, bytes_.size)
        if type in DTYPES or type == "INT4":
            return made._replace(value=elements(place, made, bytes_)), scaled
        reader.spend(place, bytes_.size)
        return made._replace(data=bytes_.tobytes()), scaled

    def _unread(self, place: str, tensor: Any) -> str:
        """Why the contents of a tensor are not understood, or ""."""
        reader = self._reader
        if reader.slot(place, tensor, EXTERNAL_BUFFER, "<I"):
            return "its contents lie in another file (external_buffer)"
        if reader.length(place, tensor, "VariantTensors"):
            return "it holds tensors (variant_tensors)"
        table = reader.call(place, tensor.Quantization)
        unknown = table and self._unknown(place, "QuantizationParameters", table)
        return unknown or self._unknown(place, "Tensor", tensor)

    def _signature(self, at: int, table: Any, graphs: Sequence[Graph]) -> Signature:
        reader = self._reader
        place = f"signature {at}"
        self._require_known(place, "SignatureDef", table)
        key = reader.text(place, reader.call(place, table.SignatureKey))
        place = f"{place} {key[:MOST_SHOWN]!r}"
        number = reader.call(place, table.SubgraphIndex)
        if not 0 <= number < len(graphs):
            raise bad_data(
                f"{place}: graph {number}; the file has {len(graphs)}",
                "import.tflite.signature.graph",
            )

        def names(field: str, tensors: Sequence[int]) -> dict[int, str]:
            found, allowed = {}, set(tensors)
            for item in reader.tables(place, table, field):
                index = reader.call(place, item.TensorIndex)
                if index not in allowed:
                    raise bad_data(
                        f"{place}: {field} has tensor {index}, which is none of them",
                        "import.tflite.signature.tensor",
                    )
                found[index] = reader.text(place, reader.call(place, item.Name))
            return found

        graph = graphs[number]
        return Signature(
            key, number, names("Inputs", graph.inputs), names("Outputs", graph.outputs)
        )
