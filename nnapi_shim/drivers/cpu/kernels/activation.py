"""Element-wise activations."""

from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import f32
from nnapi_shim.drivers.cpu.lowering.activation import CLAMP


@kernel(CLAMP)
def clamp_f32(a, tile):
    """input, output: float32[count]. output = min(max(input, low), high)."""
    x, y, low, high = f32(a.input), f32(a.output), a.low, a.high
    for i in range(a.count):
        y[i] = min(max(x[i], low), high)
    return 0
