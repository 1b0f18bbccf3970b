"""lint: all that is wrong with a model, the first of it first."""

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim.errors import NnapiError, Place
from nnapi_shim.hal.enums import ResultCode
from tests.waiting import HANGS_S

LIBRARY = Path(__file__).resolve().parents[2] / "build" / "lib" / "libneuralnetworks.so"


def codes(result):
    return [(error.code.name, error.place("operation", "operand")) for error in result]


def test_a_good_model_has_nothing_to_tell():
    model = nnapi_shim.Model()
    x = model.input("TENSOR_FLOAT32", [2, 2])
    model.outputs(model.operation("RELU", [x]))
    assert nnapi_shim.lint(model) == []
    model.finish()
    assert nnapi_shim.lint(model) == []


def test_all_that_finish_refuses():
    model = nnapi_shim.Model()
    a = model.add_operand("TENSOR_FLOAT32", [2])
    lonely = model.add_operand("TENSOR_FLOAT32", [2])
    other = model.add_operand("TENSOR_FLOAT32", [3])
    model.add_operand("TENSOR_INT32", [2], scale=0.5, zero_point=7)
    model.add_operation("RELU", [a], [lonely])
    model.add_operation("FLOOR", [a], [lonely])
    result = nnapi_shim.lint(model)
    texts = [error.message for error in result]
    assert "zeroPoint 7" in texts[0]
    assert any("operand 1 is written twice" in text for text in texts)
    for index in (a.index, other.index):
        assert any(text.startswith(f"operand {index} has no value") for text in texts)
    with pytest.raises(NnapiError) as caught:
        model.finish()
    assert caught.value.message == texts[0]


def values_refused_later():
    """A model that finishes; three operations of it cannot be computed."""
    model = nnapi_shim.Model()
    x = model.add_operand("TENSOR_FLOAT32", [2, 3])
    wrong_axis, no_activation, size = (model.add_operand("INT32") for _ in range(3))
    model.set_operand_value(wrong_axis, 5)
    model.set_operand_value(no_activation, 99)
    model.set_operand_value(size, -1)
    results = [model.add_operand("TENSOR_FLOAT32", None) for _ in range(4)]
    model.add_operation("CONCATENATION", [x, x, wrong_axis], [results[0]])
    model.add_operation("ADD", [x, x, no_activation], [results[1]])
    model.add_operation("RELU", [results[0]], [results[2]])
    model.add_operation("ADD", [results[2], x, no_activation], [results[3]])
    model.identify_inputs_and_outputs([x], results[1:])
    return model


def test_values_that_a_computation_refuses():
    model = values_refused_later()
    expected = [
        ("OP_FAILED", Place("operation", 0, "CONCATENATION")),
        ("OP_FAILED", Place("operation", 1, "ADD")),
    ]
    assert codes(nnapi_shim.lint(model)) == expected
    model.finish()
    assert codes(nnapi_shim.lint(model)) == expected
    with pytest.raises(NnapiError, match="CONCATENATION"):
        nnapi_shim.Compilation(model).run(np.zeros((2, 3), np.float32))


def unfinished(monkeypatch):
    """A model with LINT, before finish; the value of its constant."""
    monkeypatch.setenv("NNAPI_SHIM_LINT", "1")
    model = nnapi_shim.Model()
    weights = np.ones(1000, np.float32)
    x = model.input("TENSOR_FLOAT32", [1000])
    model.outputs(model.operation("ADD", [x, model.constant(weights, name="weights"), 0]))
    return model, weights


def test_constants_that_change_before_finish(monkeypatch):
    model, weights = unfinished(monkeypatch)
    weights[999] += 1
    with pytest.raises(NnapiError, match=r"weights.*4000 bytes at 0x\w+, has changed") as caught:
        model.finish()
    assert caught.value.rule == "model.finish.value-changed"


def test_constants_that_do_not_change(monkeypatch):
    model, weights = unfinished(monkeypatch)
    weights[0] += 1
    weights[0] -= 1
    model.finish()


def test_a_value_that_is_set_again_counts(monkeypatch):
    model, weights = unfinished(monkeypatch)
    other = np.zeros(1000, np.float32)
    model.set_operand_value(1, other)
    weights[0] += 1
    model.finish()


def test_unreadable_values_with_lint(monkeypatch):
    model, _ = unfinished(monkeypatch)
    with pytest.raises(NnapiError) as caught:
        model.runtime.set_operand_value(1, 4096, 4000)
        model.finish()
    assert caught.value.rule == "model.set-operand-value.unreadable"


def pooling(padding=1, stride=1, activation=0, width=3):
    """An AVERAGE_POOL_2D of [1, 3, 3, 1], built call by call; the model before finish."""
    model = nnapi_shim.Model()
    x = model.add_operand("TENSOR_FLOAT32", [1, 3, 3, 1])
    scalars = []
    for value in (padding, stride, stride, width, 3, activation):
        scalars.append(model.add_operand("INT32"))
        model.set_operand_value(scalars[-1], value)
    y = model.add_operand("TENSOR_FLOAT32", [1, 3, 3, 1] if padding == 1 else [1, 1, 1, 1])
    model.add_operation("AVERAGE_POOL_2D", [x, *scalars], [y])
    model.identify_inputs_and_outputs([x], [y])
    return model


def convolution_of_another_depth():
    model = nnapi_shim.Model()
    x = model.add_operand("TENSOR_FLOAT32", [1, 3, 3, 2])
    filter = model.add_operand("TENSOR_FLOAT32", [4, 1, 1, 3])
    bias = model.add_operand("TENSOR_FLOAT32", [4])
    model.set_operand_value(filter, np.ones((4, 1, 1, 3), np.float32))
    model.set_operand_value(bias, np.ones(4, np.float32))
    scalars = []
    for value in (1, 1, 1, 0):
        scalars.append(model.add_operand("INT32"))
        model.set_operand_value(scalars[-1], value)
    y = model.add_operand("TENSOR_FLOAT32", [1, 3, 3, 4])
    model.add_operation("CONV_2D", [x, filter, bias, *scalars], [y])
    model.identify_inputs_and_outputs([x], [y])
    return model


FAILING = {
    "activation 9": (lambda: pooling(activation=9), r"activation .*is 9"),
    "stride 0": (lambda: pooling(stride=0), r"stride_width .*is 0; it must be at least 1"),
    "depth": (convolution_of_another_depth, "is for 3 input channels"),
}


@pytest.mark.parametrize("name", FAILING)
def test_values_are_reported_at_the_call(name, monkeypatch, capfd):
    """With LINT by addOperation, and not again by finish; without it the computation names it."""
    make, text = FAILING[name]
    model = make()
    model.finish()
    compilation = nnapi_shim.Compilation(model)
    for _ in range(2):
        with pytest.raises(NnapiError, match=text) as caught:
            compilation.run(np.ones(model.compile().inputs[0].dimensions, np.float32))
        end = "; NNAPI_SHIM_LINT=1 reports it when the model is built"
        assert caught.value.message.endswith(end)
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("NNAPI_SHIM_LINT", "1")
    model = make()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("nnapi_shim warning: a computation will fail: ")
    assert re.search(text, line)
    model.finish()
    assert capfd.readouterr().err == ""
    with pytest.raises(NnapiError, match=text) as caught:
        nnapi_shim.Compilation(model).run(np.ones(model.compile().inputs[0].dimensions, "f4"))
    assert "LINT" not in caught.value.message


def test_a_padding_scheme_that_does_not_exist(monkeypatch, capfd):
    """It is computed as VALID, with one warning; lint refuses it at the call."""
    from nnapi_shim import log

    monkeypatch.setattr(log, "_noted", {})
    model = pooling(padding=7)
    (error,) = nnapi_shim.lint(model)
    assert error.rule == "operation.padding-scheme"
    model.finish()
    assert capfd.readouterr().err == ""
    for device in ("nnapi-cpu", "nnapi-reference"):
        x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
        assert nnapi_shim.Compilation(model, devices=[device]).run(x).tolist() == [[[[4.0]]]]
    (line,) = capfd.readouterr().err.splitlines()
    assert line == (
        "nnapi_shim warning: AVERAGE_POOL_2D: padding is 7; allowed are 1 (SAME) and 2 (VALID); it "
        "is computed as VALID"
    )
    monkeypatch.setenv("NNAPI_SHIM_LINT", "1")
    model = pooling(padding=7)
    line = capfd.readouterr().err
    assert "addOperation: BAD_DATA: AVERAGE_POOL_2D (operation 0): padding (input 1, op" in line
    with pytest.raises(NnapiError) as caught:
        model.finish()
    assert caught.value.rule == "operation.padding-scheme"
    assert caught.value.code is ResultCode.BAD_DATA


C_PROGRAM = """
import ctypes, struct, sys
library = ctypes.CDLL(sys.argv[1])
model = ctypes.c_void_p()
library.ANeuralNetworksModel_create(ctypes.byref(model))
two = (ctypes.c_uint32 * 1)(2)

def operand(code, rank=0, scale=0.0, zero_point=0):
    where = ctypes.addressof(two) if rank else 0
    packed = struct.pack("<iIQfi", code, rank, where, scale, zero_point)
    return library.ANeuralNetworksModel_addOperand(model, packed)

def operation(code, inputs, outputs):
    lists = [(ctypes.c_uint32 * len(given))(*given) for given in (inputs, outputs)]
    return library.ANeuralNetworksModel_addOperation(
        model, code, len(inputs), lists[0], len(outputs), lists[1])

answers = [
    operand(3, 1), operand(77), operand(3, 1, 0.5), operand(3, 1), operand(3, 1),
    operation(19, [0], [3]), operation(0, [0, 3], [4]), operation(500, [0], [4]),
    library.ANeuralNetworksModel_setOperandValue(model, 12, ctypes.c_void_p(0), 0),
    library.ANeuralNetworksModel_identifyInputsAndOutputs(
        model, 1, (ctypes.c_uint32 * 1)(0), 2, (ctypes.c_uint32 * 2)(4, 3)),
    library.ANeuralNetworksModel_finish(model),
    library.ANeuralNetworksModel_finish(model),
]
print(answers)
"""


def test_a_c_program_that_goes_on():
    done = subprocess.run(
        [sys.executable, "-c", C_PROGRAM, LIBRARY],
        env={"NNAPI_SHIM_LINT": "1", "NNAPI_SHIM_LOG": "error,json"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    assert json.loads(done.stdout) == [0] * 10 + [ResultCode.BAD_DATA, ResultCode.BAD_STATE]
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    messages = [line["message"] for line in lines[:-2]]
    assert len(messages) == 5
    assert "operand 1" in messages[0]
    assert "77" in messages[0]
    assert "operand 2" in messages[1]
    assert messages[2].startswith("ADD (operation 1)")
    assert messages[3].startswith("operation 2: type 500")
    assert "operand 12" in messages[4]
    assert lines[-2]["function"] == "ANeuralNetworksModel_finish"
    assert lines[-2]["message"] == f"{messages[0]} (and 4 more)"


def test_without_the_setting_a_call_is_refused():
    library = ctypes.CDLL(str(LIBRARY))
    model = ctypes.c_void_p()
    assert library.ANeuralNetworksModel_create(ctypes.byref(model)) == 0
    assert library.ANeuralNetworksModel_setOperandValue(model, 12, None, ctypes.c_size_t(0)) == 4
    library.ANeuralNetworksModel_free(model)


REFUSED_LATER = """
import ctypes, struct, sys
library = ctypes.CDLL(sys.argv[1])
model = ctypes.c_void_p()
library.ANeuralNetworksModel_create(ctypes.byref(model))
sizes = (ctypes.c_uint32 * 2)(2, 3)
for code, rank in ((3, 2), (1, 0), (1, 0), (3, 0), (3, 0)):
    where = ctypes.addressof(sizes) if rank else 0
    packed = struct.pack("<iIQfi", code, rank, where, 0, 0)
    assert library.ANeuralNetworksModel_addOperand(model, packed) == 0
for index, value in ((1, 5), (2, 99)):
    kept = ctypes.c_int32(value)
    assert library.ANeuralNetworksModel_setOperandValue(model, index, ctypes.byref(kept), 4) == 0
lists = [(ctypes.c_uint32 * len(given))(*given) for given in ((0, 0, 1), (3,), (0, 0, 2), (4,))]
for code, inputs, outputs in ((2, *lists[:2]), (0, *lists[2:])):
    assert library.ANeuralNetworksModel_addOperation(model, code, 3, inputs, 1, outputs) == 0
arguments = (ctypes.c_uint32 * 1)(0), (ctypes.c_uint32 * 2)(3, 4)
identify = library.ANeuralNetworksModel_identifyInputsAndOutputs
assert identify(model, 1, arguments[0], 2, arguments[1]) == 0
assert library.ANeuralNetworksModel_finish(model) == 0
"""


@pytest.mark.parametrize("setting", ["0", "1"])
@pytest.mark.parametrize("form", ["", "json"])
def test_a_c_program_is_told_of_what_computations_refuse(setting, form):
    """Without a change of what finish answers; the same as lint() gives in Python."""
    done = subprocess.run(
        [sys.executable, "-c", REFUSED_LATER, LIBRARY],
        env={"NNAPI_SHIM_LINT": setting, "NNAPI_SHIM_LOG": form},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    lines = done.stderr.splitlines()
    if setting == "0":
        assert lines == []
        return
    expected = nnapi_shim.lint(values_refused_later())
    assert len(lines) == len(expected) == 2
    for line, error in zip(lines, expected, strict=True):
        if form:
            parts = json.loads(line)
            assert (parts["level"], parts["code"], parts["rule"]) == (
                "warning",
                "OP_FAILED",
                error.rule,
            )
            assert parts["operation"]["number"] == error.place("operation").number
        else:
            messages = f"nnapi_shim warning: a computation will fail: {error} [{error.rule}]"
            assert line == messages


FOLLOW_UPS = """
import ctypes, struct, sys
library = ctypes.CDLL(sys.argv[1])
model = ctypes.c_void_p()
library.ANeuralNetworksModel_create(ctypes.byref(model))
two = (ctypes.c_uint32 * 1)(2)
for code, rank in ((3, 1), (3, 1), (1, 1), (3, 1)):
    where = ctypes.addressof(two) if rank else 0
    packed = struct.pack("<iIQfi", code, rank, where, 0, 0)
    assert library.ANeuralNetworksModel_addOperand(model, packed) == 0
none = ctypes.c_int32(0)
assert library.ANeuralNetworksModel_setOperandValue(model, 2, ctypes.byref(none), 4) == 0
lists = [(ctypes.c_uint32 * len(given))(*given) for given in ((0, 1, 2), (3,), (0, 1))]
assert library.ANeuralNetworksModel_addOperation(model, 0, 3, lists[0], 1, lists[1]) == 0
assert library.ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, lists[2], 1, lists[1]) == 0
assert library.ANeuralNetworksModel_finish(model) == 4
"""


def test_one_mistake_is_told_of_once():
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW_UPS, LIBRARY],
        env={"NNAPI_SHIM_LINT": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    first, last = done.stderr.splitlines()
    assert first.startswith(
        "nnapi_shim error: ANeuralNetworksModel_addOperand: BAD_DATA: operand 2"
    )
    assert last.startswith("nnapi_shim error: ANeuralNetworksModel_finish: BAD_DATA: operand 2")
