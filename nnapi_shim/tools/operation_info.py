"""Description of an operation of the specification, from its declaration."""

from dataclasses import dataclass

from nnapi_shim.api.names import member
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations import family, operation
from nnapi_shim.operations.declare import Form, Operands, Operation
from nnapi_shim.tools.report import Report
from nnapi_shim.tools.rule_texts import sentence


@dataclass(frozen=True)
class TypeRow:
    """One accepted combination of operand types: column -> type, since a feature level."""

    level: int
    types: dict[str, OperandType]


@dataclass(frozen=True)
class FormRow:
    """One accepted list of operands, since a feature level.

    inputs, outputs: such as `stride_width:INT32`, or `inputs...` for a repeated operand.
    """

    level: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Described(Report):
    """The description of an operation.

    level: the feature level that introduced it. rules: requirements of addOperation and finish,
    otherwise BAD_DATA. checks: requirements of a computation, otherwise OP_FAILED.
    """

    name: str
    code: int
    family: str
    formula: str
    level: int
    types: tuple[TypeRow, ...]
    forms: tuple[FormRow, ...]
    defaults: dict[str, object]
    """Optional input -> its default value."""
    omittable: tuple[str, ...]
    """Inputs that may have no value."""
    deciding: tuple[str, ...]
    """Inputs whose values determine shapes."""
    output_dimensions: str
    output_quantization: str
    takes_empty_tensors: bool
    rules: tuple[str, ...]
    checks: tuple[str, ...]


def described(type: OperationType | str | int) -> Described:
    """The description of an operation; raises BAD_DATA for an unknown one."""
    kind = member(OperationType, type.upper() if isinstance(type, str) else type)
    declaration = operation(kind)
    rows = sorted(declaration.types.values(), key=lambda row: int(row[0]))
    types = tuple(TypeRow(row[0], declaration.row_types(row)) for row in rows)
    first = min([row.level for row in types], default=1)
    forms = tuple(_form(declaration, accepted, first) for accepted in declaration.forms)
    return Described(
        kind.name,
        int(kind),
        family(kind),
        declaration.doc,
        min(form.level for form in forms),
        types,
        forms,
        declaration.defaults,
        tuple(sorted(declaration.omittable)),
        declaration.values,
        sentence(declaration.shape),
        sentence(declaration.quantization),
        declaration.allow_zero_sized,
        tuple(map(sentence, declaration.rules)),
        tuple(map(sentence, declaration.checks)),
    )


def _form(declaration: Operation, accepted: Form, first: int) -> FormRow:
    """A form as a report row. first: the lowest level of the operation's types."""
    return FormRow(
        max(accepted.since, first),
        _operands(accepted.inputs),
        _operands(declaration.outputs_of(accepted)),
    )


def _operands(operands: Operands) -> tuple[str, ...]:
    return tuple(
        name
        + ("..." if name == operands.repeated else "")
        + ("" if type is None else f":{type.name}")
        for name, type in zip(operands.names, operands.types, strict=True)
    )
