"""QUANTIZED_16BIT_LSTM and QUANTIZED_LSTM by hand: gates are half open, 16384 of 32768.

The results of tanh are known answers of semantics.md 15.
"""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.lstm_quantized import logistic_16, product_16, tanh_16
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.operations.lstm_cell import (
    bias_names,
    gain_names,
    input_names,
    parameter_names,
    recurrent_names,
)
from nnapi_shim.operations.lstm_quantized import QUANTIZED_16BIT_LSTM, QUANTIZED_LSTM
from tests.single import execute, i32, omitted, qs8, qsym8, qu8, tensor

INTO, FORGET, CELL, OUT = range(4)
ONE = 2.0**-12
"""A scale with which numbers have 12 fractional bits."""


def qs16(values=None, scale=1.0):
    return tensor(T.TENSOR_QUANT16_SYMM, values, scale)


# QUANTIZED_16BIT_LSTM


def fixed_16(device, state, x=(128,), h=(128, 128), **changes):
    """(cell state, output) with two units; a weight is a 4096th of a sum of products."""
    weights, zero = 128 * ONE, 100
    arguments = {
        "input": qu8([x], 1 / 128, 128),
        "prev_output": qu8([h], 1 / 128, 128),
        "prev_cell_state": qs16([state], 2**-11),
        **{name: qu8([[zero]] * 2, weights, zero) for name in input_names()},
        **{name: qu8([[zero, zero]] * 2, weights, zero) for name in recurrent_names()},
        **{name: i32([0, 0], ONE) for name in bias_names()},
    } | changes
    names = QUANTIZED_16BIT_LSTM.forms[0].inputs.names
    result = execute(
        device,
        Op.QUANTIZED_16BIT_LSTM,
        [arguments[name] for name in names],
        [qs16(None, 2**-11), qu8(None, 1 / 128, 128)],
    )
    return [array[0].tolist() for array in result]


def test_16_state_and_output(device):
    # 500 is 1000 with 12 fractional bits; half of tanh is 3920, in steps of 256.
    assert fixed_16(device, (1000, -1000)) == [[500, -500], [143, 113]]
    assert fixed_16(device, (0, 1)) == [[0, 1], [128, 128]]


def test_16_pairs_activations_with_weights_by_position(device):
    # The input meets the first recurrent column, the last output the column of the input.
    recurrent = qu8([[200, 100], [100, 100]], 128 * ONE, 100)
    direct = qu8([[100], [110]], 128 * ONE, 100)
    changes = {recurrent_names()[CELL]: recurrent, input_names()[CELL]: direct}
    # tanh(1000) * 16384 in steps of 16; 10 * 100 and 100 * 10 are 1000
    assert fixed_16(device, (0, 0), (138,), (128, 228), **changes)[0] == [245, 245]
    assert fixed_16(device, (0, 0), (128,), (228, 128), **changes)[0] == [0, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"input": qu8([[1]], 1 / 64, 128)},
        {"prev_cell_state": qs16([[0, 0]], 2**-10)},
        {input_names()[OUT]: qu8([[0], [0]], 128 * ONE, 99)},
        {bias_names()[OUT]: i32([0, 0], 2 * ONE)},
        {bias_names()[OUT]: i32([0], ONE)},
    ],
    ids=["input", "state", "weights", "bias", "size"],
)
def test_16_refused(device, change):
    with pytest.raises(NnapiError) as error:
        fixed_16(device, (0, 0), **change)
    assert error.value.code is ResultCode.OP_FAILED


def test_16_needs_all_inputs(device):
    with pytest.raises(NnapiError) as error:
        fixed_16(device, (0, 0), input_gate_bias=omitted(T.TENSOR_INT32))
    assert error.value.code is ResultCode.BAD_DATA


# QUANTIZED_LSTM

KINDS = {
    T.TENSOR_QUANT8_SYMM: (*input_names(), *recurrent_names(), "projection_weights"),
    T.TENSOR_INT32: (*bias_names(), "projection_bias"),
}


def nothing(name):
    """An operand that is omitted, of the type that belongs to its name."""
    types = [type for type, names in KINDS.items() if name in names]
    return omitted(types[0] if types else T.TENSOR_QUANT16_SYMM)


def quantized(device, state, x=3, state_scale=ONE, outputs=1, **changes):
    """(output, cell state) of one unit, whose weights are 0."""
    arguments = {name: nothing(name) for name in (*parameter_names(), *gain_names())}
    arguments |= {
        "input": qs8([[x]], 2**-6, 3),
        "prev_output": qs8([[5]], 2**-8, 5),
        "prev_cell_state": qs16([[state]], state_scale),
        **{name: qsym8([[0]], 2**-6) for name in (*input_names(), *recurrent_names())},
        **{name: i32([0]) for name in bias_names()},
        **{f"{gate}_intermediate_scale": ONE for gate in ("input", "forget", "cell", "output")},
        "cell_clip": 0.0,
        "projection_clip": 0.0,
        "hidden_state_zero_point": 0,
        "hidden_state_scale": 2.0**-8,
        **changes,
    }
    names = QUANTIZED_LSTM.forms[0].inputs.names
    output, cell, copy = execute(
        device,
        Op.QUANTIZED_LSTM,
        [arguments[name] for name in names],
        [qs8(None, 2**-8, 5), qs16(None, state_scale), qs8(None, 2**-8, 5)],
    )
    assert output.tolist() == copy.tolist()
    return output.item(), cell.item()


def test_state_and_output(device):
    # Half of tanh(1000) is 3920, or 30.6 in steps of 128.
    assert quantized(device, 2000) == (31, 1000)
    assert quantized(device, -2000) == (-31, -1000)
    # tanh of 100 with 4 integer bits is 1596.
    assert quantized(device, 200, state_scale=2**-11) == (6, 100)


def test_the_zero_point_of_the_hidden_state_is_subtracted(device):
    assert quantized(device, 2000, hidden_state_zero_point=6) == (25, 1000)
    assert quantized(device, 2000, hidden_state_zero_point=256 + 250) == (37, 1000)  # -6


def test_projection(device):
    arguments = {"projection_weights": qsym8([[2]], 0.5), "projection_bias": i32([4])}
    # 5 + (4 + 2 * 31) / 2, whatever the zero point of the hidden state is.
    assert quantized(device, 2000, **arguments) == (38, 1000)
    assert quantized(device, 2000, **arguments, hidden_state_zero_point=6) == (38, 1000)
    # 10.2 / 0.5 steps
    assert quantized(device, 2000, **arguments, projection_clip=10.2) == (20, 1000)
    arguments["projection_bias"] = nothing("projection_bias")
    with pytest.raises(NnapiError) as error:
        quantized(device, 2000, **arguments)
    assert error.value.code is ResultCode.OP_FAILED


def test_a_projection_bias_alone_has_no_effect(device):
    assert quantized(device, 2000, projection_bias=i32([99])) == (31, 1000)


def test_the_cell_is_clipped(device):
    # 0.125 is 512 steps; less than one step bounds nothing.
    assert quantized(device, 2000, cell_clip=0.125)[1] == 512
    assert quantized(device, 2000, cell_clip=ONE / 2)[1] == 1000
    assert quantized(device, 2000, cell_clip=-1.0)[1] == 1000


def test_weights_and_zero_point_of_the_input(device):
    # 10 * 100 steps of 2^-12, tanh 7840, by half an input gate.
    arguments = {input_names()[CELL]: qsym8([[100]], 2**-6)}
    assert quantized(device, 0, x=13, **arguments)[1] == 490
    assert quantized(device, 0, x=3, **arguments)[1] == 0


def test_biases_have_no_effect_without_normalisation(device):
    biases = {name: i32([10**6]) for name in bias_names()}
    assert quantized(device, 2000, **biases) == (31, 1000)


def test_normalisation_adds_the_bias(device):
    gains = {name: qs16([1], 2**-12) for name in gain_names()}
    # A single number is 0 once normalised; 1000 * 1024 is 1000 steps of 2^-12.
    gains[bias_names()[CELL]] = i32([1000 * 1024])
    assert quantized(device, 0, **gains)[1] == 490


def test_coupled_gates(device):
    names = input_names()[INTO], recurrent_names()[INTO], bias_names()[INTO]
    arguments = {name: nothing(name) for name in names}
    arguments[input_names()[CELL]] = qsym8([[100]], 2**-6)
    # The input gate is 32767 - 16384.
    assert quantized(device, 2000, x=13, input_intermediate_scale=0.0, **arguments)[1] == 1490


def test_peepholes_see_the_state_before_and_after(device):
    weights = {f"cell_to_{gate}_weights": qs16([0], 1.0) for gate in ("input", "forget", "output")}
    # The output gate sees 1000 * 2^-12 * 4.096, or 4096 steps: its logistic is 23952.
    weights["cell_to_output_weights"] = qs16([4096], 2**-10 * 1.024)
    assert quantized(device, 2000, **weights) == (45, 1000)
    # The forget gate sees 1000 steps: 18376.
    weights["cell_to_forget_weights"] = qs16([1], 0.5)
    assert quantized(device, 2000, **weights)[1] == 1122


@pytest.mark.parametrize("scale", [2**-8, 2**-16, 0.0003], ids=["2^-8", "2^-16", "0.0003"])
def test_state_scales_that_are_refused(device, scale):
    with pytest.raises(NnapiError) as error:
        quantized(device, 0, state_scale=scale)
    assert error.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize("name", ["cell_intermediate_scale", "hidden_state_scale"])
def test_scales_that_are_refused(device, name):
    with pytest.raises(NnapiError) as error:
        quantized(device, 0, **{name: 0.0})
    assert error.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (-32768, 11), (-8192, 3901), (-4096, 8815), (-1, 16383), (0, 16384), (1000, 18376),
        (4096, 23952), (8192, 28866), (20000, 32524), (32767, 32756),
    ],
)  # fmt: skip
def test_logistic_16(x, expected):
    assert logistic_16(np.array([x]), 3) == [expected]


@pytest.mark.parametrize(
    ("integer_bits", "x", "expected"),
    [
        (3, 1, 8), (3, 100, 792), (3, 1000, 7840), (3, 4096, 24964), (3, 8192, 31596),
        (3, 20000, 32767), (0, 100, 100), (0, 4096, 4076), (0, 16384, 15136), (0, 32767, 24964),
        (4, 100, 1596), (4, 4096, 31596),
    ],
)  # fmt: skip
def test_tanh_16(integer_bits, x, expected):
    assert tanh_16(np.array([x, -x]), integer_bits).tolist() == [expected, -expected]


def test_tanh_16_of_numbers_beyond_the_factors():
    # 6 integer bits: 2 * 32 and more is taken for infinity.
    assert tanh_16(np.array([-32768, 32767, 16385]), 6).tolist() == [-32767, 32767, 32767]


def test_product_16_saturates():
    assert product_16(np.array([-32768, -32768]), np.array([-32768, 32767])).tolist() == [
        32767,
        -32767,
    ]
