"""Models, slices and requests for HAL 1.0 and 1.1."""

import struct

import numpy as np
import pytest

from nnapi_shim import FuseCode, NnapiError, OperandType, ResultCode, address
from nnapi_shim.drivers.versioned.conversion import to_request, to_v1_0, to_v1_1
from nnapi_shim.drivers.versioned.slices import sliced
from nnapi_shim.drivers.versioned.validate import validate_model, validate_request
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.types import RequestArgument
from tests.drivers.versioned.models import FLOATS, finished, keep, mixed, relu

L = v1_0.OperandLifeTime


def sums(m):
    """(a + a) + [1, 2]."""
    a = m.input(FLOATS, [0, 2])
    twice = m.operation("ADD", [a, a, FuseCode.RELU], dimensions=[0, 2])
    more = np.array([1, 2], np.float32)
    return m.operation("ADD", [twice, more, FuseCode.NONE], dimensions=[0, 2])


@pytest.mark.parametrize(("convert", "version"), [(to_v1_0, v1_0), (to_v1_1, v1_1)])
def test_model(convert, version):
    model = convert(finished(sums))
    validate_model(model)
    assert isinstance(model, version.Model)
    assert [item.type for item in model.operations] == [version.OperationType.ADD] * 2
    (a,), (result,) = model.inputIndexes, model.outputIndexes
    assert model.operands[a].numberOfConsumers == 2
    assert model.operands[a].dimensions == (0, 2)
    assert (model.operands[a].lifetime, model.operands[result].lifetime) == (
        L.MODEL_INPUT,
        L.MODEL_OUTPUT,
    )
    assert model.operands[result].numberOfConsumers == 0
    constants = [o for o in model.operands if o.lifetime == L.CONSTANT_COPY]
    contents = [
        model.operandValues[o.location.offset : o.location.offset + o.location.length]
        for o in constants
    ]
    assert struct.pack("ff", 1, 2) in contents
    scalars = [o for o in constants if o.type == v1_0.OperandType.INT32]
    assert [o.dimensions for o in scalars] == [(), ()]


@pytest.mark.parametrize("relaxed", [False, True])
def test_relaxed_precision(relaxed):
    model = relu()._replace(relax_computation_float32_to_float16=relaxed)
    assert to_v1_1(model).relaxComputationFloat32toFloat16 is relaxed
    assert not hasattr(to_v1_0(model), "relaxComputationFloat32toFloat16")


def test_newer_models_are_refused():
    with pytest.raises(NnapiError, match=r"LOG \(operation 1\) is not for HAL 1.0: LOG itself"):
        to_v1_0(mixed())
    model = finished(
        lambda m: m.operation("SUB", [m.input(FLOATS, [2]), m.input(FLOATS, [2]), FuseCode.NONE])
    )
    with pytest.raises(NnapiError, match="needs feature level 2"):
        to_v1_0(model)
    validate_model(to_v1_1(model))


def test_slice():
    """What others write becomes an input, what others read an output."""
    whole = mixed()
    part = sliced(whole, keep(whole, 0, 2, 3))
    numbers = [whole.main.operations[position].number for position in part.operations]
    assert sorted(numbers) == [0, 2, 3]
    assert (part.inputs, part.outputs) == ((0,), (0,))
    shown = to_v1_0(part.model)
    validate_model(shown)
    assert len(shown.inputIndexes) == 2  # a, and the logarithm
    assert len(shown.outputIndexes) == 3  # relu(log), and what LOG and ABS read
    assert [item.number for item in part.model.main.operations] == numbers


def test_slice_has_only_what_it_uses():
    def build(m):
        big = m.operation("ADD", [m.input(FLOATS, [99]), np.ones(99, np.float32), FuseCode.NONE])
        return m.operation("RELU", [m.input(FLOATS, [2])]), m.operation("ABS", [big])

    model = finished(build)
    part = sliced(model, keep(model, 1))
    assert len(part.model.operand_values) == 0
    # Two inputs: every HAL knows the one that is not read any more.
    assert (part.inputs, part.outputs) == ((0, 1), (0,))
    assert len(part.model.main.operands) == 3


def test_inputs_of_newer_types_are_not_shown():
    def build(m):
        return (
            m.operation("RELU", [m.input(FLOATS, [2])]),
            m.operation("LOGICAL_NOT", [m.input(OperandType.TENSOR_BOOL8, [2])]),
        )

    model = finished(build)
    part = sliced(model, keep(model, 0))
    assert part.inputs == (0,)
    validate_model(to_v1_0(part.model))


def test_no_slice():
    assert sliced(mixed(), [False] * 5).model is None


def argument(array, dimensions=None, omitted=False):
    where, keep = address.address_of(array)
    return RequestArgument(where, array.nbytes, dimensions or array.shape, omitted), keep


def test_request():
    model = finished(sums)
    values, results = np.arange(6, dtype=np.float32).reshape(3, 2), np.zeros((4, 2), np.float32)
    (arguments, _), (expected, _) = argument(values), argument(results, (0, 2))
    converted = to_request(model.main, [arguments], [expected], [(3, 2)])
    validate_request(converted.request, to_v1_0(model))
    first, output = converted.request.inputs[0], converted.request.outputs[0]
    assert (first.dimensions, output.dimensions) == ((3, 2), (3, 2))
    assert (first.location.length, output.location.length) == (24, 24)  # without the padding
    assert first.location.poolIndex != output.location.poolIndex
    converted.give()
    pools = converted.request.pools
    assert address.read(pools[0].map(), 24) == values.tobytes()
    address.view(pools[1].map(), 24)[:] = values.tobytes()
    converted.take()
    assert (results[:3] == values).all() and not results[3:].any()


def test_known_dimensions_are_not_repeated():
    model = relu()
    (arguments, _), (expected, _) = (argument(np.zeros(2, np.float32)) for _ in range(2))
    converted = to_request(model.main, [arguments], [expected], [(2,)])
    assert converted.request.inputs[0].dimensions == ()


def test_omitted_arguments():
    model = relu()
    (arguments, _), (expected, _) = (
        argument(np.zeros(2, np.float32), omitted=omitted) for omitted in (True, False)
    )
    request = to_request(model.main, [arguments], [expected], [(2,)]).request
    assert request.inputs[0] == v1_0.RequestArgument(True, v1_0.DataLocation(), ())
    assert len(request.pools) == 1
    validate_request(request, to_v1_0(model))


def test_outputs_of_unknown_size():
    model = relu((0,))
    (arguments, _), (expected, _) = (argument(np.zeros(2, np.float32)) for _ in range(2))
    with pytest.raises(NnapiError, match=r"output 0 has dimensions \[0\]") as caught:
        to_request(model.main, [arguments], [expected], [(0,)])
    assert caught.value.code is ResultCode.OP_FAILED
