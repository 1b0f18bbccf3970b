"""LSTM, GRU and RNN, unrolled, and sums along an axis."""

from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing

MOST_STEPS = 512
"""The longest sequence that is unrolled."""

ACTIVATIONS = {"Sigmoid": "LOGISTIC", "Tanh": "TANH", "Relu": "RELU"}


class Cell(NamedTuple):
    """One direction of a network. w, r: weights of the input and of the state; wb, rb: biases."""

    w: Array
    r: Array
    wb: Array
    rb: Array
    activations: list[str]
    h: Operand
    c: Operand | None


class _Sequence:
    """What the three operators share."""

    def __init__(self, graph: Importing, node: Node, gates: int, defaults: list[str]) -> None:
        self.graph, self.node, self.m = graph, node, Math(graph)
        options = node.attributes
        item = graph.value(node.inputs[0])
        if item.type != "FLOAT" or item.rank != 3:
            raise reason(f"its input is {item.type} of rank {item.rank}", "import.onnx.type")
        if options.get("layout", 0) or "clip" in options:
            raise reason("its layout is 1, or it clips", "import.onnx.recurrent.options")
        self.steps, self.batch, self.size = item.shape
        if self.steps > MOST_STEPS:
            raise reason(
                f"it has {self.steps} steps; up to {MOST_STEPS} are unrolled",
                "import.onnx.recurrent.steps",
            )
        self._require_whole_sequences()
        self.w, self.r = (graph.constant(node.inputs[at], "its weights") for at in (1, 2))
        self.directions = self.w.shape[0]
        self.hidden = self.r.shape[2]
        bias = np.zeros((self.directions, 2 * gates * self.hidden), np.float32)
        if graph.has(node, 3):
            bias = graph.constant(node.inputs[3], "its bias")
        self.wb, self.rb = np.split(bias, 2, 1)
        names = list(options.get("activations", defaults * self.directions))
        if any(name not in ACTIVATIONS for name in names) or "activation_alpha" in options:
            raise reason(f"activations {names}", "import.onnx.recurrent.activations")
        each = len(defaults)
        self.names = [names[at * each : at * each + each] for at in range(self.directions)]
        x = graph.operand(node.inputs[0])
        self.inputs = [self._step(x, at) for at in range(self.steps)]

    def _require_whole_sequences(self) -> None:
        if not self.graph.has(self.node, 4):
            return
        lengths = self.graph.constant(self.node.inputs[4], "sequence_lens")
        if (lengths != self.steps).any():
            raise reason("its sequences have different lengths", "import.onnx.recurrent.lengths")

    def _step(self, x: Operand, at: int) -> Operand:
        if self.steps == 1:
            return self.graph.reshaped(x, (self.batch, self.size))
        step = self.graph.part(x, (at, 0, 0), (1, self.batch, self.size))
        return self.graph.reshaped(step, (self.batch, self.size))

    def start(self, at: int, direction: int) -> Operand:
        """An initial state."""
        shape = (self.batch, self.hidden)
        if not self.graph.has(self.node, at):
            return self.graph.filled(shape, 0.0)
        x = self.graph.operand(self.node.inputs[at])
        if self.directions == 1:
            return self.graph.reshaped(x, shape)
        return self.graph.reshaped(self.graph.part(x, (direction, 0, 0), (1, *shape)), shape)

    def cell(self, direction: int, has_cell: bool) -> Cell:
        """The parameters of a direction."""
        at = direction
        names = [ACTIVATIONS[name] for name in self.names[at]]
        h = self.start(5, at)
        c = self.start(6, at) if has_cell else None
        return Cell(self.w[at], self.r[at], self.wb[at], self.rb[at], names, h, c)

    def run(self, step: Any, has_cell: bool) -> None:
        """Run the steps of all directions, and give the outputs."""
        kind = self.node.attributes.get("direction", "forward")
        if kind not in ("forward", "reverse", "bidirectional") or self.directions != (
            2 if kind == "bidirectional" else 1
        ):
            raise reason(f"direction {kind!r}", "import.onnx.recurrent.direction")
        rows: list[list[Operand]] = [[] for _ in range(self.steps)]
        lasts: list[list[Operand]] = [[], []]
        for direction in range(self.directions):
            cell = self.cell(direction, has_cell)
            order = list(range(self.steps))
            if kind == "reverse" or direction:
                order.reverse()
            for at in order:
                h, c = step(cell, self.inputs[at])
                cell = cell._replace(h=h, c=c)
                rows[at].append(h)
            lasts[0].append(cell.h)
            if cell.c is not None:
                lasts[1].append(cell.c)
        graph, node = self.graph, self.node
        if node.outputs[0]:
            flat = [part for row in rows for part in row]
            shape = (self.steps, self.directions, self.batch, self.hidden)
            graph.give(node, graph.reshaped(self._joined(flat), shape), "FLOAT", shape)
        for at, states in enumerate(lasts[: 1 + has_cell], 1):
            if at < len(node.outputs) and node.outputs[at]:
                state = (self.directions, self.batch, self.hidden)
                result = graph.reshaped(self._joined(states), state)
                graph.give(node, result, "FLOAT", state, at=at)

    def _joined(self, parts: list[Operand]) -> Operand:
        if len(parts) == 1:
            return parts[0]
        return self.graph.make("CONCATENATION", [*parts, 0])

    def product(self, x: Operand, weights: Array, bias: Array) -> Operand:
        """X times the transposed weights, plus a bias."""
        filter = np.ascontiguousarray(weights, np.float32)
        offset = np.ascontiguousarray(bias, np.float32)
        return self.graph.make("FULLY_CONNECTED", [x, filter, offset, NONE])

    def part(self, x: Operand, gate: int, count: int = 1) -> Operand:
        """The columns of gates."""
        begin, size = (0, gate * self.hidden), (self.batch, count * self.hidden)
        return self.graph.part(x, begin, size)


def _lstm(graph: Importing, node: Node) -> None:
    """LSTM: gates input, output, forget, cell; peepholes of constants."""
    sequence = _Sequence(graph, node, 4, ["Sigmoid", "Tanh", "Tanh"])
    m, hidden = sequence.m, sequence.hidden
    if node.attributes.get("input_forget", 0):
        raise reason("it couples input and forget", "import.onnx.recurrent.options")
    holes = None
    if graph.has(node, 7):
        holes = graph.constant(node.inputs[7], "its peepholes").reshape(-1, 3, hidden)
        if sequence.directions > 1:
            raise reason("it has peepholes in two directions", "import.onnx.recurrent.options")

    def step(cell: Cell, x: Operand) -> tuple[Operand, Operand]:
        f, g, h = cell.activations
        assert cell.c is not None
        total = m.add(
            sequence.product(x, cell.w, cell.wb + cell.rb),
            sequence.product(cell.h, cell.r, np.zeros(4 * hidden, np.float32)),
        )
        gates = [sequence.part(total, at) for at in range(4)]
        if holes is not None:
            gates[0] = m.add(gates[0], m.mul(cell.c, holes[0, 0]))
            gates[2] = m.add(gates[2], m.mul(cell.c, holes[0, 2]))
        kept = m.mul(m.unary(f, gates[2]), cell.c)
        c = m.add(kept, m.mul(m.unary(f, gates[0]), m.unary(g, gates[3])))
        if holes is not None:
            gates[1] = m.add(gates[1], m.mul(c, holes[0, 1]))
        return m.mul(m.unary(f, gates[1]), m.unary(h, c)), c

    sequence.run(step, True)


def _gru(graph: Importing, node: Node) -> None:
    """GRU: gates update, reset, hidden."""
    sequence = _Sequence(graph, node, 3, ["Sigmoid", "Tanh"])
    m, hidden = sequence.m, sequence.hidden
    before = bool(node.attributes.get("linear_before_reset", 0))

    def step(cell: Cell, x: Operand) -> tuple[Operand, None]:
        f, g = cell.activations
        own = sequence.product(x, cell.w, cell.wb)
        two = 2 * hidden
        state = sequence.product(cell.h, cell.r[:two], cell.rb[:two])
        both = m.unary(f, m.add(sequence.part(own, 0, 2), state))
        update, reset = sequence.part(both, 0), sequence.part(both, 1)
        if before:
            inner = m.mul(reset, sequence.product(cell.h, cell.r[two:], cell.rb[two:]))
        else:
            inner = sequence.product(m.mul(reset, cell.h), cell.r[two:], cell.rb[two:])
        new = m.unary(g, m.add(sequence.part(own, 2), inner))
        return m.add(m.mul(m.sub(1, update), new), m.mul(update, cell.h)), None

    sequence.run(step, False)


def _rnn(graph: Importing, node: Node) -> None:
    sequence = _Sequence(graph, node, 1, ["Tanh"])
    m = sequence.m

    def step(cell: Cell, x: Operand) -> tuple[Operand, None]:
        own = sequence.product(x, cell.w, cell.wb + cell.rb)
        state = sequence.product(cell.h, cell.r, np.zeros(sequence.hidden, np.float32))
        return m.unary(cell.activations[0], m.add(own, state)), None

    sequence.run(step, False)


LOWERINGS: dict[str, Lowering] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
