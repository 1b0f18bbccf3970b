"""Signed bytes between nodes as unsigned ones of the same numbers.

ONNX Runtime and OpenVINO compute quantized nodes on x86 with unsigned activations; signed ones they
leave in float32, with conversions around each node, two to three times slower. That is nearer to
NNAPI, so `Model.save` leaves signed what is signed; devices on engines take what suits them.
"""

from collections.abc import Sequence

import numpy as np

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import ExportGraph, Tensor
from nnapi_shim.formats.onnx.exporting.constants import raw
from nnapi_shim.formats.onnx.exporting.inner import Inner
from nnapi_shim.hal.enums import OperandType as T

SIGNED, UNSIGNED = T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_ASYMM
APART = 128
MOVES = {"Transpose", "Reshape", "Squeeze", "Unsqueeze", "Concat", "Slice", "Split", "Identity"}
"""Nodes that do not look at the elements that they move."""


def made_unsigned(nodes: Sequence[Emitted], graph: ExportGraph) -> None:
    """Change the tensors whose type no input, output or constant of the model decides."""
    if any(isinstance(option, Inner) for node in nodes for option in node.options.values()):
        return
    stay = {id(t) for t in (*graph.inputs, *graph.outputs)}
    between = _found(nodes)
    stay |= {id(t) for t in between if t.value is not None}
    groups = [[t for t in _tensors(node) if t.type is SIGNED] for node in nodes]
    for node, group in zip(nodes, groups, strict=True):
        if "Linear" not in node.kind and node.kind not in MOVES:
            stay |= {id(t) for t in group}
    moved = [group for node, group in zip(nodes, groups, strict=True) if "Linear" not in node.kind]
    count = -1
    while count != len(stay):
        count = len(stay)
        for group in moved:
            if any(id(t) in stay for t in group):
                stay |= {id(t) for t in group}
    changed = {id(t): t for t in between if id(t) not in stay}
    for node in nodes:
        if "Linear" not in node.kind:
            continue
        t = node.outputs[0] if node.kind == "QuantizeLinear" else node.inputs[0]
        zero = node.inputs[2]
        if id(t) in changed and zero is not None and zero.value is not None:
            node.inputs[2] = raw((zero.value.astype(np.int16) + APART).astype(np.uint8), UNSIGNED)
    for t in changed.values():
        t.type, t.zero_point = UNSIGNED, t.zero_point + APART


def _tensors(node: Emitted) -> list[Tensor]:
    return [t for t in (*node.inputs, *node.outputs) if t is not None]


def _found(nodes: Sequence[Emitted]) -> list[Tensor]:
    """All signed tensors but those that say zero points."""
    values = [t for node in nodes if "Linear" not in node.kind for t in _tensors(node)]
    for node in nodes:
        if "Linear" in node.kind:
            values += [t for t in (node.inputs[0], node.outputs[0]) if t is not None]
    return list({id(t): t for t in values if t.type is SIGNED}.values())
