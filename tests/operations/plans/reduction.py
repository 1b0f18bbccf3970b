"""Examples of the reduction family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.enums import OperandType as T
from tests.operations.plans.common import Plan, Random, pick, sizes
from tests.single import tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def reduction(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank; axes counted from either end, some of them named twice. Or many rows."""
    if rng.random() < 0.2:
        rows = pick(rng, (15, 16, 17, 40, 133)), pick(rng, (1, 3, 13, 16, 17, 50, 70))
        return {"input": (batch, *rows), "axes": tensor(T.TENSOR_INT32, [2]), "keep_dims": False}
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    rank = len(dimensions)
    axes = rng.integers(-rank, rank, pick(rng, range(1, rank + 2)))
    return {
        "input": dimensions,
        "axes": tensor(T.TENSOR_INT32, axes),
        "keep_dims": bool(rng.integers(2)),
    }


PLANS = dict.fromkeys(
    (
        "MEAN",
        "REDUCE_ALL",
        "REDUCE_ANY",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "REDUCE_PROD",
        "REDUCE_SUM",
    ),
    reduction,
)
AMPLITUDE = {"REDUCE_PROD": 2.7}
