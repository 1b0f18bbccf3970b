"""Which operations of a model a device of a profile takes."""

from collections.abc import Iterator

from nnapi_shim.drivers.versioned.compliance import compliance
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Model, Operand, Operation, Subgraph
from nnapi_shim.operations import matched
from nnapi_shim.phones.profile import Rule

_CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)


def taken(model: Model, rules: tuple[Rule, ...], level: int) -> list[bool]:
    """Per operation of the main graph: whether it is of the level, and a rule takes it.

    An IF or WHILE needs a rule, too, and one for each operation of its graphs.
    """
    graphs: list[bool] = []
    for graph in model.referenced:
        graphs.append(all(_is_taken(item, graph, graphs, rules) for item in graph.operations))
    return [
        allowed and _is_taken(item, model.main, graphs, rules)
        for item, allowed in zip(
            model.main.operations, compliance(model).allows(level), strict=True
        )
    ]


def _is_taken(
    item: Operation, graph: Subgraph, graphs: list[bool], rules: tuple[Rule, ...]
) -> bool:
    if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
        return False
    operands = [graph.operands[index] for index in (*item.inputs, *item.outputs)]
    if not all(
        graphs[operand.location.offset]
        for operand in operands
        if operand.lifetime is OperandLifeTime.SUBGRAPH
    ):
        return False
    kinds = list(_varying_types(item, graph))
    tensors = [
        operand
        for operand in operands
        if operand.type not in SCALARS and operand.lifetime is not OperandLifeTime.NO_VALUE
    ]
    return any(
        (rule.names is None or item.type in rule.names)
        and (rule.types is None or all(kind in rule.types for kind in kinds))
        and all(_is_within(operand, rule) for operand in tensors)
        for rule in rules
    )


def _varying_types(item: Operation, graph: Subgraph) -> Iterator[OperandType]:
    """Types of the tensors whose type the operation does not fix, as it does for axes and sizes."""
    if item.type in _CONTROL_FLOW:
        yield from (graph.operands[index].type for index in item.inputs[2:])
        return
    match = matched(item, graph.operands)
    declared = match.operation
    names = (*match.input_names, *match.output_names)
    vary = (*declared.input_columns, *declared.output_names)
    for name, index in zip(names, (*item.inputs, *item.outputs), strict=True):
        kind = graph.operands[index].type
        if name in vary and kind not in SCALARS:
            yield kind


def _is_within(operand: Operand, rule: Rule) -> bool:
    """Whether a tensor is within the limits, as far as its dimensions are declared."""
    sizes = operand.dimensions
    if not sizes:  # unknown rank
        return rule.max_rank is None and rule.min_rank is None and not rule.known_dimensions
    elements = 1
    for size in sizes:
        elements *= size or 1
    return (
        (rule.min_rank is None or len(sizes) >= rule.min_rank)
        and (rule.max_rank is None or len(sizes) <= rule.max_rank)
        and (rule.max_dimension is None or max(sizes) <= rule.max_dimension)
        and (rule.max_elements is None or elements <= rule.max_elements)
        and (rule.max_batch is None or sizes[0] <= rule.max_batch)
        and not (rule.known_dimensions and 0 in sizes)
    )
