"""RNN, sequences of it, and SVDF on the CPU device: more batches and units than a tile has."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering import rnn
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import execute, f16, f32, omitted

TANH = 4


def compare(type, operands, outputs, tolerance):
    """The CPU device against the reference device."""
    result = execute(CpuDevice(), type, operands, outputs)
    expected = execute(ReferenceDevice(), type, operands, outputs)
    for ours, theirs in zip(result, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def operands_of(make, shapes, seed):
    """Random tensors, small enough for a long recurrence; None: an omitted one."""
    random = np.random.default_rng(seed)
    absent = omitted(make().operand.type)
    return [absent if s is None else make(random.uniform(-0.3, 0.3, s)) for s in shapes]


@pytest.mark.parametrize("units", [1, 7, 16, 33, 70])
@pytest.mark.parametrize("batches", [1, 2, 3, 8, 37])
@pytest.mark.parametrize("time_major", [0, 1])
def test_sequence(units, batches, time_major):
    steps = 3
    leading = (steps, batches) if time_major else (batches, steps)
    shapes = [(*leading, 9), (units, 9), (units, units), (units,), (batches, units)]
    operands = operands_of(f32, shapes, units + batches)
    operands += [TANH, time_major]
    compare(Op.UNIDIRECTIONAL_SEQUENCE_RNN, operands, [f32(), f32()], 2e-6)


@pytest.mark.parametrize(("make", "tolerance"), [(f32, 2e-6), (f16, 1e-3)])
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_both_directions(make, tolerance, merge, linked):
    steps, batches, forward, backward = 4, 19, 20, 5
    aux = [(batches, steps, 3), (forward, 3), (backward, 3)] if linked else [None] * 3
    shapes = [(batches, steps, 9)]
    for units in (forward, backward):
        shapes += [(units, 9), (units, units), (units,), (batches, units)]
    operands = operands_of(make, [*shapes, *aux], 1)
    operands += [TANH, False, merge]
    outputs = [make()] * (3 if merge else 4)
    compare(Op.BIDIRECTIONAL_SEQUENCE_RNN, operands, outputs, tolerance)


@pytest.mark.parametrize("batches", [1, 37])
def test_single_step(batches):
    shapes = [(batches, 9), (40, 9), (40, 40), (40,), (batches, 40)]
    compare(Op.RNN, [*operands_of(f32, shapes, batches), TANH], [f32(), f32()], 2e-6)


@pytest.mark.parametrize("activation", range(7))
def test_svdf_activations_around_zero(activation):
    """Features and bias of 0: the sums are the state times one."""
    state = [[-7.0, 0, -0.5, 0, -0.0, 0, 0.0, 0, 0.5, 0, 7.0, 0]]
    operands = [
        f32([[0]]), f32(np.zeros((6, 1))), f32([[1, 0]] * 6),
        omitted(OperandType.TENSOR_FLOAT32), f32(state), 1, activation,
    ]  # fmt: skip
    compare(Op.SVDF, operands, [f32(), f32()], 1e-6)


@pytest.mark.parametrize(("make", "tolerance"), [(f32, 2e-6), (f16, 1e-3)])
@pytest.mark.parametrize(
    ("batches", "filters", "memory", "rank"), [(1, 1, 1, 1), (3, 60, 33, 4), (7, 100, 2, 1)]
)
def test_svdf(make, tolerance, batches, filters, memory, rank):
    shapes = [
        (batches, 11), (filters, 11), (filters, memory), (filters // rank,),
        (batches, memory * filters),
    ]  # fmt: skip
    operands = [*operands_of(make, shapes, filters), rank, 0]
    compare(Op.SVDF, operands, [make(), make()], tolerance)


def test_svdf_in_several_tiles(monkeypatch):
    monkeypatch.setattr(rnn, "TILE_STATE", 4500)
    shapes = [(3, 2), (30, 2), (30, 150), (30,), (3, 4500)]
    compare(Op.SVDF, [*operands_of(f32, shapes, 1), 1, 0], [f32(), f32()], 2e-6)
