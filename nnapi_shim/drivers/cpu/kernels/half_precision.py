"""Conversion between float16 and float32."""

from nnapi_shim.drivers.cpu.codegen.numeric import f32, float_to_half, half_to_float, u16
from nnapi_shim.drivers.cpu.lowering.images import CONVERT
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def share(count, parts, part):
    """First and end of a part's share of `count`."""
    return count * part // parts, count * (part + 1) // parts


@kernel(CONVERT)
def widen_f16(a, tile):
    """input: float16[count], output: float32[count]; exact."""
    x, y = u16(a.input), f32(a.output)
    first, end = share(a.count, a.parts, tile)
    for i in range(first, end):
        y[i] = half_to_float(x[i])
    return 0


@kernel(CONVERT)
def narrow_f16(a, tile):
    """input: float32[count], output: float16[count], to nearest even."""
    x, y = f32(a.input), u16(a.output)
    first, end = share(a.count, a.parts, tile)
    for i in range(first, end):
        y[i] = float_to_half(x[i])
    return 0
