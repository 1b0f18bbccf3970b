"""The clock that deadlines and loop timeouts are measured with."""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.vector import WORD, long
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined
from nnapi_shim.hal.enums import ResultCode

DEADLINE = int(ResultCode.MISSED_DEADLINE_TRANSIENT)

CLOCK_MONOTONIC = 1


@emits(types.int64())
def monotonic_ns(builder: Any) -> Any:
    """The clock of Python's time.monotonic_ns()."""
    word = ir.IntType(64)
    time = builder.variable(ir.ArrayType(word, 2))
    seconds = builder.bitcast(time, word.as_pointer())
    builder.call_by_name("clock_gettime", WORD, WORD(CLOCK_MONOTONIC), seconds)
    billions = builder.mul(builder.load(seconds), word(10**9))
    return builder.add(billions, builder.load(builder.gep(seconds, [long(1)])))


LONG = 1 << 18
"""Elements, or products, after which kernels look at the clock: at most about a millisecond."""

STRETCH = 1 << 10
"""Rows of lanes, up to about a thousand of them side by side, after which they do."""


@helper
def late(deadline):
    """Whether a deadline, 0 for none, has passed. About 30 ns where there is one."""
    return deadline != 0 and monotonic_ns() >= deadline


@inlined
def late_after(work, deadline, most=LONG):
    """(whether a deadline has passed, the work since the clock was last looked at): it is looked at
    when the work, elements or products, reaches `most`.
    """
    if work < most:
        return False, work
    return late(deadline), 0
