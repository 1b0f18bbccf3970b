"""One operation on an example of its own, run through the C API."""

import ctypes

import numpy as np

from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.quantization import SCALARS
from tests.abi.rules.graph import Graph, Run
from tests.operations.cases import USES, example

NO_ERROR = ResultCode.NO_ERROR
ROOM = 1 << 14
"""Bytes for an output, more than any of these tests needs."""


def use_of(name, operands):
    """The float32 use of an operation with the fewest inputs, or another where it has none.

    operands: names of inputs that it has to have.
    """
    mine = [use for use in USES if use.operation.type is O[name] and {*operands} <= {*use.names}]
    return min(mine, key=lambda use: (use.variant != "f32", len(use.inputs)))


class Sample:
    """A model of one operation, all its inputs constants but the first tensor, and its run."""

    def __init__(self, name, *operands, use=None):
        """operands: those that the example must not omit. use: that of `use_of` by default."""
        self.type = O[name]
        self.use = use or use_of(name, operands)
        positions = [self.use.names.index(operand) for operand in operands]
        for seed in range(50):
            actual = example(self.use, np.random.default_rng(seed))
            if not any(actual.inputs[position].is_omitted for position in positions):
                break
        else:
            raise AssertionError(f"every example omits one of {operands}")
        self.inputs = [self._details(value) for value in actual.inputs]
        self.values = [None if value.is_omitted else value.array for value in actual.inputs]
        self.outputs = [self._details(value) for value in actual.outputs]

    def _details(self, value):
        it = value.operand
        return (it.type, tuple(it.dimensions), it.scale, it.zero_point)

    def set(self, name, value, sizes=None):
        """Give an input another value; None leaves it out, with the dimensions `sizes`."""
        at = self.use.names.index(name)
        kind, _, *parameters = self.inputs[at]
        sizes = value.shape if sizes is None else sizes
        self.inputs[at] = (kind, sizes, *parameters)
        self.values[at] = value

    def declare(self, position, scale=0.0, zero_point=0):
        """What the output at this position declares."""
        self.outputs[position] = (self.outputs[position][0], (), scale, zero_point)

    def reshape(self, name, change):
        """Give an input other dimensions, and contents to match."""
        at = self.use.names.index(name)
        kind, sizes, *parameters = self.inputs[at]
        sizes = change(sizes)
        self.inputs[at] = (kind, sizes, *parameters)
        self.values[at] = np.resize(self.values[at], sizes)

    def outcome(self, api, device):
        """Run it; its code, and the bytes of its outputs."""
        run, buffers = self._bound(api, device)
        code = api.result("Execution_compute", run.execution)
        return code, [buffer.contents for buffer in buffers]

    def run(self, api, device, code=NO_ERROR, omitted=None, saying=""):
        """Run it, and see that it ends with this code; the bytes of its outputs.

        omitted: position of an output that the execution leaves out. saying: words of the refusal.
        """
        run, buffers = self._bound(api, device, omitted)
        if code == NO_ERROR:
            run.ok("compute")
        else:
            run.refuse(code, "compute", saying=saying)
        return [buffer.contents for buffer in buffers]

    def _bound(self, api, device, omitted=None):
        graph = Graph(api)
        inputs, argument = [], None
        for position, (details, value) in enumerate(zip(self.inputs, self.values, strict=True)):
            index = graph.operand(*details)
            inputs.append(index)
            if value is None:
                api.ok("Model_setOperandValue", graph.model, index, None, 0)
            elif argument is None and details[0] not in SCALARS:
                argument = index, position
            else:
                data = ctypes.create_string_buffer(value.tobytes(), value.nbytes)
                graph._kept.append(data)
                api.ok("Model_setOperandValue", graph.model, index, data, value.nbytes)
        outputs = [graph.operand(kind, (), *rest) for kind, _, *rest in self.outputs]
        graph.operation(self.type, inputs, outputs)
        graph.arguments([argument[0]], outputs)
        run = Run(api, device, graph.finish())
        given = self.values[argument[1]]
        run.input(0, ctypes.create_string_buffer(given.tobytes(), given.nbytes))
        if omitted is not None:
            run.ok("setOutput", omitted, None, None, 0)
        buffers = [run.output(number, ROOM) for number in range(len(outputs)) if number != omitted]
        return run, buffers


def column(sizes):
    """[n] as [n, 1]."""
    return (*sizes, 1)


def row(sizes):
    """[n] as [1, n]."""
    return (1, *sizes)
