"""GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION by hand."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.lookup import fingerprint
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import execute, f16, f32, i32, omitted, qu8

TABLE = [[[1, 2], [3, 4], [5, 6]]]  # [1, 3, 2]


@pytest.mark.parametrize(
    ("axis", "indices", "expected"),
    [
        (0, [0, 0], [TABLE[0], TABLE[0]]),
        (1, [2, 0], [[[5, 6], [1, 2]]]),
        (-1, [1], [[[2], [4], [6]]]),
        (1, [[1], [0]], [[[[3, 4]], [[1, 2]]]]),
    ],
)
def test_gather(compute, axis, indices, expected):
    assert compute(Op.GATHER, [i32(TABLE), axis, i32(indices)], i32()) == expected


@pytest.mark.parametrize(("axis", "index"), [(1, 3), (1, -1), (0, 1), (3, 0), (-4, 0)])
def test_gather_from_outside_fails(compute, axis, index):
    with pytest.raises(NnapiError, match=r"GATHER \(operation 0\)") as error:
        compute(Op.GATHER, [i32(TABLE), axis, i32([index])], i32())
    assert error.value.code is ResultCode.OP_FAILED


def test_gathered_bytes_are_copied_as_they_are(compute):
    for scale, zero_point in ((0.5, 3), (0.25, 3), (0.5, 4)):
        output = qu8(None, scale, zero_point)
        assert compute(Op.GATHER, [qu8([7, 8], 0.5, 3), 0, i32([1])], output) == [8]


def test_embedding_lookup(compute):
    assert compute(Op.EMBEDDING_LOOKUP, [i32([1, 1, 0]), f32([[1, 2], [3, 4]])], f32()) == [
        [3, 4],
        [3, 4],
        [1, 2],
    ]


@pytest.mark.parametrize("row", [-1, 2])
def test_embedding_lookup_of_no_row_fails(compute, row):
    with pytest.raises(NnapiError) as error:
        compute(Op.EMBEDDING_LOOKUP, [i32([0, row]), f32([[1, 2], [3, 4]])], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_values_of_an_embedding_are_rows(compute):
    with pytest.raises(NnapiError, match="rank") as error:
        compute(Op.EMBEDDING_LOOKUP, [i32([0]), f32([1, 2])], f32())
    assert error.value.code is ResultCode.OP_FAILED


def hashtable(device, keys, values, lookups, hits_scale=1.0):
    """Rows and hits as lists."""
    operands = [i32(lookups), i32(keys), values]
    outputs = [qu8(None, values.operand.scale, values.operand.zero_point), qu8(None, hits_scale)]
    return [a.tolist() for a in execute(device, Op.HASHTABLE_LOOKUP, operands, outputs)]


def test_hashtable_lookup(device):
    values = qu8([[1, 2], [3, 4], [5, 6]], 0.5, 7)
    rows, hits = hashtable(device, [-10, 0, 10], values, [10, 5, -10, 11])
    assert rows == [[5, 6], [0, 0], [1, 2], [0, 0]]  # a miss gives zero bytes, not the zero point
    assert hits == [1, 0, 1, 0]


def test_values_of_a_hashtable_may_be_numbers(device):
    assert hashtable(device, [1, 2], qu8([8, 9]), [2, 3]) == [[9, 0], [1, 0]]


def test_keys_without_a_row_are_not_found(device):
    assert hashtable(device, [1, 2, 3], qu8([8, 9]), [2, 3]) == [[9, 0], [1, 0]]
    assert hashtable(device, [1], qu8([8, 9]), [1, 2]) == [[8, 0], [1, 0]]


def test_hits_have_scale_1(device):
    with pytest.raises(NnapiError, match="hits"):
        hashtable(device, [1], qu8([8]), [1], hits_scale=0.5)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", 0x9AE16A3B2F90404F),
        ("a", 0xB3454265B6DF75E3),
        ("abc", 0x24A5B3A074E7F369),
        ("abcdefgh", 0xFEE9D22990C82909),
        ("a" * 20, 0xD1128F7D2CDB832E),
        ("a" * 40, 0x1E17B601E177E8EF),
        ("a" * 100, 0xB68C63A9774614EA),
    ],
)
def test_fingerprint(data, expected):
    assert fingerprint(data.encode()) == expected


HASH = [[0.123, 0.456], [-0.321, -0.654], [1.234, 5.678], [-4.321, -8.765]]
ITEMS = i32([[12345, 54321], [67890, 9876], [-12345678, -87654321]])
WEIGHTS = [0.12, 0.34, 0.56]
NO_WEIGHT = omitted(OperandType.TENSOR_FLOAT32)


@pytest.mark.parametrize(
    ("hash", "weight", "type", "expected"),
    [
        (f32(HASH), f32(WEIGHTS), 2, [1, 1, 1, 0, 1, 1, 1, 0]),
        (f16(HASH), f16(WEIGHTS), 2, [1, 1, 1, 1, 1, 0, 0, 0]),
        (f32(HASH), NO_WEIGHT, 1, [1, 2, 2, 0]),
        (f32(HASH), NO_WEIGHT, 3, [1, 6, 10, 12]),
    ],
)
def test_lsh_projection(compute, hash, weight, type, expected):
    assert compute(Op.LSH_PROJECTION, [hash, ITEMS, weight, type], i32()) == expected


@pytest.mark.parametrize(
    ("hash", "weight", "type"),
    [
        (HASH, f32(WEIGHTS), 1),
        (HASH, f32(WEIGHTS), 3),
        (HASH, NO_WEIGHT, 2),
        (HASH, f32(WEIGHTS[:2]), 2),
        (HASH, NO_WEIGHT, 0),
        (np.ones((1, 33)), NO_WEIGHT, 3),
        ([1, 2], NO_WEIGHT, 3),
    ],
)
def test_projections_that_are_refused(compute, hash, weight, type):
    with pytest.raises(NnapiError) as error:
        compute(Op.LSH_PROJECTION, [f32(hash), ITEMS, weight, type], i32())
    assert error.value.code is ResultCode.OP_FAILED


def test_32_bits_leave_no_room_for_an_offset(compute):
    seeds = np.linspace(-3, 3, 64).reshape(2, 32)
    plain, offset = (
        compute(Op.LSH_PROJECTION, [f32(seeds), ITEMS, NO_WEIGHT, type], i32()) for type in (1, 3)
    )
    assert plain == offset
    assert min(plain) < 0  # the highest bit is the sign
