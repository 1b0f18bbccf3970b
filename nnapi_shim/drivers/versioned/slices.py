"""The part of a model that a device with an older HAL can be shown."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim.drivers.versioned.compliance import operand_level
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import DataLocation, Model, Operand, Operation, Pool, Subgraph

_ALIGNMENT = 64
"""Of every constant of a slice, in bytes."""

L = OperandLifeTime


class Slice(NamedTuple):
    """A model that holds some operations of another, or none: `model` is None then."""

    model: Model | None
    operations: tuple[int, ...]
    """Of every operation of the slice, its position among those of the other model."""
    inputs: tuple[int, ...]
    """Positions, among the other model's inputs, of those that the slice has; they come first."""
    outputs: tuple[int, ...]
    """Likewise its outputs."""


def sliced(model: Model, keep: Sequence[bool]) -> Slice:
    """The operations that are to be kept, with the operands that they have.

    keep: one per operation of the main graph. What a kept operation reads and another one writes
    is an input of the slice, what another one reads an output. An input of the model stays one
    where any HAL can hold it, used or not: a model needs inputs. There is no slice without
    operations, inputs or outputs.
    """
    main = model.main
    kept = tuple([at for at, wanted in enumerate(keep) if wanted])
    items = [main.operations[at] for at in kept]
    others = [item for item, wanted in zip(main.operations, keep, strict=True) if not wanted]
    read = {index for item in items for index in item.inputs}
    written = {index for item in items for index in item.outputs}
    read_elsewhere = {index for item in others for index in item.inputs}
    written_elsewhere = {index for item in others for index in item.outputs}

    input_positions = [
        position
        for position, index in enumerate(main.input_indexes)
        if index in read or operand_level(main.operands[index]) == 1
    ]
    inputs = [main.input_indexes[position] for position in input_positions]
    inputs += sorted(read & written_elsewhere)
    output_positions = [p for p, index in enumerate(main.output_indexes) if index in written]
    outputs = [main.output_indexes[position] for position in output_positions]
    outputs += sorted((written & read_elsewhere) - {*outputs})
    if not (items and inputs and outputs):
        return Slice(None, (), (), ())

    used = sorted(read | written | {*inputs})
    number = {index: at for at, index in enumerate(used)}
    is_input, is_output = {*inputs}, {*outputs}
    values = bytearray()
    pools: list[Pool] = []
    operands = []
    for index in used:
        operand = main.operands[index]
        if index in is_input:
            operand = operand._replace(lifetime=L.SUBGRAPH_INPUT)
        elif index in is_output:
            operand = operand._replace(lifetime=L.SUBGRAPH_OUTPUT)
        elif operand.lifetime is L.SUBGRAPH_OUTPUT:
            operand = operand._replace(lifetime=L.TEMPORARY_VARIABLE)
        operands.append(operand._replace(location=_moved(operand, model, values, pools)))
    graph = Subgraph(
        tuple(operands),
        tuple(
            [
                Operation(
                    item.type,
                    tuple([number[index] for index in item.inputs]),
                    tuple([number[index] for index in item.outputs]),
                    item.number,
                )
                for item in items
            ]
        ),
        tuple([number[index] for index in inputs]),
        tuple([number[index] for index in outputs]),
    )
    return Slice(
        Model(
            graph,
            (),
            bytes(values),
            tuple(pools),
            model.relax_computation_float32_to_float16,
        ),
        kept,
        tuple(input_positions),
        tuple(output_positions),
    )


def _moved(operand: Operand, model: Model, values: bytearray, pools: list[Pool]) -> DataLocation:
    """Where a constant lies in the slice; it is put there."""
    where = operand.location
    if operand.lifetime is L.CONSTANT_COPY:
        values += bytes(-len(values) % _ALIGNMENT)
        offset = len(values)
        values += memoryview(model.operand_values)[where.offset : where.offset + where.length]
        return DataLocation(0, offset, where.length)
    if operand.lifetime is L.CONSTANT_REFERENCE:
        pool = model.pools[where.pool_index]
        if pool not in pools:
            pools.append(pool)
        return where._replace(pool_index=pools.index(pool))
    return where
