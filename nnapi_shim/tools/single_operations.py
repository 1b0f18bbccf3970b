"""Single operations of a model as separate models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.running import Runner
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Model, Operand
from nnapi_shim.runtime import compilation as runtime
from nnapi_shim.runtime import model as runtime_model
from nnapi_shim.runtime.referenced import Part
from nnapi_shim.runtime.slicing import SPARE, Slice, sliced


def single_operations(model: Model) -> list[Slice]:
    """A model for each operation of the main graph, in execution order."""
    return sliced(model, [[position] for position in range(len(model.main.operations))])


def run_single(part: Slice, device: IDevice, values: Mapping[int, Array]) -> dict[int, Array]:
    """The outputs of an operation on a device, by operand index of the whole model.

    values: the inputs, by operand index. Raises NnapiError, and KeyError for a missing value.
    """
    source = runtime_model.Model()
    source.part = Part(part.model, ())
    source.state = "finished"
    item = runtime.Compilation(source, [device])
    item.finish()
    runner = Runner(item, _arguments(item.inputs), _arguments(item.outputs))
    inputs: list[Any] = [
        np.zeros(1, np.float32) if index == SPARE else values[index] for index in part.inputs
    ]
    return dict(zip(part.outputs, runner.run(tuple(inputs)), strict=True))


def _arguments(operands: Sequence[Operand]) -> tuple[Argument, ...]:
    return tuple(
        Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point)
        for operand in operands
    )


def can_be_run(part: Slice) -> bool:
    """Whether arrays can hold all inputs and outputs of an operation."""
    main = part.model.main
    indexes = (*main.input_indexes, *main.output_indexes)
    return all(main.operands[index].type in DTYPES for index in indexes)
