"""Examples of the logical family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.types import Dimensions
from tests.operations.plans.binary import pair
from tests.operations.plans.common import Plan, Random, elementwise
from tests.single import Value, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def contents(rng: Random, dimensions: Dimensions) -> Value:
    """Bytes that are false, 0, or true, anything else."""
    return tensor(T.TENSOR_BOOL8, rng.choice((0, 0, 0, 1, 2, 255), dimensions))


def logical(use: "Use", rng: Random, batch: int) -> Plan:
    """One tensor of any rank, or two that are broadcast."""
    if len(use.names) == 1:
        return {"input": contents(rng, elementwise(use, rng, batch)["input"])}
    return dict(zip(use.names, [contents(rng, d) for d in pair(rng, batch)], strict=True))


PLANS = dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"), logical)
