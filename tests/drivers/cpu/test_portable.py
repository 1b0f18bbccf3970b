"""The portable tier: some of its kernels are built, and compute what they should.

`make check-threads` builds all of them and runs every vector.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim.drivers.cpu.isa import PORTABLE
from nnapi_shim.drivers.cpu.program.library import library_name
from tests.conformance.vectors import FOLDER
from tests.drivers.exact.comparison import QUANTIZED_USES, line, worst

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
FAMILIES = (
    *("activation", "bind", "depthwise", "depthwise_quantized", "gemm", "grouped_convolution"),
    *("half_precision", "input_rows", "packing", "softmax", "strided"),
)
OPERATIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "LOGISTIC", "RELU6", "SOFTMAX")
SIMPLE = OPERATIONS[2:]
"""Those whose floating-point variants are in these families as well."""
BUILD_FAMILIES = """
import sys
from nnapi_shim.drivers.cpu.toolchain import build
build.FAMILIES = sys.argv[2].split(",")
build.build(sys.argv[1], sys.argv[3:])
"""
PRINT_CODE = """
import sys
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler, ir_library, kernels_of
FamilyCompiler(TIERS[sys.argv[1]])
for kernel in kernels_of("depthwise_quantized"):
    print(*[text for part in ir_library(kernel).needed() for text in part.texts])
"""


def python(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a fresh interpreter; its output."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the library of some families."""
    folder = tmp_path_factory.mktemp("portable") / "lib"
    python(BUILD_FAMILIES, str(folder), ",".join(FAMILIES), PORTABLE)
    return folder


@pytest.fixture
def chosen(built, monkeypatch) -> dict[str, str]:
    """The settings that choose it."""
    settings = {
        "NNAPI_SHIM_KERNELS": str(built),
        "NNAPI_SHIM_TIER": PORTABLE,
        "NNAPI_SHIM_JIT": "off",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert (built / library_name(PORTABLE)).exists()
    return settings


USES = [use for use in QUANTIZED_USES if use.operation.type.name in OPERATIONS]


@pytest.mark.parametrize("use", USES, ids=str)
def test_quantized_results_are_those_of_the_reference(use, chosen):
    result = worst(use, 6, on=[PORTABLE])
    assert result[PORTABLE].computed
    assert result[PORTABLE].difference == 0, line(use, result)


@pytest.mark.skipif(not FOLDER.exists(), reason="the conformance vectors are not there")
def test_vectors(chosen):
    command = [sys.executable, FOLDER / "run.py", "--lib", ROOT / "build/lib/libneuralnetworks.so"]
    command += ["-j", "2", "--fail-list", "--only-ops", ",".join(SIMPLE)]
    done = subprocess.run(
        [*command, "--checks", "static"],
        env=os.environ | {"DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_instruction_of_a_processor_is_named():
    code = python(PRINT_CODE, PORTABLE, NNAPI_SHIM_BUILD_TIER=PORTABLE)
    assert "llvm.fptosi.sat" in code
    assert not re.search(r"llvm\.(x86|aarch64)\.", code)
