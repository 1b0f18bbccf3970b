"""lint: everything at once."""

import numpy as np

from nnapi_shim import FuseCode, Model
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.tools.lint import lint
from tests.tools.models import quantized

BROKEN = """
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("TENSOR_FLOAT32", [2])
    model.outputs(model.operation("CONV_2D", [x]))
"""


def test_nothing_wrong() -> None:
    assert lint(quantized()).findings == ()


def test_several_errors() -> None:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [2])
    unwritten = model.add_operand("TENSOR_FLOAT32", [2])
    y = model.operation("ADD", [x, unwritten, FuseCode.NONE])
    other = model.add_operand("TENSOR_FLOAT32", [2])
    model.outputs(y, other)
    result = lint(model)
    assert result.errors == len(result.findings) > 1
    assert {finding.code for finding in result.findings} == {ResultCode.BAD_DATA}
    assert model.runtime.state == "building"


def test_what_a_run_would_refuse() -> None:
    with Model() as model:
        x = model.add_operand("TENSOR_FLOAT32", [2])
        axis = model.constant(np.int32(5))
        y = model.add_operand("TENSOR_FLOAT32", [2])
        model.add_operation(OperationType.EXPAND_DIMS, [x, axis], [y])
        model.identify_inputs_and_outputs([x], [y])
    (finding,) = lint(model).findings
    assert finding.code is ResultCode.OP_FAILED
    assert finding.places[0].name == "EXPAND_DIMS"


def test_a_file_that_cannot_build_its_model(tmp_path) -> None:
    (tmp_path / "model.py").write_text(BROKEN)
    (finding,) = lint(tmp_path / "model.py").findings
    assert finding.severity == "error"
    assert "CONV_2D" in finding.message
