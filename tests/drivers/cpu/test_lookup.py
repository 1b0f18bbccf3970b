"""GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.lookup import TILE_BYTES
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import same, same_outputs
from tests.single import execute, f32, i32, omitted, qu8


@pytest.mark.parametrize("slice_bytes", [1, 2, 3, 4, 8, 12, 16, 32, 40])
@pytest.mark.parametrize("outer", [1, 3])
def test_slices_of_any_size(slice_bytes, outer):
    random = np.random.default_rng(slice_bytes)
    table = random.integers(0, 256, (outer, 7, slice_bytes)).astype(np.uint8)
    indices = random.integers(0, 7, 50)
    operands = [qu8(table), -2, i32(indices)]
    same(Op.GATHER, operands, qu8(), dynamic=(2,))


@pytest.mark.parametrize("outer", [1, 3])
def test_several_tiles(outer):
    count = TILE_BYTES // 4 * 2 + 5
    table = np.arange(outer * 11, dtype=np.int32).reshape(outer, 11)
    indices = np.arange(count, dtype=np.int32) % 11
    same(Op.GATHER, [i32(table), 1, i32(indices)], i32(), misaligned=0)


@pytest.mark.parametrize("index", [-1, 5, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("at", [0, 3])
def test_an_index_outside_fails(index, at):
    indices = np.zeros(4, np.int32)
    indices[at] = index
    for type, operands in (
        (Op.GATHER, [f32(np.ones((2, 5))), 1, i32(indices)]),
        (Op.EMBEDDING_LOOKUP, [i32(indices), f32(np.ones((5, 2)))]),
    ):
        with pytest.raises(NnapiError, match=f"is {index}; allowed are 0 to 4") as error:
            execute(CpuDevice(), type, operands, [f32()])
        assert error.value.code is ResultCode.OP_FAILED
        assert type.name in error.value.message


def test_hashtable_of_many_rows():
    random = np.random.default_rng(1)
    keys = np.sort(random.choice(10**6, 1000, replace=False)).astype(np.int32)
    values = random.uniform(-1, 1, (1000, 60)).astype(np.float32)
    lookups = np.concatenate([keys[::9], keys[::9] + 1, [-1, 2**31 - 1, keys[0], keys[-1]]])
    operands = [i32(lookups), i32(keys), f32(values)]
    _, hits = same_outputs(Op.HASHTABLE_LOOKUP, operands, [f32(), qu8()])
    assert hits.any()
    assert not hits.all()


SIZES = [*range(1, 130, 3), 132, 188, 189, 190, 256, 300]
"""Bytes of an item; the fingerprint tells lengths up to 8, 16, 32, 64 and above apart."""


@pytest.mark.parametrize("size", SIZES)
def test_projection_of_items_of_any_size(size):
    random = np.random.default_rng(size)
    items = qu8(random.integers(0, 256, (3, size)))
    operands = [f32(random.uniform(-9, 9, (2, 24))), items]
    for weight, type in ((omitted(OperandType.TENSOR_FLOAT32), 3), (f32([0.5, -2, 1]), 2)):
        same_outputs(Op.LSH_PROJECTION, [*operands, weight, type], [i32()])


def test_projection_in_several_tiles():
    random = np.random.default_rng(1)
    items = f32(random.uniform(-9, 9, (20, 100)))
    hash = f32(random.uniform(-9, 9, (7, 32)))
    operands = [hash, items, omitted(OperandType.TENSOR_FLOAT32), 1]
    same_outputs(Op.LSH_PROJECTION, operands, [i32()])
