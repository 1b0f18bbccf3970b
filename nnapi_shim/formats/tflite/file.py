"""A .tflite file as plain values, with everything that may lie in it checked.

The tensors' constants are views into the bytes of the file.
"""

import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.checked import Reader
from nnapi_shim.formats.tflite.sparsity import Sparsity, read_sparsity

DTYPES: dict[str, Any] = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "FLOAT64": np.float64,
    "INT64": np.int64,
    "INT32": np.int32,
    "INT16": np.int16,
    "INT8": np.int8,
    "UINT64": np.uint64,
    "UINT32": np.uint32,
    "UINT16": np.uint16,
    "UINT8": np.uint8,
    "BOOL": np.bool_,
    "COMPLEX64": np.complex64,
    "COMPLEX128": np.complex128,
    "BFLOAT16": np.uint16,
}
"""Element type -> that of its array. INT4 has two elements a byte; others have no array."""

QUANTIZED = {"INT4": (-8, 7), "INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}
"""Types that scales say something of, and the range of their elements."""

MOST_SHOWN = 80
"""Letters of a name in a message."""

MOST_DIMENSIONS = 64
"""Of a tensor; numpy's arrays have no more."""


class Tensor(NamedTuple):
    """A tensor.

    shape: sizes. dimensions: the same with 0 for those that only a run tells.
    scales, zero_points: none, one, or one for each index of dimension `channel_dim`.
    value: the contents of a constant, a view into the file; None for others.
    data: the bytes of a constant that is no array (STRING).
    """

    number: int
    name: str
    type: str
    shape: tuple[int, ...]
    dimensions: tuple[int, ...]
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    channel_dim: int = 0
    value: Array | None = None
    data: bytes | None = None
    is_variable: bool = False
    is_sparse: bool = False
    sparsity: Sparsity | None = None

    def __str__(self) -> str:
        name = f" {self.name[:MOST_SHOWN]!r}" if self.name else ""
        return f"tensor {self.number}{name}"

    @property
    def is_per_channel(self) -> bool:
        """Whether it has a scale for each channel."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The scale of a tensor that has one; 0 without."""
        return self.scales[0] if len(self.scales) == 1 else 0.0

    @property
    def zero_point(self) -> int:
        """The zero point of a tensor that has one; 0 without."""
        return self.zero_points[0] if len(self.zero_points) == 1 else 0


class Operator(NamedTuple):
    """An operator. name: in the schema; of a custom one, what it calls itself.

    An omitted input is None. options: name of a field -> value. custom: the bytes that a custom
    operator reads.
    """

    number: int
    name: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = {}
    custom: bytes | None = None
    intermediates: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"operator {self.number} {self.name}"


class Graph(NamedTuple):
    """A graph of a file; inputs and outputs are indexes of tensors."""

    number: int
    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Signature(NamedTuple):
    """What a graph is called by programs. inputs, outputs: index of a tensor -> name."""

    key: str
    graph: int
    inputs: Mapping[int, str]
    outputs: Mapping[int, str]


class File(NamedTuple):
    """What a file says."""

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
            raise bad_data(f"{os.fspath(path)} is no plain file", "plain_file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def is_tflite(data: bytes) -> bool:
    """Whether the bytes say that they are a .tflite file."""
    return data[4:8] == schema.IDENTIFIER


def read(data: bytes) -> File:
    """What a file says.

    Raises BAD_DATA for a file that is none, is damaged, or was made by a newer schema; ImportError
    without the packages that read it.
    """
    if not is_tflite(data):
        raise bad_data("it is no .tflite file: the mark TFL3 is not at byte 4", "mark")
    if len(data) < 16:
        raise bad_data(f"it has {len(data)} bytes, which is no whole .tflite file", "short")
    reader = Reader(data)
    model = reader.call("the model", schema.package().Model.GetRootAs, data, 0)
    version = reader.call("the model", model.Version)
    if version != schema.VERSION:
        raise bad_data(
            f"it has version {version} of the schema; read is version {schema.VERSION}", "version"
        )
    return _Model(reader, model).file()


class _Model:
    """The parts of a file that others refer to."""

    def __init__(self, reader: Reader, model: Any) -> None:
        self._reader = reader
        self._model = model
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
            raise bad_data("the file has no graph", "graphs")
        graphs = tuple(self._graph(number, table) for number, table in enumerate(tables))
        signatures = tuple(
            self._signature(at, table, graphs)
            for at, table in enumerate(reader.tables("the model", model, "SignatureDefs"))
        )
        return File(reader.data, description, graphs, signatures)

    def _code(self, place: str, code: Any) -> tuple[str, bool]:
        """The name of an operator code, and whether it is a custom one."""
        call = self._reader.call
        # Old files have the one, new files the other: the larger is the one that is there.
        number = max(call(place, code.BuiltinCode), call(place, code.DeprecatedBuiltinCode))
        name = schema.names("BuiltinOperator").get(number, f"BUILTIN_{number}")
        if name != "CUSTOM":
            return name, False
        name = self._reader.text(place, call(place, code.CustomCode))[:MOST_SHOWN] or "CUSTOM"
        return name if name.isprintable() else repr(name), True

    def _graph(self, number: int, table: Any) -> Graph:
        reader = self._reader
        at = f"graph {number}"
        name = reader.text(at, reader.call(at, table.Name))
        where = f"{at}, " if number else ""
        tensors = tuple(
            self._tensor(f"{where}tensor {index}", index, tensor)
            for index, tensor in enumerate(reader.tables(at, table, "Tensors"))
        )
        operators = tuple(
            self._operator(where, index, operator, tensors)
            for index, operator in enumerate(reader.tables(at, table, "Operators"))
        )
        inputs, outputs = (
            tuple(_tensor_indexes(f"{at}: {kind}", reader.numbers(at, table, field), tensors))
            for kind, field in (("input", "Inputs"), ("output", "Outputs"))
        )
        graph = Graph(number, name, tensors, operators, _all(at, inputs), _all(at, outputs))
        _check_order(where, graph)
        return graph

    def _operator(
        self, where: str, number: int, operator: Any, tensors: Sequence[Tensor]
    ) -> Operator:
        reader = self._reader
        place = f"{where}operator {number}"
        code = reader.call(place, operator.OpcodeIndex)
        if not 0 <= code < len(self._codes):
            raise bad_data(f"{place}: code {code} of {len(self._codes)} is not there", "code")
        name, is_custom = self._codes[code]
        place = f"{place} {name}"
        inputs, outputs, between = (
            tuple(_tensor_indexes(f"{place}: {kind}", reader.numbers(place, operator, f), tensors))
            for kind, f in (
                ("input", "Inputs"),
                ("output", "Outputs"),
                ("intermediate", "Intermediates"),
            )
        )
        custom = None
        if is_custom:
            custom = reader.array(place, operator, "CustomOptions", 1).tobytes()
            start = reader.call(place, operator.LargeCustomOptionsOffset)
            size = reader.call(place, operator.LargeCustomOptionsSize)
            if start > 1:
                custom = self._beyond(place, start, size).tobytes()
        return Operator(
            number,
            name,
            inputs,
            _all(place, outputs),
            {} if is_custom else self._options(place, operator),
            custom,
            tuple(index for index in between if index is not None),
        )

    def _options(self, place: str, operator: Any) -> Mapping[str, Any]:
        reader = self._reader
        type = reader.call(place, operator.BuiltinOptionsType)
        table = reader.call(place, operator.BuiltinOptions)
        known = schema.names("BuiltinOptions")
        if not type or table is None:
            type = reader.call(place, operator.BuiltinOptions2Type)
            table = reader.call(place, operator.BuiltinOptions2)
            known = schema.names("BuiltinOptions2")
        if not type or table is None:
            return {}
        if type not in known:
            raise bad_data(f"{place}: options {type} are not those of any operator", "options")
        options = getattr(schema.package(), known[type])()
        reader.call(place, options.Init, table.Bytes, table.Pos)
        reader.call(place, lambda: options)
        return reader.fields(place, options)

    def _beyond(self, place: str, start: int, size: int) -> Array:
        """Bytes that lie behind the flatbuffer, or anywhere in the file."""
        if start + size > len(self._reader.data):
            raise bad_data(
                f"{place}: bytes {start} to {start + size}; the file has {len(self._reader.data)}",
                "beyond",
            )
        return np.frombuffer(self._reader.data, np.uint8, size, start)

    def _bytes(self, place: str, number: int) -> Array:
        """The contents of a buffer; the first is that of tensors without any."""
        if not 0 <= number < len(self._buffers):
            raise bad_data(f"{place}: buffer {number}; the file has {len(self._buffers)}", "buffer")
        buffer, reader = self._buffers[number], self._reader
        start = reader.call(place, buffer.Offset)
        if start > 1:
            return self._beyond(place, start, reader.call(place, buffer.Size))
        count: int = reader.call(f"{place}: data", buffer.DataLength)
        if not count:
            return np.empty(0, np.uint8)
        found = reader.call(f"{place}: data", buffer.DataAsNumpy)
        if not isinstance(found, np.ndarray) or found.size != count:
            raise bad_data(f"{place}: its data is not there", "data")
        return found

    def _tensor(self, place: str, index: int, tensor: Any) -> Tensor:
        reader = self._reader
        name = reader.text(place, reader.call(place, tensor.Name))
        code = reader.call(place, tensor.Type)
        if code not in self._types:
            raise bad_data(
                f"{place}: element type {code}; known are those up to {max(self._types)}", "type"
            )
        type = self._types[code]
        shape = reader.numbers(place, tensor, "Shape")
        signature = reader.numbers(place, tensor, "ShapeSignature")
        if len(shape) > MOST_DIMENSIONS:
            raise bad_data(f"{place}: it has {len(shape)} dimensions", "rank")
        if any(size < 0 for size in shape):
            raise bad_data(f"{place}: shape {list(shape)}", "shape")
        if signature and len(signature) != len(shape):
            raise bad_data(
                f"{place}: shape {list(shape)}, and in its signature {list(signature)}",
                "shape_signature",
            )
        dimensions = tuple(
            0 if told < 0 else size for size, told in zip(shape, signature or shape, strict=True)
        )
        scales, zero_points, channel_dim = self._quantization(place, type, shape, tensor)
        made = Tensor(index, name, type, shape, dimensions, scales, zero_points, channel_dim)
        bytes_ = self._bytes(place, reader.call(place, tensor.Buffer))
        sparsity = reader.call(place, tensor.Sparsity)
        is_sparse = sparsity is not None
        if bytes_.size and is_sparse:
            made = made._replace(sparsity=read_sparsity(reader, place, sparsity, bytes_))
        if bytes_.size and not is_sparse:
            if type in DTYPES or type == "INT4":
                made = made._replace(value=_value(place, made, bytes_))
            else:
                reader.spend(place, bytes_.size)
                made = made._replace(data=bytes_.tobytes())
        return made._replace(
            is_variable=bool(reader.call(place, tensor.IsVariable)), is_sparse=is_sparse
        )

    def _quantization(
        self, place: str, type: str, shape: Sequence[int], tensor: Any
    ) -> tuple[tuple[float, ...], tuple[int, ...], int]:
        reader = self._reader
        table = reader.call(place, tensor.Quantization)
        if table is None or type not in (*QUANTIZED, "INT32", "INT64"):
            return (), (), 0  # a file may say of a float tensor that it has a scale
        scales = reader.numbers(place, table, "Scale")
        if not scales:
            return (), (), 0
        zero_points = reader.numbers(place, table, "ZeroPoint", 8)
        dim = reader.call(place, table.QuantizedDimension)
        if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
            raise bad_data(f"{place}: a scale is {min(scales)} or no number", "scale")
        if type in QUANTIZED and not all(scales):
            raise bad_data(f"{place}: a scale is 0", "zero_scale")
        if len(zero_points) not in (0, len(scales)):
            raise bad_data(
                f"{place}: {len(zero_points)} zero points for {len(scales)} scales", "zero_points"
            )
        low, high = QUANTIZED.get(type, (-(2**31), 2**31 - 1))
        wrong = [point for point in zero_points if not low <= point <= high]
        if wrong:
            raise bad_data(
                f"{place}: zero point {wrong[0]}; {type} has {low} to {high}", "zero_point"
            )
        if len(scales) > 1:
            size = shape[dim] if 0 <= dim < len(shape) else None
            if size != len(scales):
                raise bad_data(
                    f"{place}: {len(scales)} scales along dimension {dim} of {list(shape)}",
                    "scales",
                )
        return scales, zero_points or (0,) * len(scales), dim

    def _signature(self, at: int, table: Any, graphs: Sequence[Graph]) -> Signature:
        reader = self._reader
        place = f"signature {at}"
        key = reader.text(place, reader.call(place, table.SignatureKey))
        place = f"{place} {key[:MOST_SHOWN]!r}"
        number = reader.call(place, table.SubgraphIndex)
        if not 0 <= number < len(graphs):
            raise bad_data(f"{place}: graph {number}; the file has {len(graphs)}", "signature")

        def names(field: str, tensors: Sequence[int]) -> dict[int, str]:
            found, allowed = {}, set(tensors)
            for item in reader.tables(place, table, field):
                index = reader.call(place, item.TensorIndex)
                if index not in allowed:
                    raise bad_data(
                        f"{place}: {field} has tensor {index}, which is none of them",
                        "signature_tensor",
                    )
                found[index] = reader.text(place, reader.call(place, item.Name))
            return found

        graph = graphs[number]
        return Signature(
            key, number, names("Inputs", graph.inputs), names("Outputs", graph.outputs)
        )


def _all(place: str, indexes: Sequence[int | None]) -> tuple[int, ...]:
    """Indexes of which none may be left out."""
    found = tuple(index for index in indexes if index is not None)
    if len(found) < len(indexes):
        raise bad_data(f"{place}: an input or output is tensor -1", "index")
    return found


def _tensor_indexes(
    place: str, indexes: Sequence[int], tensors: Sequence[Tensor]
) -> Iterator[int | None]:
    for at, index in enumerate(indexes):
        if not -1 <= index < len(tensors):
            raise bad_data(f"{place} {at} is tensor {index}; the graph has {len(tensors)}", "index")
        yield None if index < 0 else index


def _value(place: str, tensor: Tensor, data: Array) -> Array:
    """The elements of a constant."""
    count = math.prod(tensor.shape)
    is_packed = tensor.type == "INT4"
    size = (count + 1) // 2 if is_packed else count * np.dtype(DTYPES[tensor.type]).itemsize
    if data.nbytes != size:
        raise bad_data(
            f"{place}: {data.nbytes} bytes of data; {tensor.type}{list(tensor.shape)} has {size}",
            "size",
        )
    if is_packed:
        halves = np.stack([data << 4, data & 0xF0], -1).view(np.int8) >> 4
        whole: Array = halves.reshape(-1)[:count].reshape(tensor.shape)
        return whole
    is_other = tensor.type == "BOOL" and (data > 1).any()
    found: Array = data != 0 if is_other else data.view(DTYPES[tensor.type])
    return found.reshape(tensor.shape)


def _check_order(where: str, graph: Graph) -> None:
    """Each tensor has one origin, and is there before it is read."""
    inputs = set(graph.inputs)
    if len(inputs) < len(graph.inputs):
        raise bad_data(f"{where}a tensor is an input of the graph twice", "inputs")
    written = {index: operator for operator in graph.operators for index in operator.outputs}
    if len(written) < sum(len(operator.outputs) for operator in graph.operators):
        raise bad_data(f"{where}a tensor is the output of two operators", "twice")
    for operator in graph.operators:
        for index in operator.outputs:
            tensor = graph.tensors[index]
            if index in inputs or tensor.value is not None:
                kind = "an input of the graph" if index in inputs else "a constant"
                raise bad_data(f"{where}{operator}: its output, {tensor}, is {kind}", "outputs")
        for at, read_index in enumerate(operator.inputs):
            origin = None if read_index is None else written.get(read_index)
            if origin is not None and origin.number >= operator.number:
                raise bad_data(
                    f"{where}{operator}: input {at} is tensor {read_index}, which {origin} "
                    "gives later",
                    "order",
                )
