"""Writes .onnx files with some nodes of a graph, for ONNX Runtime.

Nodes, initializers, functions and versions of operators are copied as the bytes of the file.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.onnx.file import Argument, File, Node
from nnapi_shim.formats.onnx.importing.value import Value
from nnapi_shim.formats.onnx.schema import SCHEMA, TYPES
from nnapi_shim.formats.onnx.wire import Reader

NUMBERS = {name: number for number, name in TYPES.items()}
"""Element type -> TensorProto.DataType."""

KINDS = {"seq": 4, "optional": 9}
"""Kind of a type in ONNX Runtime -> its field in TypeProto."""


class Cutter:
    """Writes parts of one file."""

    def __init__(self, file: File) -> None:
        model = Reader(file.data, SCHEMA).message("Model")
        self._data = memoryview(file.data)
        self._initializers = {item.name: item for item in model.graph.initializer}
        self._inputs = {item.name: item for item in model.graph.input}
        self._head = b"".join(
            [
                _number(1, model.ir_version),
                *(_field(8, self._bytes(item)) for item in model.opset_import),
                *(_field(25, self._bytes(item)) for item in model.functions),
            ]
        )

    def _bytes(self, message: Any) -> memoryview:
        return self._data[message.start : message.end]

    def cut(
        self,
        nodes: Iterable[Node],
        inputs: Sequence[Argument],
        outputs: Iterable[str],
        constants: Mapping[str, Value],
        ranks_of: Iterable[str] = (),
    ) -> bytes:
        """A file with these nodes.

        constants: values that are known at import, by name, which the nodes read. ranks_of: values
        whose dimensions become outputs, too, as RANK of their names.
        """
        fields = [_field(1, self._bytes(node)) for node in nodes]
        for name in ranks_of:
            shape = _text(1, name) + _text(2, RANK + name) + _text(4, "Shape")
            fields.append(_field(1, shape))
        fields.append(_text(2, "part"))
        for name, value in constants.items():
            item = self._initializers.get(name)
            tensor = self._bytes(item) if item is not None else _tensor(name, value)
            fields.append(_field(5, tensor))
        for argument in inputs:
            fields.append(_field(11, self._value_info(argument)))
        for name in outputs:
            fields.append(_field(12, _text(1, name)))
        return self._head + _field(7, b"".join(fields))

    def _value_info(self, argument: Argument) -> "bytes | memoryview":
        known = self._inputs.get(argument.name)
        if known is not None and (known.type is None or known.type.tensor is None):
            return self._bytes(known)  # a sequence, for instance
        return _text(1, argument.name) + _field(2, _type(argument.type, argument.shape))


RANK = "\0rank "
"""The prefix of outputs with the dimensions of a value."""


def _varint(value: int) -> bytes:
    result = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes([*result, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: "bytes | memoryview") -> bytes:
    return b"".join([_varint(field << 3 | 2), _varint(len(content)), content])


def _text(field: int, text: str) -> bytes:
    return _field(field, text.encode())


def _type(type: str, shape: Sequence[int | str] | None) -> bytes:
    """A TypeProto of an element type, or of a type as ONNX Runtime prints it."""
    inner = re.fullmatch(r"(\w+)\((.*)\)", type)
    if inner is not None and inner[1] in KINDS:
        return _field(KINDS[inner[1]], _field(1, _type(inner[2], None)))
    name = inner[2].upper() if inner is not None and inner[1] == "tensor" else type
    if name not in NUMBERS:
        raise bad_data(f"a value of type {type} passes between parts", "import.onnx.part.type")
    content = _number(1, NUMBERS[name])
    if shape is not None:
        sizes = (_number(1, n) if isinstance(n, int) else b"" for n in shape)
        content += _field(2, b"".join(_field(1, size) for size in sizes))
    return _field(1, content)


def _tensor(name: str, value: Value) -> bytes:
    """A TensorProto of a value that is known at import."""
    assert value.array is not None
    array = np.ascontiguousarray(value.array)
    raw = _packed(array) if value.type in ("INT4", "UINT4") else array.tobytes()
    dims = b"".join(_number(1, size) for size in value.shape)
    return dims + _number(2, NUMBERS[value.type]) + _text(8, name) + _field(9, raw)


def _packed(array: Array) -> bytes:
    """Elements of 4 bits, the low half of each byte first."""
    halves = np.append(array.reshape(-1).view(np.uint8) & 15, [0] * (array.size % 2))
    return bytes((halves[::2] | halves[1::2] << 4).astype(np.uint8))
