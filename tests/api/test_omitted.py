"""Every input that may be omitted is None in Python, whatever its type."""

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from tests.operations.cases import USES, example
from tests.single import execute


def omitting(use, seeds=range(20)):
    """An example of a use that omits something; None where there is none."""
    result = (example(use, np.random.default_rng(seed)) for seed in seeds)
    return next((one for one in result if any(value.is_omitted for value in one.inputs)), None)


USES_THAT_OMIT = [use for use in USES if use.operation.omittable and omitting(use) is not None]


def added(model, value):
    """An input of an example as an operand, or as what stands for it."""
    operand = value.operand
    if value.is_omitted:
        return None
    if operand.type in SCALARS:
        return model.constant(value.array, operand.type)
    return model.input(operand.type, operand.dimensions, operand.scale, operand.zero_point)


@pytest.mark.parametrize("use", USES_THAT_OMIT, ids=str)
def test_omitted_inputs(use):
    """Built from Python with None, it gives what it gives where the operand has no value."""
    arguments = omitting(use)
    quantized = [v.operand for v in arguments.outputs if v.operand.type in QUANTIZED_RANGE]
    scale = {"scale": quantized[0].scale} if len(quantized) == 1 else {}
    zero_point = {"zero_point": quantized[0].zero_point} if scale else {}
    model = Model()
    operands = [added(model, value) for value in arguments.inputs]
    results = model.operation(
        use.operation.type, operands, output_count=len(use.outputs), **scale, **zero_point
    )
    results = results if isinstance(results, tuple) else (results,)
    model.outputs(*results)
    model.finish()
    arrays = [v.array for v in arguments.inputs if v.array is not None and v.operand.dimensions]
    result = Compilation(model, "nnapi-reference").run(*arrays)
    expected = execute(ReferenceDevice(), use.operation.type, arguments.inputs, arguments.outputs)
    for one, other in zip(result if len(results) > 1 else [result], expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_there_are_such_uses():
    names = {use.operation.type.name for use in USES_THAT_OMIT}
    assert {"LSTM", "QUANTIZED_LSTM", "LSH_PROJECTION", "SQUEEZE", "TRANSPOSE"} <= names, names
