"""The part of Model that builds it call by call, as in C."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api import view
from nnapi_shim.api.argument_types import integer, listed, number, wrong_type
from nnapi_shim.api.arrays import address, elements
from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.api.dtypes import operand_type
from nnapi_shim.api.names import member
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.recurrent_state import Carrying
from nnapi_shim.api.types import DeclaredType, Sizes
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import SymmPerChannelQuantParams
from nnapi_shim.runtime import model as runtime


class ModelCalls(WholeModel):
    """A method for each C function that builds a model."""

    def __init__(self) -> None:
        self._model: runtime.Model | None = runtime.Model()
        self._operands: list[Operand] = []
        self._inputs: list[Operand] = []
        self._has_outputs = False
        self._view: view.GraphView | None = None
        self._carried = Carrying()
        self.notes: tuple[str, ...] = ()
        """Differences from the imported file, which `explain` shows."""

    @property
    def runtime(self) -> runtime.Model:
        """The model of the runtime, which is also the target of a C handle."""
        if self._model is None:
            raise bad_state("the model is closed", "model.closed")
        return self._model

    def add_operand(
        self,
        type: DeclaredType,
        dimensions: Sizes = None,
        scale: float = 0.0,
        zero_point: int = 0,
        *,
        name: str = "",
    ) -> Operand:
        """Add an operand without a value. Scales are rounded to float32, as in C."""
        require_name(name)
        sizes = sizes_of(dimensions)
        kind = operand_type(type, bool(sizes))
        scale = float(np.float32(number("scale", scale)))
        zero_point = integer("zero_point", zero_point, "an integer", None)
        index = self.runtime.add_operand(kind, sizes or None, len(sizes), scale, zero_point)
        operand = Operand(index, kind, sizes, scale, zero_point)
        self._operands.append(operand)
        if name:
            self.name_operand(operand, name)
        return operand

    def name_operand(self, operand: Operand | int, name: str) -> None:
        """Name an operand, for messages, runs by name and tools; "" removes the name.

        Names need not be unique; only inputs and outputs with unique names are accessible by name.
        """
        index = self._index(operand)
        self.runtime.set_operand_name(index, require_name(name))
        self._operands[index].name = name

    def carry(
        self,
        input_operand: Operand | int,
        output_operand: Operand | int,
        initial: ArrayLike | None = None,
    ) -> None:
        """Carry an output of each run to an input of the next run, as the state of a network.

        `Compilation.run` then neither takes that input nor returns that output.

        initial: the input of the first run; by default zeros, which needs known dimensions.
        Raises BAD_DATA for operands that differ in type, dimensions or quantization, or that are no
        input and output of the model; `finish` checks the latter if they are not identified yet.
        """
        source, target = self._index(output_operand), self._index(input_operand)
        value = None if initial is None else elements(initial, self._operands[target].type)
        try:
            self._carried.add(target, source, value)
        except NnapiError as error:
            raise self.runtime.named(error) from None
        if self._has_outputs:
            self.carried  # noqa: B018 (raises)

    def set_operand_value(self, operand: Operand | int, value: ArrayLike | None) -> None:
        """Set the value of a constant operand, or omit the operand (None)."""
        index = self._index(operand)
        item = self._operands[index]
        if value is None:
            self.runtime.set_operand_value(index, 0, 0)
            item.value, item.is_omitted = None, True
            return
        array = elements(value, item.type, item.scale)
        if item.is_known and array.shape != item.dimensions:
            message = f"operand {index} {item}: the value has dimensions {list(array.shape)}"
            raise self.runtime.named(bad_data(message, "model.set-operand-value.dimensions"))
        self.runtime.set_operand_value(index, address(array), array.nbytes)
        item.value, item.is_omitted = array, False

    def set_operand_symm_per_channel_quant_params(
        self, operand: Operand | int, channel_dim: int, scales: Sequence[float]
    ) -> None:
        """Set the scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand along a dimension."""
        index = self._index(operand)
        channel_dim = integer("channel_dim", channel_dim)
        items = [
            number("a scale", scale) for scale in listed("scales", scales, "a list of numbers")
        ]
        rounded = tuple(np.asarray(items, np.float32).tolist())
        self.runtime.set_operand_symm_per_channel_quant_params(index, channel_dim, rounded)
        self._operands[index].channel_quant = SymmPerChannelQuantParams(rounded, channel_dim)

    def set_operand_value_from_model(self, operand: Operand | int, value: WholeModel) -> None:
        """Set the finished model that an operand of type MODEL refers to."""
        self.runtime.set_operand_value_from_model(
            self._index(operand), require_model(value).runtime
        )

    def add_operation(
        self,
        type: OperationType | str | int,
        inputs: Iterable[Operand | int],
        outputs: Iterable[Operand | int],
    ) -> None:
        """Add an operation on existing operands."""
        code = (
            member(OperationType, type)
            if isinstance(type, str)
            else integer("type", type, "the name or number of an operation")
        )
        self.runtime.add_operation(code, self._indexes(inputs), self._indexes(outputs))

    def identify_inputs_and_outputs(
        self, inputs: Iterable[Operand | int], outputs: Iterable[Operand | int]
    ) -> None:
        """Set the inputs and outputs of the model, in order."""
        self.runtime.identify_inputs_and_outputs(self._indexes(inputs), self._indexes(outputs))
        self._has_outputs = True

    def relax_computation_float32_to_float16(self, allow: bool = True) -> None:
        """Allow float32 operations to use the range and precision of float16."""
        self.runtime.relax_computation_float32_to_float16(allow)

    def finish(self) -> None:
        """Validate the model and make it immutable. A failure is final."""
        if self._inputs and not self._has_outputs:
            raise bad_state(
                "the model has inputs and no outputs; set them with Model.outputs",
                "model.finish.no-outputs",
            )
        self.carried  # noqa: B018 (raises)
        try:
            self.runtime.finish()
        finally:
            self._release_values()

    def _index(self, operand: Operand | int) -> int:
        try:
            index = operator.index(operand)
        except TypeError:
            raise wrong_type("an operand", operand, "an Operand, or the index of one") from None
        known = 0 <= index < len(self._operands)
        if isinstance(operand, Operand) and not (known and self._operands[index] is operand):
            raise bad_data(f"{operand!r} belongs to another model", "operand.other-model")
        if not known:
            raise bad_data(
                f"operand {index} does not exist; the model has {len(self._operands)}",
                "operand.index",
            )
        return index

    def _indexes(self, operands: Iterable[Operand | int]) -> list[int]:
        items = listed("the list of operands", operands, "a list of Operands")
        return [self._index(operand) for operand in items]

    def _release_values(self) -> None:
        for operand in self._operands:
            operand.value = None


def sizes_of(dimensions: Sizes) -> tuple[int, ...]:
    """Dimensions as the runtime takes them; 0 for an unknown size."""
    if dimensions is None:
        return ()
    if isinstance(dimensions, tuple) and all(
        type(size) is int and size >= 0 for size in dimensions
    ):
        return dimensions
    expected = "a size, or None for an unknown one"
    return tuple(
        0 if size is None else integer(f"dimension {at}", size, expected)
        for at, size in enumerate(listed("dimensions", dimensions, "a list of sizes"))
    )


def require_name(name: object) -> str:
    """The name; raises TypeError unless it is text."""
    if not isinstance(name, str):
        raise wrong_type("a name", name, "text")
    return name
