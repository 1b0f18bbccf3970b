"""Bounds of float outputs: a fused activation, or a following RELU, RELU1 or RELU6.

Bounds in the other order, the higher one first, are those of such an operation: see
../lowering/bounds.py.
"""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.numeric import bounded, clamp
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


def within(builder: Any, values: Sequence[Any], low: Any, high: Any) -> list[Any]:
    """Vectors within scalar bounds. One branch for all of them."""
    is_moved = builder.fcmp_ordered(">", low, high)
    low, high = builder.select(is_moved, high, low), builder.select(is_moved, low, high)
    ends = {
        width: [builder.splat(bound, width) for bound in (low, high)]
        for width in {value.type.count for value in values}
    }
    slots = [builder.variable(value.type, value) for value in values]
    with builder.if_else(is_moved, likely=False) as (then, otherwise):
        for branch, limited in ((then, _bounded), (otherwise, ISA.clamp)):
            with branch:
                for slot, value in zip(slots, values, strict=True):
                    builder.store(limited(builder, value, *ends[value.type.count]), slot)
    return [builder.load(slot) for slot in slots]


def _bounded(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """As `bounded` in numeric.py: NaN becomes `low`, and a zero has the sign of `low`."""
    value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
    return builder.select(builder.fcmp_ordered("<", value, high), value, high)


@helper
def number_within(x, low, high):
    """The same of a number."""
    return bounded(x, high, low) if low > high else clamp(x, low, high)
