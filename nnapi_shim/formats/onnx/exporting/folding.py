"""Node cleanup: removes inverse pairs of transpositions and dead nodes."""

from collections.abc import Sequence

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import Tensor
from nnapi_shim.formats.onnx.exporting.inner import Inner

ELEMENTWISE = {
    "Relu",
    "Clip",
    "Sigmoid",
    "Tanh",
    "HardSwish",
    "Elu",
    "Abs",
    "Exp",
    "Neg",
    "Sqrt",
    "Floor",
    "QuantizeLinear",
    "DequantizeLinear",
    "Cast",
}
"""Elementwise operators, which commute with transpositions of their first input."""


def folded(nodes: Sequence[Emitted], outputs: Sequence[Tensor]) -> list[Emitted]:
    """The nodes without inverse pairs of transpositions (also around elementwise nodes) and dead
    nodes.
    """
    kept = list(nodes)
    final = {id(t) for t in outputs}
    readers = _readers(kept)
    producers = {id(t): node for node in kept for t in node.outputs}
    for last in nodes:
        if last.kind != "Transpose" or last.inputs[0] is None:
            continue
        chain: list[Emitted] = []
        at = last.inputs[0]
        while True:
            maker = producers.get(id(at))
            if maker is None or maker.kind == "Transpose":
                break
            is_open = maker.kind in ELEMENTWISE and not _by_axis(maker)
            if not is_open or readers.get(id(at), 0) != 1 or id(at) in final:
                maker = None
                break
            chain.append(maker)
            at = maker.inputs[0]  # type: ignore[assignment]
        if maker is None or maker.kind != "Transpose" or not _inverse(maker, last):
            continue
        source = maker.inputs[0]
        if not chain:
            if id(last.outputs[0]) in final:
                continue
            _replace(kept, last.outputs[0], source, readers)
        else:
            for node in chain:
                node.outputs[0].dimensions = last.outputs[0].dimensions
            chain[-1].inputs[0] = source
            chain[0].outputs[0] = last.outputs[0]
            producers[id(last.outputs[0])] = chain[0]
            readers[id(source)] = readers.get(id(source), 0) + 1
        kept.remove(last)
    return _alive(kept, final)


def _by_axis(node: Emitted) -> bool:
    """Whether the parameters of the node are along an axis."""
    scale = node.inputs[1] if "Linear" in node.kind else None
    return scale is not None and bool(scale.dimensions)


def _inverse(first: Emitted, last: Emitted) -> bool:
    one, other = first.options["perm"], last.options["perm"]
    return [one[axis] for axis in other] == list(range(len(one)))


def _replace(
    nodes: list[Emitted], old: Tensor, new: Tensor | None, readers: dict[int, int]
) -> None:
    for node in nodes:
        for at, t in enumerate(node.inputs):
            if t is old:
                node.inputs[at] = new
                readers[id(new)] = readers.get(id(new), 0) + 1
        for inner in node.options.values():
            if isinstance(inner, Inner):
                _replace(inner.nodes, old, new, readers)


def _readers(nodes: Sequence[Emitted]) -> dict[int, int]:
    """The number of uses of each tensor, including those in nested graphs."""
    counts: dict[int, int] = {}
    for node in nodes:
        for t in node.inputs:
            counts[id(t)] = counts.get(id(t), 0) + 1
        for inner in node.options.values():
            if isinstance(inner, Inner):
                for key, count in _readers(inner.nodes).items():
                    counts[key] = counts.get(key, 0) + count
                for t in inner.outputs:
                    counts[id(t)] = counts.get(id(t), 0) + 1
    return counts


def _alive(nodes: Sequence[Emitted], final: set[int]) -> list[Emitted]:
    needed = set(final)
    alive: list[Emitted] = []
    for node in reversed(nodes):
        if not any(id(t) in needed for t in node.outputs):
            continue
        alive.append(node)
        needed |= set(_readers([node]))
    return alive[::-1]
