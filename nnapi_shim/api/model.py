"""Model: built from arrays and names; calls.py has the methods that mirror C."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim import log
from nnapi_shim.api.argument_types import integer, listed, number, wrong_type
from nnapi_shim.api.arrays import elements, natural_type
from nnapi_shim.api.bias import constant_scales, require_whole
from nnapi_shim.api.calls import ModelCalls, require_name, sizes_of
from nnapi_shim.api.dtypes import operand_type
from nnapi_shim.api.methods import Methods
from nnapi_shim.api.names import member
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.recurrent_state import Carrying
from nnapi_shim.api.signature import Input, results, use_of
from nnapi_shim.api.types import DeclaredType, Sizes, Type
from nnapi_shim.errors import NnapiError, Place, bad_data
from nnapi_shim.hal.enums import ExecutionPreference, OperandType, OperationType, Priority
from nnapi_shim.hal.quantization import ASYMMETRIC, SCALARS, SYMMETRIC
from nnapi_shim.operations import operation as declaration_of

if TYPE_CHECKING:
    from nnapi_shim.api import pickling
    from nnapi_shim.api.compilation import Compilation
    from nnapi_shim.api.devices import Choice


class Model(ModelCalls, Methods):
    """A model.

        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [None, 3])
            y = model.mul(x, [[1, 2, 3]])
            model.outputs(y)

    Every operation is a method, such as `conv_2d`; `operation` takes its name.

    The end of the block finishes the model; if the block raises, the model is closed. Without
    `with`, call `finish()`. A finished model may be compiled any number of times.

    Methods raise NnapiError: BAD_DATA for invalid arguments, BAD_STATE after finish; and TypeError
        for an argument of a wrong Python type.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only of a missing attribute: the method of an operation that build_methods.py has
            not written.
            """
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name.upper() in OperationType.__members__:
                message += "; `python build_methods.py` in the checkout writes its method"
            raise AttributeError(message, name=name, obj=self)

    # Arrays and names

    def input(
        self,
        type: DeclaredType,
        dimensions: Sizes = None,
        scale: float = 0.0,
        zero_point: int = 0,
        *,
        name: str = "",
    ) -> Operand:
        """Add the next input of the model. Scalars have no dimensions.

        type: an operand type or its name; or a numpy dtype, such as np.float32.
        """
        operand = self.add_operand(type, dimensions, scale, zero_point, name=name)
        if name and any(other.name == name for other in self._inputs):
            number = len(self._inputs)
            log.warning(
                f"input {number} has the name {name!r} of another input; runs by name take "
                f"input_{number} for it, as for every input with such a name"
            )
        self._inputs.append(operand)
        return operand

    def constant(
        self,
        value: ArrayLike,
        type: DeclaredType | None = None,
        scale: float = 0.0,
        zero_point: int = 0,
        *,
        scales: Sequence[float] | None = None,
        channel_dim: int = 0,
        name: str = "",
    ) -> Operand:
        """Add a constant; scalars become scalar operands.

        A large array that needs no conversion is read in place when the model is finished, and must
        not change before.

        type: by default that of the elements, such as float32 and int32; for quantized ones uint8
            is TENSOR_QUANT8_ASYMM, int8 TENSOR_QUANT8_ASYMM_SIGNED (with `scales`,
            TENSOR_QUANT8_SYMM_PER_CHANNEL), uint16 and int16 the 16-bit types.
        scales: one for each index of dimension `channel_dim`.
        """
        if isinstance(type, OperandType):
            kind = type
        elif type is not None:
            kind = operand_type(type, np.ndim(value) > 0)
        elif scales is not None:
            kind = OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL
        else:
            kind = natural_type(value)
        array = elements(value, kind, scale)
        operand = self.add_operand(kind, array.shape, scale, zero_point, name=name)
        if scales is not None:
            self.set_operand_symm_per_channel_quant_params(operand, channel_dim, scales)
        self.set_operand_value(operand, array)
        return operand

    def operation(
        self,
        type: OperationType | str | int,
        inputs: Sequence[Input | Model],
        *,
        output: Type | None = None,
        output_count: int | None = None,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str | Sequence[str] = "",
    ) -> Any:
        """Add an operation; returns its output as a new operand, or a tuple for several outputs.

        output_count: the number of outputs, if the operation leaves it open (SPLIT, states of a
            sequence); None for the smallest number.

        Type, dimensions, scale and zero point of the output are inferred from the inputs if the
        operation determines them. Errors of the computation are raised here if dimensions and
        values are known.

        inputs: operands; numbers and arrays, which become constants of the required type (a number
            in place of a tensor one with one element, of the type of the other tensor; a quantized
            bias gets the product of the scales of input and filter); None for an omitted input;
            finished models for IF and WHILE.
        output: the type of the output, if the operation allows several (DEQUANTIZE).
        dimensions: of the output, if more is known than is inferred from the inputs.
        scale, zero_point: of the quantized outputs, if the operation does not determine them.
        name: of the output; a list of names for several outputs.
        """
        kind = member(OperationType, type)
        output_type = None if output is None else member(OperandType, output)
        inputs = listed("inputs", inputs, "a list of operands, numbers and arrays")
        if output_count is not None:
            output_count = integer("output_count", output_count, "an integer from 1", 1)
        zero_point = integer("zero_point", zero_point, "an integer", None)
        for item in inputs:
            if isinstance(item, Operand):
                self._index(item)
        try:
            if kind in (OperationType.IF, OperationType.WHILE):
                from nnapi_shim.api import control_flow

                operands = list(map(self._any_input, inputs))
                models = [item.alone for item in inputs if isinstance(item, Model)]
                outputs = control_flow.results(kind, models, output_count)
            else:
                plain = [item for item in inputs if not isinstance(item, Model)]
                if len(plain) < len(inputs):
                    raise bad_data("only IF and WHILE take models", "model.operation.models")
                require_whole(declaration_of(kind), plain)
                use, plain = use_of(declaration_of(kind), plain, output_type, output_count)
                operands = list(map(self._input, plain, use.inputs, constant_scales(use, plain)))
                outputs = results(use, operands, sizes_of(dimensions), _float32(scale), zero_point)
        except NnapiError as error:
            raise self.runtime.named(_with_operand(error, inputs).at(kind.name)) from None
        names = _names(name, len(outputs))
        created = tuple(
            self.add_operand(*result, name=name)
            for result, name in zip(outputs, names, strict=True)
        )
        self.add_operation(kind, operands, created)
        return created[0] if len(created) == 1 else created

    def _any_input(self, value: Input | Model) -> Operand:
        """An input of its own type: a constant with the type of its elements, or a model."""
        if isinstance(value, Operand):
            return value
        if not isinstance(value, Model):
            return self._input(value, OperandType.INT32 if value is None else natural_type(value))
        operand = self.add_operand(OperandType.MODEL)
        self.set_operand_value_from_model(operand, value)
        return operand

    def outputs(self, *operands: Operand) -> None:
        """Set the outputs, in this order; the inputs are those of `input()`."""
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            expected = "an Operand; several stand side by side: outputs(a, b)"
            raise wrong_type("an output", operands[0], expected)
        self.identify_inputs_and_outputs(self._inputs, operands)

    def _input(self, value: Input, type: OperandType, scale: float = 0.0) -> Operand:
        if isinstance(value, Operand):
            return value
        if value is not None:
            return self.constant(value, type, scale)
        scale = float(type in ASYMMETRIC or type in SYMMETRIC)  # these types need a scale
        # SQUEEZE checks the rank of its axes even if there are none.
        operand = self.add_operand(type, None if type in SCALARS else (0,), scale)
        self.set_operand_value(operand, None)
        return operand

    # Compilation, unpickling, closing

    def compile(
        self,
        devices: Choice | None = None,
        *,
        preference: ExecutionPreference | str = ExecutionPreference.FAST_SINGLE_ANSWER,
        priority: Priority | str = Priority.MEDIUM,
        timeout_ns: int = 0,
        cache: tuple[str | PathLike[str], bytes] | None = None,
    ) -> Compilation:
        """Compile the model; see Compilation for the arguments."""
        from nnapi_shim.api.compilation import Compilation

        return Compilation(
            self,
            devices,
            preference=preference,
            priority=priority,
            timeout_ns=timeout_ns,
            cache=cache,
        )

    @classmethod
    def restored(cls, state: pickling.State, carried: Carrying) -> Model:
        """A finished model from its pickled state."""
        from nnapi_shim.api import pickling

        model = cls.__new__(cls)
        Model.__init__(model)
        item = model._model = pickling.restored(state)
        assert item.part is not None
        for it in model.operands:
            operand = Operand(it.index, it.type, it.dimensions, it.scale, it.zero_point)
            operand.name, operand.is_omitted = it.name, it.is_omitted
            operand.channel_quant = it.channel_quant
            model._operands.append(operand)
        model._inputs = [model._operands[it.index] for it in model.input_operands]
        model._has_outputs = True
        model._carried = carried
        return model

    def close(self) -> None:
        """Release the model. Its compilations keep what they need."""
        self._model = None
        self._release_values()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.close()
        elif self._model is not None and self._model.state == "building":
            self.finish()


def _with_operand(error: NnapiError, inputs: Sequence[Any]) -> NnapiError:
    """The error with the index of the operand that it refers to."""
    role = error.place("input")
    operand = inputs[role.number] if role is not None else None
    if not isinstance(operand, Operand) or error.place("operand") or "operand" in error.message:
        return error
    message = error.message.replace(")", f", operand {operand.index})", 1)
    return error.worded(message).about(Place("operand", operand.index))


def _names(name_or_names: str | Sequence[str], count: int) -> list[str]:
    """The names of `count` outputs; a text is the name of a single one."""
    if isinstance(name_or_names, str) and (count == 1 or not name_or_names):
        return [name_or_names] * count
    names = (
        [name_or_names]
        if isinstance(name_or_names, str)
        else listed("name", name_or_names, "a name, or a list")
    )
    if len(names) != count:
        raise bad_data(
            f"{len(names)} names given; the operation has {count} outputs",
            "model.operation.name-count",
        )
    return [require_name(name) for name in names]


def _float32(scale: float | None) -> float | None:
    return None if scale is None else float(np.float32(number("scale", scale)))
