"""A computed size of 0 gives way to a declared one, also where another size remains 0."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, OperandType, Priority, ResultCode
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import Request, RequestArgument
from tests.runtime.hal_models import Builder


def test_sizes_without_elements_that_numpy_has_not():
    """The elements of a FILL: 0 * 2^31 * 2^31 * 2^31."""
    sizes = np.array([0, 2**31 - 1, 2**31 - 1, 2**31 - 1], np.int32)
    graph = Builder()
    x, result = graph.input((4,), OperandType.TENSOR_INT32), graph.temporary((0, 0, 0, 0))
    graph.operation(O.FILL, [x, graph.constant(1.0, OperandType.FLOAT32)], [result])
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    values = RequestArgument(sizes.ctypes.data, sizes.nbytes, (4,))
    actual = RequestArgument(sizes.ctypes.data, 4, (0, 0, 0, 0))
    request = Request((values,), (actual,))
    model = graph.model([x], [result])
    answer = CpuDevice().prepareModel(model, *how).execute(request, False, None, 0)
    assert answer.output_shapes[0].dimensions == tuple(sizes)
    with pytest.raises(NnapiError, match="as numpy has none") as caught:
        ReferenceDevice().prepareModel(model, *how).execute(request, False, None, 0)
    assert caught.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()], ids=lambda d: d.name)
def test_an_output_without_elements(device):
    graph = Builder()
    x, result = graph.input((0, 0)), graph.temporary((5, 0))
    graph.operation(O.RELU, [x], [result])
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    memory = np.zeros(1, np.float32)
    values = RequestArgument(memory.ctypes.data, 0, (0, 0))
    actual = RequestArgument(memory.ctypes.data, memory.nbytes, (5, 0))
    model = device.prepareModel(graph.model([x], [result]), *how)
    answer = model.execute(Request((values,), (actual,)), False, None, 0)
    assert answer.status is ErrorStatus.NONE
    assert answer.output_shapes[0].dimensions == (5, 0)


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()], ids=lambda d: d.name)
@pytest.mark.parametrize("times", [(1 << 30, 1, 0), (1 << 30, 1 << 18, 0), ((1 << 31) - 1, 1, 0)])
def test_a_tensor_repeated_very_often_and_not_at_all(device, times):
    """No memory is needed for it; but a dimension has 32 bits."""
    graph = Builder()
    x, repeats = graph.input((3, 1, 1)), graph.constant(times, OperandType.TENSOR_INT32)
    result = graph.temporary((0, 0, 0))
    graph.operation(O.TILE, [x, repeats], [result])
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    memory = np.zeros(3, np.float32)
    values = RequestArgument(memory.ctypes.data, memory.nbytes, (3, 1, 1))
    actual = RequestArgument(memory.ctypes.data, memory.nbytes, (0, 0, 0))
    model = device.prepareModel(graph.model([x], [result]), *how)
    request = Request((values,), (actual,))
    if 3 * times[0] < 1 << 32:
        answer = model.execute(request, False, None, 0)
        assert answer.output_shapes[0].dimensions == (3 * times[0], times[1], 0)
        return
    with pytest.raises(NnapiError, match="dimension") as caught:
        model.execute(request, False, None, 0)
    assert caught.value.code is ResultCode.OP_FAILED
