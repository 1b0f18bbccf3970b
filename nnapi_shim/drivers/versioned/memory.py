"""Where the contents of operands and arguments lie, for those who write devices."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim import address
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.types import Pool


def constant(model: v1_0.Model | v1_1.Model, operand: v1_0.Operand) -> Any:
    """The bytes of a constant operand, without a copy; not to be written to.

    What is made of it, such as a numpy array, is good as long as the model is.
    """
    where = operand.location
    if operand.lifetime == v1_0.OperandLifeTime.CONSTANT_COPY:
        return memoryview(model.operandValues)[where.offset : where.offset + where.length]
    return located(where, model.pools)


def located(where: v1_0.DataLocation, pools: Sequence[Pool]) -> Any:
    """The bytes of an argument, in the pools of its request, without a copy.

    Keep the request as long as what is made of it is in use.
    """
    return address.view(pools[where.poolIndex].map() + where.offset, where.length)
