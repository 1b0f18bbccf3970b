"""Matrix products."""

import math
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering, common
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import FLOATS, Value
from nnapi_shim.hal.enums import OperandType as T


def _matmul(graph: Importing, node: Node) -> None:
    """MatMul: FULLY_CONNECTED for constant weights, else BATCH_MATMUL."""
    a, b = (graph.value(name) for name in node.inputs)
    if a.type not in (*FLOATS, "INT32") or b.type != a.type:
        raise reason(f"its inputs are {a.type} and {b.type}", "import.onnx.type")
    if b.array is not None and b.rank == 2 and a.rank >= 2 and a.type in FLOATS:
        rows = (math.prod(a.shape[:-1]), a.shape[-1])
        flat = graph.reshaped(graph.elements(a.name), rows)
        result = connected(graph, flat, b.array.T, None, a.type)
        graph.give_elements(node, result, a.type, (*a.shape[:-1], b.shape[-1]))
        return
    operand, shape = product(graph, a, b)
    graph.give_elements(node, operand, a.type, shape)


def connected(graph: Importing, x: Operand, weights: Any, bias: Any, type: str) -> Operand:
    """X [rows, size] times weights [units, size], plus bias [units]."""
    dtype = np.float32 if type == "FLOAT" else np.float16
    filter = graph.constant_operand(Value("weights", type, weights.shape, weights))
    if bias is None:
        bias = np.zeros(weights.shape[0], dtype)
    return graph.make("FULLY_CONNECTED", [x, filter, bias, NONE])


def product(graph: Importing, a: Value, b: Value) -> tuple[Operand, tuple[int, ...]]:
    """The matrix product, by numpy's rules, and its dimensions."""
    if not a.rank or not b.rank:
        raise reason("an input has no dimensions", "import.onnx.matmul.rank")
    first = (1, *a.shape) if a.rank == 1 else a.shape
    second = (*b.shape, 1) if b.rank == 1 else b.shape
    if first[-1] != second[-2]:
        raise reason(f"{list(a.shape)} times {list(b.shape)}", "import.onnx.matmul.sizes")
    lead = common(first[:-2], second[:-2])
    shape = (*lead, first[-2], second[-1])
    result_shape = list(shape)
    if b.rank == 1:
        del result_shape[-1]
    if a.rank == 1:
        del result_shape[-1 if b.rank == 1 else -2]
    pair = []
    for item, own in ((a, first), (b, second)):
        batch = own[:-2]
        operand = graph.elements(item.name)
        if (1,) * (len(lead) - len(batch)) + batch == lead:
            pair.append(graph.reshaped(operand, (math.prod(lead), *own[-2:])))
            continue
        if len(lead) > 2:
            raise reason(
                f"the batches {list(first[:-2])} and {list(second[:-2])} differ", "import.onnx.rank"
            )
        wide = graph.reshaped(operand, (1,) * (len(lead) - len(batch)) + own)
        wide = graph.broadcast(wide, (*lead, *own[-2:]))
        pair.append(graph.reshaped(wide, (math.prod(lead), *own[-2:])))
    return graph.make("BATCH_MATMUL", [*pair, False, False]), tuple(result_shape)


def _gemm(graph: Importing, node: Node) -> None:
    """Gemm: FULLY_CONNECTED for constant weights, else BATCH_MATMUL."""
    a, b = (graph.value(name) for name in node.inputs[:2])
    if a.type not in FLOATS or b.type != a.type or a.rank != 2 or b.rank != 2:
        raise reason(f"its inputs are {a.type} and {b.type}", "import.onnx.type")
    options = node.attributes
    alpha, beta = (float(options.get(name, 1.0)) for name in ("alpha", "beta"))
    left, right = (bool(options.get(name, 0)) for name in ("transA", "transB"))
    m = Math(graph)
    x = graph.operand(a.name)
    bias = graph.value(node.inputs[2]) if graph.has(node, 2) and beta else None
    columns = b.shape[0 if right else 1]
    rows = a.shape[1 if left else 0]
    if b.array is not None:
        if left:
            x = graph.moved(x, (1, 0))
        weights = b.array if right else b.array.T
        if alpha != 1:
            graph.room.take(weights.size * 4, "weights")
            weights = (weights * np.float32(alpha)).astype(weights.dtype)
        row = None
        if bias is not None and bias.array is not None and bias.array.size in (1, columns):
            scaled = (bias.array.reshape(-1) * np.float32(beta)).astype(bias.array.dtype)
            row, bias = np.ascontiguousarray(np.broadcast_to(scaled, (columns,))), None
        result = connected(graph, x, weights, row, a.type)
    else:
        pair = [graph.reshaped(graph.operand(v.name), (1, *v.shape)) for v in (a, b)]
        result = graph.make("BATCH_MATMUL", [*pair, left, right])
        result = graph.reshaped(result, (rows, columns))
        if alpha != 1:
            result = m.mul(result, alpha)
    if bias is not None:
        added = graph.operand(bias.name)
        result = m.add(result, added if beta == 1 else m.mul(added, beta))
    graph.give(node, result, a.type, (rows, columns))


def integers(graph: Importing, name: str, zero: str | None) -> Operand:
    """Bytes without their zero point, as TENSOR_INT32."""
    item = graph.value(name)
    operand = graph.elements(name) if item.rank > 4 else graph.operand(name)
    whole = as_int32(graph, operand)
    if zero is None:
        return whole
    point = graph.value(zero)
    if math.prod(point.shape) != 1:
        raise reason("it has several zero points", "import.onnx.zero-points")
    if point.array is not None and not point.array.any():
        return whole
    return graph.make("SUB", [whole, as_int32(graph, graph.operand(zero)), NONE])


def as_int32(graph: Importing, operand: Operand) -> Operand:
    """Stored bytes as TENSOR_INT32."""
    raw = graph.raw(operand, 1.0, 0)
    if raw.type is T.TENSOR_QUANT8_ASYMM_SIGNED:
        raw = graph.make("DEQUANTIZE", [raw], output=T.TENSOR_FLOAT32)
    return graph.make("CAST", [raw], output=T.TENSOR_INT32)


def _matmul_integer(graph: Importing, node: Node) -> None:
    """MatMulInteger as a product of TENSOR_INT32, which is exact."""
    zeros = [node.inputs[at] if graph.has(node, at) else None for at in (2, 3)]
    pair = []
    for name, zero in zip(node.inputs[:2], zeros, strict=True):
        item = graph.value(name)
        if item.type not in ("UINT8", "INT8"):
            raise reason(f"its input is {item.type}", "import.onnx.type")
        own = graph.fresh()
        graph.define(own, integers(graph, name, zero), "INT32", item.shape)
        pair.append(graph.value(own))
    operand, shape = product(graph, *pair)
    graph.give_elements(node, operand, "INT32", shape)


LOWERINGS: dict[str, Lowering] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
}
