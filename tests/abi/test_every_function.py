"""The C program of `make check-native` without its tools: every function, used well and badly."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "memory" / "every_function.c"
INCLUDE = f"-I{ROOT / 'include' / 'companion'}"


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_every_function(compile_c, run_well, library, device):
    buffers = library.parent / "libnativewindow.so"
    program = compile_c("every_function", "-D_GNU_SOURCE", INCLUDE, buffers, source=SOURCE)
    run_well(program, device, 3, env={"NNAPI_SHIM_LOG": "silent"})
