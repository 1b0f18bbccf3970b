"""The smallest proof that it all works: two numbers added, in Python and in C."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nnapi_shim

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"
EXAMPLE = ROOT / "c_examples" / "simple_add.c"

devices = pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])


@devices
def test_python(device: str) -> None:
    with nnapi_shim.Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        y = model.operation("ADD", [x, np.float32([2]), nnapi_shim.FuseCode.NONE])
        model.outputs(y)
    assert nnapi_shim.Compilation(model, device).run([1]).tolist() == [3]


@devices
def test_c(device: str, tmp_path: Path) -> None:
    assert LIBRARY.exists(), f"{LIBRARY} is missing: run make"
    program = tmp_path / "simple_add"
    command = ["cc", "-std=c99", f"-I{ROOT / 'include'}", EXAMPLE, "-o", program, LIBRARY]
    subprocess.run([*command, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    environment = os.environ | {"DEBUG_NN_ENABLED_DEVICES": device}
    result = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == EXAMPLE.with_suffix(".expected").read_text()
