"""GATHER, EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, LSH_PROJECTION: indices, keys and hashes."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import (
    BoundOperation,
    Operation,
    declared_or,
    fixed,
    form,
    same_as,
)
from nnapi_shim.operations.rules import axis_in_range, copied_as_stored, known_rank
from nnapi_shim.operations.signatures import F16, F32, I32, QU8, movement, rows

SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3
"""Types of LSH_PROJECTION."""


def gathered(op: BoundOperation) -> list[Dimensions]:
    """The dimension `axis` of the input is replaced by the dimensions of `indices`."""
    dimensions = op.input.dimensions
    axis = axis_in_range(op.axis, len(dimensions))
    return [dimensions[:axis] + op.indices.dimensions + dimensions[axis + 1 :]]


def rows_of_values(op: BoundOperation) -> Dimensions:
    """A row of `values` per lookup."""
    return op.lookups.dimensions + op.values.dimensions[1:]  # type: ignore[no-any-return]


def values_have_rows(op: BoundOperation) -> None:
    """Values have rank 2 at least."""
    dimensions = op.values.dimensions
    if len(dimensions) < 2:
        raise op_failed(
            f"values have dimensions {list(dimensions)}; the rank must be 2 or more",
            "embedding-lookup.values-rank",
        )


def projection(op: BoundOperation) -> None:
    """Up to 32 bits per hash; only a dense projection has weights."""
    bits = op.hash.dimensions[1]
    if bits > 32:
        raise op_failed(
            f"hash {list(op.hash.dimensions)} has {bits} bits; allowed are up to 32",
            "lsh-projection.bits",
        )
    if op.type not in (SPARSE_DEPRECATED, DENSE, SPARSE):
        raise op_failed(
            f"type is {op.type}; allowed are 1, 2 (DENSE) and 3 (SPARSE)", "lsh-projection.type"
        )
    if op.type != DENSE:
        # Differs: the documentation allows weights here; the reference refuses them.
        if op.weight is not None:
            raise op_failed(
                f"weight is given; it must be omitted for type {op.type}",
                "lsh-projection.weight-not-needed",
            )
        return
    if op.weight is None:
        raise op_failed(
            "weight is omitted; type 2 (DENSE) needs it", "lsh-projection.weight-omitted"
        )
    if op.weight.dimensions != op.input.dimensions[:1]:
        raise op_failed(
            f"weight has dimensions {list(op.weight.dimensions)}; it must have one value for each "
            f"of the {op.input.dimensions[0]} items of input",
            "lsh-projection.weight-size",
        )


def projected(op: BoundOperation) -> list[Dimensions]:
    """One number per hash (sparse), or per bit of every hash (dense)."""
    hashes, bits = op.hash.dimensions
    return [(hashes * bits if op.type == DENSE else hashes,)]


GATHER = movement(
    OperationType.GATHER,
    doc="output[a,i,b] = input[a,indices[i],b], where a, b are the dimensions before and after "
    "`axis`; an index outside of the input fails.",
    types=rows("T T", f32=3, f16=3, i32=3, qu8=3, qs8=4),
    forms=[form("input axis:INT32 indices:TENSOR_INT32")],
    remarks=[copied_as_stored],
    shape=gathered,
    quantization=declared_or("input"),
    looks_up="input",
)

EMBEDDING_LOOKUP = movement(
    OperationType.EMBEDDING_LOOKUP,
    doc="output[i,...] = values[lookups[i],...]; an index outside of values fails.",
    columns="values -> output",
    types=rows("T T", f32=1, i32=3, qu8=3, f16=4, qs8=4),
    forms=[form("lookups:TENSOR_INT32 values")],
    checks=[known_rank(1, "lookups"), values_have_rows],
    legacy=True,
    shape=lambda op: [rows_of_values(op)],
    quantization=same_as("values"),
    looks_up="values",
)

HASHTABLE_LOOKUP = movement(
    OperationType.HASHTABLE_LOOKUP,
    doc="output[i,...] = values[k,...] and hits[i] = 1 where keys[k] = lookups[i]; zero bytes and "
    "0 where there is no such key. Keys ascend.",
    columns="values -> output hits",
    types=rows("T T TENSOR_QUANT8_ASYMM", f32=1, i32=1, qu8=1),
    forms=[form("lookups:TENSOR_INT32 keys:TENSOR_INT32 values")],
    # Differs: the documentation asks for values of rank 2 at least, and for as many keys as rows;
    # the reference checks neither.
    checks=[known_rank(1, "lookups", "keys")],
    legacy=True,
    shape=lambda op: [rows_of_values(op), op.lookups.dimensions],
    quantization=lambda op: [(op.values.scale, op.values.zero_point), (1.0, 0)],
    looks_up="values",
)

LSH_PROJECTION = Operation(
    OperationType.LSH_PROJECTION,
    doc="bit[i,j] = sum over items k of weight[k] * int64(Fingerprint64(float32(hash[i,j]), "
    "input[k])) > 0; output: the bits (DENSE), or per row the number that they form, first bit "
    "highest, plus i * 2^bits (SPARSE).",
    columns="hash input weight -> output",
    types={
        "f32_f32": (1, F32, F32, F32, I32),
        "f32_i32": (1, F32, I32, F32, I32),
        "f32_qu8": (1, F32, QU8, F32, I32),
        "f32_f16": (3, F32, F16, F32, I32),
        "f16_f16": (3, F16, F16, F16, I32),
        "f16_f32": (3, F16, F32, F16, I32),
        "f16_i32": (3, F16, I32, F16, I32),
        "f16_qu8": (3, F16, QU8, F16, I32),
    },
    forms=[form("hash input weight type:INT32")],
    omittable=("weight",),
    checks=[known_rank(2, "hash"), projection],
    legacy=True,
    infinite_scales=True,
    shape=projected,
    quantization=fixed(),
    work="projection",
)
