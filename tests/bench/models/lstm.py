"""Two layers of LSTM cells on a sequence, with their states carried from run to run.

float32 only: NNAPI has cells in int8 step by step, and neither of the formats that peers read has
what those compute. `keras_lstm_mnist_ptq` of the trained models is one that LiteRT runs.
"""

import numpy as np

from nnapi_shim import Operand
from tests.bench.models.network import Network

STEPS, FEATURES, CELLS, LAYERS, CLASSES = 50, 40, 256, 2, 29


def build(n: Network, size: int = STEPS) -> tuple[Operand, ...]:
    """Classes of each step."""
    x = n.input((1, size, FEATURES))
    states = []
    for layer in range(LAYERS):
        x, *ends = _layer(n, x, n.scaled(CELLS), f"layer{layer}")
        states += ends
    return (n.classes(x, CLASSES), *states)


def _layer(n: Network, x: Operand, cells: int, name: str) -> tuple[Operand, Operand, Operand]:
    weights = {}
    depth = x.dimensions[-1]
    for gate in ("input", "forget", "cell", "output"):
        for source, count in (("input", depth), ("recurrent", cells)):
            weights[f"{source}_to_{gate}_weights"] = n.random((cells, count), 1 / count**0.5)
        bias = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        weights[bias] = n.random((cells,), 0.1)
    n.parameters += sum(array.size for array in weights.values())
    states = [
        n.model.input("TENSOR_FLOAT32", (1, cells), name=f"{name}_{state}")
        for state in ("output_state", "cell_state")
    ]
    made = n.model.unidirectional_sequence_lstm(
        x, **{key: np.ascontiguousarray(array) for key, array in weights.items()},
        output_state_in=states[0], cell_state_in=states[1], output_count=3,
    )  # fmt: skip
    for before, after in zip(states, made[1:], strict=True):
        n.model.carry(before, after)
    return made[0], made[1], made[2]
