"""Removes trailing inputs with default values, which older forms of operations lack.

For example, a CONV_2D whose layout flag has its default value is a CONV_2D of level 1. The
reference runtime does the same in every model.
"""

from typing import Any

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.quantization import SCALARS, decoded
from nnapi_shim.hal.types import Model, Operation
from nnapi_shim.operations import operation


def without_defaults(model: Model) -> Model:
    """The model with the shortest equivalent forms of its operations."""
    items = tuple([_shortened(item, model) for item in model.main.operations])
    if items == model.main.operations:
        return model
    return model._replace(main=model.main._replace(operations=items))


def _shortened(item: Operation, model: Model) -> Operation:
    kind = item.type
    if not isinstance(kind, OperationType) or kind is OperationType.OEM_OPERATION:
        return item
    declaration = operation(kind)
    if not declaration.defaults:
        return item
    operands = model.main.operands
    inputs = tuple([operands[index].type for index in item.inputs])
    outputs = tuple([operands[index].type for index in item.outputs])
    match = declaration.match(inputs, outputs)
    count = shortest = len(inputs)
    while count > 1:
        count -= 1
        value = _scalar(item.inputs[count], model)
        if value is None or value != declaration.defaults.get(match.input_names[count]):
            break
        try:
            shorter = declaration.match(inputs[:count], outputs)
        except NnapiError:  # no form ends here
            continue
        if shorter.input_names == match.input_names[:count]:
            shortest = count
    return item._replace(inputs=item.inputs[:shortest])


def _scalar(index: int, model: Model) -> Any:
    """Value of a constant scalar in the model's own memory; None for other operands."""
    operand = model.main.operands[index]
    where = operand.location
    if operand.lifetime is not OperandLifeTime.CONSTANT_COPY or operand.type not in SCALARS:
        return None
    data = model.operand_values[where.offset : where.offset + where.length]
    return decoded(operand.type, data)
