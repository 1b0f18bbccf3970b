"""Transposition sinking on random graphs: ONNX Runtime, which optimizes nothing, gives the same."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
import onnxruntime

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import ExportGraph, Tensor, constant
from nnapi_shim.formats.onnx.exporting import transpositions
from nnapi_shim.formats.onnx.exporting.constants import longs, raw
from nnapi_shim.formats.onnx.exporting.transpositions import REDUCTIONS, sunk
from nnapi_shim.formats.onnx.exporting.writing import written
from nnapi_shim.hal.enums import OperandType as T

F, U8 = T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM
SEEDS = 500
SIZES = (1, 2, 3)


class Graph:
    """A random graph, mostly of transpositions and of nodes through which they move."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Emitted] = []
        self.likely = self.pick([SIZES, (2,)])
        self.inputs = [Tensor(F, self.sizes(int(self.random.integers(2, 5)))) for _ in range(2)]
        self.values = [*self.inputs]
        for _ in range(14):
            getattr(self, self.pick([*STEPS]))(self.pick(self.values[-6:]))
        read = self.pick([1, len(self.values)])
        made = [t for t in self.values if t not in self.inputs]
        self.outputs = made[-read:]

    def pick(self, items: Any) -> Any:
        """One of several things."""
        return items[int(self.random.integers(len(items)))]

    def sizes(self, rank: int) -> tuple[int, ...]:
        """Random dimensions."""
        return tuple(self.pick(self.likely) for _ in range(rank))

    def add(self, kind: str, inputs: list[Tensor | None], sizes: Any, **options: Any) -> Tensor:
        """A node with one output."""
        out = Tensor(F, tuple(sizes))
        self.nodes.append(Emitted(kind, inputs, [out], options))
        self.values.append(out)
        return out

    def transposed(self, x: Tensor, perm: list[int] | None = None) -> Tensor:
        """Permuted at random, or back."""
        perms = [[int(axis) for axis in self.random.permutation(x.rank)]]
        made = [node for node in self.nodes if node.outputs[0] is x and node.kind == "Transpose"]
        perms += [[int(at) for at in np.argsort(node.options["perm"])] for node in made]
        perm = perm or self.pick(perms)
        return self.add("Transpose", [x], [x.dimensions[at] for at in perm], perm=perm)

    def unary(self, x: Tensor) -> None:
        """Looks at one input."""
        self.add(self.pick(["Relu", "Neg", "Sigmoid"]), [x], x.dimensions)

    def clipped(self, x: Tensor) -> None:
        """Has scalars, of which one may lack."""
        high = self.pick([None, constant(np.float32(0.5))])
        self.add("Clip", [x, constant(np.float32(-0.5)), high], x.dimensions)

    def paired(self, x: Tensor) -> None:
        """Broadcasts: with itself in the same or another order, constants, one element."""
        rank = int(self.random.integers(0, x.rank + 2))
        shape = (2, *x.dimensions)[x.rank + 1 - rank :]
        fewer = [n if self.random.integers(2) else 1 for n in shape]
        perm = [int(axis) for axis in self.random.permutation(x.rank)]
        choice = int(self.random.integers(4))
        if choice == 0:
            partner = constant(self.random.normal(size=fewer).astype(np.float32))
        elif choice == 1:
            partner = self.add("ReduceMax", [x, longs(range(x.rank))], [1] * x.rank, keepdims=1)
        elif choice == 2:
            partner = self.pick([t for t in self.values if t.dimensions == x.dimensions])
        else:
            moved = self.transposed(x, perm)
            moved = self.add("Neg", [moved], moved.dimensions)
            partner = self.transposed(moved, [int(at) for at in np.argsort(perm)])
        pair = [x, partner] if self.random.integers(2) else [partner, x]
        sizes = np.broadcast_shapes(x.dimensions, partner.dimensions)
        self.add(self.pick(["Add", "Mul", "Max", "Sub"]), [*pair], sizes)

    def joined(self, x: Tensor) -> None:
        """Of the same order, or of another."""
        axis = int(self.random.integers(-x.rank, x.rank))
        others = [t for t in self.values if t.dimensions == x.dimensions]
        sizes = [*x.dimensions]
        sizes[axis] *= 2
        self.add("Concat", [x, self.pick(others)], sizes, axis=axis)

    def reduced(self, x: Tensor) -> None:
        """Along some axes, kept or not."""
        count = int(self.random.integers(1, x.rank))
        axes = [int(a) for a in self.random.choice(x.rank, count, replace=False)]
        keep = int(self.random.integers(2)) if x.rank - count >= 2 else 1
        sizes = [1 if at in axes else n for at, n in enumerate(x.dimensions)]
        if not keep:
            sizes = [n for at, n in enumerate(x.dimensions) if at not in axes]
        kind = self.pick(sorted(REDUCTIONS))
        self.add(kind, [x, longs(axes)], sizes, keepdims=keep)

    def reshaped(self, x: Tensor) -> None:
        """To two dimensions, the first of which may be as it was."""
        first = x.dimensions[0]
        size = int(np.prod(x.dimensions)) // first
        self.add("Reshape", [x, longs([self.pick([0, first]), size])], [first, size])

    def quantized(self, x: Tensor) -> None:
        """There and back, by one scale or by one for each channel."""
        axis = int(self.random.integers(x.rank))
        count = x.dimensions[axis]
        scale = constant(np.float32(0.05))
        options = {}
        if self.random.integers(2):
            scale = constant(self.random.uniform(0.02, 0.1, count).astype(np.float32))
            options = {"axis": axis}
        zero = raw(np.full(scale.dimensions, 99, np.uint8), U8)
        bytes_ = Tensor(U8, x.dimensions)
        self.nodes.append(Emitted("QuantizeLinear", [x, scale, zero], [bytes_], options))
        self.add("DequantizeLinear", [bytes_, scale, zero], x.dimensions, **options)

    def softmax(self, x: Tensor) -> None:
        """Looks at the order of axes."""
        self.add("Softmax", [x], x.dimensions, axis=x.rank - 1)


STEPS = (
    *("transposed", "transposed", "transposed", "transposed", "unary", "clipped", "paired"),
    *("joined", "reduced", "reshaped", "quantized", "softmax"),
)


def results(graph: Graph, nodes: list[Emitted]) -> list[Any]:
    """The outputs by ONNX Runtime, as it finds the nodes."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    content = written(ExportGraph(graph.inputs, graph.outputs, []), nodes)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    fed = [random.normal(size=t.dimensions).astype(np.float32) for t in graph.inputs]
    named = {own.name: value for own, value in zip(session.get_inputs(), fed, strict=True)}
    return list(session.run(None, named))


def test_random_graphs() -> None:
    """Sunk and not sunk give the same outputs; every kind of node has been moved."""
    acted: Counter[str] = Counter()
    for seed in range(SEEDS):
        graph = Graph(seed)
        before = transpositions._alive(graph.nodes, graph.outputs)
        sinking = transpositions._Sinking(graph.nodes, moves=True)
        moved = transpositions._alive(sinking.nodes, graph.outputs)
        old = {id(t) for node in graph.nodes for t in node.inputs}
        acted.update(
            node.kind
            for node in moved
            if node.kind != "Transpose" and any(id(t) not in old for t in node.inputs[:1])
        )
        chosen = sunk(graph.nodes, graph.outputs)
        assert count(chosen) <= count(before), seed
        acted["fewer"] += count(chosen) < count(before)
        expected = results(graph, before)
        for nodes in (moved, chosen):
            for was, now in zip(expected, results(graph, nodes), strict=True):
                np.testing.assert_allclose(now, was, 1e-5, 1e-6, err_msg=f"seed {seed}")
    print(dict(acted))
    for kind in ("Relu", "Clip", "Add", "Max", "Concat", *REDUCTIONS, "QuantizeLinear", "fewer"):
        assert acted[kind] > 2, acted


def count(nodes: list[Emitted]) -> int:
    """The number of transpositions."""
    return sum(node.kind == "Transpose" for node in nodes)
