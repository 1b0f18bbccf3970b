"""IF and WHILE. Their operands are those of the graphs that they run.

An outer operand fits its inner counterpart if type, scale, zero point and per-channel parameters
are equal, and rank and sizes are equal as far as both are known.
"""

from nnapi_shim.errors import Place, bad_data
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import Subgraph, combined
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import (
    BoundOperand,
    BoundOperation,
    Match,
    Operation,
    Types,
    form,
)


class ControlFlow(Operation):
    """An operation with the operands of its graphs.

    Bound, its MODEL operands have their hal.Subgraph as `value` (None while it is not set), and
    `inputs` and `outputs` are lists of all other operands.
    """

    def __init__(self, type: OperationType, **parts: Any) -> None:
        super().__init__(
            type,
            columns="-> outputs",
            types={},
            omittable=("inputs",),
            allow_zero_sized=True,
            data_dependent=True,
            shape=lambda op: [() for _ in op.outputs],
            work=None,
            **parts,
        )

    def match(self, inputs: Types, outputs: Types) -> Match:
        """The match for these types; only the first operands have fixed types."""
        for accepted in self.forms:
            listed, results = accepted.inputs, self.outputs_of(accepted)
            names, output_names = listed.spread(len(inputs)), results.spread(len(outputs))
            if names is not None and output_names is not None:
                break
        else:
            least = min(len(accepted.inputs.names) for accepted in self.forms)
            raise bad_data(
                f"{len(inputs)} inputs and {len(outputs)} outputs given; allowed are {least} "
                "inputs or more, and 1 output or more",
                "control-flow.operand-count",
            )
        for position, (name, expected) in enumerate(zip(listed.names, listed.types, strict=True)):
            if expected is not None and inputs[position] is not expected:
                role = Place("input", position, name)
                message = f"{role} is {inputs[position].name}; allowed here: {expected.name}"
                raise bad_data(message, "operation.signature.type").about(role)
        repeated = listed.repeated, results.repeated
        return Match(self, "any", accepted.since, names, output_names, repeated, ())


def _graph(op: BoundOperation, name: str) -> Subgraph:
    graph = getattr(op, name).value
    if graph is None:
        raise bad_data(
            f"{name} has no value; setOperandValueFromModel comes before addOperation",
            "control-flow.no-model",
        )
    return graph  # type: ignore[no-any-return]


def _is_omitted(operand: Any) -> bool:
    """Whether an operand, bound or of a graph, has no value."""
    if isinstance(operand, BoundOperand):
        return operand.is_omitted
    return operand.lifetime is OperandLifeTime.NO_VALUE


def _counted(name: str, what: str, count: int, expected: int) -> None:
    if count != expected:
        raise bad_data(
            f"{name} has {count} {what}; it must have {expected}", "control-flow.argument-count"
        )


def _agree(name: str, role: str, outer: Any, inner: Any) -> None:
    """Raise BAD_DATA unless an outer and an inner operand are compatible.

    name, role: of the inner one, such as `then_model` and `input 0`.
    """
    for what in ("type", "scale", "zero_point", "channel_quant"):
        one, other = getattr(outer, what), getattr(inner, what)
        if one != other:
            shown = [getattr(value, "name", value) for value in (one, other)]
            raise bad_data(
                f"{name}: {role} has {what} {shown[1]}; outside it has {shown[0]}",
                "control-flow.argument-type",
            )
    sizes, inside = outer.dimensions, inner.dimensions
    if combined(sizes, inside) is None and not _is_omitted(outer):
        raise bad_data(
            f"{name}: {role} has dimensions {list(inside)}; outside it has {list(sizes)}",
            "control-flow.argument-dimensions",
        )


def _all_agree(
    role: str, outer: Sequence[Any], graph: Subgraph, indexes: Sequence[int], name: str
) -> None:
    for position, (operand, index) in enumerate(zip(outer, indexes, strict=True)):
        _agree(name, f"{role} {position}", operand, graph.operands[index])


def _is_condition(operand: Any) -> bool:
    return operand.type is OperandType.TENSOR_BOOL8 and operand.dimensions == (1,)


def branches_fit(op: BoundOperation) -> None:
    """The condition is one TENSOR_BOOL8; both graphs have the inputs and outputs of the IF.

    In addOperation a graph may be missing; finish rejects a MODEL operand without a value.
    """
    if not _is_condition(op.condition):
        raise bad_data(
            f"condition has dimensions {list(op.condition.dimensions)}; they must be [1]",
            "if.condition-dimensions",
        )
    if op.then_model.value is None and op.else_model.value is None:
        raise bad_data(
            "then_model and else_model have no value; setOperandValueFromModel of at least one "
            "comes before addOperation",
            "if.no-models",
        )
    for name in ("then_model", "else_model"):
        graph = getattr(op, name).value
        if graph is None:
            continue
        inputs = op.inputs or []
        _counted(name, "inputs", len(graph.input_indexes), len(inputs))
        _counted(name, "outputs", len(graph.output_indexes), len(op.outputs))
        _all_agree("input", inputs, graph, graph.input_indexes, name)
        _all_agree("output", op.outputs, graph, graph.output_indexes, name)


def loop_fits(op: BoundOperation) -> None:
    """Both graphs have the inputs of the WHILE; outputs of the body are its next inputs.

    The body has at least as many outputs as the operation, and at most as many as inputs.
    """
    condition, body = _graph(op, "condition_model"), _graph(op, "body_model")
    for name, graph in (("condition_model", condition), ("body_model", body)):
        _counted(name, "inputs", len(graph.input_indexes), len(op.inputs))
        _all_agree("input", op.inputs, graph, graph.input_indexes, name)
    _counted("condition_model", "outputs", len(condition.output_indexes), 1)
    test = condition.operands[condition.output_indexes[0]]
    if not _is_condition(test):
        raise bad_data(
            f"condition_model has the output {test.type.name}{list(test.dimensions)}; it must be "
            "TENSOR_BOOL8[1]",
            "while.condition-output",
        )
    output_count, input_count = len(body.output_indexes), len(body.input_indexes)
    if not len(op.outputs) <= output_count <= input_count:
        raise bad_data(
            f"body_model has {output_count} outputs; allowed are {len(op.outputs)} (the outputs of "
            f"the operation) to {input_count} (its own inputs)",
            "while.body-outputs",
        )
    outputs = body.output_indexes
    _all_agree("output", op.outputs, body, outputs[: len(op.outputs)], "body_model")
    results = [body.operands[index] for index in outputs]
    for name, graph in (("condition_model", condition), ("body_model", body)):
        _all_agree("next input", results, graph, graph.input_indexes[:output_count], name)


IF = ControlFlow(
    OperationType.IF,
    doc="outputs = then_model(inputs) if condition else else_model(inputs).",
    forms=[
        form("condition:TENSOR_BOOL8 then_model:MODEL else_model:MODEL -> outputs...", since=4),
        form(
            "condition:TENSOR_BOOL8 then_model:MODEL else_model:MODEL inputs... -> outputs...",
            since=4,
        ),
    ],
    defaults={"inputs": None},
    rules=[branches_fit],
)
WHILE = ControlFlow(
    OperationType.WHILE,
    doc="while condition_model(inputs): inputs[:k] = body_model(inputs); outputs = inputs[:m].",
    forms=[form("condition_model:MODEL body_model:MODEL inputs... -> outputs...", since=4)],
    rules=[loop_fits],
)
