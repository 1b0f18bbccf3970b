"""Single operations of a model as models of their own."""

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
    """A model for each operation of the main graph, in the order in which they run."""
    return sliced(model, [[position] for position in range(len(model.main.operations))])


def run_single(part: Slice, device: IDevice, values: Mapping[int, Array]) -> dict[int, Array]:
    """What an operation gives on a device: operands of the whole model, by their indexes.

    values: of the operands that it reads. Raises NnapiError, and KeyError for one without a value.
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
    return dict(zip(part.outputs, runner.run(inputs), strict=True))


def _arguments(operands: Sequence[Operand]) -> tuple[Argument, ...]:
    return tuple(
        Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point)
        for operand in operands
    )


def can_be_run(part: Slice) -> bool:
    """Whether all that an operation reads and gives is something that arrays can hold."""
    main = part.model.main
    indexes = (*main.input_indexes, *main.output_indexes)
    return all(main.operands[index].type in DTYPES for index in indexes)
