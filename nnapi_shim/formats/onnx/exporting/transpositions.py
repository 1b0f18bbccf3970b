"""Transposition sinking: images stay NCHW from one convolution to the next.

Each rule that needs NCHW transposes its image there and back. A transposition moves down through
nodes that do not look at the order of axes, until it meets its inverse or a node that needs it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import Tensor
from nnapi_shim.formats.onnx.exporting.constants import longs
from nnapi_shim.formats.onnx.exporting.inner import Inner

Axes = tuple[int, ...]
"""A permutation: the axis of the source for each axis of the transposition."""

ELEMENTWISE = {
    *("Abs", "Add", "And", "Cast", "Clip", "DequantizeLinear", "Div", "Elu", "Equal", "Exp"),
    *("Floor", "Greater", "GreaterOrEqual", "HardSwish", "Identity", "Less", "LessOrEqual", "Log"),
    *("Max", "Min", "Mul", "Neg", "Not", "Or", "Pow", "PRelu", "QuantizeLinear", "Reciprocal"),
    *("Relu", "Round", "Sigmoid", "Sin", "Sqrt", "Sub", "Tanh", "Where"),
}
"""Operators whose elements depend on the elements of all inputs at the same place alone; their
inputs broadcast.
"""

REDUCTIONS = {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"}


def sunk(nodes: Sequence[Emitted], outputs: Sequence[Tensor]) -> list[Emitted]:
    """The nodes with fewer transpositions, and without those that no output needs. Where sinking
    does not lessen them, only inverse pairs are removed.
    """
    plain = _alive(_Sinking(nodes, moves=False).nodes, outputs)
    moved = _alive(_Sinking(nodes, moves=True).nodes, outputs)
    return moved if _count(moved) < _count(plain) else plain


def _count(nodes: Sequence[Emitted]) -> int:
    return sum(node.kind == "Transpose" for node in nodes)


class _Sinking:
    """One pass in execution order. moves: whether transpositions move through other nodes."""

    def __init__(self, nodes: Sequence[Emitted], moves: bool) -> None:
        self.nodes: list[Emitted] = []
        self._same: dict[int, Tensor] = {}
        """Outputs of inverse pairs of transpositions -> what they transpose."""
        self._moved: dict[int, tuple[Tensor, Axes]] = {}
        """Transpositions -> what they transpose, and how."""
        for node in nodes:
            self._take(
                node._replace(
                    inputs=[None if t is None else self._same.get(id(t), t) for t in node.inputs]
                ),
                moves,
            )

    def _take(self, node: Emitted, moves: bool) -> None:
        if node.kind == "Transpose":
            self._transpose(node)
        elif not (moves and self._has_moved(node)):
            self.nodes.append(node)

    def _has_moved(self, node: Emitted) -> bool:
        """Whether the node now reads what its inputs transpose; it has been added then."""
        if node.kind in ELEMENTWISE:
            return self._elementwise(node)
        if node.kind == "Concat":
            return self._concat(node)
        if node.kind in REDUCTIONS:
            return self._reduction(node)
        return node.kind == "Reshape" and self._reshape(node)

    def _source(self, t: Tensor | None) -> tuple[Tensor | None, Axes]:
        return self._moved.get(id(t), (None, ()))

    def _transpose(self, node: Emitted) -> None:
        """Two transpositions are one."""
        source, perm = node.inputs[0], tuple(node.options["perm"])
        before, first = self._source(source)
        if before is not None:
            source, perm = before, tuple(first[axis] for axis in perm)
            node = Emitted("Transpose", [source], node.outputs, {"perm": list(perm)})
        assert source is not None
        if perm == tuple(range(len(perm))):
            self._same[id(node.outputs[0])] = source
            node = Emitted("Identity", [source], node.outputs, {})
        else:
            self._moved[id(node.outputs[0])] = source, perm
        self.nodes.append(node)

    def _add(self, node: Emitted, inputs: list[Tensor | None], perm: Axes, **changed: Any) -> bool:
        """Add the node with other inputs, and the transposition of its output."""
        out = node.outputs[0]
        if perm == tuple(range(len(perm))):
            outputs = [out]
        else:
            sizes = tuple(out.dimensions[perm.index(axis)] for axis in range(len(out.dimensions)))
            outputs = [out.like(sizes)]
            outputs[0].name = out.name
        self.nodes.append(Emitted(node.kind, inputs, outputs, {**node.options, **changed}))
        if outputs[0] is not out:
            self._transpose(Emitted("Transpose", [*outputs], [out], {"perm": list(perm)}))
        return True

    def _elementwise(self, node: Emitted) -> bool:
        perms = {self._source(t)[1] for t in node.inputs} - {()}
        if len(perms) != 1 or _is_by_axis(node):
            return False
        (perm,) = perms
        inputs = [None if t is None else self._source(t)[0] or _moved(t, perm) for t in node.inputs]
        if sum(t is None for t in inputs) != sum(t is None for t in node.inputs):
            return False
        return self._add(node, inputs, perm)

    def _concat(self, node: Emitted) -> bool:
        sources = [self._source(t) for t in node.inputs]
        perm = sources[0][1]
        if any(source is None or other != perm for source, other in sources):
            return False
        axis = perm[node.options["axis"] % len(perm)]
        return self._add(node, [source for source, _ in sources], perm, axis=axis)

    def _reduction(self, node: Emitted) -> bool:
        source, perm = self._source(node.inputs[0])
        axes = node.inputs[1] if len(node.inputs) > 1 else None
        if source is None or axes is None or axes.value is None:
            return False
        reduced = {int(axis) % len(perm) for axis in axes.value.ravel()}
        gone = sorted(perm[axis] for axis in reduced)
        if not node.options["keepdims"]:
            kept = [perm[axis] for axis in range(len(perm)) if axis not in reduced]
            perm = tuple(sorted(kept).index(axis) for axis in kept)
        return self._add(node, [source, longs(gone)], perm)

    def _reshape(self, node: Emitted) -> bool:
        """Elements keep their order if the axes that move have one element."""
        source, perm = self._source(node.inputs[0])
        shape = node.inputs[1]
        if source is None or not source.dimensions or shape is None or shape.value is None:
            return False
        long = [axis for axis in perm if source.dimensions[axis] != 1]
        if long != sorted(long) or 0 in shape.value:  # 0 takes the size at the same place
            return False
        self.nodes.append(node._replace(inputs=[source, shape]))
        return True


def _is_by_axis(node: Emitted) -> bool:
    """Whether the parameters of the node are along an axis."""
    scale = node.inputs[1] if "Linear" in node.kind else None
    return scale is not None and bool(scale.dimensions)


def _moved(t: Tensor, perm: Axes) -> Tensor | None:
    """What the permutation makes of `t`: a constant, or `t` if it has one element; else None."""
    if t.rank > len(perm):
        return None
    if t.dimensions == (1,) * t.rank and (t.rank or t.value is not None):
        return t
    if t.value is None:
        return None
    value = t.value.reshape((1,) * (len(perm) - t.value.ndim) + t.value.shape)
    value = np.ascontiguousarray(value.transpose([perm.index(axis) for axis in range(len(perm))]))
    result = t.like(value.shape)
    result.value, result.name = value, t.name
    return result


def _alive(nodes: Sequence[Emitted], outputs: Sequence[Tensor]) -> list[Emitted]:
    """The nodes that the outputs need."""
    needed = {id(t) for t in outputs}
    alive: list[Emitted] = []
    for node in reversed(nodes):
        if any(id(t) in needed for t in node.outputs):
            alive.append(node)
            needed |= _read(node)
    return alive[::-1]


def _read(node: Emitted) -> set[int]:
    """The tensors that a node reads, also in nested graphs."""
    read = {id(t) for t in node.inputs}
    for inner in node.options.values():
        if isinstance(inner, Inner):
            read |= {id(t) for t in inner.outputs}
            read = read.union(*map(_read, inner.nodes))
    return read
