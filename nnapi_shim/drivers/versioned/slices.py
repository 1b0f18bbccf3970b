"""The part of a model that a device with an older HAL can be shown."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim.drivers.versioned.compliance import operand_level
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.part import Contents, renumbered
from nnapi_shim.hal.types import Model, Subgraph

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
    places = {index: at for at, index in enumerate(used)}
    is_input, is_output = {*inputs}, {*outputs}
    contents = Contents(model)
    operands = []
    for index in used:
        operand = main.operands[index]
        if index in is_input:
            operand = operand._replace(lifetime=L.SUBGRAPH_INPUT)
        elif index in is_output:
            operand = operand._replace(lifetime=L.SUBGRAPH_OUTPUT)
        elif operand.lifetime is L.SUBGRAPH_OUTPUT:
            operand = operand._replace(lifetime=L.TEMPORARY_VARIABLE)
        operands.append(contents.moved(operand))
    graph = Subgraph(
        tuple(operands),
        tuple([renumbered(item, places) for item in items]),
        tuple([places[index] for index in inputs]),
        tuple([places[index] for index in outputs]),
    )
    return Slice(contents.model(graph), kept, tuple(input_positions), tuple(output_positions))
