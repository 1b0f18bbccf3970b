"""Unary element-wise operators and activations."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing import math
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.arithmetic import type_of
from nnapi_shim.formats.onnx.importing.elementwise import Aligned, Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS

Formula = Callable[[Math, Operand, Node], Operand]


def _by(formula: Formula, *allowed: str, result: str = "") -> Lowering:
    """An operator of one input."""

    def lower(graph: Importing, node: Node) -> None:
        type = type_of(graph, node.inputs[:1], *(allowed or FLOATS))
        aligned = Aligned(graph, node.inputs[:1])
        computed = formula(Math(graph), aligned.operands[0], node)
        aligned.give(graph, node, computed, result or type)

    return lower


def _function(function: Callable[[Math, Operand], Operand], *allowed: str) -> Lowering:
    """A function without parameters."""
    return _by(lambda m, x, node: function(m, x), *allowed)


def _plain(kind: str, *allowed: str) -> Lowering:
    return _function(lambda m, x: m.unary(kind, x), *allowed)


def _float(node: Node, name: str, default: float) -> float:
    return float(node.attributes.get(name, default))


def _hyperbolic_cosine(m: Math, x: Operand, node: Node) -> Operand:
    grown, shrunk = (m.unary("EXP", item) for item in (x, m.unary("NEG", x)))
    return m.mul(m.add(grown, shrunk), 0.5)


def _gelu(m: Math, x: Operand, node: Node) -> Operand:
    approximate = node.attributes.get("approximate", "none")
    if approximate not in ("tanh", "none"):
        raise reason(f"approximate is {approximate!r}", "import.onnx.attribute")
    return math.gelu_by_tanh(m, x) if approximate == "tanh" else math.gelu(m, x)


def _leaky_relu(m: Math, x: Operand, node: Node) -> Operand:
    return m.pair("PRELU", x, _float(node, "alpha", 0.01))


def _elu(m: Math, x: Operand, node: Node) -> Operand:
    return m.graph.make("ELU", [x, _float(node, "alpha", 1.0)])


def _selu(m: Math, x: Operand, node: Node) -> Operand:
    """Gamma * ELU(alpha * (e^x - 1)); the defaults are those of the operator, as float32."""
    alpha = _float(node, "alpha", 1.67326319217681884765625)
    gamma = _float(node, "gamma", 1.05070102214813232421875)
    return m.mul(m.graph.make("ELU", [x, alpha]), gamma)


def _celu(m: Math, x: Operand, node: Node) -> Operand:
    alpha = _float(node, "alpha", 1.0)
    if alpha <= 0:
        raise reason(f"alpha is {alpha}", "import.onnx.attribute")
    below = m.sub(m.unary("EXP", m.div(m.min(x, 0), alpha)), 1)
    return m.add(m.max(x, 0), m.mul(below, alpha))


def _hard_sigmoid(m: Math, x: Operand, node: Node) -> Operand:
    line = m.add(m.mul(x, _float(node, "alpha", 0.2)), _float(node, "beta", 0.5))
    return m.max(m.min(line, 1), 0)


def _softplus(m: Math, x: Operand, node: Node) -> Operand:
    """log(1 + e^x), which does not overflow as max(x, 0) + log(1 + e^-|x|)."""
    power = m.unary("EXP", m.unary("NEG", m.unary("ABS", x)))
    return m.add(m.max(x, 0), m.unary("LOG", m.add(power, 1)))


def _mish(m: Math, x: Operand, node: Node) -> Operand:
    return m.mul(x, m.unary("TANH", _softplus(m, x, node)))


def _softsign(m: Math, x: Operand, node: Node) -> Operand:
    return m.div(x, m.add(m.unary("ABS", x), 1))


def _swish(m: Math, x: Operand, node: Node) -> Operand:
    alpha = _float(node, "alpha", 1.0)
    return m.mul(x, m.unary("LOGISTIC", x if alpha == 1 else m.mul(x, alpha)))


def _thresholded(m: Math, x: Operand, node: Node) -> Operand:
    above = m.greater(x, _float(node, "alpha", 1.0))
    return m.select(above, x, m.full(x, 0))


def _shrink(m: Math, x: Operand, node: Node) -> Operand:
    bias, threshold = _float(node, "bias", 0.0), _float(node, "lambd", 0.5)
    below = m.select(m.less(x, -threshold), m.add(x, bias), m.full(x, 0))
    return m.select(m.greater(x, threshold), m.sub(x, bias), below)


def _is_infinite(m: Math, x: Operand, node: Node) -> Operand:
    if x.index not in m.graph.inputs:
        raise reason("NNAPI's operations clamp infinities", "import.onnx.infinity")
    up, down = (node.attributes.get(f"detect_{name}", 1) for name in ("positive", "negative"))
    if up and down:
        return m.pair("EQUAL", m.unary("ABS", x), np.inf)
    if not up and not down:
        return m.less(x, -np.inf)
    return m.pair("EQUAL", x, np.inf if up else -np.inf)


def _is_nan(m: Math, x: Operand, node: Node) -> Operand:
    if x.index not in m.graph.inputs:
        raise reason(
            "NNAPI's operations clamp infinities, so that they give NaN where ONNX does not",
            "import.onnx.nan",
        )
    return m.graph.make("NOT_EQUAL", [x, x])


def _clip(graph: Importing, node: Node) -> None:
    """Clip; bounds are inputs from opset 11 on."""
    type = type_of(graph, node.inputs[:1], *FLOATS, "INT32", "INT64", *BYTES)
    aligned = Aligned(graph, node.inputs[:1])
    x, m = aligned.operands[0], Math(graph)
    bounds: list[float | None]
    if graph.opset < 11:
        bounds = [node.attributes.get(name) for name in ("min", "max")]
    else:
        bounds = []
        for at in (1, 2):
            if not graph.has(node, at):
                bounds.append(None)
                continue
            array = graph.constant(node.inputs[at], "a bound")
            if array.size != 1:
                raise reason("a bound has several numbers", "import.onnx.clip.bound")
            bounds.append(array.reshape(-1)[0].item())
    if bounds == [0, 6] and type == "FLOAT":
        aligned.give(graph, node, m.unary("RELU6", x), type)
        return
    low, high = bounds
    if low is None and high is None:
        graph.alias(node, node.inputs[0])
        return
    for kind, bound in (("MAXIMUM", low), ("MINIMUM", high)):
        if bound is None:
            continue
        if type in BYTES:
            limit = graph.model.constant(np.full(1, bound, np.int16), x.type, x.scale, x.zero_point)
            x = graph.make(kind, [x, limit], scale=x.scale, zero_point=x.zero_point)
        else:
            x = m.pair(kind, x, bound)
    aligned.give(graph, node, x, type)


def _prelu(graph: Importing, node: Node) -> None:
    """PRelu; the slope is broadcast to the input."""
    type = type_of(graph, node.inputs, *FLOATS)
    x, slope = (graph.value(name) for name in node.inputs)
    names = list(node.inputs)
    if graph.opset < 7 and slope.rank == 1 and x.rank > 1 and slope.array is not None:
        array = slope.array.reshape(-1, *[1] * (x.rank - 2))
        names[1] = graph.folded(array, slope.type)
    aligned = Aligned(graph, names)
    if aligned.shape != x.shape:
        raise reason(f"slope {list(slope.shape)} exceeds the input", "import.onnx.prelu.slope")
    aligned.give(graph, node, graph.make("PRELU", aligned.operands), type)


LOWERINGS: dict[str, Lowering] = {
    "Abs": _plain("ABS", *FLOATS, "INT32"),
    "Ceil": _function(math.ceiling),
    "Celu": _by(_celu),
    "Clip": _clip,
    "Cos": _function(math.cosine),
    "Cosh": _by(_hyperbolic_cosine),
    "Elu": _by(_elu),
    "Erf": _function(math.erf),
    "Exp": _plain("EXP"),
    "Floor": _plain("FLOOR"),
    "Gelu": _by(_gelu),
    "HardSigmoid": _by(_hard_sigmoid),
    "HardSwish": _plain("HARD_SWISH"),
    "IsInf": _by(_is_infinite, result="BOOL"),
    "IsNaN": _by(_is_nan, result="BOOL"),
    "LeakyRelu": _by(_leaky_relu),
    "Log": _plain("LOG"),
    "Mish": _by(_mish),
    "Neg": _plain("NEG", *FLOATS, "INT32"),
    "PRelu": _prelu,
    "Reciprocal": _function(lambda m, x: m.div(1, x)),
    "Relu": _plain("RELU"),
    "Round": _function(math.rounded),
    "Selu": _by(_selu),
    "Shrink": _by(_shrink),
    "Sigmoid": _plain("LOGISTIC"),
    "Sign": _function(math.sign, *FLOATS, "INT32", "INT64"),
    "Sin": _plain("SIN"),
    "Softplus": _by(_softplus),
    "Softsign": _by(_softsign),
    "Sqrt": _plain("SQRT"),
    "Swish": _by(_swish),
    "Tanh": _plain("TANH"),
    "ThresholdedRelu": _by(_thresholded),
}
