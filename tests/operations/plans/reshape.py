"""Examples of the reshape family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.enums import OperandType as T
from tests.operations.plans.common import Plan, Random, pick, sizes
from tests.single import tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def reshape(use: "Use", rng: Random, batch: int) -> Plan:
    """The same sizes in another order, one of them perhaps -1."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    shape = rng.permutation(dimensions)
    if rng.random() < 0.5:
        shape[pick(rng, range(len(shape)))] = -1
    return {"input": dimensions, "shape": tensor(T.TENSOR_INT32, shape)}


PLANS = {"RESHAPE": reshape}
