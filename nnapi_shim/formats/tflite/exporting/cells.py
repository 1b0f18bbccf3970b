"""LSTM sequences as one TensorFlow Lite operator with variable tensors as states.

The operator keeps its states from run to run. It therefore replaces only operations whose states
the model carries, starting from zeros, and that nothing else reads.
"""

from collections.abc import Iterable
from typing import Any

from nnapi_shim.formats.graph.expansion import recurrent
from nnapi_shim.formats.graph.tensor import ExportGraph, Node, Tensor
from nnapi_shim.operations import lstm_cell

STATES = (("output_state_in", "output_state_out"), ("cell_state_in", "cell_state_out"))
ACTIVATIONS = (0, 1, 3, 4)
"""Activation codes that NNAPI and TensorFlow Lite share: none, RELU, RELU6, TANH."""


def keep_states(graph: ExportGraph) -> None:
    """Mark the states that operators keep; the model no longer carries them."""
    pairs = {
        (id(graph.inputs[source]), id(graph.outputs[result])): (source, result, first)
        for source, result, first in graph.carried
    }
    readers = [id(tensor) for node in graph.nodes for tensor in node.tensors]
    for node in graph.nodes:
        if node.kind != "UNIDIRECTIONAL_SEQUENCE_LSTM" or not _has_operator(node):
            continue
        states = [(node.named[a], node.named.get(b)) for a, b in STATES]
        carried = [pairs.get((id(a), id(b))) for a, b in states]
        looked_at = [id(tensor) for pair in states for tensor in pair]
        if all(map(_is_zero, carried)) and sum(map(looked_at.count, readers)) == len(states):
            graph.carried = [state for state in graph.carried if state not in carried]
            for state, _ in states:
                state.is_variable = True


def sequence(b: Any, op: Node) -> None:
    """Emit the sequence operator, or the unrolled sequence."""
    if not op.output_state_in.is_variable:
        recurrent.unidirectional_sequence_lstm(b, op)
        return
    names = [
        *lstm_cell.input_names(),
        *lstm_cell.recurrent_names(),
        *lstm_cell.peephole_names(),
        *lstm_cell.bias_names(),
    ]
    names += [*lstm_cell.projection_names(), "output_state_in", "cell_state_in"]
    b.emit(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [op.input, *map(op.named.get, names)],
        [op.output],
        FusedActivationFunction=int(op.activation),
        CellClip=float(op.cell_clip),
        ProjClip=float(op.proj_clip),
        TimeMajor=bool(op.time_major),
    )


def without_kept(tensors: Iterable[Tensor], graph: ExportGraph) -> list[Tensor]:
    """Model inputs or outputs without the states that operators keep."""
    kept = {
        id(node.named[name])
        for node in graph.nodes
        if node.kind == "UNIDIRECTIONAL_SEQUENCE_LSTM" and node.output_state_in.is_variable
        for pair in STATES
        for name in pair
    }
    return [tensor for tensor in tensors if id(tensor) not in kept]


def _has_operator(node: Node) -> bool:
    """Whether the operator expresses the node: constant weights, no layer normalisation."""
    weights = [
        *lstm_cell.input_names(),
        *lstm_cell.recurrent_names(),
        *lstm_cell.peephole_names(),
        *lstm_cell.bias_names(),
    ]
    weights += lstm_cell.projection_names()
    operands = [node.named.get(name) for name in weights]
    return (
        all(tensor is None or tensor.value is not None for tensor in operands)
        and all(node.named.get(name) is None for name in lstm_cell.gain_names())
        and not any(tensor.is_quantized for tensor in node.tensors)
        and not any(tensor.type.name.endswith("16") for tensor in node.tensors)
        and int(node.activation) in ACTIVATIONS
    )


def _is_zero(state: Any) -> bool:
    """Whether this is a state with the initial value zero."""
    return state is not None and (state[2] is None or not state[2].any())
