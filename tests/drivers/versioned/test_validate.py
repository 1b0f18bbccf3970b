"""validate_model and validate_request: what driver authors can rely on."""

import numpy as np
import pytest

from nnapi_shim import FuseCode, NnapiError, OperandType, ResultCode
from nnapi_shim.drivers.versioned.conversion import OwnMemory, to_v1_0, to_v1_1
from nnapi_shim.drivers.versioned.validate import validate_model, validate_request
from nnapi_shim.hal import v1_0
from tests.drivers.versioned.models import FLOATS, finished

T, L = v1_0.OperandType, v1_0.OperandLifeTime
Location = v1_0.DataLocation
Argument = v1_0.RequestArgument


def chain(m):
    """relu(a + constant)."""
    a = m.input(FLOATS, [2])
    total = m.operation("ADD", [a, np.ones(2, np.float32), FuseCode.NONE])
    return m.operation("RELU", [total])


MODEL = to_v1_0(finished(chain))
A = MODEL.inputIndexes[0]
RESULT = MODEL.outputIndexes[0]
TOTAL = MODEL.operations[0].outputs[0]
CONSTANT, KIND = MODEL.operations[0].inputs[1:]


def changed(index, **fields):
    """The model with another operand."""
    operands = list(MODEL.operands)
    operands[index] = operands[index]._replace(**fields)
    return MODEL._replace(operands=tuple(operands))


def operations(*items):
    return MODEL._replace(operations=items)


ADD, RELU = MODEL.operations


def test_valid_models():
    validate_model(MODEL)
    validate_model(to_v1_1(finished(chain)))
    validate_model(changed(A, dimensions=(0,)))


INVALID = [
    (changed(A, type=6), "type 6 does not exist"),
    (changed(A, lifetime=9), "lifetime 9 does not exist"),
    (changed(A, dimensions=()), "has no rank"),
    (changed(A, dimensions=(-1,)), "negative"),
    (changed(A, scale=1.0), "both must be 0"),
    (changed(KIND, dimensions=(1,)), "is a scalar"),
    (changed(A, type=T.TENSOR_QUANT8_ASYMM), "scale is 0"),
    (changed(A, type=T.TENSOR_QUANT8_ASYMM, scale=1.0, zeroPoint=256), "zeroPoint is 256"),
    (changed(A, type=T.TENSOR_INT32, zeroPoint=1), "zeroPoint 1"),
    (changed(A, location=Location(0, 4, 0)), "must be all 0"),
    (changed(CONSTANT, location=Location(1, 0, 8)), "poolIndex 1; it must be 0"),
    (changed(CONSTANT, location=Location(0, 1 << 20, 8)), "do not lie inside"),
    (changed(CONSTANT, location=Location(0, 0, 4)), "has 4 bytes; it must have 8"),
    (changed(CONSTANT, dimensions=(0,)), "all must be known"),
    (changed(CONSTANT, lifetime=L.CONSTANT_REFERENCE), "there are 0 pools"),
    (changed(A, numberOfConsumers=2), "numberOfConsumers is 2; operations read it 1 times"),
    (changed(RESULT, numberOfConsumers=1), "numberOfConsumers is 1"),
    (changed(TOTAL, dimensions=(1, 1, 1, 1, 2)), "RELU .operation 1.: input has rank 5"),
    (changed(TOTAL, lifetime=L.MODEL_OUTPUT), "not in outputIndexes"),
    (changed(A, lifetime=L.NO_VALUE), "operand 0 is NO_VALUE"),
    (MODEL._replace(operations=()), "no operations"),
    (MODEL._replace(inputIndexes=()), "inputIndexes is empty"),
    (MODEL._replace(outputIndexes=(RESULT, RESULT)), "2 times"),
    (MODEL._replace(outputIndexes=(99,)), "the model has"),
    (MODEL._replace(outputIndexes=(TOTAL,)), "TEMPORARY_VARIABLE"),
    (operations(RELU, ADD), "nothing has written yet"),
    (operations(ADD, RELU, RELU), "written already"),
    (operations(ADD), "nothing writes it"),
    (operations(ADD, RELU._replace(outputs=(A,))), "which is MODEL_INPUT"),
    (operations(ADD, RELU._replace(inputs=())), "has no inputs"),
    (operations(ADD, RELU._replace(inputs=(-1,))), "operand -1"),
    (operations(ADD, RELU._replace(type=30)), "type 30 is not one of HAL 1.0"),
    (operations(ADD, RELU._replace(type=v1_0.OperationType.FLOOR)), None),
    (operations(ADD, RELU._replace(type=v1_0.OperationType.SOFTMAX)), "1 inputs given"),
]


@pytest.mark.parametrize(("model", "reason"), INVALID)
def test_models(model, reason):
    if reason is None:
        validate_model(model)
        return
    with pytest.raises(NnapiError, match=reason) as caught:
        validate_model(model)
    assert caught.value.code is ResultCode.BAD_DATA


def test_the_level_of_the_hal():
    """An operation of HAL 1.1 in a model of 1.0; a use of level 3 in a model of 1.1."""

    def build(m):
        a = m.input(FLOATS, [2])
        return m.operation("SUB", [a, a, FuseCode.NONE])

    newer = to_v1_1(finished(build))
    validate_model(newer)
    with pytest.raises(NnapiError, match=r"type 36 is not one of HAL 1\.0"):
        validate_model(v1_0.Model(*newer[:-1]))
    scale = {"type": T.TENSOR_QUANT8_ASYMM, "scale": 0.5}
    operands = tuple(o if o.type == T.INT32 else o._replace(**scale) for o in newer.operands)
    with pytest.raises(NnapiError, match=r"SUB \(operation 0\): .*needs feature level 3"):
        validate_model(newer._replace(operands=operands))


def test_oem_operations_are_left_to_the_driver():
    def build(m):
        a = m.input(OperandType.TENSOR_OEM_BYTE, [2])
        result = m.add_operand(OperandType.TENSOR_OEM_BYTE, [2])
        m.add_operation("OEM_OPERATION", [a], [result])
        return result

    validate_model(to_v1_0(finished(build)))


POOLS = (OwnMemory(64), OwnMemory(64))
GIVEN = Argument(False, Location(0, 0, 8), ())
WANTED = Argument(False, Location(1, 0, 8), ())


def request(arguments=GIVEN, wanted=WANTED, pools=POOLS):
    return v1_0.Request((arguments,), (wanted,), pools)


OMITTED = Argument(True, Location(), ())
OPEN = changed(A, dimensions=(0,))


@pytest.mark.parametrize(
    ("model", "item"),
    [
        (MODEL, request()),
        (MODEL, request(GIVEN._replace(dimensions=(2,)))),
        (MODEL, request(OMITTED)),
        (MODEL, request(wanted=WANTED._replace(location=Location(0, 8, 8)))),
        (OPEN, request(GIVEN._replace(dimensions=(2,)))),
        (MODEL, request(GIVEN._replace(location=Location(0, 0, 64)))),
    ],
)
def test_valid_requests(model, item):
    validate_request(item, model)


@pytest.mark.parametrize(
    ("model", "item", "reason"),
    [
        (MODEL, v1_0.Request((), (WANTED,), POOLS), "there are 0 inputs; the model has 1"),
        (MODEL, request(GIVEN._replace(location=Location(2, 0, 8))), "there are 2 pools"),
        (MODEL, request(GIVEN._replace(location=Location(0, 60, 8))), "do not lie inside"),
        (MODEL, request(GIVEN._replace(location=Location(0, 0, 4))), "4 bytes; it must have 8"),
        (MODEL, request(GIVEN._replace(dimensions=(3,))), r"input 0: dimensions are \[3\]"),
        (MODEL, request(GIVEN._replace(dimensions=(1, 2))), "the model has"),
        (MODEL, request(OMITTED._replace(location=Location(0, 0, 8))), "it is omitted"),
        (OPEN, request(), "no dimensions are given"),
        (OPEN, request(GIVEN._replace(dimensions=(0,))), "all must be known"),
        (MODEL, request(wanted=WANTED._replace(location=Location(0, 4, 8))), "overlaps with input"),
        (MODEL, request(wanted=WANTED, pools=(POOLS[0], POOLS[0])), "overlaps with input 0"),
    ],
)
def test_requests(model, item, reason):
    with pytest.raises(NnapiError, match=reason) as caught:
        validate_request(item, model)
    assert caught.value.code is ResultCode.BAD_DATA


def test_outputs_on_top_of_a_constant():
    pool = OwnMemory(64)
    model = changed(CONSTANT, lifetime=L.CONSTANT_REFERENCE, location=Location(0, 0, 8))
    model = model._replace(pools=(pool,))
    validate_request(request(pools=(POOLS[0], POOLS[1])), model)
    with pytest.raises(NnapiError, match=f"output 0 overlaps with constant {CONSTANT}"):
        validate_request(request(pools=(POOLS[0], pool)), model)
