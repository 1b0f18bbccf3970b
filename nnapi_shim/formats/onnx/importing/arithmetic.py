"""Arithmetic, comparisons, logic and selection."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math, number
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Aligned, Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS


def type_of(graph: Importing, names: Sequence[str], *allowed: str) -> str:
    """The element type of all inputs, one of those allowed."""
    types = {graph.value(name).type for name in names}
    type, *others = types
    if others:
        raise reason(f"its inputs are {', '.join(sorted(types))}", "import.onnx.types-differ")
    if type not in allowed:
        why = "its sums could exceed the 32 bits of NNAPI" if type == "INT64" else "no NNAPI type"
        if type in BYTES:
            why = "NNAPI's arithmetic of bytes saturates, that of ONNX wraps"
        raise reason(f"its inputs are {type}: {why}", "import.onnx.type")
    return type


def require_numpy_broadcast(graph: Importing, node: Node) -> None:
    """Refuse the broadcasting of old opsets, from an axis on."""
    if graph.opset < 7 and node.attributes.get("broadcast", 0):
        a, b = (graph.value(name).shape for name in node.inputs[:2])
        axis = node.attributes.get("axis")
        if axis is not None and axis % max(len(a), 1) + len(b) != len(a):
            raise reason(
                f"it broadcasts from axis {axis} on, as opset {graph.opset} does",
                "import.onnx.old-broadcast",
            )


def _chain(kind: str, *allowed: str) -> Lowering:
    """A binary operation; several inputs are a chain."""

    def lower(graph: Importing, node: Node) -> None:
        require_numpy_broadcast(graph, node)
        type = type_of(graph, node.inputs, *allowed)
        aligned = Aligned(graph, node.inputs)
        first, *others = aligned.operands
        if not others:
            graph.alias(node, node.inputs[0])
            return
        if type in BYTES:
            others = [graph.raw(operand, first.scale, first.zero_point) for operand in others]
        fused: list[Any] = [] if kind in ("MAXIMUM", "MINIMUM") else [NONE]
        for operand in others:
            first = graph.make(kind, [first, operand, *fused], **_like(type, first))
        aligned.give(graph, node, first, type)

    return lower


def _like(type: str, operand: Operand) -> dict[str, Any]:
    if type not in BYTES:
        return {}
    return {"scale": operand.scale, "zero_point": operand.zero_point}


def _divide(graph: Importing, node: Node) -> None:
    """Div; of integers it truncates, and NNAPI's rounds down."""
    require_numpy_broadcast(graph, node)
    type = type_of(graph, node.inputs, *FLOATS, "INT32", "INT64")
    aligned = Aligned(graph, node.inputs)
    if type in FLOATS:
        quotient = graph.make("DIV", [*aligned.operands, NONE])
    else:
        quotient = graph.truncated_quotient(*aligned.operands)
    aligned.give(graph, node, quotient, type)


def _modulo(graph: Importing, node: Node) -> None:
    """Mod of integers: the sign of the divisor or, with fmod, of the dividend."""
    type = type_of(graph, node.inputs, "INT32", "INT64")
    aligned = Aligned(graph, node.inputs)
    a, b = aligned.operands
    if node.attributes.get("fmod", 0):
        quotient = graph.truncated_quotient(a, b)
    else:
        quotient = graph.make("DIV", [a, b, NONE])
    multiple = graph.make("MUL", [quotient, b, NONE])
    aligned.give(graph, node, graph.make("SUB", [a, multiple, NONE]), type)


def _power(graph: Importing, node: Node) -> None:
    """Pow; small whole exponents are products."""
    base, exponent = node.inputs
    require_numpy_broadcast(graph, node)
    type = type_of(graph, [base], *FLOATS)
    power = graph.array(exponent)
    math = Math(graph)
    if power is not None and power.size == 1 and len(power.shape) <= graph.value(base).rank:
        aligned = Aligned(graph, [base])
        x, n = aligned.operands[0], float(power.reshape(-1)[0])
        if n == 0.5:
            result = math.unary("SQRT", x)
        elif n in (2, 3):
            result = math.mul(x, x) if n == 2 else math.mul(math.mul(x, x), x)
        else:
            result = graph.make("POW", [x, number(x, n)])
        aligned.give(graph, node, result, type)
        return
    if power is not None:
        exponent = graph.folded(power.astype(np.float32), type)
    type_of(graph, [base, exponent], *FLOATS)
    aligned = Aligned(graph, [base, exponent])
    aligned.give(graph, node, graph.make("POW", aligned.operands), type)


def _mean(graph: Importing, node: Node) -> None:
    """Mean of several inputs."""
    type = type_of(graph, node.inputs, *FLOATS)
    aligned = Aligned(graph, node.inputs)
    math = Math(graph)
    total, *others = aligned.operands
    for operand in others:
        total = math.add(total, operand)
    aligned.give(graph, node, math.div(total, len(node.inputs)), type)


def _compared(kind: str) -> Lowering:
    def lower(graph: Importing, node: Node) -> None:
        require_numpy_broadcast(graph, node)
        allowed = (*FLOATS, "INT32", "INT64", *BYTES, *(("BOOL",) if kind == "EQUAL" else ()))
        type = type_of(graph, node.inputs, *allowed)
        aligned = Aligned(graph, node.inputs)
        a, b = aligned.operands
        if type in BYTES:
            b = graph.raw(b, a.scale, a.zero_point)
        computed = [x for x in (a, b) if x.index not in graph.inputs and x.value is None]
        if kind == "EQUAL" and computed and any(_is_infinite(graph, n) for n in node.inputs):
            raise reason(
                "it compares with infinity, and NNAPI's operations clamp infinities",
                "import.onnx.infinity",
            )
        aligned.give(graph, node, graph.make(kind, [a, b]), "BOOL")

    return lower


def _is_infinite(graph: Importing, name: str) -> bool:
    """Whether a value is a constant with infinities."""
    array = graph.array(name)
    return array is not None and array.dtype.kind == "f" and bool(np.isinf(array).any())


def _logical(kind: str) -> Lowering:
    def lower(graph: Importing, node: Node) -> None:
        require_numpy_broadcast(graph, node)
        type_of(graph, node.inputs, "BOOL")
        aligned = Aligned(graph, node.inputs)
        aligned.give(graph, node, graph.make(kind, aligned.operands), "BOOL")

    return lower


def _where(graph: Importing, node: Node) -> None:
    """Where; NNAPI's SELECT takes tensors of one shape."""
    _condition, *pair = node.inputs
    type = type_of(graph, pair, *FLOATS, "INT32", "INT64", "BOOL", *BYTES)
    aligned = Aligned(graph, node.inputs)
    chosen, a, b = aligned.operands
    if type == "BOOL":
        aligned.give(graph, node, graph.chosen_bool(chosen, a, b), type)
        return
    if type in BYTES:
        b = graph.raw(b, a.scale, a.zero_point)
    operands = [graph.broadcast(operand, aligned.sizes or (1,)) for operand in (chosen, a, b)]
    chosen = graph.make("SELECT", operands, **_like(type, operands[1]))
    aligned.give(graph, node, chosen, type)


LOWERINGS: dict[str, Lowering] = {
    "Add": _chain("ADD", *FLOATS, "INT32"),
    "And": _logical("LOGICAL_AND"),
    "Div": _divide,
    "Equal": _compared("EQUAL"),
    "Greater": _compared("GREATER"),
    "GreaterOrEqual": _compared("GREATER_EQUAL"),
    "Less": _compared("LESS"),
    "LessOrEqual": _compared("LESS_EQUAL"),
    "Max": _chain("MAXIMUM", *FLOATS, "INT32", "INT64", *BYTES),
    "Mean": _mean,
    "Min": _chain("MINIMUM", *FLOATS, "INT32", "INT64", *BYTES),
    "Mod": _modulo,
    "Mul": _chain("MUL", *FLOATS, "INT32"),
    "Not": _logical("LOGICAL_NOT"),
    "Or": _logical("LOGICAL_OR"),
    "Pow": _power,
    "Sub": _chain("SUB", *FLOATS, "INT32"),
    "Sum": _chain("ADD", *FLOATS, "INT32"),
    "Where": _where,
    "Xor": _logical("NOT_EQUAL"),
}
