"""The names that the package offers."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import nnapi_shim
from nnapi_shim.api import types
from nnapi_shim.api.argument import Argument
from nnapi_shim.api.quantization import ChannelQuantization, Quantization
from nnapi_shim.api.recurrent_state import Carried

ROOT = Path(__file__).resolve().parents[2]
FACE = {
    "Compilation",
    "Device",
    "DeviceType",
    "DurationCode",
    "Execution",
    "ExecutionPreference",
    "FeatureLevel",
    "FuseCode",
    "Model",
    "NnapiError",
    "Operand",
    "OperandType",
    "OperationType",
    "PaddingCode",
    "Predictor",
    "Priority",
    "ResultCode",
    "capi",
    "compliance",
    "dequantize",
    "devices",
    "get_include",
    "get_library_dir",
    "last_error",
    "lint",
    "load",
    "profile",
    "quantization_of",
    "quantize",
    "register_driver",
    "tools",
}
MODULES = {"capi", "tools"}


def test_every_name_is_there() -> None:
    assert set(dir(nnapi_shim)) >= FACE
    for name in FACE:
        assert getattr(nnapi_shim, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(inspect.getsource(nnapi_shim))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {alias.asname for node in block.body for alias in node.names}
    assert imported == FACE


def test_all_names_are_listed_in_order() -> None:
    assert nnapi_shim.__all__ == sorted(FACE | {"__version__"})


def test_the_reference_has_all_names() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    for name in FACE - MODULES:
        assert f":: nnapi_shim.{name}\n" in page, name
    assert all(f"`nnapi_shim.{name}`" in page for name in MODULES)


def test_names_of_operand_types() -> None:
    assert {*get_args(types.TypeName)} == {*nnapi_shim.OperandType.__members__}
    with nnapi_shim.Model() as model:
        scalars = [model.input(name) for name in get_args(types.DtypeName)]
        model.outputs(model.abs(model.input("float32", [1])))
    assert [scalar.type.name.lower() for scalar in scalars] == [*get_args(types.DtypeName)]


@pytest.mark.parametrize(
    "kind", [nnapi_shim.Device, Argument, Quantization, ChannelQuantization, Carried]
)
def test_fields_have_docstrings(kind: type) -> None:
    for name in kind._fields:  # type: ignore[attr-defined]
        assert getattr(kind, name).__doc__.endswith(".")
        assert "Alias" not in getattr(kind, name).__doc__


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'nnapi_shim' has no attribute 'Modell'"):
        _ = nnapi_shim.Modell


@pytest.mark.parametrize("use", ["__version__", "ResultCode.BAD_DATA", "last_error()"])
def test_numpy_is_imported_for_models_only(use: str) -> None:
    code = f"import sys, nnapi_shim; nnapi_shim.{use}; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_devices() -> None:
    devices = {device.name: device for device in nnapi_shim.devices()}
    assert list(devices) == ["nnapi-cpu", "nnapi-reference"]
    for device in devices.values():
        assert device.type is nnapi_shim.DeviceType.CPU
        assert device.feature_level is nnapi_shim.FeatureLevel.LEVEL_8
        assert device.version == nnapi_shim.__version__


def test_the_first_result_of_a_model_imports_what_it_needs() -> None:
    """Pictures, pickling, control flow and families of operators come with their first use."""
    program = (
        "import sys, numpy, nnapi_shim\n"
        "c = nnapi_shim.load('examples/shapes/int8.tflite').compile('nnapi-cpu')\n"
        "c.run(numpy.zeros((1, 32, 32, 3), numpy.int8))\n"
        "print(*(name for name in sys.modules if name.startswith('nnapi_shim.')))\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "nnapi_shim.formats.tflite.importing.convolution" in imported
    families = ("recurrent", "control_flow", "detection", "lookup", "slicing")
    late = {f"nnapi_shim.formats.tflite.importing.{name}" for name in families}
    parts = ("display", "drawing", "pickling", "control_flow", "intermediates", "futures")
    late |= {f"nnapi_shim.api.{name}" for name in parts}
    assert not imported & late
