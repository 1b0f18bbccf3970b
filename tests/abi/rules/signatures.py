"""What addOperation says of operands: every operation with every single change (semantics 9)."""

import ctypes
from zlib import crc32

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.quantization import ASYMMETRIC, SCALARS, SYMMETRIC
from nnapi_shim.operations import registry
from tests.abi.rules.capi import channel_quant, pointers, uint32s
from tests.abi.rules.graph import GUARD, Graph
from tests.operations.cases import USES, example, uses

BAD_DATA = ResultCode.BAD_DATA
F32, QU8, QS8, I32 = (
    T.TENSOR_FLOAT32,
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_INT32,
)
OPERATIONS = sorted({use.operation.type for use in USES})


class Uses(Graph):
    """A graph with operands for all that a test tries."""

    def __init__(self, api):
        super().__init__(api)
        self._by_details = {}

    def like(self, type, dimensions, scale=0.0, zero_point=0, shared=True):
        """An operand of a type with these dimensions, and parameters that are legal for it.

        shared: whether it may be one that there is already.
        """
        dimensions = () if type in SCALARS else tuple(dimensions)
        if type in ASYMMETRIC or type in SYMMETRIC:
            scale = scale or 0.5
            zero_point = 0 if type in SYMMETRIC else zero_point
        elif type is not I32:
            scale, zero_point = 0.0, 0
        key = type, dimensions, scale, zero_point
        if not shared:
            return self.operand(*key)
        if key not in self._by_details:
            self._by_details[key] = self.operand(*key)
        return self._by_details[key]

    def of(self, value, shared=True):
        """An operand like that of an example."""
        it = value.operand
        if it.channel_quant is None:
            return self.like(it.type, it.dimensions, it.scale, it.zero_point, shared)
        index = self.operand(it.type, it.dimensions)
        quant = channel_quant(it.channel_quant.channel_dim, it.channel_quant.scales)
        self.api.ok("Model_setOperandSymmPerChannelQuantParams", self.model, index, quant)
        return index

    def code(self, type, inputs, outputs):
        """The result code of addOperation."""
        lists = len(inputs), uint32s(inputs), len(outputs), uint32s(outputs)
        return self.api.call("Model_addOperation", self.model, type, *lists)


def changes(given):
    """(position, type) for each operand and each type that it does not have."""
    for position, type in enumerate(given):
        for other in T:
            if other is not type:
                yield position, other


def some_uses(type):
    """Each list of inputs with its first row of types, and each row with the longest list."""
    mine = [use for use in USES if use.operation.type is type]
    longest = max(len(use.names) for use in mine)
    first = {use.names: use for use in reversed(mine)}
    return [use for use in mine if len(use.names) == longest or use is first[use.names]]


@pytest.mark.parametrize("type", OPERATIONS, ids=lambda type: type.name)
def test_every_single_change_is_refused(api, type, monkeypatch):
    """Unless the operation is declared with that list, too; the messages are not looked at here.

    api-semantics 9: "Most of the 306 OperationValidationTests take a valid signature"
    """
    monkeypatch.setenv("NNAPI_SHIM_LOG", "silent")
    mine = some_uses(type)
    declaration = mine[0].operation
    accepted = {(use.inputs, use.outputs) for use in uses(declaration, range(1, 10))}
    for use in mine:
        sample = example(use, np.random.default_rng(crc32(str(use).encode())))
        graph = Uses(api)
        operands = [graph.of(value) for value in (*sample.inputs, *sample.outputs)]
        kinds = list(use.inputs + use.outputs)
        count = len(use.inputs)
        dimensions = [value.operand.dimensions for value in (*sample.inputs, *sample.outputs)]
        assert graph.code(type, operands[:count], operands[count:]) == ResultCode.NO_ERROR, use

        def refused(kinds, operands, count, use=use, graph=graph):
            if (tuple(kinds[:count]), tuple(kinds[count:])) not in accepted:
                code = graph.code(type, operands[:count], operands[count:])
                assert code == BAD_DATA, (str(use), kinds, count, code)

        for position, other in changes(kinds):
            changed = list(operands)
            changed[position] = graph.like(other, dimensions[position])
            listed = list(kinds)
            listed[position] = other
            refused(listed, changed, count)
        for extra in range(1, 6):
            for other in (*T, kinds[count - 1]):
                added = [graph.like(other, dimensions[count - 1])] * extra
                listed = [*kinds[:count], *[other] * extra, *kinds[count:]]
                refused(listed, [*operands[:count], *added, *operands[count:]], count + extra)
        for extra in range(1, 7):
            refused([*kinds, *kinds[-1:] * extra], [*operands, *operands[-1:] * extra], count)
        refused(kinds[:-1], operands[:-1], count)
        refused(kinds[:count], operands[:count], count)
        api.free(graph.model)


def test_reference_device_supports_every_operation(api):
    """And no OEM operation.

    api-semantics 1: "nnapi-reference supports everything except OEM_OPERATION"
    """
    reference = pointers(api.devices()["nnapi-reference"])
    for use in USES:
        sample = example(use, np.random.default_rng(1))
        graph = Uses(api)
        inputs, outputs = (
            [graph.of(value, shared=False) for value in values]
            for values in (sample.inputs, sample.outputs)
        )
        oem = graph.operand(F32, (1,))
        graph.operation(use.operation.type, inputs, outputs)
        graph.operation(O.OEM_OPERATION, [outputs[0]], [oem])
        graph.arguments(inputs, outputs)
        graph.finish()
        supported = (ctypes.c_uint8 * 3)(*[GUARD] * 3)
        name = "Model_getSupportedOperationsForDevices"
        api.ok(name, graph.model, reference, 1, supported)
        assert list(supported) == [1, 0, GUARD], str(use)
        api.free(graph.model)
    assert {declaration.type for declaration in registry()} == {*OPERATIONS, O.IF, O.WHILE}


@pytest.mark.parametrize("type", [QU8, QS8])
def test_output_scale_of_mul(api, type):
    """Above the product of the inputs' scales.

    api-semantics 9: "output scale must be > product of input scales"
    """
    graph = Uses(api)
    a, b = graph.operand(type, (2,), 0.5), graph.operand(type, (2,), 0.25)
    activation = graph.int32(0)
    for scale in (0.0625, 0.125):
        output = graph.operand(type, (2,), scale)
        graph.refuse_operation(BAD_DATA, O.MUL, [a, b, activation], [output])
    graph.operation(O.MUL, [a, b, activation], [graph.operand(type, (2,), 0.1251)])


def conv(graph, output_scale):
    image = graph.operand(QU8, (1, 2, 2, 1), 0.5)
    filter = graph.operand(QU8, (1, 1, 1, 1), 0.5)
    bias = graph.operand(I32, (1,), 0.25)
    one, none = graph.int32(1), graph.int32(0)
    return [image, filter, bias, one, one, one, none], [
        graph.operand(QU8, (1, 2, 2, 1), output_scale)
    ]


def test_output_scale_of_a_convolution(api):
    """Any: only old feature levels asked for one above the product.

    api-semantics 9: "CONV_2D etc. have the like rule only for old feature levels"
    """
    for scale in (0.125, 0.25, 1.0):
        graph = Graph(api)
        graph.operation(O.CONV_2D, *conv(graph, scale))


@pytest.mark.parametrize("type", [QU8, QS8])
@pytest.mark.parametrize("operation", [O.PACK, O.REVERSE, O.MIRROR_PAD])
def test_parameters_that_have_to_be_equal(api, operation, type):
    """Those of CONCATENATION may differ.

    api-semantics 9: "PACK, REVERSE, MIRROR_PAD: scale and zeroPoint of quantised inputs and output"
    """
    graph = Graph(api)
    a = graph.operand(type, (2, 2), 0.5, 3)
    same, scaled, shifted = (
        lambda dimensions, scale=scale, zero=zero: graph.operand(type, dimensions, scale, zero)
        for scale, zero in ((0.5, 3), (0.25, 3), (0.5, 4))
    )
    axis = graph.int32(0)
    if operation is O.PACK:
        dimensions, inputs = (2, 2, 2), [axis, a, a]
        for other in (scaled((2, 2)), shifted((2, 2))):
            graph.refuse_operation(BAD_DATA, operation, [axis, a, other], [same(dimensions)])
            graph.refuse_operation(BAD_DATA, operation, [axis, other, a], [same(dimensions)])
    elif operation is O.REVERSE:
        dimensions, inputs = (2, 2), [a, graph.operand(I32, (1,))]
    else:
        dimensions, inputs = (), [a, graph.operand(I32, (2, 2)), axis]
    for output in (scaled(dimensions), shifted(dimensions)):
        graph.refuse_operation(BAD_DATA, operation, inputs, [output])
    graph.operation(operation, inputs, [same(dimensions)])
    joined = [a, scaled((2, 2)), axis]
    graph.operation(O.CONCATENATION, joined, [shifted(())])
