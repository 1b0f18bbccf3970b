"""The part of a model that an older HAL supports."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim.drivers.versioned.compliance import operand_level
from nnapi_shim.hal.part import Contents
from nnapi_shim.hal.types import Model


class Slice(NamedTuple):
    """A model with some operations of another one; `model` is None if there are none."""

    model: Model | None
    operations: tuple[int, ...]
    """Position in the original model of every operation of the slice."""
    inputs: tuple[int, ...]
    """Positions, in the original model's inputs, of the slice's first inputs."""
    outputs: tuple[int, ...]
    """Positions, in the original model's outputs, of the slice's first outputs."""


def sliced(model: Model, keep: Sequence[bool]) -> Slice:
    """The kept operations with their operands.

    keep: one flag per operation of the main graph. A value between a kept and a removed operation
    becomes an input or output of the slice. An input of the model that the HAL supports stays an
    input, even if unused, because a model needs inputs. There is no slice without operations,
    inputs or outputs.
    """
    main = model.main
    kept = tuple([at for at, is_kept in enumerate(keep) if is_kept])
    items = [main.operations[at] for at in kept]
    others = [item for item, is_kept in zip(main.operations, keep, strict=True) if not is_kept]
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

    contents = Contents(model)
    graph = contents.graph(sorted(read | written | {*inputs}), items, inputs, outputs)
    return Slice(contents.model(graph), kept, tuple(input_positions), tuple(output_positions))
