"""Compilation caching: the program's folder and token reach the devices."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.model import Model
from tests.runtime.partial_devices import PartialDevice

TOKEN = bytes(range(32))


def model():
    """(x + x) * x, of four numbers."""
    made, none = Model(), np.zeros(1, np.int32)
    for code, sizes in ((3, (4,)), (1, None), (3, (4,)), (3, (4,))):
        made.add_operand(code, sizes, len(sizes or ()), 0.0, 0)
    made.set_operand_value(1, none.ctypes.data, 4)
    made.add_operation(OperationType.ADD, (0, 0, 1), (2,))
    made.add_operation(OperationType.MUL, (2, 0, 1), (3,))
    made.identify_inputs_and_outputs([0], [3])
    made.finish()
    return made


def computed(compilation):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    execution = Execution(compilation)
    execution.set_argument("input", 0, None, x.ctypes.data, 16)
    execution.set_argument("output", 0, None, y.ctypes.data, 16)
    execution.compute()
    np.testing.assert_array_equal(y, 2 * x * x)


@pytest.mark.parametrize("devices", [None, [CpuDevice()]])
def test_a_compilation_leaves_a_file_and_finds_it(tmp_path, devices):
    made = model()
    for _ in range(2):
        compilation = Compilation(made, devices)
        compilation.set_caching(str(tmp_path), TOKEN)
        compilation.finish()
        computed(compilation)
        assert len(list(tmp_path.iterdir())) == 1


def test_the_last_folder_and_token_count(tmp_path):
    compilation = Compilation(model(), None)
    compilation.set_caching(str(tmp_path / "first"), bytes(32))
    (tmp_path / "second").mkdir()
    compilation.set_caching(str(tmp_path / "second"), TOKEN)
    compilation.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["second"]


def test_every_part_of_a_split_model_has_a_file(tmp_path):
    made = model()
    for _ in range(2):
        devices = [PartialDevice("adds", "ADD", (0.5, 0.5)), CpuDevice()]
        compilation = Compilation(made, devices)
        compilation.set_caching(str(tmp_path), TOKEN)
        compilation.finish()
        computed(compilation)
        assert len(list(tmp_path.iterdir())) == 1  # the other device keeps nothing
