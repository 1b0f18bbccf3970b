"""Converts models to plain data and back, for pickle and copy.

The data are the calls of a program that builds the model, so a restored model passes all checks
again. Extension types are stored by name, since their numbers are specific to a process.
"""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from nnapi_shim import address
from nnapi_shim.errors import bad_data
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.runtime import extension
from nnapi_shim.runtime import model as runtime
from nnapi_shim.runtime.referenced import Part, in_order

L = OperandLifeTime
VERSION = 1
_OUT_OF_BAND = 5
"""The first pickle protocol with out-of-band buffers, which need no copy of constants."""

State = Mapping[str, Any]


def state_of(part: Part, protocol: int) -> State:
    """The plain data of a finished model with all models that it refers to.

    Constants in memories of the program are copied. protocol: the pickle protocol.
    """
    parts = in_order(part)
    indexes = {id(other): index for index, other in enumerate(parts)}
    return {"version": VERSION, "parts": [_part(other, indexes, protocol) for other in parts]}


def _part(part: Part, indexes: Mapping[int, int], protocol: int) -> State:
    own = part.own
    prefixes = {prefix: name for name, prefix in own.extension_prefixes}
    values: Any = own.operand_values
    if protocol >= _OUT_OF_BAND and values:
        values = pickle.PickleBuffer(values)
    return {
        "operands": [_operand(part, operand, indexes, prefixes) for operand in own.main.operands],
        "operations": [
            (_code(item.type, prefixes), item.inputs, item.outputs)
            for item in sorted(own.main.operations, key=lambda item: item.number)
        ],
        "inputs": own.main.input_indexes,
        "outputs": own.main.output_indexes,
        "relaxed": own.relax_computation_float32_to_float16,
        "names": dict(part.names),
        "values": values,
    }


def _operand(
    part: Part, operand: hal.Operand, indexes: Mapping[int, int], prefixes: Mapping[int, str]
) -> tuple[Any, ...]:
    where = operand.location
    value: Any = None
    if operand.lifetime is L.CONSTANT_COPY:
        value = where.offset, where.length
    elif operand.lifetime is L.CONSTANT_REFERENCE:
        start = part.own.pools[where.pool_index].map()
        value = address.read(start + where.offset, where.length)
    elif operand.lifetime is L.SUBGRAPH:
        value = indexes[id(part.inner[where.offset])]
    return (
        _code(operand.type, prefixes),
        operand.dimensions,
        operand.scale,
        operand.zero_point,
        operand.lifetime.name,
        value,
        None if operand.channel_quant is None else tuple(operand.channel_quant),
        operand.extension_data,
    )


def _code(code: int, prefixes: Mapping[int, str]) -> int | tuple[str, int]:
    """A type by its number; an extension type by the extension's name and its number there."""
    prefix = (code >> 16) & 0xFFFF
    return (prefixes[prefix], code & 0xFFFF) if prefix else int(code)


def _number(code: int | tuple[str, int]) -> int:
    return extension.prefixed(*code) if isinstance(code, tuple) else code


def restored(state: State) -> runtime.Model:
    """The finished model of a state.

    Raises BAD_DATA for a state of a newer version, and for types of an extension that no device
    here has.
    """
    if state["version"] != VERSION:
        message = f"the model was pickled as version {state['version']}; this is version {VERSION}"
        raise bad_data(message, "model.pickle.version")
    models: list[runtime.Model] = []
    for part in state["parts"]:
        models.append(_model(part, models))
    return models[-1]


def _model(state: State, others: Sequence[runtime.Model]) -> runtime.Model:
    model = runtime.Model()
    start, keep = address.address_of(state["values"] or b"\0")
    kept = [keep]
    for code, dimensions, scale, zero_point, lifetime, value, quant, data in state["operands"]:
        index = model.add_operand(
            _number(code), dimensions or None, len(dimensions), scale, zero_point
        )
        if quant is not None:
            model.set_operand_symm_per_channel_quant_params(index, quant[1], quant[0])
        if data:
            model.set_operand_extension_data(index, data)
        if lifetime == L.NO_VALUE.name:
            model.set_operand_value(index, 0, 0)
        elif lifetime == L.CONSTANT_COPY.name:
            model.set_operand_value(index, start + value[0], value[1])
        elif lifetime == L.CONSTANT_REFERENCE.name:
            where, keep = address.address_of(value)
            kept.append(keep)
            model.set_operand_value(index, where, len(value))
        elif lifetime == L.SUBGRAPH.name:
            model.set_operand_value_from_model(index, others[value])
    for index, name in state["names"].items():
        model.set_operand_name(index, name)
    for code, inputs, outputs in state["operations"]:
        model.add_operation(_number(code), inputs, outputs)
    if state["inputs"] or state["outputs"]:
        model.identify_inputs_and_outputs(state["inputs"], state["outputs"])
    model.relax_computation_float32_to_float16(state["relaxed"])
    model.finish()  # reads the large constants
    del kept
    return model
