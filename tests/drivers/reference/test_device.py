"""The reference device as a device: support, errors, buffers, deadlines, timing."""

import subprocess
import sys
from time import monotonic_ns

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import (
    ErrorStatus,
    ExecutionPreference,
    OperandLifeTime,
    OperandType,
    OperationType,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.types import Model, Operand, Operation, OutputShape, Request, RequestArgument
from tests.single import CONSTANT, INPUT, TEMPORARY, build, execute, f32, i32, qu8, run

PAIR = f32([1.5, 2.5])


def prepared(device, model):
    """A prepared model."""
    return device.prepareModel(model, ExecutionPreference.LOW_POWER, Priority.LOW, None, None)


def argument(array, dimensions=None, length=None):
    """An argument that is all of an array."""
    return RequestArgument(
        array.ctypes.data,
        array.nbytes if length is None else length,
        array.shape if dimensions is None else dimensions,
    )


@pytest.fixture
def relu(device):
    """RELU of two numbers, prepared, and its input."""
    return prepared(device, build(OperationType.RELU, [PAIR], [f32()]).model)


def test_importing_it_does_not_import_numpy():
    code = "import sys, nnapi_shim.drivers.reference.device; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_supports_what_is_declared(device):
    def supported(type, operands, inputs, outputs):
        graph = build(OperationType.RELU, [PAIR], [f32()]).model.main._replace(
            operands=tuple(Operand(t) for t in operands),
            operations=(Operation(type, inputs, outputs),),
        )
        return device.getSupportedOperations(Model(graph))

    f32_, i32_ = OperandType.TENSOR_FLOAT32, OperandType.TENSOR_INT32
    assert supported(OperationType.RELU, (f32_, f32_), (0,), (1,)) == [True]
    assert supported(OperationType.RELU, (i32_, i32_), (0,), (1,)) == [False]
    assert supported(OperationType.OEM_OPERATION, (f32_, f32_), (0,), (1,)) == [False]
    assert supported(0x10001, (f32_, f32_), (0,), (1,)) == [False]


@pytest.mark.parametrize("tensors_are", [INPUT, CONSTANT, TEMPORARY])
@pytest.mark.parametrize("scalars_are", [INPUT, CONSTANT])
def test_operands_of_every_kind(device, tensors_are, scalars_are):
    operands = [PAIR, f32([[10], [20]]), 3]
    (array,) = execute(device, OperationType.SUB, operands, [f32()], tensors_are, scalars_are)
    assert array.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("tensors_are", [INPUT, CONSTANT, TEMPORARY])
def test_values_that_decide_a_shape(device, tensors_are):
    operands = [PAIR, i32([2, 1])]
    (array,) = execute(device, OperationType.RESHAPE, operands, [f32()], tensors_are)
    assert array.tolist() == [[1.5], [2.5]]


def test_a_buffer_that_is_too_small_is_not_written(relu):
    source, target = np.float32([-1, 1]), np.full(2, 7, np.float32)
    request = Request((argument(source),), (argument(target, (), 7),))
    result = relu.execute(request, False, None, 0)
    assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    assert result.output_shapes == [OutputShape((2,), False)]
    assert target.tolist() == [7, 7]


def test_empty_tensors(relu):
    source, target = np.zeros((0, 3), np.float32), np.zeros(1, np.float32)
    request = Request((argument(source),), (argument(target, ()),))
    result = relu.execute(request, False, None, 0)
    assert result.output_shapes == [OutputShape((0, 3), True)]


def test_a_declared_size_wins_over_a_computed_0(relu):
    source, target = np.zeros((0, 3), np.float32), np.full((2, 3), 7, np.float32)
    request = Request((argument(source),), (argument(target),))
    result = relu.execute(request, False, None, 0)
    assert result.output_shapes == [OutputShape((2, 3), True)]
    assert (target == 0).all()


def test_declared_dimensions_that_contradict(device):
    wrong = f32([0, 0, 0])._replace(array=None)
    with pytest.raises(NnapiError, match=r"RELU \(operation 0\): output.*: ") as error:
        execute(device, OperationType.RELU, [PAIR], [wrong])
    assert error.value.code is ResultCode.OP_FAILED


def test_omitted_arguments(relu):
    array, none = np.float32([1, 2]), RequestArgument(0, 0, (), True)
    for request, code, saying in (
        (Request((none,), (argument(array, ()),)), ResultCode.OP_FAILED, r"RELU \(operation 0\): "),
        (Request((argument(array),), (none,)), ResultCode.OP_FAILED, "output 0"),
    ):
        with pytest.raises(NnapiError, match=f"{saying}.* is omitted") as error:
            relu.execute(request, False, None, 0)
        assert error.value.code is code


def test_computed_parameters_replace_declared_ones_inside_a_model(device):
    built = build(OperationType.RELU, [qu8([0, 9], 0.5, 4)], [qu8(None, 0.5, 4)], TEMPORARY)
    graph = built.model.main
    operands = [
        operand._replace(scale=2.0, zero_point=9)
        if operand.lifetime is OperandLifeTime.TEMPORARY_VARIABLE
        else operand
        for operand in graph.operands
    ]
    model = built.model._replace(main=graph._replace(operands=tuple(operands)))
    assert run(device, built._replace(model=model))[0].tolist() == [4, 9]


def test_a_bad_value_fails_compute_and_names_the_operation(device):
    built = build(OperationType.ADD, [PAIR, PAIR, 9], [f32()], TEMPORARY)
    model = prepared(device, built.model)
    target = np.zeros(2, np.float32)
    request = Request(tuple(map(argument, built.inputs)), (argument(target),))
    with pytest.raises(NnapiError, match=r"ADD \(operation 2\): activation .*is 9") as error:
        model.execute(request, False, None, 0)
    assert error.value.code is ResultCode.OP_FAILED


def test_a_deadline_that_has_passed(relu):
    array, output = np.float32([1, 2]), np.zeros(2, np.float32)
    request = Request((argument(array),), (argument(output),))
    with pytest.raises(NnapiError) as error:
        relu.execute(request, False, monotonic_ns() - 1, 0)
    assert error.value.code is ResultCode.MISSED_DEADLINE_PERSISTENT


def test_a_deadline_that_passes_during_the_run(relu, monkeypatch):
    clock = iter([0, 100])
    monkeypatch.setattr(
        "nnapi_shim.drivers.reference.prepared_model.monotonic_ns", lambda: next(clock)
    )
    array, output = np.float32([1, 2]), np.zeros(2, np.float32)
    request = Request((argument(array),), (argument(output),))
    with pytest.raises(NnapiError, match=r"RELU \(operation 0\)") as error:
        relu.execute(request, False, 50, 0)
    assert error.value.code is ResultCode.MISSED_DEADLINE_TRANSIENT


def test_timing_when_it_is_asked_for(relu):
    array, output = np.float32([1, 2]), np.zeros(2, np.float32)
    request = Request((argument(array),), (argument(output),))
    assert relu.execute(request, False, None, 0).timing.time_on_device_ns is None
    timing = relu.execute(request, True, monotonic_ns() + 10**12, 0).timing
    assert 0 < timing.time_on_device_ns <= timing.time_in_driver_ns


def test_nan_and_overflow_are_results_not_warnings(device):
    huge = f32([3e38, -3e38, np.nan])
    (array,) = execute(device, OperationType.EXP, [huge], [f32()])
    np.testing.assert_array_equal(array, [np.inf, 0, np.nan])
