"""RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF by hand."""

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import execute, f32, omitted

NONE, RELU, RELU1, RELU6, TANH, SIGN_BIT, SIGMOID = range(7)
ABSENT = omitted(OperandType.TENSOR_FLOAT32)


def results(device, type, inputs, outputs):
    """The outputs as lists."""
    return [a.tolist() for a in execute(device, type, inputs, [f32()] * outputs)]


def rnn(device, activation):
    weights, recurrent = [[1, 10], [-1, 0]], [[0, 1], [2, 0]]
    operands = [f32([[1, 2]]), f32(weights), f32(recurrent), f32([0.5, 0]), f32([[3, -4]])]
    state, output = results(device, Op.RNN, [*operands, activation], 2)
    assert state == output
    return output[0]


def test_rnn(device):
    assert rnn(device, NONE) == [17.5, 5]  # 0.5 + 21 - 4, -1 + 6
    assert rnn(device, RELU6) == [6, 5]
    assert rnn(device, RELU1) == [1, 1]
    np.testing.assert_allclose(rnn(device, TANH), np.tanh([17.5, 5]), rtol=1e-6)
    np.testing.assert_allclose(rnn(device, SIGMOID), [1, 1 / (1 + np.exp(-5))], rtol=1e-6)


@pytest.mark.parametrize("activation", [-1, SIGN_BIT, 7])
def test_activations_that_are_refused(device, activation):
    with pytest.raises(NnapiError) as error:
        rnn(device, activation)
    assert error.value.code is ResultCode.OP_FAILED


# Two batches, three steps: the state is half of the last one plus ten times the input.
STEPS = [[[1], [2]], [[3], [4]], [[5], [6]]]
OUTPUTS = [[[11], [22]], [[35.5], [51]], [[67.75], [85.5]]]
CELL = [f32([[10]]), f32([[0.5]]), f32([0]), f32([[2], [4]])]


@pytest.mark.parametrize("count", [1, 2])
def test_time_major_sequence(device, count):
    result = results(device, Op.UNIDIRECTIONAL_SEQUENCE_RNN, [f32(STEPS), *CELL, NONE, 1], count)
    assert result == [OUTPUTS, OUTPUTS[-1]][:count]


def test_batch_major_sequence(device):
    steps = np.ascontiguousarray(np.swapaxes(STEPS, 0, 1))
    result = results(device, Op.UNIDIRECTIONAL_SEQUENCE_RNN, [f32(steps), *CELL, NONE, 0], 2)
    assert result == [np.swapaxes(OUTPUTS, 0, 1).tolist(), OUTPUTS[-1]]


def test_time_major_is_0_or_1(device):
    with pytest.raises(NnapiError, match="time_major") as error:
        results(device, Op.UNIDIRECTIONAL_SEQUENCE_RNN, [f32(STEPS), *CELL, NONE, 2], 1)
    assert error.value.code is ResultCode.OP_FAILED


# One batch, two steps. The forward cell adds its state to the input, the backward one doubles it.
INPUT, AUX = [[[1]], [[2]]], [[[100]], [[300]]]
FORWARD = [f32([[1]]), f32([[1]]), f32([0]), f32([[10]])]
BACKWARD = [f32([[1]]), f32([[2]]), f32([0]), f32([[20]])]
NOTHING = [ABSENT, ABSENT, ABSENT]
PARALLEL = [f32(AUX), ABSENT, ABSENT]
CROSS = [f32(AUX), f32([[2]]), f32([[3]])]


def bidirectional(device, aux, merge, outputs, time_major=True, input=INPUT):
    operands = [f32(input), *FORWARD, *BACKWARD, *aux, NONE, time_major, merge]
    return results(device, Op.BIDIRECTIONAL_SEQUENCE_RNN, operands, outputs)


@pytest.mark.parametrize(
    ("aux", "forward", "backward"),
    [
        (NOTHING, [11, 13], [85, 42]),
        (PARALLEL, [11, 13], [780, 340]),
        (CROSS, [211, 813], [2185, 942]),
    ],
)
def test_bidirectional(device, aux, forward, backward):
    fw, bw, fw_state, bw_state = bidirectional(device, aux, False, 4)
    assert np.ravel(fw).tolist() == forward
    assert np.ravel(bw).tolist() == backward
    assert (fw_state, bw_state) == ([[forward[-1]]], [[backward[0]]])
    assert bidirectional(device, aux, False, 2) == [fw, bw]
    merged = [[[f, b]] for f, b in zip(forward, backward, strict=True)]
    assert bidirectional(device, aux, True, 1) == [merged]
    assert bidirectional(device, aux, True, 3) == [merged, fw_state, bw_state]


def test_bidirectional_batch_major(device):
    (merged,) = bidirectional(device, NOTHING, True, 1, False, [[[1], [2]]])
    assert merged == [[[11, 85], [13, 42]]]


@pytest.mark.parametrize(
    ("aux", "merge", "outputs"),
    [
        (NOTHING, True, 2),
        (NOTHING, True, 4),
        (NOTHING, False, 1),
        (NOTHING, False, 3),
        ([ABSENT, f32([[2]]), f32([[3]])], True, 1),
        ([f32(AUX), f32([[2]]), ABSENT], True, 1),
        ([f32([[[1]]]), ABSENT, ABSENT], True, 1),
    ],
)
def test_bidirectional_operands_that_are_refused(device, aux, merge, outputs):
    with pytest.raises(NnapiError) as error:
        bidirectional(device, aux, merge, outputs)
    assert error.value.code is ResultCode.OP_FAILED


def svdf(device, bias, activation=NONE, rank=2):
    """One batch, two filters of one unit, a memory of 3."""
    features, time = [[1, 2], [3, 4]], [[1, 10, 100], [2, 20, 200]]
    state = [[5, 6, 7, 8, 9, 0.5]]
    operands = [f32([[1, 1]]), f32(features), f32(time), bias, f32(state), rank, activation]
    return results(device, Op.SVDF, operands, 2)


def test_svdf(device):
    # States 5 6 3 and 8 9 7: the oldest entries first, the features 3 and 7 in the last place.
    total = (5 + 60 + 300) + (16 + 180 + 1400)
    assert svdf(device, ABSENT) == [[[6, 3, 0, 9, 7, 0]], [[total]]]
    assert svdf(device, f32([-0.5])) == [[[6, 3, 0, 9, 7, 0]], [[total - 0.5]]]
    assert svdf(device, ABSENT, RELU1)[1] == [[1]]
    assert svdf(device, ABSENT, SIGN_BIT)[1] == [[0]]
    assert svdf(device, f32([-5000]), SIGN_BIT)[1] == [[1]]
    assert svdf(device, ABSENT, rank=1)[1] == [[365, 1596]]


@pytest.mark.parametrize("rank", [0, -2, 3])
def test_rank_divides_the_filters(device, rank):
    with pytest.raises(NnapiError, match=r"rank .*is") as error:
        svdf(device, ABSENT, rank=rank)
    assert error.value.code is ResultCode.OP_FAILED
