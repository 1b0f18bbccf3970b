"""Messages: what a refusal says in words, as parts, and as JSON lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim import log
from nnapi_shim.abi import boundary
from nnapi_shim.errors import NnapiError, Place, bad_data, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.runtime.model import Model
from tests.waiting import HANGS_S

LIBRARY = Path(__file__).resolve().parents[1] / "build" / "lib" / "libneuralnetworks.so"

PROGRAM = """
import ctypes, struct, sys
library = ctypes.CDLL(sys.argv[1])
model, P = ctypes.c_void_p(), ctypes.c_void_p
library.ANeuralNetworksModel_create(ctypes.byref(model))
sizes = (ctypes.c_uint32 * 2)(2, 2)
tensor = ctypes.create_string_buffer(struct.pack("<iIQfi", 3, 2, ctypes.addressof(sizes), 0, 0), 24)
scalar = ctypes.create_string_buffer(struct.pack("<iIQfi", 1, 0, 0, 0, 0), 24)
for kind in (tensor, tensor, scalar, tensor):
    assert library.ANeuralNetworksModel_addOperand(model, kind) == 0
one = (ctypes.c_uint32 * 3)(0, 1, 1)
out = (ctypes.c_uint32 * 1)(3)
assert library.ANeuralNetworksModel_addOperation(model, 0, 3, one, 1, out) == 4
assert library.ANeuralNetworksModel_setOperandValue(model, 9, None, P(0)) == 4
library.nnapi_shim_getLastError.restype = ctypes.c_char_p
print(library.nnapi_shim_getLastError().decode())
"""


def lines(setting):
    """What the program gets: its last error, and the lines on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, LIBRARY],
        env={"NNAPI_SHIM_LOG": setting} if setting else {},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    return done.stdout.strip(), done.stderr.splitlines()


def test_a_line_names_function_code_operation_and_rule():
    last, (first, second) = lines("")
    assert first.startswith("nnapi_shim error: ANeuralNetworksModel_addOperation: BAD_DATA: ADD (")
    assert "ADD (operation 0)" in first
    assert first.endswith("]")
    assert second.startswith("nnapi_shim error: ANeuralNetworksModel_setOperandValue: BAD_DATA: ")
    assert "operand 9" in second
    assert "the model has 4" in second
    assert second == f"nnapi_shim error: {last}"


@pytest.mark.parametrize("setting", ["json", "error,json", "json debug"])
def test_json_lines_have_the_parts(setting):
    _, (first, second) = (lines(setting)[0], map(json.loads, lines(setting)[1]))
    assert first["level"] == "error"
    assert first["function"] == "ANeuralNetworksModel_addOperation"
    assert first["code"] == "BAD_DATA"
    assert first["operation"] == {"number": 0, "name": "ADD"}
    assert first["see"] == "ANEURALNETWORKS_ADD in android/NeuralNetworksTypes.h"
    assert first["rule"] == "operation.signature.type"
    assert first["input"] == {"number": 2, "name": "activation"}
    assert first["operand"] == {"number": 1, "name": "activation"}
    where = "ADD (operation 0): activation (input 2, operand 1)"
    assert first["message"] == f"{where} is TENSOR_FLOAT32; allowed here: INT32"
    assert first["given"] == "activation (input 2) is TENSOR_FLOAT32"
    assert first["allowed"] == "allowed here: INT32"
    assert second["see"] == "ANeuralNetworksModel_setOperandValue in android/NeuralNetworks.h"
    assert second["rule"] == "operand.index"
    assert second["operand"] == {"number": 9}


def test_silent_is_silent():
    last, shown = lines("silent,json")
    assert last.startswith("ANeuralNetworksModel_setOperandValue: BAD_DATA")
    assert shown == []


def test_a_word_that_means_nothing_is_named_once(capfd, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_LOG", "loud")
    log.error("first")
    log.error("second")
    text = capfd.readouterr().err
    assert text.count("'loud'") <= 1
    assert "nnapi_shim error: first\n" in text
    assert "nnapi_shim error: second\n" in text


def test_a_refusal_keeps_its_rule():
    error = NnapiError(ResultCode.OP_FAILED, "no", "softmax.beta")
    others = error.at("then"), error.about(Place("input", 1)), error.again(), error.worded("yes")
    assert {it.rule for it in (error, *others)} == {"softmax.beta"}
    assert error.with_code(ResultCode.BAD_DATA).rule == "softmax.beta"


def test_a_driver_need_not_name_a_rule():
    assert NnapiError(ResultCode.OP_FAILED, "no").rule == "driver.refused"


def test_places_are_collected_from_the_inside_out():
    error = op_failed("it is 3; allowed is 2", "softmax.beta")
    error = error.at(Place("input", 1)).at("then").at(Place("operation", 4, "CONV_2D"))
    assert error.message == "CONV_2D (operation 4): then: input 1: it is 3; allowed is 2"
    assert error.places == (Place("operation", 4, "CONV_2D"), Place("input", 1))
    assert error.place("operand", "input") == Place("input", 1)
    assert error.place("output") is None
    assert error.as_dict() == {
        "code": "OP_FAILED",
        "rule": "softmax.beta",
        "operation": {"number": 4, "name": "CONV_2D"},
        "input": {"number": 1},
        "given": "it is 3",
        "allowed": "allowed is 2",
        "message": error.message,
    }


def test_one_of_several_operands_of_a_name():
    model = Model()
    for rank in (4, 5):
        model.add_operand(3, [1] * rank, rank, 0.0, 0)
    model.add_operand(1, None, 0, 0.0, 0)
    model.add_operand(3, [1] * 4, 4, 0.0, 0)
    with pytest.raises(NnapiError) as caught:
        model.add_operation(2, [0, 1, 2], [3])
    where = "CONCATENATION (operation 0): inputs 1 (input 1, operand 1) has rank 5"
    assert caught.value.message.startswith(where)
    assert caught.value.as_dict()["operand"] == {"number": 1, "name": "inputs 1"}


@pytest.mark.parametrize(
    ("trouble", "code"),
    [(MemoryError(), ResultCode.OUT_OF_MEMORY), (ValueError(), ResultCode.OP_FAILED)],
)
def test_a_failure_that_cannot_be_told_of_is_one(monkeypatch, trouble, code):
    def report(name, error):
        raise trouble

    kept = []
    monkeypatch.setattr(boundary, "report", report)
    monkeypatch.setattr(boundary, "_store_error", kept.append)
    assert (
        boundary._failed("ANeuralNetworksModel_finish")(
            None, bad_data("x", "model.not-finished"), None
        )
        == code
    )
    assert [message.partition(b":")[0].decode() for message in kept] == [code.name]
