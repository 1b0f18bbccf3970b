"""Tensors of very many dimensions: most of them are 1, for there are no more bytes than 2^32."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.arrays import MAX_RANK
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, Priority, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import Request, RequestArgument
from tests.runtime.hal_models import Builder


def one_more(sizes):
    return (1, *sizes)


def the_same(sizes):
    return sizes


def numbers(*values):
    return lambda graph, x, rank: [graph.constant(v, T.INT32) for v in values]


def lists(*values):
    return lambda graph, x, rank: [graph.constant([v] * rank, T.TENSOR_INT32) for v in values]


def softmax(graph, x, rank):
    return [graph.constant(1.0, T.FLOAT32), graph.constant(0, T.INT32)]


def gather(graph, x, rank):
    return [graph.constant(0, T.INT32), graph.constant([0, 1], T.TENSOR_INT32)]


def itself(graph, x, rank):
    return [x]


CASES = {
    "ABS": (numbers(), the_same),
    "EXP": (numbers(), the_same),
    "CAST": (numbers(), the_same),
    "MAXIMUM": (itself, the_same),
    "MINIMUM": (itself, the_same),
    "POW": (itself, the_same),
    "PRELU": (itself, the_same),
    "EXPAND_DIMS": (numbers(0), one_more),
    "TILE": (lists(1), the_same),
    "SLICE": (lists(0, -1), the_same),
    "SPLIT": (numbers(1, 1), the_same),
    "GATHER": (gather, the_same),
    "LOG_SOFTMAX": (softmax, the_same),
}
"""Operations that take tensors of any rank: the other inputs, and the dimensions of the output."""


def computed(device, name, rank):
    others, shape = CASES[name]
    graph = Builder()
    sizes = (2, *[1] * (rank - 2), 2)
    x, result = graph.input(sizes), graph.temporary(shape(sizes))
    graph.operation(getattr(O, name), [x, *others(graph, x, rank)], [result])
    model = graph.model([x], [result])
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    arguments, actual = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    request = Request(
        (RequestArgument(arguments.ctypes.data, arguments.nbytes, sizes),),
        (RequestArgument(actual.ctypes.data, actual.nbytes, shape(sizes)),),
    )
    answer = device.prepareModel(model, *how).execute(request, False, None, 0)
    assert answer.status is ErrorStatus.NONE
    assert answer.output_shapes[0].dimensions == shape(sizes)
    return actual


@pytest.mark.parametrize("rank", [33, MAX_RANK - 1, MAX_RANK, 200])
@pytest.mark.parametrize("name", CASES)
def test_right_results(name, rank):
    few = computed(ReferenceDevice(), name, 4)
    np.testing.assert_allclose(computed(CpuDevice(), name, rank), few, rtol=1e-6)
    if rank < MAX_RANK:
        np.testing.assert_array_equal(computed(ReferenceDevice(), name, rank), few)


@pytest.mark.parametrize("rank", [MAX_RANK, MAX_RANK + 1, 200])
@pytest.mark.parametrize("name", CASES)
def test_what_numpy_has_not(name, rank):
    """nnapi-reference says that it cannot; nnapi-cpu can (ARCHITECTURE.md)."""
    if rank == MAX_RANK and name != "EXPAND_DIMS":
        assert computed(ReferenceDevice(), name, rank).any()
        return
    with pytest.raises(NnapiError) as caught:
        computed(ReferenceDevice(), name, rank)
    assert caught.value.code is ResultCode.OP_FAILED
    assert f"nnapi-reference has tensors of up to {MAX_RANK}" in caught.value.message


@pytest.mark.parametrize("device", [CpuDevice, ReferenceDevice])
def test_the_largest_of_many_dimensions(device):
    graph = Builder()
    sizes, most = (2, *[1] * 38, 3), (2, *[1] * 38, 2)
    x, values, places = (
        graph.input(sizes),
        graph.temporary(most),
        graph.temporary(most, T.TENSOR_INT32),
    )
    graph.operation(O.TOPK_V2, [x, graph.constant(2, T.INT32)], [values, places])
    arguments = np.array([1, 3, 2, 6, 5, 4], np.float32)
    actual, where = np.zeros(4, np.float32), np.zeros(4, np.int32)
    request = Request(
        (RequestArgument(arguments.ctypes.data, arguments.nbytes, sizes),),
        tuple(RequestArgument(a.ctypes.data, a.nbytes, most) for a in (actual, where)),
    )
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    model = graph.model([x], [values, places])
    device().prepareModel(model, *how).execute(request, False, None, 0)
    assert actual.tolist() == [3, 2, 6, 5]
    assert where.tolist() == [1, 2, 0, 1]
