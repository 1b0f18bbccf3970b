"""C programs, unchanged, on the devices of engines for the processor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build/lib"
PACKAGES = {
    "iree-cpu": "iree.runtime",
    "litert-cpu": "ai_edge_litert",
    "onnxruntime-cpu": "onnxruntime",
    "openvino-cpu": "openvino",
}


def built(source, folder):
    """A program of a source that needs the library at run time."""
    program = folder / source.stem
    command = [os.environ.get("CC", "cc"), "-Iinclude", "-Iinclude/companion", source]
    command += ["-o", program, f"-L{LIBRARIES}", "-lneuralnetworks", "-llog", "-lm", "-ldl"]
    subprocess.run(command, check=True, cwd=ROOT)
    return program


def printed(program, device, *arguments):
    """What a program prints where there are that device and nnapi-reference, the slowest one."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(LIBRARIES),
        "NNAPI_SHIM_PYTHON": sys.prefix,
        "NNAPI_SHIM_ENGINES": device.partition("-")[0],
        "DEBUG_NN_ENABLED_DEVICES": f"{device}|nnapi-reference",
    }
    run = subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("device", PACKAGES)
def test_programs(device, tmp_path):
    """One that links the library, and one that loads it as TensorFlow Lite's delegate does."""
    pytest.importorskip(PACKAGES[device])
    example = ROOT / "c_examples/simple_add.c"
    assert printed(built(example, tmp_path), device) == example.with_suffix(".expected").read_text()
    delegate = built(ROOT / "tests/phones/delegate.c", tmp_path)
    assert printed(delegate, device, "float").endswith(f", {device}: 8\n")


@pytest.mark.parametrize("device", ["onnxruntime-cpu", "openvino-cpu"])
def test_a_network(device, tmp_path):
    """In float32 and 8 bits, compared with plain C."""
    pytest.importorskip(PACKAGES[device])
    example = ROOT / "c_examples/mobilenet_block.c"
    assert printed(built(example, tmp_path), device) == example.with_suffix(".expected").read_text()
