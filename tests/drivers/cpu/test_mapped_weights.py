"""Constants in a file are read where they are mapped: no copy is made of what is used as it is."""

import mmap
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import Compilation, FuseCode, Model
from nnapi_shim.runtime.memory import FdMemory
from tests.emulation import is_emulated

ROWS, DEPTH = 1 << 17, 128
TABLE_BYTES = 4 * ROWS * DEPTH
OFFSET = 64
OTHER = (15 if is_emulated() else 8) << 20
"""Bytes that a process takes for whatever else it does meanwhile. An emulator keeps what it has
translated in such memory.
"""

pytestmark = pytest.mark.own_process


def own_bytes():
    """Memory of this process that is of no file."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


@pytest.fixture
def table(tmp_path):
    """Most of it are holes, which are zeros."""
    path = tmp_path / "table"
    with path.open("wb") as file:
        for row in (0, 77, ROWS - 1):
            file.seek(OFFSET + 4 * DEPTH * row)
            file.write(np.full(DEPTH, row + 1, np.float32).tobytes())
    with path.open("rb") as file:
        return FdMemory(TABLE_BYTES, mmap.PROT_READ, file.fileno(), OFFSET)


def constant(model, memory, dimensions):
    operand = model.add_operand("TENSOR_FLOAT32", dimensions)
    length = 4 * int(np.prod(dimensions))
    model.runtime.set_operand_value_from_memory(operand.index, memory, 0, length)
    return operand


@pytest.mark.parametrize("operation", ["GATHER", "EMBEDDING_LOOKUP"])
def test_a_table_is_not_copied(operation, table):
    before = own_bytes()
    model = Model()
    rows = model.input("TENSOR_INT32", [3])
    values = constant(model, table, [ROWS, DEPTH])
    inputs = [values, 0, rows] if operation == "GATHER" else [rows, values]
    model.outputs(model.operation(operation, inputs))
    model.finish()
    compiled = [Compilation(model, devices=["nnapi-cpu"]) for _ in range(2)]
    for each in compiled:
        result = each.run(np.array([77, 0, ROWS - 1], np.int32))
        np.testing.assert_array_equal(result[:, 5], [78, 1, ROWS])
    assert own_bytes() - before < OTHER < TABLE_BYTES / 4


def test_an_addend_is_not_copied(table):
    count = TABLE_BYTES // 4
    x = np.ones([count], np.float32)
    model = Model()
    arguments = model.input("TENSOR_FLOAT32", [count])
    model.outputs(
        model.operation("ADD", [arguments, constant(model, table, [count]), FuseCode.NONE])
    )
    model.finish()
    before = own_bytes()
    compiled = Compilation(model, devices=["nnapi-cpu"])
    result = compiled.run(x)
    assert result[77 * DEPTH] == 79
    assert own_bytes() - before < TABLE_BYTES + OTHER  # the result


def test_a_filter_is_packed_from_where_it_lies(table):
    """What is packed is the only copy."""
    columns = ROWS // 4
    model = Model()
    x = model.input("TENSOR_FLOAT32", [3, DEPTH])
    values = constant(model, table, [columns, DEPTH])
    model.outputs(model.fully_connected(x, values, np.zeros(columns, np.float32)))
    model.finish()
    before = own_bytes()
    result = Compilation(model, devices=["nnapi-cpu"]).run(np.ones([3, DEPTH], np.float32))
    assert result[2, 77] == 78 * DEPTH
    packed = TABLE_BYTES // 4
    assert own_bytes() - before < packed + OTHER < 2 * packed
