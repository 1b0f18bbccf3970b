"""Examples of the lookup family."""

from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.operations.lookup import DENSE
from tests.operations.plans.common import SIZES, Plan, Random, pick, sizes
from tests.single import i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def gather(use: "Use", rng: Random, batch: int) -> Plan:
    """Indices of any rank into any axis."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    axis = pick(rng, range(-len(dimensions), len(dimensions)))
    shape = sizes(rng, pick(rng, SIZES), pick(rng, range(1, 3)))
    indices = rng.integers(0, max(1, dimensions[axis]), shape)
    return {"input": dimensions, "axis": axis, "indices": i32(indices)}


def embedding_lookup(use: "Use", rng: Random, batch: int) -> Plan:
    """Rows of values of any rank."""
    values = sizes(rng, pick(rng, SIZES), pick(rng, range(2, 5)))
    return {"lookups": i32(rng.integers(0, values[0], batch)), "values": values}


def hashtable_lookup(use: "Use", rng: Random, batch: int) -> Plan:
    """Lookups of which about half are found."""
    values = sizes(rng, pick(rng, SIZES), pick(rng, range(1, 5)))
    choices = np.unique(rng.integers(-(2**31), 2**31, 2 * values[0]))
    keys = np.sort(rng.permutation(choices)[: values[0]])
    return {
        "lookups": i32(rng.choice(choices, batch)),
        "keys": i32(keys),
        "values": (len(keys), *values[1:]),
    }


def lsh_projection(use: "Use", rng: Random, batch: int) -> Plan:
    """Items of a few bytes up to some hundred."""
    type = pick(rng, (1, 2, 3))
    return {
        "hash": (pick(rng, (1, 2, 5)), pick(rng, (1, 3, 8))),
        "input": (batch, *sizes(rng, pick(rng, SIZES), pick(rng, (1, 2)))),
        "weight": (batch,) if type == DENSE else None,
        "type": type,
    }


PLANS = {
    "GATHER": gather,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "HASHTABLE_LOOKUP": hashtable_lookup,
    "LSH_PROJECTION": lsh_projection,
}
