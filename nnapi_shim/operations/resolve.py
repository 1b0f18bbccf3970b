"""Resolves an operation at execution: checks, output shapes, quantization.

These rules apply to all operations (semantics.md 2) on all devices.
"""

from nnapi_shim.errors import NnapiError, Place, bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, MAX_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import Dimensions, RequestArgument, Subgraph, combined, element_count
from nnapi_shim.hints import Iterable, Sequence
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

INFINITE = float("inf")


def merge_dimensions(known: Dimensions, computed: Dimensions) -> Dimensions:
    """Merge declared and computed dimensions; raises OP_FAILED if they contradict.

    An unknown rank or size takes the value of the other side. As in the reference, so does a
    computed size of 0.
    """
    if known == computed:
        return computed
    merged = combined(known, computed)
    if merged is None:
        raise op_failed(
            f"dimensions are {list(computed)}; declared are {list(known)}",
            "operation.dimensions.declared",
        )
    return merged


def given_dimensions(declared: Dimensions, actual: Dimensions) -> Dimensions:
    """Dimensions of an input of a referenced graph: the actual ones, also a size of 0.

    Raises OP_FAILED if they contradict the declared ones.
    """
    merge_dimensions(declared, actual)
    return actual


def require_outputs(graph: Subgraph, outputs: Iterable[RequestArgument]) -> None:
    """Refuse a request that omits an output of this graph.

    The first operation that writes an omitted output determines the code (api-semantics 16.1):
    BAD_DATA if it is `legacy`, else OP_FAILED.
    """
    omitted = {
        index: position
        for position, (index, it) in enumerate(zip(graph.output_indexes, outputs, strict=True))
        if it.has_no_value
    }
    if not omitted:
        return
    item, index = next(
        (item, index) for item in graph.operations for index in item.outputs if index in omitted
    )
    type = item.type
    is_legacy = isinstance(type, OperationType) and operation(type).legacy
    refuse = bad_data if is_legacy else op_failed
    message = f"output {omitted[index]} is omitted; a computation needs all outputs"
    raise refuse(message, "operation.output.omitted").about(Place("output", omitted[index]))


def check_omitted(op: BoundOperation, name: str) -> None:
    """Refuse an omitted input of this name if the operation requires it."""
    operation = op.match.operation
    value = getattr(op, name)
    is_omitted = None in value if name == op.match.repeated[0] else value is None
    if is_omitted and name not in operation.omittable:
        raise operation.refused_input(
            f"{name} is omitted; {operation.type.name} needs it", "operation.input.omitted"
        )


def check_inputs(op: BoundOperation) -> None:
    """Refuse omitted and zero-sized inputs that the operation does not accept, then infinite scales
    if it does not accept these.
    """
    operation, repeated = op.match.operation, op.match.repeated[0]
    given: list[tuple[str, BoundOperand]] = []
    for name in dict.fromkeys(op.match.input_names):
        value = getattr(op, name)
        if type(value) is BoundOperand:
            operands = [value]
        elif value is None or name == repeated:
            check_omitted(op, name)
            operands = [operand for operand in value or () if type(operand) is BoundOperand]
        else:
            continue
        for operand in operands:
            if 0 in operand.dimensions and not operation.allow_zero_sized:
                raise operation.refused_input(
                    f"{name} has dimensions {list(operand.dimensions)}; none may be 0",
                    "operation.input.empty",
                )
            given.append((name, operand))
    if operation.infinite_scales:
        return
    for name, operand in given:
        if operand.type in QUANTIZED_RANGE:
            _check_finite(op, name, (operand.scale,))
            if operand.channel_quant:
                _check_finite(op, name, operand.channel_quant.scales)


def check_output_scales(op: BoundOperation, parameters: Sequence[tuple[float, int]]) -> None:
    """Refuse infinite scales of outputs. parameters: scale and zero point of each output."""
    if op.match.operation.infinite_scales:
        return
    for name, (scale, _) in zip(op.match.output_names, parameters, strict=True):
        _check_finite(op, name, (scale,))


def _check_finite(op: BoundOperation, name: str, scales: Sequence[float]) -> None:
    if INFINITE in scales:
        kind = op.match.operation.type.name
        raise op_failed(
            f"{name} has an infinite scale; {kind} computes with it", "operation.scale.infinite"
        )


def check_size(operand: BoundOperand, name: str, dimensions: Dimensions) -> None:
    """Raise OP_FAILED for an output above the maximum size in bytes and, if one dimension is 0, for
    another dimension above the maximum.
    """
    count = element_count(dimensions)
    if count == 0 and max(dimensions) > MAX_BYTES:
        raise op_failed(
            f"{name} {list(dimensions)} has a dimension above 2^32 - 1",
            "operation.output.dimension-too-large",
        )
    if count * ELEMENT_BYTES[operand.type] > MAX_BYTES:
        raise op_failed(
            f"{name} {list(dimensions)} is larger than 2^32 - 1 bytes", "operation.output.too-large"
        )


def set_output(
    operand: BoundOperand, name: str, computed: Dimensions, scale: float, zero_point: int
) -> bool:
    """Set the computed dimensions and parameters of an output.

    Returns whether the operation has data for it: not if a declared size replaced a computed 0.
    Raises OP_FAILED if they contradict declared dimensions or, for an output of the model, the
    declared parameters.
    """
    try:
        operand.dimensions = merge_dimensions(operand.dimensions, computed)
    except NnapiError as error:
        raise error.at(name) from None
    check_size(operand, name, operand.dimensions)
    if (scale, zero_point) != (operand.scale, operand.zero_point):
        if operand.is_model_output:
            raise op_failed(
                f"{name} is an output of the model that declares scale {operand.scale:g} and zero "
                f"point {operand.zero_point}; the operation gives {scale:g} and {zero_point}",
                "operation.output.quantization",
            )
        operand.scale, operand.zero_point = scale, zero_point
    return 0 not in computed or 0 in operand.dimensions


def resolve(op: BoundOperation) -> list[BoundOperand]:
    """Check a bound operation and set dimensions, scale and zero point of its outputs.

    Returns the outputs for which the operation has no data; they are filled with zeros.
    Raises OP_FAILED (or BAD_DATA, for the operations that are `legacy`).
    """
    operation = op.match.operation
    try:
        check_inputs(op)
        for check in operation.checks:
            check(op)
        parameters = operation.quantization(op)
        check_output_scales(op, parameters)
        return [
            output
            for output, name, dimensions, (scale, zero_point) in zip(
                op.outputs, op.match.output_names, operation.shape(op), parameters, strict=True
            )
            if not set_output(output, name, dimensions, scale, zero_point)
        ]
    except NnapiError as error:
        raise op.refused(error) from None
