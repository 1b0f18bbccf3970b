"""Keeps 8-bit weights of float32 products of few rows as they are stored: no float32 copy.

Matches a DEQUANTIZE of a constant whose results are the weights of FULLY_CONNECTED, LSTM or RNN
operations of few rows. Their products become digit products (lowering/digit_products.py), sums of
integers; results are about as accurate as those of float32 sums, and differ in rounding.
"""

from nnapi_shim.drivers.cpu.lowering import lower
from nnapi_shim.drivers.cpu.lowering.half_precision import ON_ONE_ROW
from nnapi_shim.drivers.cpu.lowering.requantization import signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.lowering.weight_format import BYTES, digit_rows
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.passes.graph.rows import batches
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import Operation, element_count
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations import bound_operand, matched
from nnapi_shim.operations.declare import BoundOperand, Match

O = OperationType  # noqa: E741
NO_VALUE = OperandLifeTime.NO_VALUE
MIN_WEIGHTS = 1 << 16
"""Weights of a model, at least: fewer float32 stay in a near cache."""


def keep_weights_q8(graph: MutableGraph) -> None:
    """Replace products of dequantized weights by products that read the stored weights."""
    if not tier().byte_weights:
        return
    stored = _stored_weights(graph)
    positions = sorted({each for index in stored for each in graph.readers[index]})
    items = [item for each in positions if isinstance(item := graph.operations[each], Operation)]
    if sum([_size(graph, index) for index in stored]) < MIN_WEIGHTS:
        return
    for position, item in zip(positions, items, strict=True):
        size = sum([_size(graph, index) for index in {*item.inputs}.intersection(stored)])
        graph.replace(position, _product(graph, item, stored))
        graph.report(item, f"{title(item)}: {size >> 10} KiB of weights stay 8-bit")
    for index in stored:
        position = graph.producer[index]
        item = graph.operations[position]
        assert isinstance(item, Operation)
        graph.remove(position)
        graph.report(item, f"{title(item)}: the operations that read it do its work")


def _size(graph: MutableGraph, index: int) -> int:
    return element_count(graph.operands[index].dimensions)


def _stored_weights(graph: MutableGraph) -> dict[int, int]:
    """Result of a DEQUANTIZE -> its constant input, if all that read it are products of few rows,
    as weights.
    """
    stored: dict[int, int] = {}
    products: dict[int, bool] = {}
    for _, item in graph.each(O.DEQUANTIZE):
        source, target = item.inputs[0], item.outputs[0]
        readers = graph.readers.get(target)
        if not readers or target in graph.outputs or not _is_readable(graph, source, target):
            continue
        for position in readers:
            if position not in products:
                products[position] = _is_product(graph, graph.operations[position], target)
        if all(products[each] and _is_weights(graph, each, target) for each in readers):
            stored[target] = source
    return stored


def _is_readable(graph: MutableGraph, source: int, target: int) -> bool:
    """Whether kernels can read a constant matrix: int8 less nothing, with a scale for each row."""
    operand = graph.operands[source]
    quant = operand.channel_quant
    return (
        operand.type in BYTES
        and graph.is_constant(source)
        and len(operand.dimensions) == 2
        and signed_zero(bound_operand(source, operand))[1] == 0
        and (quant is None or quant.channel_dim == 0)
        and graph.operands[target].type is OperandType.TENSOR_FLOAT32
        and graph.is_plain(source, target)
    )


def _is_product(graph: MutableGraph, item: Any, weights: int) -> bool:
    """Whether an operation is a product of few rows, and a run can omit none of its inputs.

    weights: one of them, if it is one.
    """
    if not isinstance(item, Operation) or item.type not in ON_ONE_ROW:
        return False
    match = matched(item, graph.operands)
    dimensions = graph.operands[weights].dimensions
    most = digit_rows(dimensions) if item.type is O.FULLY_CONNECTED else 1
    return (
        1 <= batches(graph, item) <= most
        and graph.is_plain(*item.outputs)
        and all(_has_value(graph, item.inputs[at]) for at in match.value_positions)
        and not any(
            name in match.operation.omittable and not _has_value(graph, index)
            for name, index in zip(match.input_names, item.inputs, strict=True)
            if index not in graph.producer
        )
    )


def _has_value(graph: MutableGraph, index: int) -> bool:
    return graph.is_constant(index) or graph.operands[index].lifetime is NO_VALUE


def _is_weights(graph: MutableGraph, position: int, index: int) -> bool:
    """Whether an operation reads an operand as weights alone."""
    item = graph.operations[position]
    assert isinstance(item, Operation)
    names = matched(item, graph.operands).input_names
    return all(
        name.endswith("weights")
        for name, other in zip(names, item.inputs, strict=True)
        if other == index
    )


def _product(graph: MutableGraph, item: Operation, stored: dict[int, int]) -> Fused:
    """An operation that reads the stored weights."""
    match = matched(item, graph.operands)
    values: list[Any] = [None] * len(item.inputs)
    for at in match.value_positions:
        values[at] = graph.value(item.inputs[at])
    tensors = [
        at
        for at, index in enumerate(item.inputs)
        if at not in match.value_positions and graph.operands[index].lifetime is not NO_VALUE
    ]
    inputs = [stored.get(item.inputs[at], item.inputs[at]) for at in tensors]
    lower = _Product(match, values, tensors).lower
    return Fused(O(item.type), tuple(inputs), item.outputs, item.number, lower)


class _Product:
    """The lowering of an operation whose weights are of another type than it declares.

    values: of its inputs. tensors: positions of those that are operands.
    """

    def __init__(self, match: Match, values: list[Any], tensors: list[int]) -> None:
        self._match, self._values, self._tensors = match, values, tensors

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """The steps of the operation."""
        values = list(self._values)
        for at, operand in zip(self._tensors, inputs, strict=True):
            values[at] = operand
        op = self._match.operation.bind(self._match, values, [*outputs])
        return [*lower(op)]
