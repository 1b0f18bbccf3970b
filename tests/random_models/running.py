"""Running a model on a device: twice, in buffers of the right size with marks around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.prepared_model import GraphRun, ReferencePreparedModel
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, Priority
from nnapi_shim.hal.quantization import ELEMENT_BYTES, STRUCT_CODES
from nnapi_shim.hal.types import (
    Dimensions,
    Operand,
    OutputShape,
    Request,
    RequestArgument,
    element_count,
)
from tests.random_models.graph import COMPUTED, Graph, Item, Node, assemble
from tests.single import INPUT, UNTOUCHED, Built, Value

LOOP_TIMEOUT_NS = 10**10
MARGIN = 16
"""Bytes around every output that nobody may write."""


class Wrong(Exception):  # noqa: N818 (a result of a test)
    """A device broke a rule that needs no other device to be seen."""


class Prepared:
    """A model that a device has prepared; raises what the device raises."""

    def __init__(self, device: Any, built: Built) -> None:
        self._graph = built.model.main
        self._prepared = device.prepareModel(
            built.model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
        )

    def run(self, contents: Sequence[Any], expected: Sequence[Dimensions]) -> list[Any]:
        """The outputs for these inputs (None for one left out); raises what the device raises.

        expected: dimensions to make the buffers for; if they turn out too small, the run is
        repeated with those that the device asks for. Sizes that depend on data may show only after
        others are right.
        Raises Wrong where two runs differ, an input changes, or a byte outside an output is
        written.
        """
        sources = [None if array is None else np.array(array) for array in contents]
        inputs = tuple(
            RequestArgument(0, 0, (), True)
            if source is None
            else RequestArgument(source.ctypes.data, source.nbytes, source.shape)
            for source in sources
        )
        operands = [self._graph.operands[index] for index in self._graph.output_indexes]
        for _ in range(len(operands) + 1):
            buffers = _Buffers(operands, expected)
            execution = self._prepared.createReusableExecution(
                Request(inputs, buffers.arguments), False, LOOP_TIMEOUT_NS
            )
            result = execution.compute(None)
            if result.status is ErrorStatus.NONE:
                break
            if result.status is not ErrorStatus.OUTPUT_INSUFFICIENT_SIZE:
                raise Wrong(f"status {result.status}")
            expected = _enlarged(expected, result.output_shapes)
        else:
            raise Wrong(f"buffers are too small, also with the sizes it asked for: {expected}")
        first = buffers.contents(result.output_shapes)
        for before, after in zip(contents, sources, strict=True):
            if before is not None and before.tobytes() != after.tobytes():
                raise Wrong("it has changed an input")
        once_more = execution.compute(None)
        if once_more.status is not ErrorStatus.NONE or not _same(
            first, buffers.contents(once_more[1])
        ):
            raise Wrong("a second run of the same execution gives something else")
        return first


def run(device: Any, built: Built, expected: Sequence[Dimensions]) -> list[Any]:
    """The outputs of a model for its own inputs; see Prepared.run."""
    return Prepared(device, built).run(built.inputs, expected)


def _enlarged(values: Sequence[Dimensions], shapes: Sequence[OutputShape]) -> list[Dimensions]:
    """Dimensions for the next attempt: those that are said to be too small replaced.

    Raises Wrong if none is, or if an output that is too small needs no more than there was.
    """
    if all(shape.is_sufficient for shape in shapes):
        raise Wrong("OUTPUT_INSUFFICIENT_SIZE, but no output is said to be too small")
    for before, shape in zip(values, shapes, strict=True):
        if not shape.is_sufficient and element_count(shape.dimensions) <= element_count(before):
            raise Wrong(f"a buffer for {before} is said to be too small for {shape.dimensions}")
    return [
        before if shape.is_sufficient else shape.dimensions
        for before, shape in zip(values, shapes, strict=True)
    ]


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


class _Buffers:
    """Memory for outputs: one block, each output aligned to its elements only."""

    def __init__(self, operands: Sequence[Operand], expected: Sequence[Dimensions]) -> None:
        self._operands = operands
        self._starts, self._lengths = [], []
        end = 0
        for operand, dimensions in zip(operands, expected, strict=True):
            size = ELEMENT_BYTES[operand.type]
            start = -(-(end + MARGIN) // size) * size
            self._starts.append(start)
            self._lengths.append(element_count(dimensions) * size)
            end = start + self._lengths[-1]
        self._block = np.full(end + MARGIN, UNTOUCHED, np.uint8)
        self.arguments = tuple(
            RequestArgument(self._block.ctypes.data + start, length, operand.dimensions)
            for start, length, operand in zip(self._starts, self._lengths, operands, strict=True)
        )

    def contents(self, shapes: Sequence[Any]) -> list[Any]:
        """A copy of every output; marks all memory again."""
        arrays = []
        for start, length, operand, (dimensions, _) in zip(
            self._starts, self._lengths, self._operands, shapes, strict=True
        ):
            size = element_count(dimensions) * ELEMENT_BYTES[operand.type]
            if size > length:
                raise Wrong(f"output {list(dimensions)} has not fitted, and it was no error")
            part = self._block[start : start + size]
            code = STRUCT_CODES[operand.type]
            arrays.append(part.copy().view(code).reshape(dimensions))
            part[:] = UNTOUCHED
        if (self._block != UNTOUCHED).any():
            raise Wrong(f"written outside of the outputs, at {np.flatnonzero(self._block != 0xA5)}")
        self._block[:] = UNTOUCHED
        return arrays


def evaluate(node: Node, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[Any]:
    """What the reference device computes for one operation; raises what it raises.

    node: only its type and its graphs matter.
    """
    items = [Item(value, INPUT, value.operand.dimensions) for value in inputs]
    items += [Item(output, COMPUTED, ()) for output in outputs]
    indexes = tuple(range(len(inputs))), tuple(range(len(inputs), len(items)))
    graph = Graph(items, [node._replace(inputs=indexes[0], outputs=indexes[1])])
    built = assemble(graph, indexes[1])
    model = ReferencePreparedModel(built.model)
    computation = GraphRun(model, model.main, built.inputs, LOOP_TIMEOUT_NS)
    computation.compute()
    return [output.value for output in computation.outputs()]
