"""Random graphs of operators that are imported and operators that are not, in parts, next to ONNX
Runtime on the whole graph.

    python -m tests.formats.onnx.random_graphs [--seeds 0:1000] [--device NAME]

Prints how many graphs are split, run by ONNX Runtime alone, refused, or wrong; exits with 1 where
one is wrong or refused.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.formats.onnx.partially import outcome_partially

FLOAT, INT64, DOUBLE, BOOL = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.DOUBLE,
    TensorProto.BOOL,
)
SIZES = (1, 2, 3, 4)
IMPORTED = ["Relu", "Neg", "Sigmoid", "Tanh", "Abs", "Softsign"]
REFUSED = ["Atan", "Asinh", "Sin_of_double", "Cumulated", "Scattered", "Sequence"]
CONTROL = ["Conditional", "Repeated"]
PAIRS = ["Add", "Sub", "Max", "Min", "Clipped_product"]
MOVES = ["Transpose", "Flattened", "Reshaped_by_shape", "Concat", "Slice"]
ROWS = ["Softmax", "ReduceMean", "MatMul", "Conv", "Quantized"]
DYNAMIC = ["Positions", "Compressed"]
GROUPS = [IMPORTED, IMPORTED, REFUSED, CONTROL, PAIRS, PAIRS, MOVES, ROWS, DYNAMIC]


class Graph:
    """A graph under construction. shapes: of its float values; None if they depend on the data."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.shapes: dict[str, tuple[int, ...] | None] = {}
        self.inputs: dict[str, Any] = {}
        self._count = 0
        for _ in range(self.random.integers(1, 4)):
            name = self.name()
            shape = tuple(self.pick(SIZES) for _ in range(self.random.integers(0, 5)))
            self.inputs[name] = self.random.uniform(-2, 2, shape).astype(np.float32)
            self.shapes[name] = shape

    def pick(self, items: Any) -> Any:
        """One of several things."""
        return items[self.random.integers(len(items))]

    def name(self) -> str:
        """A new name."""
        self._count += 1
        return f"v{self._count}"

    def constant(self, array: Any) -> str:
        """A constant: an initializer, or the output of a node."""
        name = self.name()
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
        tensor = helper.make_tensor(name, kind, np.shape(array), np.ravel(array).tolist())
        if self.random.integers(2):
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add(self, kind: str, inputs: Any, shape: Any = (), is_float: bool = True, **options: Any):
        """A node with one output, which is remembered if it is a float."""
        name = self.name()
        label = self.pick(["", f"node{self._count}"])
        self.nodes.append(helper.make_node(kind, inputs, [name], name=label, **options))
        if is_float:
            self.shapes[name] = shape
        return name

    def step(self) -> None:
        """Add an operator."""
        x = self.pick(sorted(self.shapes))
        shape = self.shapes[x]
        kinds = self.pick(GROUPS)
        kind = self.pick(kinds)
        if shape is None:
            self.add(self.pick([*IMPORTED, "Atan"]), [x], None)
        elif kind in IMPORTED or kind in ("Atan", "Asinh"):
            self.add(kind, [x], shape)
        else:
            _MADE.get(kind, _pair)(self, kind, x, shape)

    def file(self) -> bytes:
        """The graph with some of its values as outputs."""
        names = [name for node in self.nodes for name in node.output if name in self.shapes]
        chosen = {self.pick(names) for _ in range(self.random.integers(1, 4))} | {names[-1]}
        if self.random.integers(8) == 0:
            chosen.add(self.pick(sorted(self.inputs)))
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [value(name, FLOAT, array.shape) for name, array in self.inputs.items()],
            [value(name, FLOAT, None) for name in sorted(chosen)],
            initializer=self.constants,
        )
        opsets = [helper.make_opsetid("", 17)]
        return bytes(
            helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        )


def _pair(graph: Graph, kind: str, x: str, shape: Any) -> None:
    alike = [name for name, other in graph.shapes.items() if other == shape]
    other = graph.pick(alike)
    if graph.random.integers(4) == 0:
        other = graph.constant(graph.random.uniform(-1, 1, shape[-1:]).astype(np.float32))
    if kind != "Clipped_product":
        graph.add(kind, [x, other], shape)
        return
    product = graph.add("Mul", [x, other], shape)
    bounds = [graph.constant(np.float32(bound)) for bound in (-3, 3)]
    graph.add("Clip", [product, *bounds], shape)


def _transpose(graph: Graph, kind: str, x: str, shape: Any) -> None:
    perm = [int(axis) for axis in graph.random.permutation(len(shape))]
    if perm:
        graph.add("Transpose", [x], tuple(shape[axis] for axis in perm), perm=perm)


def _flattened(graph: Graph, kind: str, x: str, shape: Any) -> None:
    sizes = graph.constant(np.array([-1], np.int64))
    graph.add("Reshape", [x, sizes], (int(np.prod(shape)),))


def _reshaped_by_shape(graph: Graph, kind: str, x: str, shape: Any) -> None:
    """Through a computation on the dimensions of the value."""
    size = graph.add("Size", [x], is_float=False)
    one = graph.constant(np.array([1, -1], np.int64))
    row = graph.add("Mul", [size, one], is_float=False)
    sizes = graph.add("Abs", [row], is_float=False)
    first = graph.add("Slice", [sizes, *_range(graph, 0, 1)], is_float=False)
    both = graph.add("Concat", [first, graph.constant(np.ones(1, np.int64))], False, axis=0)
    del graph.shapes[both]
    graph.add("Reshape", [x, both], (int(np.prod(shape)), 1))


def _range(graph: Graph, start: int, end: int) -> list[str]:
    return [graph.constant(np.array([at], np.int64)) for at in (start, end)]


def _concat(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        axis = int(graph.random.integers(len(shape)))
        sizes = list(shape)
        sizes[axis] *= 2
        graph.add("Concat", [x, x], tuple(sizes), axis=axis)


def _slice(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape and shape[0] > 1:
        graph.add("Slice", [x, *_range(graph, 1, shape[0])], (shape[0] - 1, *shape[1:]))


def _softmax(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        graph.add("Softmax", [x], shape, axis=-1)


def _mean(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        graph.add("ReduceMean", [x], shape[:-1], axes=[len(shape) - 1], keepdims=0)


def _product(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if len(shape) > 1:
        weights = graph.random.uniform(-0.5, 0.5, (shape[-1], 3)).astype(np.float32)
        graph.add("MatMul", [x, graph.constant(weights)], (*shape[:-1], 3))


def _convolution(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if len(shape) == 4:
        weights = graph.random.uniform(-0.5, 0.5, (2, shape[1], 1, 1)).astype(np.float32)
        graph.add("Conv", [x, graph.constant(weights)], (shape[0], 2, *shape[2:]))


def _quantized(graph: Graph, kind: str, x: str, shape: Any) -> None:
    parameters = [graph.constant(np.float32(0.05)), graph.constant(np.uint8(128))]
    stored = graph.add("QuantizeLinear", [x, *parameters], is_float=False)
    graph.add("DequantizeLinear", [stored, *parameters], shape)


def _double(graph: Graph, kind: str, x: str, shape: Any) -> None:
    wide = graph.add("Cast", [x], is_float=False, to=DOUBLE)
    sine = graph.add("Sin", [wide], is_float=False)
    graph.add("Cast", [sine], shape, to=FLOAT)


def _cumulated(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        axis = graph.constant(np.array(0, np.int64))
        graph.add("CumSum", [x, axis], shape, reverse=1)


def _scattered(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        index = graph.constant(np.zeros((1, *shape[1:]), np.int64))
        update = graph.constant(np.ones((1, *shape[1:]), np.float32))
        graph.add("ScatterElements", [x, index, update], shape, axis=0)


def _sequence(graph: Graph, kind: str, x: str, shape: Any) -> None:
    both = graph.add("SequenceConstruct", [x, x], is_float=False)
    graph.add("SequenceAt", [both, graph.constant(np.array(1, np.int64))], shape)


def _conditional(graph: Graph, kind: str, x: str, shape: Any) -> None:
    """An If whose branches read values around them, with an operator that is refused."""
    other = graph.pick([name for name, own in graph.shapes.items() if own == shape])
    total = graph.add("ReduceSum", [x], is_float=False, keepdims=0)
    test = graph.add("Greater", [total, graph.constant(np.float32(0.1))], is_float=False)
    branches = {}
    for name, inner in (("then_branch", "Atan"), ("else_branch", "Neg")):
        result = graph.name()
        node = helper.make_node(inner, [other], [result])
        value = helper.make_tensor_value_info(result, FLOAT, shape)
        branches[name] = helper.make_graph([node], name, [], [value])
    graph.add("If", [test], shape, **branches)


def _repeated(graph: Graph, kind: str, x: str, shape: Any) -> None:
    """A Loop that reads a value around it."""
    value = helper.make_tensor_value_info
    iteration, goes_on, arguments, ends, result = (graph.name() for _ in range(5))
    body = helper.make_graph(
        [
            helper.make_node("Identity", [goes_on], [ends]),
            helper.make_node("Add", [arguments, x], [f"{result}s"]),
            helper.make_node("Atan", [f"{result}s"], [result]),
        ],
        "body",
        [value(iteration, INT64, []), value(goes_on, BOOL, []), value(arguments, FLOAT, shape)],
        [value(ends, BOOL, []), value(result, FLOAT, shape)],
    )
    graph.add("Loop", [graph.constant(np.array(2, np.int64)), "", x], shape, body=body)


def _positions(graph: Graph, kind: str, x: str, shape: Any) -> None:
    """A value whose dimensions depend on the data."""
    if shape:
        sign = graph.add("Sign", [x], is_float=False)
        actual = graph.add("NonZero", [sign], is_float=False)
        graph.add("Cast", [actual], None, to=FLOAT)


def _compressed(graph: Graph, kind: str, x: str, shape: Any) -> None:
    if shape:
        chosen = graph.constant(np.arange(shape[0]) % 2 == 0)
        graph.add("Compress", [x, chosen], None, axis=0)


_MADE: dict[str, Callable[[Graph, str, str, Any], None]] = {
    "Transpose": _transpose,
    "Flattened": _flattened,
    "Reshaped_by_shape": _reshaped_by_shape,
    "Concat": _concat,
    "Slice": _slice,
    "Softmax": _softmax,
    "ReduceMean": _mean,
    "MatMul": _product,
    "Conv": _convolution,
    "Quantized": _quantized,
    "Sin_of_double": _double,
    "Cumulated": _cumulated,
    "Scattered": _scattered,
    "Sequence": _sequence,
    "Conditional": _conditional,
    "Repeated": _repeated,
    "Positions": _positions,
    "Compressed": _compressed,
}


def random_graph(seed: int) -> tuple[bytes, dict[str, Any]]:
    """A file and its inputs."""
    graph = Graph(seed)
    for _ in range(graph.random.integers(1, 16)):
        graph.step()
    if not graph.nodes or not any(node.output[0] in graph.shapes for node in graph.nodes):
        graph.add("Relu", [next(iter(graph.inputs))], graph.shapes[next(iter(graph.inputs))])
    return graph.file(), graph.inputs


def outcomes(seeds: range, device: str) -> Counter[str]:
    """How many graphs of some seeds have each outcome. Prints those that are wrong or refused."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        data, inputs = random_graph(seed)
        kind, why = outcome_partially(data, inputs, device, 1e-5, 1e-4)
        counts[kind] += 1
        if kind not in ("split", "peer"):
            print(f"seed {seed}: {kind}: {why}")
    return counts


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:1000")
    parser.add_argument("--device", default="nnapi-cpu")
    chosen = parser.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    counts = outcomes(range(first, last), chosen.device)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return int(any(counts[kind] for kind in ("wrong", "refused", "unknown")))


if __name__ == "__main__":
    sys.exit(main())
