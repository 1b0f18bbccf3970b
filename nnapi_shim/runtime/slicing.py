"""Extracts the partitions of a model as models, for the steps of an execution plan."""

from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.part import Contents
from nnapi_shim.hal.types import Model, Operand, Subgraph
from nnapi_shim.hints import Collection, NamedTuple, Sequence
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.declare import UNSET

L = OperandLifeTime

SPARE = -1
"""Stands for an added input that no operation reads."""

_SPARE_INPUT = Operand(OperandType.TENSOR_FLOAT32, (1,), lifetime=L.SUBGRAPH_INPUT)


class Slice(NamedTuple):
    """A partition as a model. `inputs`, `outputs` and `operands` are the operands of the main graph
    of the whole model that its inputs, outputs and operands correspond to.
    """

    model: Model
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operands: tuple[int, ...]


def sliced(model: Model, parts: Sequence[Sequence[int]]) -> list[Slice]:
    """The partitions of a model, each defined by the positions of its operations.

    An operand that passes from one partition to another is an output of the first and an input of
    the second, with the same type, dimensions, scale and zero point. Every partition has at least
    one input and one output, as every model does.
    """
    main = model.main._replace(operands=tuple(with_parameters(model.main)))
    source = model._replace(main=main)
    writer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    for number, part in enumerate(parts):
        for position in part:
            item = main.operations[position]
            writer.update(dict.fromkeys(item.outputs, number))
            for index in item.inputs:
                readers.setdefault(index, set()).add(number)
    handed_on = {index for index, number in writer.items() if readers.get(index, set()) - {number}}
    return [_slice(source, part, handed_on) for part in parts]


def _slice(model: Model, part: Sequence[int], handed_on: Collection[int]) -> Slice:
    main = model.main
    operations = [main.operations[position] for position in part]
    read = {index for item in operations for index in item.inputs}
    written = {index for item in operations for index in item.outputs}
    outputs = [index for index in main.output_indexes if index in written]
    outputs += sorted(index for index in written.difference(outputs) if index in handed_on)
    if not outputs:  # its outputs are unused, but it may fail
        outputs = sorted(written - read)
    read_from_outside = {
        index
        for index in read - written
        if main.operands[index].lifetime
        in (L.SUBGRAPH_INPUT, L.SUBGRAPH_OUTPUT, L.TEMPORARY_VARIABLE)
    }
    inputs = [index for index in main.input_indexes if index in read_from_outside]
    inputs += sorted(read_from_outside.difference(inputs))
    contents = Contents(model)
    used = sorted(read | written)
    added = () if inputs else (_SPARE_INPUT,)
    inputs = inputs or [SPARE]
    graph = contents.graph(used, operations, inputs, outputs, added)
    return Slice(contents.model(graph), tuple(inputs), tuple(outputs), tuple(used))


def with_parameters(graph: Subgraph) -> list[Operand]:
    """The operands, with the scale and zero point that operations compute for temporaries.

    Inside a model, the declared parameters of a temporary are ignored. As an output or input of a
    partition they count, so they are replaced by the computed ones.
    """
    operands = list(graph.operands)
    for item in graph.operations:
        if (
            not isinstance(item.type, OperationType)
            or item.type in (OperationType.IF, OperationType.WHILE, OperationType.OEM_OPERATION)
            or all(operands[i].lifetime is not L.TEMPORARY_VARIABLE for i in item.outputs)
        ):
            continue
        op = bound_operation(
            item,
            operands,
            lambda index, is_value: UNSET if is_value else bound_operand(index, operands[index]),
            lambda index: bound_operand(index, operands[index]),
        )
        parameters = op.match.operation.quantization(op)
        for index, (scale, zero_point) in zip(item.outputs, parameters, strict=True):
            if operands[index].lifetime is L.TEMPORARY_VARIABLE:
                operands[index] = operands[index]._replace(scale=scale, zero_point=zero_point)
    return operands
