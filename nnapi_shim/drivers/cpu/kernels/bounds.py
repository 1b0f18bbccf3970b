"""The end of floats: a fused activation, or an operation RELU, RELU1 or RELU6 that was moved there.

Bounds in the other order, the higher one first, are those of such an operation: see
../lowering/bounds.py.
"""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.kernels.kernel import helper
from nnapi_shim.drivers.cpu.kernels.numeric import bounded, clamp
from nnapi_shim.drivers.cpu.kernels.vector import clamp as clamp_vector
from nnapi_shim.drivers.cpu.kernels.vector import splat, variable


def within(builder: Any, values: Sequence[Any], low: Any, high: Any) -> list[Any]:
    """Vectors within scalar bounds. One branch for all of them."""
    slots = [variable(builder, value.type, value) for value in values]
    widths = {value.type.count for value in values}

    def lanes_of(bound: Any) -> dict[int, Any]:
        return {width: splat(builder, bound, width) for width in widths}

    is_moved = builder.fcmp_ordered(">", low, high)
    with builder.if_else(is_moved) as (then, otherwise):
        with then:
            least, most = lanes_of(high), lanes_of(low)
            for slot, value in zip(slots, values, strict=True):
                width = value.type.count
                builder.store(_bounded(builder, value, least[width], most[width]), slot)
        with otherwise:
            least, most = lanes_of(low), lanes_of(high)
            for slot, value in zip(slots, values, strict=True):
                width = value.type.count
                builder.store(clamp_vector(builder, value, least[width], most[width]), slot)
    return [builder.load(slot) for slot in slots]


def _bounded(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """As `bounded` in numeric.py: NaN becomes `low`, and a zero has the sign of `low`."""
    value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
    return builder.select(builder.fcmp_ordered("<", value, high), value, high)


@helper
def number_within(x, low, high):
    """The same of a number."""
    return bounded(x, high, low) if low > high else clamp(x, low, high)
