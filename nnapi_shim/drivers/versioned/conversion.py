"""Conversion of canonical models and requests to HAL 1.0 and 1.1."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim import address
from nnapi_shim.drivers.versioned.compliance import LEVEL_OF_HAL, compliance
from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.enums import OperandLifeTime, OperandType
from nnapi_shim.hal.quantization import SCALARS

_ALIGNMENT = 64
"""Alignment of arguments in the pools of a request, in bytes."""

_CONSTANTS = (OperandLifeTime.CONSTANT_COPY, OperandLifeTime.CONSTANT_REFERENCE)


class OwnMemory(hal.Pool):
    """A pool of a request in the library's memory, instead of the program's."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._block = address.Block(size)

    def map(self) -> int:
        """Address of the first byte."""
        return self._block.address


def to_v1_0(model: hal.Model) -> v1_0.Model:
    """Convert a model to HAL 1.0.

    Raises BAD_DATA, with the first reason, for a model that needs a newer HAL. The relaxation of
    float32 to float16 is dropped: strict results are always allowed.
    """
    require_compliance(model, "1.0")
    return v1_0.Model(
        _operands(model),
        tuple(
            [
                v1_0.Operation(v1_0.OperationType(item.type), item.inputs, item.outputs)
                for item in model.main.operations
            ]
        ),
        *_the_rest(model),
    )


def to_v1_1(model: hal.Model) -> v1_1.Model:
    """Convert a model to HAL 1.1; raises BAD_DATA as to_v1_0 does."""
    require_compliance(model, "1.1")
    return v1_1.Model(
        _operands(model),
        tuple(
            [
                v1_1.Operation(v1_1.OperationType(item.type), item.inputs, item.outputs)
                for item in model.main.operations
            ]
        ),
        *_the_rest(model),
        model.relax_computation_float32_to_float16,
    )


def require_compliance(model: hal.Model, version: str) -> None:
    """Raise BAD_DATA, with the first reason, unless HAL `version` supports the whole model."""
    level = LEVEL_OF_HAL[version]
    for item in compliance(model).operations:
        for reason in item.reasons:
            if reason.level > level:
                raise bad_data(
                    f"{item.name} (operation {item.number}) is not for HAL {version}: "
                    f"{reason.text} (needs feature level {reason.level})",
                    "hal.operation.too-new",
                )


def _operands(model: hal.Model) -> tuple[v1_0.Operand, ...]:
    consumers = Counter([index for item in model.main.operations for index in item.inputs])
    return tuple(
        [
            v1_0.Operand(
                v1_0.OperandType(operand.type),
                () if operand.type in SCALARS else operand.dimensions,
                consumers[index],
                operand.scale,
                operand.zero_point,
                v1_0.OperandLifeTime(operand.lifetime),
                v1_0.DataLocation(*operand.location)
                if operand.lifetime in _CONSTANTS
                else v1_0.DataLocation(),
            )
            for index, operand in enumerate(model.main.operands)
        ]
    )


def _the_rest(
    model: hal.Model,
) -> tuple[tuple[int, ...], tuple[int, ...], bytes, tuple[hal.Pool, ...]]:
    main = model.main
    return main.input_indexes, main.output_indexes, model.operand_values, model.pools


class ConvertedRequest(NamedTuple):
    """A request with separate memory, so that arguments do not overlap and a late device cannot
    write to the program's memory.
    """

    request: v1_0.Request
    copies_in: tuple[tuple[int, int, int], ...]
    """(address in the pool, the program's address, bytes) of every input."""
    copies_out: tuple[tuple[int, int, int], ...]
    """(the program's address, address in the pool, bytes) of every output."""

    def give(self) -> None:
        """Copy the program's inputs into the pools."""
        for target, source, length in self.copies_in:
            address.copy(target, source, length)

    def take(self) -> None:
        """Copy the outputs from the pools to the program."""
        for target, source, length in self.copies_out:
            address.copy(target, source, length)


def to_request(
    graph: hal.Subgraph,
    inputs: Sequence[hal.RequestArgument],
    outputs: Sequence[hal.RequestArgument],
    output_dimensions: Sequence[hal.Dimensions],
) -> ConvertedRequest:
    """Convert a request to HAL 1.0, with a pool for the inputs and one for the outputs.

    output_dimensions: must be known; raises OP_FAILED if not, because a HAL 1.0 device cannot
    report them.
    """
    input_arguments = [
        _argument(graph.operands[index], argument, argument.dimensions)
        for index, argument in zip(graph.input_indexes, inputs, strict=True)
    ]
    output_arguments = []
    for position, (index, argument, dimensions) in enumerate(
        zip(graph.output_indexes, outputs, output_dimensions, strict=True)
    ):
        operand = graph.operands[index]
        if not argument.has_no_value and not hal.is_known(operand.type, dimensions):
            raise op_failed(
                f"output {position} has dimensions {list(dimensions)}; a device of HAL 1.0 or 1.1 "
                "needs to know all of them before it runs",
                "hal.request.unknown-output-dimensions",
            )
        output_arguments.append(_argument(operand, argument, dimensions))
    pools: list[OwnMemory] = []
    given, copies_in = _placed(input_arguments, pools)
    taken, moves = _placed(output_arguments, pools)
    copies_out = tuple([(theirs, ours, length) for ours, theirs, length in moves])
    return ConvertedRequest(v1_0.Request(given, taken, tuple(pools)), copies_in, copies_out)


def _placed(
    arguments: Sequence[tuple[hal.RequestArgument, hal.Dimensions, int]], pools: list[OwnMemory]
) -> tuple[tuple[v1_0.RequestArgument, ...], tuple[tuple[int, int, int], ...]]:
    """Arguments in a new pool, and (address in the pool, the program's address, bytes) of each."""
    placed, moves, size = [], [], 0
    for argument, dimensions, length in arguments:
        if argument.has_no_value:
            placed.append(v1_0.RequestArgument(True, v1_0.DataLocation(), ()))
            continue
        location = v1_0.DataLocation(len(pools), size, length)
        placed.append(v1_0.RequestArgument(False, location, dimensions))
        moves.append((size, argument.address, length))
        size += -(-length // _ALIGNMENT) * _ALIGNMENT
    base = 0
    if size:
        pools.append(OwnMemory(size))
        base = pools[-1].map()
    return tuple(placed), tuple([(base + at, theirs, length) for at, theirs, length in moves])


def _argument(
    operand: hal.Operand, argument: hal.RequestArgument, dimensions: hal.Dimensions
) -> tuple[hal.RequestArgument, hal.Dimensions, int]:
    """An argument, its dimensions for the device, its length without padding."""
    if argument.has_no_value:
        return argument, (), 0
    if operand.type is OperandType.OEM_SCALAR:
        return argument, (), argument.length
    declared = () if operand.type in SCALARS or dimensions == operand.dimensions else dimensions
    return argument, declared, hal.byte_size(operand._replace(dimensions=dimensions))
