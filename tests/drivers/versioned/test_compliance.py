"""Which rule makes an operation newer than HAL 1.0 or 1.1."""

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import FuseCode, OperandType, PaddingCode
from nnapi_shim.drivers.versioned.compliance import compliance
from nnapi_shim.drivers.versioned.defaults import without_defaults
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import Pool
from tests.drivers.versioned.models import FLOATS, finished, keep, mixed, relu

QU8 = OperandType.TENSOR_QUANT8_ASYMM


def image(m, type=FLOATS, **quantization):
    return m.input(type, [1, 2, 4, 2], **quantization)


def convolution(m, *more, **output):
    filters, bias = np.zeros((3, 2, 2, 2), np.float32), np.zeros(3, np.float32)
    inputs = [image(m), filters, bias, PaddingCode.VALID, 1, 1, FuseCode.NONE, *more]
    return m.operation("CONV_2D", inputs, **output)


def quantized_convolution(m, scale):
    filters = m.constant(np.zeros((3, 2, 2, 2), np.uint8), scale=0.5)
    bias = m.constant(np.zeros(3, np.int32), scale=0.25)
    inputs = [image(m, QU8, scale=0.5), filters, bias, PaddingCode.VALID, 1, 1, FuseCode.NONE]
    return m.operation("CONV_2D", inputs, scale=scale)


def quantized_concatenation(m, scale):
    a, b = (m.input(QU8, [2], scale=s) for s in (0.5, scale))
    return m.operation("CONCATENATION", [a, b, 0], scale=0.5)


def add(m, type, **quantization):
    a = m.input(type, [2], **quantization)
    return m.operation("ADD", [a, a, FuseCode.NONE], scale=(quantization and 1.0) or None)


def padded(m, zero_point):
    a = m.input(QU8, [2], scale=0.5, zero_point=zero_point)
    return m.operation("PAD", [a, np.array([[1, 1]], np.int32)])


USES = [
    (lambda m: add(m, FLOATS), 1, []),
    (lambda m: add(m, QU8, scale=0.5), 1, []),
    (lambda m: add(m, OperandType.TENSOR_FLOAT16), 3, ["types"]),
    (lambda m: add(m, OperandType.TENSOR_INT32), 4, ["types"]),
    (lambda m: m.operation("SUB", [image(m), image(m), FuseCode.NONE]), 2, ["operation"]),
    (lambda m: m.operation("ABS", [image(m)]), 3, ["operation"]),
    (lambda m: m.operation("BATCH_MATMUL", [image(m), image(m), False, True]), 6, ["operation"]),
    (convolution, 1, []),
    (lambda m: convolution(m, False), 3, ["form"]),
    (lambda m: quantized_convolution(m, 0.5), 1, []),
    (lambda m: quantized_convolution(m, 0.25), 3, ["quantization"]),
    (lambda m: quantized_concatenation(m, 0.5), 1, []),
    (lambda m: quantized_concatenation(m, 1.0), 3, ["quantization"]),
    (lambda m: m.operation("SOFTMAX", [m.input(FLOATS, [2, 2]), 1.0]), 1, []),
    (lambda m: m.operation("SOFTMAX", [m.input(FLOATS, [2]), 1.0]), 3, ["rank"]),
    (lambda m: m.operation("RELU", [m.input(FLOATS, [0, 2])], dimensions=[0, 2]), 1, []),
    (lambda m: m.operation("RELU", [m.input(FLOATS)]), 3, ["rank", "rank"]),
    (lambda m: padded(m, 0), 2, ["operation"]),
    (lambda m: padded(m, 3), 3, ["operation", "zero point"]),
]


@pytest.mark.parametrize(("build", "level", "rules"), USES)
def test_levels(build, level, rules):
    (item,) = compliance(finished(build)).operations
    assert (item.level, [reason.rule for reason in item.reasons]) == (level, rules)


def test_control_flow_and_what_is_in_it():
    branch = nnapi_shim.Model()
    branch.outputs(branch.operation("PACK", [0, branch.input(FLOATS, [2])]))
    branch.finish()

    def build(m):
        condition = m.input(OperandType.TENSOR_BOOL8, [1])
        return m.operation("IF", [condition, branch, branch, m.input(FLOATS, [2])])

    (item,) = compliance(finished(build)).operations
    assert (item.name, item.level) == ("IF", 6)
    assert [(r.rule, r.level) for r in item.reasons][:2] == [("operation", 4), ("graph", 6)]


def test_kinds_of_memory():
    """HAL 1.0 knows shared memory, and no hardware buffers."""

    def build(m):
        return m.operation("ADD", [m.input(FLOATS, [2]), np.ones(2, np.float32), FuseCode.NONE])

    def with_pool(since):
        pool = Pool()
        pool.since = since
        model = finished(build)
        operands = tuple(
            o._replace(lifetime=OperandLifeTime.CONSTANT_REFERENCE)
            if o.type is FLOATS and o.lifetime is OperandLifeTime.CONSTANT_COPY
            else o
            for o in model.main.operands
        )
        return model._replace(main=model.main._replace(operands=operands), pools=(pool,))

    assert compliance(with_pool(1)).allows(1) == [True]
    (item,) = compliance(with_pool(3)).operations
    assert [reason.rule for reason in item.reasons] == ["pool"]


def test_relaxed_precision_is_no_reason():
    model = relu()._replace(relax_computation_float32_to_float16=True)
    assert compliance(model).allows(1) == [True]


def test_allowed_at_a_level():
    model = mixed()
    assert compliance(model).allows(1) == keep(model, 0, 2, 3)


def test_report():
    text = str(compliance(finished(lambda m: convolution(m, True))))
    assert text.splitlines()[0] == "1 operation: HAL 1.0 knows 0, HAL 1.1 knows 0"
    assert text.splitlines()[2].split() == ["0", "CONV_2D", "3", "no", "no", "input", "nchw", "(3)"]


@pytest.mark.parametrize(
    ("more", "count", "level"),
    [
        ((), 7, 1),
        ((False,), 7, 1),
        ((True,), 8, 3),
        ((False, 1, 1), 7, 1),
        ((False, 2, 1), 10, 3),
        ((True, 1, 1), 8, 3),
    ],
)
def test_inputs_that_say_what_their_absence_says(more, count, level):
    model = without_defaults(finished(lambda m: convolution(m, *more)))
    assert len(model.main.operations[0].inputs) == count
    assert compliance(model).operations[0].level == level


def test_inputs_of_control_flow_stay():
    branch = nnapi_shim.Model()
    branch.outputs(branch.operation("RELU", [branch.input(FLOATS, [2])]))
    branch.finish()

    def build(m):
        condition = m.input(OperandType.TENSOR_BOOL8, [1])
        return m.operation("IF", [condition, branch, branch, m.input(FLOATS, [2])])

    model = finished(build)
    assert without_defaults(model) is model
