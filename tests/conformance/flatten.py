"""Writes conformance vectors as one flat file that a C program reads without a parser.

The file is a sequence of 4-byte little-endian words: integers (int32), floats (float32) and
bytes (their length in an integer, then the bytes, filled with zeros to a multiple of 4).

    file        number of examples, then each example
    example     name (bytes), has to fail, is relaxed, can have dynamic outputs (0 or 1 each),
                number of graphs, graphs (the main one first), inputs, outputs
    graph       number of operands, operands, number of operations, operations,
                inputs (indexes), outputs (indexes)
    operand     type, zero point, scale (float), dimensions (indexes), kind of its value, value
    value       TEMPORARY, INPUT, OUTPUT, OMITTED: nothing; CONSTANT, IN_MEMORY: bytes;
                GRAPH: number of the graph. After it, for type 11 only: channel dimension, number
                of scales, scales (floats)
    operation   code, inputs (indexes), outputs (indexes)
    indexes     how many, then that many integers
    input       bytes; none for an omitted input
    output      is compared (0 or 1), absolute and relative tolerance (floats), expected bytes
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType, OperationType
from tests.conformance.vectors import Example

VALUE_KINDS = {
    "temporary": 0,
    "input": 1,
    "output": 2,
    "omitted": 3,
    "constant": 4,
    "constant_memory": 5,
    "model": 6,
}
SCALAR_RESULT = {OperationType.RANK, OperationType.IF, OperationType.WHILE}
"""Operations whose outputs cannot be declared with unknown dimensions."""

FLOAT16_TOLERANCE = (5 * 2.0**-10, 5 * 2.0**-10)
FLOAT32_TOLERANCE = (1e-5, 5 * 2.0**-23)


def flatten(examples: Sequence[Example]) -> bytes:
    """The file for these examples."""
    return b"".join([_int(len(examples)), *(_example(example) for example in examples)])


def _int(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def _float(*values: float) -> bytes:
    # By way of numpy: struct refuses a number that only rounding makes a float32.
    return np.array(values, "<f4").tobytes()


def _bytes(data: bytes) -> bytes:
    return _int(len(data)) + data + bytes(-len(data) % 4)


def _indexes(values: Iterable[int]) -> bytes:
    listed = list(values)
    return _int(len(listed), *listed)


def _example(example: Example) -> bytes:
    entry = example.entry
    main = example.graphs[0]
    outputs = [
        _output(example, main["operands"][index], example.bytes_at(location))
        for index, location in zip(main["outputs"], entry["outputs"], strict=True)
    ]
    return b"".join(
        [
            _bytes(example.name.encode()),
            _int(entry["expect_failure"], entry["relaxed"]),
            _int(not example.operations & SCALAR_RESULT),
            _int(len(example.graphs)),
            *(_graph(example, graph) for graph in example.graphs),
            *(_bytes(example.bytes_at(location)) for location in entry["inputs"]),
            *outputs,
        ]
    )


def _graph(example: Example, graph: dict[str, Any]) -> bytes:
    operations = [
        _int(code) + _indexes(inputs) + _indexes(outputs)
        for code, inputs, outputs in graph["operations"]
    ]
    return b"".join(
        [
            _int(len(graph["operands"])),
            *(_operand(example, operand) for operand in graph["operands"]),
            _int(len(operations)),
            *operations,
            _indexes(graph["inputs"]),
            _indexes(graph["outputs"]),
        ]
    )


def _operand(example: Example, operand: dict[str, Any]) -> bytes:
    parts = [
        _int(operand["type"], operand.get("zero_point", 0)),
        _float(operand.get("scale", 0.0)),
        _indexes(operand["dims"]),
        _int(VALUE_KINDS[operand["lifetime"]]),
    ]
    if "data" in operand:
        parts.append(_bytes(example.bytes_at(operand["data"])))
    elif operand["lifetime"] == "model":
        parts.append(_int(operand["model"] + 1))  # the main graph is number 0
    if "channel" in operand:
        scales = operand["channel"]["scales"]
        parts += [_int(operand["channel"]["dim"], len(scales)), _float(*scales)]
    return b"".join(parts)


def _output(example: Example, operand: dict[str, Any], expected: bytes) -> bytes:
    compared = not operand.get("ignored", False)
    return _int(compared) + _float(*_tolerance(example, operand["type"])) + _bytes(expected)


def _tolerance(example: Example, type: int) -> tuple[float, float]:
    """Absolute and relative tolerance of an output (the table in shared/conformance/README.md)."""
    T = OperandType
    types = {operand["type"] for graph in example.graphs for operand in graph["operands"]}
    if type == T.TENSOR_FLOAT16:
        return FLOAT16_TOLERANCE
    if type == T.TENSOR_FLOAT32:
        is_coarse = example.entry["relaxed"] or T.TENSOR_FLOAT16 in types
        return FLOAT16_TOLERANCE if is_coarse else FLOAT32_TOLERANCE
    if type == T.TENSOR_BOOL8:
        return (0.0, 0.0)
    if type in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM):
        return (float(example.entry["quant8_tolerance"]), 0.0)
    return (1.0, 0.0)
