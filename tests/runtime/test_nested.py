"""Models that refer to models that refer to others: depth is no error, and sharing is free."""

import gc

import numpy as np
import pytest

from nnapi_shim.drivers.versioned.compliance import compliance
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import MAXIMUM_LOOP_TIMEOUT_NS, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.runtime.compilation import Compilation, supported_operations
from nnapi_shim.runtime.device_manager import devices
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.lint import problems
from nnapi_shim.runtime.model import Model

DEVICES = ("nnapi-cpu", "nnapi-reference")


def device(name):
    return next(device for device in devices() if device.name == name)


def add(model, type, *dimensions):
    return model.add_operand(type, dimensions or None, len(dimensions), 0.0, 0)


def constant(model, array, type):
    index = add(model, type, *array.shape)
    model.set_operand_value(index, *_address(array))
    return index


def _address(array):
    return array.ctypes.data, array.nbytes


def referring(model, other):
    index = add(model, T.MODEL)
    model.set_operand_value_from_model(index, other)
    return index


def finished(model, inputs, outputs):
    model.identify_inputs_and_outputs(inputs, outputs)
    model.finish()
    return model


def plus(number):
    """(condition, x) -> x + number."""
    model = Model()
    condition, x, result = (
        add(model, T.TENSOR_BOOL8, 1),
        *(add(model, T.TENSOR_FLOAT32, 2) for _ in range(2)),
    )
    value = constant(model, np.array([number], np.float32), T.TENSOR_FLOAT32)
    none = constant(model, np.array(0, np.int32), T.INT32)
    model.add_operation(O.ADD, [x, value, none], [result])
    return finished(model, [condition, x], [result])


def choice(then, otherwise):
    """(condition, x) -> then(condition, x + 1) if condition else otherwise(condition, x + 1)."""
    model = Model()
    condition, x, more, result = (
        add(model, T.TENSOR_BOOL8, 1),
        *(add(model, T.TENSOR_FLOAT32, 2) for _ in range(3)),
    )
    one = constant(model, np.array([1], np.float32), T.TENSOR_FLOAT32)
    none = constant(model, np.array(0, np.int32), T.INT32)
    model.add_operation(O.ADD, [x, one, none], [more])
    graphs = [referring(model, then), referring(model, otherwise)]
    model.add_operation(O.IF, [condition, *graphs, condition, more], [result])
    return finished(model, [condition, x], [result])


def repeated(body):
    """(condition, x) -> body(condition, x) while condition, a round of which ends it."""
    test = Model()
    condition, x, same = (
        add(test, T.TENSOR_BOOL8, 1),
        add(test, T.TENSOR_FLOAT32, 2),
        add(test, T.TENSOR_BOOL8, 1),
    )
    test.add_operation(O.LOGICAL_AND, [condition, condition], [same])
    finished(test, [condition, x], [same])
    once = Model()
    condition, x, result, off = (
        add(once, T.TENSOR_BOOL8, 1),
        *(add(once, T.TENSOR_FLOAT32, 2) for _ in range(2)),
        add(once, T.TENSOR_BOOL8, 1),
    )
    true, model = constant(once, np.array([1], np.uint8), T.TENSOR_BOOL8), referring(once, body)
    once.add_operation(O.LOGICAL_NOT, [true], [off])
    once.add_operation(O.IF, [condition, model, model, condition, x], [result])
    finished(once, [condition, x], [off, result])
    loop = Model()
    condition, x, result, off = (
        add(loop, T.TENSOR_BOOL8, 1),
        *(add(loop, T.TENSOR_FLOAT32, 2) for _ in range(2)),
        add(loop, T.TENSOR_BOOL8, 1),
    )
    graphs = [referring(loop, test), referring(loop, once)]
    loop.add_operation(O.WHILE, [*graphs, condition, x], [off, result])
    return finished(loop, [condition, x], [result])


def computed(model, name, condition=1):
    compilation = Compilation(model, [device(name)])
    compilation.finish()
    return run(compilation, condition)


def run(compilation, condition=1):
    execution = Execution(compilation)
    execution.set_loop_timeout(MAXIMUM_LOOP_TIMEOUT_NS)  # the machine may be busy
    arguments = np.array([condition], np.uint8), np.zeros(2, np.float32), np.full(2, 7, np.float32)
    for at, array in enumerate(arguments[:2]):
        execution.set_argument("input", at, None, *_address(array))
    execution.set_argument("output", 0, None, *_address(arguments[2]))
    execution.compute()
    return arguments[2].tolist()


def chain(depth, leaf=None):
    """IF in the branch of an IF ...; the other branches are small."""
    model, other = leaf or plus(0), plus(-1)
    for _ in range(depth):
        model = choice(model, other)
    return model


def shared(depth):
    """Both branches are one model, at every level."""
    model = plus(0)
    for _ in range(depth):
        model = choice(model, model)
    return model


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("depth", [1, 20, 200])
def test_models_that_both_branches_share(name, depth):
    assert computed(shared(depth), name) == [depth] * 2
    assert computed(shared(depth), name, 0) == [depth] * 2


DEEP = 3_000  # more than the interpreter's stack holds


@pytest.fixture(scope="module")
def deep():
    return chain(DEEP)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("depth", [5, 50, DEEP])
def test_a_chain_of_choices(name, depth, deep):
    model = deep if depth == DEEP else chain(depth)
    compilation = Compilation(model, [device(name)])
    compilation.finish()
    assert run(compilation) == [depth] * 2
    assert run(compilation, 0) == [0] * 2
    assert run(compilation) == [depth] * 2


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("depth", [3, 1000])
def test_loops_in_loops(name, depth):
    model = plus(5)
    for _ in range(depth):
        model = repeated(model)
    assert computed(model, name) == [5] * 2
    assert computed(model, name, 0) == [0] * 2


def test_sizes_are_those_of_the_models():
    """Every model is there once, however many refer to it."""
    one = other = plus(0)
    for _ in range(50):
        one, other = choice(one, other), choice(other, one)
    model = one.hal
    assert len(model.referenced) == 99
    assert len(model.operand_values) < 100 * 256


def test_what_else_looks_at_nested_models(deep):
    model = deep
    assert supported_operations(model, [device("nnapi-cpu")]) == [True, True]
    assert problems(model) == []
    assert [actual.level for actual in compliance(model.hal).operations] == [1, 4]
    both = Compilation(model)
    both.finish()
    assert run(both) == [DEEP] * 2
    shared_by_many = shared(300)
    assert supported_operations(shared_by_many, list(devices())) == [True, True]
    assert [actual.level for actual in compliance(shared_by_many.hal).operations] == [1, 4]


def test_models_are_let_go_whatever_their_depth():
    model = chain(2 * DEEP)
    del model
    gc.collect()


@pytest.mark.parametrize("name", DEVICES)
def test_the_message_of_a_failure_far_down_is_short(name):
    """It says where the failure is, and of the way there as much as can be read."""
    failing = Model()
    condition, x, result = (
        add(failing, T.TENSOR_BOOL8, 1),
        *(add(failing, T.TENSOR_FLOAT32, 2) for _ in range(2)),
    )
    axis = constant(failing, np.array(0, np.int32), T.INT32)
    places = constant(failing, np.array([0, 5], np.int32), T.TENSOR_INT32)
    failing.add_operation(O.GATHER, [x, axis, places], [result])
    finished(failing, [condition, x], [result])
    with pytest.raises(NnapiError) as caught:
        computed(chain(2000, failing), name)
    assert caught.value.code is ResultCode.OP_FAILED
    assert "GATHER (operation 0)" in caught.value.message
    assert len(caught.value.message) < 2000
