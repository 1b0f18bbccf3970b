"""Reports all errors of a model, where the calls report only the first.

With NNAPI_SHIM_LINT, building goes on after a refused call: a placeholder replaces a refused
operand, and a refused operation is left out while its outputs count as written.
"""

from nnapi_shim import address, log
from nnapi_shim.errors import NnapiError, Place, bad_data, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType, ResultCode
from nnapi_shim.hal.quantization import decoded
from nnapi_shim.hints import Any, Callable, Iterator, Protocol, Sequence
from nnapi_shim.operations import bound_operand, bound_operation, shapes
from nnapi_shim.operations.resolve import resolve
from nnapi_shim.runtime.draft import Draft, DraftOperand, value_freed
from nnapi_shim.runtime.naming import function_of
from nnapi_shim.runtime.referenced import Part

L = OperandLifeTime


class Linted(Protocol):
    """The interface of runtime.Model that lint uses."""

    state: str
    draft: Draft
    refused: list[NnapiError]
    part: Part | None

    def named(self, error: NnapiError) -> NnapiError:
        """An error with the names of operands."""


def problems(model: Linted) -> list[NnapiError]:
    """The errors of calls, of finish, and of computations for all inputs, in this order.

    Models that it refers to (IF, WHILE) are not checked.
    """
    errors = [*model.refused]
    if model.part is None:
        errors += model.draft.problems()
    if not errors:
        errors += refused_values((model.part or model.draft.build()).own)
    return [model.named(error) for error in errors]


def refused_values(model: hal.Model) -> Iterator[NnapiError]:
    """Errors of operations at run time that follow from constant dimensions and values.

    The outputs of an operation with an error are unknown.
    """
    values, keep = address.address_of(model.operand_values)
    operands = [bound_operand(index, operand) for index, operand in enumerate(model.main.operands)]
    unknown: set[int] = set()

    def value_of(index: int, is_value: bool) -> Any:
        operand = model.main.operands[index]
        if operand.lifetime is L.NO_VALUE:
            return None
        if not is_value:
            if index in unknown or not hal.is_known(operand.type, operands[index].dimensions):
                raise _UnknownError
            return operands[index]
        where = operand.location
        if operand.lifetime is L.CONSTANT_COPY:
            start = values
        elif operand.lifetime is L.CONSTANT_REFERENCE:
            start = model.pools[where.pool_index].map()
        else:
            raise _UnknownError
        return decoded(operand.type, address.read(start + where.offset, where.length))

    for item in model.main.operations:
        try:
            _resolve(item, operands, value_of)
        except _UnknownError:
            unknown.update(item.outputs)
        except NnapiError as error:
            unknown.update(item.outputs)
            yield error.at(operation_place(item.type, item.number))
    del keep


class _UnknownError(Exception):
    """The result of a check depends on values that only a computation knows."""


def _resolve(
    item: hal.Operation,
    operands: Any,
    value_of: Callable[[int, bool], Any],
) -> None:
    """Check an operation with its inputs, and set the dimensions of its outputs.

    operands: BoundOperand by index.
    """
    if item.type in (OperationType.IF, OperationType.WHILE, OperationType.OEM_OPERATION):
        raise _UnknownError
    if not isinstance(item.type, OperationType):  # of an extension
        raise _UnknownError
    op = bound_operation(item, operands, value_of, operands.__getitem__)
    shapes.strict.is_on = True
    try:
        resolve(op)
    finally:
        shapes.strict.is_on = False
    if op.match.operation.data_dependent:
        raise _UnknownError


def _refused_values_of(draft: Draft, item: hal.Operation) -> Iterator[NnapiError]:
    """The error of one operation, as far as its declared operands show it."""
    indexes = {*item.inputs, *item.outputs}
    operands = {index: bound_operand(index, draft.operands[index]) for index in indexes}

    def value_of(index: int, is_value: bool) -> Any:
        operand = draft.operands[index]
        if operand.lifetime is L.NO_VALUE:
            return None
        if not is_value:
            if not hal.is_known(operand.type, operand.dimensions):
                raise _UnknownError
            return operands[index]
        if operand.lifetime is not L.CONSTANT_COPY:
            raise _UnknownError
        value = operand.value
        return decoded(operand.type, address.read(*value) if isinstance(value, tuple) else value)

    try:
        _resolve(item, operands, value_of)
    except _UnknownError:
        return
    except NnapiError as error:
        yield error.at(operation_place(item.type, item.number))


# Calls that go on


def carry_on(model: Linted, method: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call a method that builds a model; record its error, and insert a placeholder."""
    name = method.__name__
    if name == "finish":
        _finish(model, method)
        return None
    draft = model.draft
    try:
        result = method(model, *arguments)
        if name == "add_operation":
            for error in _refused_values_of(draft, draft.operations[-1]):
                draft.reported.add(_key(error))
                _report(model, name, error)
        return result
    except NnapiError as refusal:
        error = model.named(refusal)
        if not _follows(draft, name, arguments):
            _log_error(name, error)
            model.refused.append(error)
    if name == "add_operand":
        draft.operands.append(DraftOperand(OperandType.TENSOR_FLOAT32, (), 0.0, 0))
        index = len(draft.operands) - 1
        draft.excused.add(index)
        draft.placeholders.add(index)
        return index
    if name == "add_operation":
        draft.refused_operations += 1
        draft.excused.update(arguments[2])
    elif name == "identify_inputs_and_outputs":
        for index in (*arguments[0], *arguments[1]):
            if 0 <= index < len(draft.operands):
                draft.excused.add(index)
    elif arguments:
        draft.excused.add(arguments[0])
    return None


def _key(error: NnapiError) -> tuple[object, str]:
    return error.place("operation"), error.rule


def _report(model: Linted, method: str, error: NnapiError) -> None:
    """Log what follows from values: an error of lint alone, or of every computation."""
    named = model.named(error)
    if error.code is ResultCode.BAD_DATA:
        _log_error(method, named)
        model.refused.append(named)
    else:
        _warn_of_computations(named)


def remember_value(draft: Draft, index: int) -> None:
    """Keep a checksum of a value that is read at finish; raises BAD_DATA if it cannot be read."""
    where, length = draft.operands[index].value
    if not address.is_readable(where, length):
        draft.operands[index].value = b""
        message = f"operand {index}: not all of the {length} bytes at {where:#x} can be read"
        error = bad_data(message, "model.set-operand-value.unreadable")
        raise error.about(Place("operand", index))
    draft.checksums[index] = hash(address.read(where, length))


def _changed_values(draft: Draft) -> Iterator[NnapiError]:
    """Errors of constants whose bytes are not those of setOperandValue any more."""
    for index, checksum in draft.checksums.items():
        value = draft.operands[index].value
        if not isinstance(value, tuple):
            continue  # set again, to another value
        where, length = value
        if not address.is_readable(where, length):
            yield value_freed(index, where, length)
        elif hash(address.read(where, length)) != checksum:
            message = (
                f"operand {index}: its value, {length} bytes at {where:#x}, has changed, or was "
                "freed, after ANeuralNetworksModel_setOperandValue; values of more than 128 bytes "
                "are read at finish (docs/debugging.md, Constants)"
            )
            error = bad_data(message, "model.finish.value-changed")
            yield error.about(Place("operand", index))


def _log_error(method: str, error: NnapiError) -> None:
    """Log the error of a method that builds a model."""
    function = function_of(method)
    is_own = function.startswith("nnapi_shim_")
    see = f"{function} in {'nnapi_shim.h' if is_own else 'android/NeuralNetworks.h'}"
    log.error(
        f"{function}: {error} [{error.rule}]",
        {"function": function, **error.as_dict(), "see": see},
    )


def _warn_of_computations(error: NnapiError) -> None:
    """Log an error that every computation of a model will raise."""
    log.warning(
        f"a computation will fail: {error} [{error.rule}]",
        {"function": "ANeuralNetworksExecution_compute", **error.as_dict()},
    )


def _follows(draft: Draft, name: str, arguments: Sequence[Any]) -> bool:
    """Whether an error follows from an earlier one: it concerns a placeholder operand."""
    if name == "add_operation":
        return not draft.placeholders.isdisjoint((*arguments[1], *arguments[2]))
    return name.startswith("set_operand") and arguments[0] in draft.placeholders


def _finish(model: Linted, method: Callable[..., Any]) -> None:
    """Finish a model, and log all errors; raises the first.

    Errors of computations are logged as warnings, and finish succeeds.
    """
    problems = (*_changed_values(model.draft), *model.draft.problems())
    own = [model.named(error) for error in problems]
    errors = [*model.refused, *own]
    if not errors:
        for error in refused_values(model.draft.build().own):
            if _key(error) not in model.draft.reported:
                _report(model, "finish", error)
        if not model.refused:
            method(model)
            return
        errors = [*model.refused]
    model.state = "invalid"
    first, *others = errors
    for error in own:
        if error is not first:  # which is raised
            _log_error("finish", error)
    if others:
        message = f"{first.message} (and {len(others)} more)"
        first = first.worded(message)
    raise first
