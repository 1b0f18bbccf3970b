"""Contents of operands and arguments, for authors of devices."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim import address
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.types import Pool


def constant(model: v1_0.Model | v1_1.Model, operand: v1_0.Operand) -> Any:
    """The bytes of a constant operand, without a copy; read-only.

    Views of them, such as numpy arrays, are valid as long as the model.
    """
    where = operand.location
    if operand.lifetime == v1_0.OperandLifeTime.CONSTANT_COPY:
        return memoryview(model.operandValues)[where.offset : where.offset + where.length]
    return located(where, model.pools)


def located(where: v1_0.DataLocation, pools: Sequence[Pool]) -> Any:
    """The bytes of an argument, in the pools of its request, without a copy.

    Views of them are valid as long as the request.
    """
    return address.view(pools[where.poolIndex].map() + where.offset, where.length)
