"""Validation of models and requests of HAL 1.0 and 1.1, for authors of devices.

A driver calls `validate_model` in getSupportedOperations and prepareModel, `validate_request` in
execute, and answers INVALID_ARGUMENT when they raise.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim.drivers.versioned.compliance import reasons_of_use
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal import types as canonical
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.enums import OperandType as CanonicalType
from nnapi_shim.hal.enums import OperationType as CanonicalOperation
from nnapi_shim.hal.quantization import MAX_BYTES, SCALARS
from nnapi_shim.operations.declare import BoundOperand

L = v1_0.OperandLifeTime
T = v1_0.OperandType

_OEM = (T.OEM, T.TENSOR_OEM_BYTE)
_CONSTANTS = (L.CONSTANT_COPY, L.CONSTANT_REFERENCE)
_WRITTEN = (L.TEMPORARY_VARIABLE, L.MODEL_OUTPUT)


def validate_model(model: v1_0.Model | v1_1.Model) -> None:
    """Raise NnapiError (BAD_DATA) with the reason unless a model is valid.

    Checked are types, dimensions, scales, locations of constants, indexes, that every operand is
    written once before it is read, numberOfConsumers, and that every operation is legal at level 1,
    or 2 for a v1_1.Model. Values of constants are not checked.
    """
    if not model.operations:
        raise bad_data("the model has no operations", "hal.model.no-operations")
    for index, operand in enumerate(model.operands):
        try:
            _check_operand(operand)
            _check_location(operand, model)
        except NnapiError as error:
            raise error.at(f"operand {index}") from None
    _check_arguments("inputIndexes", model.inputIndexes, L.MODEL_INPUT, model)
    _check_arguments("outputIndexes", model.outputIndexes, L.MODEL_OUTPUT, model)
    _check_order(model)
    _check_consumers(model)
    level, kinds = (
        (2, v1_1.OperationType) if isinstance(model, v1_1.Model) else (1, v1_0.OperationType)
    )
    for number, item in enumerate(_operations(model)):
        if item.type not in tuple(kinds):
            raise bad_data(
                f"operation {number}: type {int(item.type)} is not one of HAL 1.{level - 1}",
                "hal.operation.type",
            )
        try:
            _check_use(item, model, level)
        except NnapiError as error:
            raise error.at(f"{kinds(item.type).name} (operation {number})") from None


def _operations(model: v1_0.Model | v1_1.Model) -> Sequence[v1_0.Operation | v1_1.Operation]:
    return model.operations


def _check_operand(operand: v1_0.Operand) -> None:
    """Check type, dimensions, scale, zero point and lifetime of an operand."""
    if operand.type not in tuple(T):
        raise bad_data(f"type {operand.type} does not exist", "hal.operand.type")
    if operand.lifetime not in tuple(L):
        raise bad_data(f"lifetime {operand.lifetime} does not exist", "hal.operand.lifetime")
    kind = T(operand.type)
    if _is_scalar(operand):
        if operand.dimensions and kind is not T.OEM:
            raise bad_data(
                f"{kind.name} is a scalar; it has dimensions {list(operand.dimensions)}",
                "hal.operand.scalar-dimensions",
            )
    elif not operand.dimensions:
        raise bad_data(
            f"{kind.name} has no rank; a tensor has at least one dimension", "hal.operand.no-rank"
        )
    if any(size < 0 for size in operand.dimensions):
        raise bad_data(
            f"dimensions are {list(operand.dimensions)}; none may be negative",
            "hal.operand.negative-dimension",
        )
    if kind in _OEM:
        return
    scale, zero_point = operand.scale, operand.zeroPoint
    if kind is T.TENSOR_QUANT8_ASYMM:
        if not 0 < scale < float("inf"):
            raise bad_data(
                f"{kind.name}: scale is {scale:g}; it must be greater than 0", "hal.operand.scale"
            )
        if not 0 <= zero_point <= 255:
            raise bad_data(
                f"{kind.name}: zeroPoint is {zero_point}; allowed are 0 to 255",
                "hal.operand.zero-point",
            )
    elif kind is T.TENSOR_INT32:
        if not 0 <= scale < float("inf") or zero_point != 0:
            raise bad_data(
                f"{kind.name}: scale is {scale:g} and zeroPoint {zero_point}; allowed are scales "
                "from 0 and zeroPoint 0",
                "hal.operand.int32-quantization",
            )
    elif scale != 0 or zero_point != 0:
        raise bad_data(
            f"{kind.name}: scale is {scale:g}, zeroPoint {zero_point}; both must be 0",
            "hal.operand.unquantized",
        )


def _is_scalar(operand: v1_0.Operand) -> bool:
    return CanonicalType(operand.type) in SCALARS


def _check_location(operand: v1_0.Operand, model: v1_0.Model | v1_1.Model) -> None:
    """Check that constants are within their memory and other operands have no location."""
    where, lifetime = operand.location, L(operand.lifetime)
    if lifetime not in _CONSTANTS:
        if tuple(where) != (0, 0, 0):
            raise bad_data(
                f"{lifetime.name} has location {tuple(where)}; it must be all 0",
                "hal.operand.no-location",
            )
        return
    if lifetime is L.CONSTANT_COPY:
        if where.poolIndex != 0:
            raise bad_data(
                f"CONSTANT_COPY has poolIndex {where.poolIndex}; it must be 0",
                "hal.operand.copy-pool",
            )
        _check_inside(where, len(model.operandValues), "operandValues")
    else:
        _check_pool(where, model.pools)
    if operand.type in _OEM:
        return
    if not _is_scalar(operand) and 0 in operand.dimensions:
        raise bad_data(
            f"{lifetime.name} has dimensions {list(operand.dimensions)}; all must be known",
            "hal.operand.constant-dimensions",
        )
    needed = _byte_size(operand, operand.dimensions)
    if where.length != needed:
        raise bad_data(
            f"{lifetime.name} has {where.length} bytes; it must have {needed}",
            "hal.operand.constant-length",
        )


def _byte_size(operand: v1_0.Operand, dimensions: tuple[int, ...]) -> int:
    size = canonical.byte_size(canonical.Operand(CanonicalType(operand.type), dimensions))
    if size > MAX_BYTES:
        raise bad_data(
            f"dimensions {list(dimensions)} are more than {MAX_BYTES} bytes",
            "hal.operand.too-large",
        )
    return size


def _check_pool(where: v1_0.DataLocation, pools: Sequence[canonical.Pool]) -> None:
    if not 0 <= where.poolIndex < len(pools):
        raise bad_data(
            f"poolIndex is {where.poolIndex}; there are {len(pools)} pools", "hal.location.pool"
        )
    _check_inside(where, pools[where.poolIndex].size, f"pool {where.poolIndex}")


def _check_inside(where: v1_0.DataLocation, size: int, name: str) -> None:
    if where.offset < 0 or where.length < 0 or where.offset + where.length > size:
        raise bad_data(
            f"{where.length} bytes from {where.offset} do not lie inside the {size} bytes of "
            f"{name}",
            "hal.location.range",
        )


def _check_arguments(
    name: str, indexes: tuple[int, ...], lifetime: L, model: v1_0.Model | v1_1.Model
) -> None:
    """Check that the list has exactly the operands with this lifetime, at least one."""
    if not indexes:
        raise bad_data(f"{name} is empty", "hal.model.no-arguments")
    for position, index in enumerate(indexes):
        if not 0 <= index < len(model.operands):
            raise bad_data(
                f"{name}[{position}] is operand {index}; the model has {len(model.operands)}",
                "hal.model.argument-index",
            )
        actual = L(model.operands[index].lifetime)
        if actual is not lifetime:
            raise bad_data(
                f"{name}[{position}]: operand {index} is {actual.name}",
                "hal.model.argument-lifetime",
            )
    for index, count in Counter(indexes).items():
        if count > 1:
            raise bad_data(f"{name} has operand {index} {count} times", "hal.model.argument-twice")
    for index, operand in enumerate(model.operands):
        if operand.lifetime == lifetime and index not in indexes:
            raise bad_data(
                f"operand {index} is {lifetime.name} and not in {name}",
                "hal.model.argument-unlisted",
            )


def _check_order(model: v1_0.Model | v1_1.Model) -> None:
    """Check that each operand is written once, before it is read."""
    written: set[int] = set()
    for number, item in enumerate(_operations(model)):
        for role, indexes in (("input", item.inputs), ("output", item.outputs)):
            if not indexes:
                raise bad_data(f"operation {number} has no {role}s", "hal.operation.no-operands")
            for position, index in enumerate(indexes):
                location = f"operation {number}: {role} {position} is operand {index}"
                if not 0 <= index < len(model.operands):
                    raise bad_data(
                        f"{location}; the model has {len(model.operands)}",
                        "hal.operation.operand-index",
                    )
                lifetime = L(model.operands[index].lifetime)
                if role == "input":
                    if lifetime in _WRITTEN and index not in written:
                        raise bad_data(
                            f"{location}, which nothing has written yet", "hal.operation.order"
                        )
                elif lifetime not in _WRITTEN:
                    raise bad_data(
                        f"{location}, which is {lifetime.name}", "hal.operation.not-writable"
                    )
                elif index in written:
                    raise bad_data(
                        f"{location}, which is written already", "hal.operation.written-twice"
                    )
                else:
                    written.add(index)
    for index, operand in enumerate(model.operands):
        if operand.lifetime in _WRITTEN and index not in written:
            raise bad_data(
                f"operand {index} is {L(operand.lifetime).name}; nothing writes it",
                "hal.operand.never-written",
            )


def _check_consumers(model: v1_0.Model | v1_1.Model) -> None:
    counts = Counter([index for item in _operations(model) for index in item.inputs])
    for index, operand in enumerate(model.operands):
        if operand.numberOfConsumers != counts[index]:
            raise bad_data(
                f"operand {index}: numberOfConsumers is {operand.numberOfConsumers}; operations "
                f"read it {counts[index]} times",
                "hal.operand.consumers",
            )


def _check_use(
    item: v1_0.Operation | v1_1.Operation, model: v1_0.Model | v1_1.Model, level: int
) -> None:
    """Check that each operation is legal at the level of the HAL."""
    kind = CanonicalOperation(item.type)
    if kind is CanonicalOperation.OEM_OPERATION:
        return
    inputs, outputs = (
        [_bound(index, model.operands[index]) for index in indexes]
        for indexes in (item.inputs, item.outputs)
    )
    for reason in reasons_of_use(kind, inputs, outputs):
        if reason.level > level:
            raise bad_data(
                f"{reason.text} (needs feature level {reason.level})", "hal.operation.too-new"
            )


def _bound(index: int, operand: v1_0.Operand) -> BoundOperand:
    return BoundOperand(
        index,
        CanonicalType(operand.type),
        operand.dimensions if operand.lifetime != L.NO_VALUE else (),
        operand.scale,
        operand.zeroPoint,
    )


def validate_request(request: v1_0.Request, model: v1_0.Model | v1_1.Model) -> None:
    """Raise NnapiError (BAD_DATA) with the reason unless a request is valid for a valid model.

    Checked are the number of arguments, that all dimensions are known and match the model, that
    every argument is inside a pool and long enough, and that no output overlaps another argument.
    """
    regions = [
        _Region(model.pools[operand.location.poolIndex], operand.location, f"constant {index}")
        for index, operand in enumerate(model.operands)
        if operand.lifetime == L.CONSTANT_REFERENCE
    ]
    for role, arguments, indexes in (
        ("input", request.inputs, model.inputIndexes),
        ("output", request.outputs, model.outputIndexes),
    ):
        if len(arguments) != len(indexes):
            raise bad_data(
                f"there are {len(arguments)} {role}s; the model has {len(indexes)}",
                "hal.request.argument-count",
            )
        for position, (argument, index) in enumerate(zip(arguments, indexes, strict=True)):
            location = f"{role} {position}"
            try:
                _check_argument(argument, model.operands[index], request.pools)
            except NnapiError as error:
                raise error.at(location) from None
            if argument.hasNoValue:
                continue
            pool = request.pools[argument.location.poolIndex]
            region = _Region(pool, argument.location, location)
            for other in regions if role == "output" else ():
                if region.overlaps(other):
                    raise bad_data(f"{location} overlaps with {other.name}", "hal.request.overlap")
            regions.append(region)


class _Region(NamedTuple):
    """The memory of an argument, and its name for messages."""

    pool: canonical.Pool
    where: v1_0.DataLocation
    name: str

    def overlaps(self, other: "_Region") -> bool:
        """Whether two regions share a byte."""
        ours, theirs = self.where, other.where
        return (
            self.pool is other.pool
            and ours.offset < theirs.offset + theirs.length
            and theirs.offset < ours.offset + ours.length
        )


def _check_argument(
    argument: v1_0.RequestArgument, operand: v1_0.Operand, pools: Sequence[canonical.Pool]
) -> None:
    if argument.hasNoValue:
        if tuple(argument.location) != (0, 0, 0) or argument.dimensions:
            raise bad_data(
                "it is omitted; location must be all 0 and dimensions empty",
                "hal.request.omitted-location",
            )
        return
    _check_pool(argument.location, pools)
    sizes, known = argument.dimensions, operand.dimensions
    if _is_scalar(operand):
        if sizes:
            raise bad_data(
                f"dimensions {list(sizes)} given; a scalar has none",
                "hal.request.scalar-dimensions",
            )
    elif sizes:
        agree = len(sizes) == len(known) and all(
            size > 0 and declared in (0, size) for size, declared in zip(sizes, known, strict=True)
        )
        if not agree:
            raise bad_data(
                f"dimensions are {list(sizes)}; the model has {list(known)}, and all must be known",
                "hal.request.dimensions",
            )
    elif 0 in known:
        raise bad_data(
            f"no dimensions are given; the model has {list(known)}",
            "hal.request.unknown-dimensions",
        )
    if operand.type in _OEM:
        return
    needed = _byte_size(operand, sizes or known)
    if argument.location.length < needed:
        raise bad_data(
            f"it has {argument.location.length} bytes; it must have {needed}", "hal.request.length"
        )
