"""Determines which operations of a model an older HAL supports, and the rule that excludes others.

HAL 1.0 corresponds to feature level 1, HAL 1.1 to level 2. Declarations of operations have the
levels of types, forms and ranks; this module has the HAL's requirements for operands.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from nnapi_shim.errors import operation_place
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Model, Operand, Operation, Subgraph
from nnapi_shim.operations import bound_operand, operation
from nnapi_shim.operations.declare import UNSET, BoundOperand, BoundOperation
from nnapi_shim.operations.declare import Operation as Declaration

LEVEL_OF_HAL = {"1.0": 1, "1.1": 2}
"""HAL version -> feature level."""

_EXTENSIONS = 3
"""The first level with extensions."""

_UNKNOWN_RANK = 3
"""The first level with tensors of unknown rank."""

_TYPE_LEVELS = {
    OperandType.BOOL: 3,
    OperandType.TENSOR_QUANT16_SYMM: 3,
    OperandType.TENSOR_FLOAT16: 3,
    OperandType.TENSOR_BOOL8: 3,
    OperandType.FLOAT16: 3,
    OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL: 3,
    OperandType.TENSOR_QUANT16_ASYMM: 3,
    OperandType.TENSOR_QUANT8_SYMM: 3,
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: 4,
    OperandType.MODEL: 4,
}
"""Operand types that are newer than level 1."""


class Reason(NamedTuple):
    """A rule that makes an operation newer than level 1.

    rule: operation, types, form, rank, quantization, zero point, operand type, pool, extension,
        graph, or the name of a rule of the declaration.
    """

    level: int
    rule: str
    text: str


class OperationCompliance(NamedTuple):
    """An operation of a model: the feature level that it needs, and why."""

    number: int
    """Position of the addOperation call."""
    name: str
    level: int
    reasons: tuple[Reason, ...]


class Compliance(NamedTuple):
    """The report on a model: its operations in execution order. As text: a table."""

    operations: tuple[OperationCompliance, ...]

    def allows(self, level: int) -> list[bool]:
        """Per operation, whether a HAL of this feature level supports it."""
        return [item.level <= level for item in self.operations]

    def __str__(self) -> str:
        count = len(self.operations)
        known = [
            f"HAL {version} knows {sum(self.allows(level))}"
            for version, level in LEVEL_OF_HAL.items()
        ]
        lines = [
            f"{count} operation{'s' * (count != 1)}: {', '.join(known)}",
            f"{'':>4}  {'operation':28} level  1.0  1.1  what is newer",
        ]
        for item in sorted(self.operations):
            marks = ["yes" if item.level <= level else "no" for level in LEVEL_OF_HAL.values()]
            why = "; ".join([f"{r.text} ({r.level})" for r in item.reasons])
            line = f"{item.number:4}  {item.name:28} {item.level:5}  {marks[0]:3}  {marks[1]:3}"
            lines.append(f"{line}  {why}".rstrip())
        return "\n".join(lines)


def compliance(model: Model) -> Compliance:
    """The feature levels of the operations of a finished model, in their actual forms."""
    newest: list[OperationCompliance] = []
    for graph in model.referenced:
        inner = [_compliance(item, graph, model, newest) for item in graph.operations]
        newest.append(max(inner, key=lambda explained: explained.level))
    operations = model.main.operations
    return Compliance(tuple([_compliance(item, model.main, model, newest) for item in operations]))


def _compliance(
    item: Operation, graph: Subgraph, model: Model, newest: list[OperationCompliance]
) -> OperationCompliance:
    """newest: for each referenced graph the operation with the highest level."""
    reasons = list(_reasons(item, graph, model, newest))
    level = max([1, *[reason.level for reason in reasons]])
    name = operation_place(item.type, item.number).name
    return OperationCompliance(item.number, name, level, tuple(reasons))


def _reasons(
    item: Operation, graph: Subgraph, model: Model, newest: list[OperationCompliance]
) -> Iterator[Reason]:
    operands = graph.operands
    level = 1
    if not isinstance(item.type, OperationType):
        yield Reason(_EXTENSIONS, "extension", "extensions exist since HAL 1.2")
    elif item.type is not OperationType.OEM_OPERATION:
        for reason in reasons_of_use(
            item.type,
            [bound_operand(index, operands[index]) for index in item.inputs],
            [bound_operand(index, operands[index]) for index in item.outputs],
        ):
            level = max(level, reason.level)
            yield reason
    known: set[tuple[int, str, str]] = set()
    for role, indexes in (("input", item.inputs), ("output", item.outputs)):
        for position, index in enumerate(indexes):
            operand = operands[index]
            for reason in _operand_reasons(f"{role} {position}", operand, level, model, newest):
                if reason not in known:
                    known.add(reason)
                    yield reason


def reasons_of_use(
    type: OperationType, inputs: list[BoundOperand], outputs: list[BoundOperand]
) -> Iterator[Reason]:
    """The reasons in an operation's declaration for the level of a use.

    Raises BAD_DATA for a use that is legal at no level.
    """
    declaration = operation(type)
    match = declaration.match(
        tuple([operand.type for operand in inputs]), tuple([operand.type for operand in outputs])
    )
    rows = declaration.types
    oldest = max(
        min([row[0] for row in rows.values()], default=1), min(f.since for f in declaration.forms)
    )
    if oldest > 1:
        yield Reason(oldest, "operation", f"{type.name} itself")
    row = rows.get(match.variant, (1,))
    if row[0] > oldest:
        columns = declaration.row_types(row)
        kinds = dict.fromkeys([columns[name].name for name in declaration.input_columns])
        yield Reason(row[0], "types", f"inputs of {' and '.join(kinds)}")
    if match.since > max(oldest, row[0]):
        yield Reason(match.since, "form", _what_is_new(declaration, match.since, match.input_names))
    values = match.value_positions
    op = declaration.bind(
        match,
        [UNSET if at in values else operand for at, operand in enumerate(inputs)],
        outputs,
        lambda position: inputs[position],
    )
    if type is not OperationType.IF and type is not OperationType.WHILE:
        for rule in declaration.rules:
            answer = rule(op)
            if answer is not None and answer > match.since:
                name = rule.__qualname__.partition(".")[0]
                yield Reason(answer, *_explained(name, op))
    yield from _of_older_levels(op)


def _what_is_new(declaration: Declaration, since: int, names: tuple[str, ...]) -> str:
    """The inputs of a form that no older form has."""
    older = {name for form in declaration.forms if form.since < since for name in form.inputs.names}
    new = [name for name in dict.fromkeys(names) if name not in older]
    return (
        f"{'input ' if len(new) == 1 else 'inputs '}{', '.join(new)}"
        if new
        else (f"this list of {len(names)} inputs")
    )


def _explained(name: str, op: BoundOperation) -> tuple[str, str]:
    """A rule of a declaration in words."""
    if name == "level_by_rank":
        return "rank", f"input of rank {len(op.input.dimensions)}"
    if name == "zero_point_level":
        return "zero point", f"TENSOR_QUANT8_ASYMM input with zero point {op.input.zero_point}"
    return name, name.replace("_", " ")


def _of_older_levels(op: BoundOperation) -> Iterator[Reason]:
    """Requirements of levels 1 and 2 that level 3 dropped, so declarations do not have them."""
    kind = op.match.operation.type
    if op.variant != "qu8":
        return
    if kind in _PRODUCTS:
        other = op.weights if kind is OperationType.FULLY_CONNECTED else op.filter
        product = op.input.scale * other.scale
        if not op.output.scale > product:
            yield Reason(
                3,
                "quantization",
                f"output scale {op.output.scale:g}, not above the product of the scales of input "
                f"and {'weights' if kind is OperationType.FULLY_CONNECTED else 'filter'}",
            )
    elif kind is OperationType.CONCATENATION:
        expected = op.output.scale, op.output.zero_point
        if any((operand.scale, operand.zero_point) != expected for operand in op.inputs):
            yield Reason(3, "quantization", "inputs with another scale or zero point than output")


_PRODUCTS = (
    OperationType.CONV_2D,
    OperationType.DEPTHWISE_CONV_2D,
    OperationType.FULLY_CONNECTED,
)


def _operand_reasons(
    role: str, operand: Operand, level: int, model: Model, newest: list[OperationCompliance]
) -> Iterator[Reason]:
    """Level reasons of an operand that exceed `level`, the one of its operation."""
    kind: Any = operand.type
    if not isinstance(kind, OperandType):
        yield Reason(_EXTENSIONS, "extension", f"{role} is of an extension type")
        return
    since = _TYPE_LEVELS.get(kind, 1)
    if since > level:
        yield Reason(since, "operand type", f"{role} {kind.name}")
    if _has_unknown_rank(operand):
        yield Reason(_UNKNOWN_RANK, "rank", f"{role} of unknown rank")
    if operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
        pool = model.pools[operand.location.pool_index]
        if pool.since > 1:
            yield Reason(pool.since, "pool", f"{role} in a hardware buffer")
    if operand.lifetime is OperandLifeTime.SUBGRAPH:
        inner = newest[operand.location.offset]
        if inner.level > level:
            text = f"{inner.name} (operation {inner.number}) in the graph of {role}"
            yield Reason(inner.level, "graph", text)


def operand_level(operand: Operand) -> int:
    """The feature level of an operand itself, independent of the source of its value."""
    if not isinstance(operand.type, OperandType):
        return _EXTENSIONS
    level = _TYPE_LEVELS.get(operand.type, 1)
    return max(level, _UNKNOWN_RANK) if _has_unknown_rank(operand) else level


def _has_unknown_rank(operand: Operand) -> bool:
    return operand.type not in SCALARS and not operand.dimensions
