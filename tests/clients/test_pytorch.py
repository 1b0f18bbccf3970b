"""PyTorch's own NNAPI client, unmodified, runs converted models through the library.

Skipped where PyTorch is not installed: `.venv/bin/pip install torch==2.13.0` brings it.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "build" / "lib" / "libneuralnetworks.so"

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

# In a process of its own: PyTorch looks for the library once, by the name libneuralnetworks.so,
# which the loader has found already.
PROGRAM = """
import ctypes, sys, warnings
ctypes.CDLL(sys.argv[1])
warnings.simplefilter("ignore")
import torch
from torch.backends._nnapi.prepare import convert_model_to_nnapi

def image(*shape):
    it = torch.randn(*shape).contiguous(memory_format=torch.channels_last)
    it.nnapi_nhwc = True
    return it

torch.manual_seed(1)
nn = torch.nn
models = {
    "linear_relu": (nn.Sequential(nn.Linear(16, 8), nn.ReLU()), torch.randn(3, 16)),
    "conv_relu_pool": (
        nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        image(1, 3, 12, 12),
    ),
    "depthwise": (
        nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.ReLU6(), nn.Conv2d(8, 5, 1)),
        image(2, 8, 9, 9),
    ),
}
model, given = models[sys.argv[2]]
model.eval()
with torch.no_grad():
    wanted = model(given)
    converted = convert_model_to_nnapi(torch.jit.trace(model, given), [given])
    for _ in range(2):
        got = converted(given)
assert got.shape == wanted.shape, (got.shape, wanted.shape)
print(float((got - wanted).abs().max()))
"""


@pytest.mark.parametrize("model", ["linear_relu", "conv_relu_pool", "depthwise"])
def test_converted_model_gives_pytorchs_results(model):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(LIBRARY), model],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 1e-5
    assert "nnapi_shim error" not in result.stderr
