"""The clock that deadlines and loop timeouts are measured with."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.toolchain.kernel import helper
from nnapi_shim.hal.enums import ResultCode

DEADLINE = int(ResultCode.MISSED_DEADLINE_TRANSIENT)

CLOCK_MONOTONIC = 1


@intrinsic
def monotonic_ns(typing_context: Any) -> Any:
    """The clock of Python's time.monotonic_ns()."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), word.as_pointer()])
        clock_gettime = builder.module.globals.get("clock_gettime")
        if clock_gettime is None:
            clock_gettime = ir.Function(builder.module, kind, "clock_gettime")
        entry = builder.function.entry_basic_block
        with builder.goto_block(entry):
            time = builder.alloca(ir.ArrayType(word, 2))
        seconds = builder.bitcast(time, word.as_pointer())
        builder.call(clock_gettime, [ir.Constant(ir.IntType(32), CLOCK_MONOTONIC), seconds])
        billions = builder.mul(builder.load(seconds), ir.Constant(word, 10**9))
        return builder.add(billions, builder.load(builder.gep(seconds, [ir.Constant(word, 1)])))

    return types.int64(), generate


LONG = 1 << 18
"""Elements, or products, after which kernels look at the clock: at most about a millisecond."""

STRETCH = 1 << 10
"""Rows of lanes, up to about a thousand of them side by side, after which they do."""


@helper
def late(deadline):
    """Whether a deadline, 0 for none, has passed. About 30 ns where there is one."""
    return deadline != 0 and monotonic_ns() >= deadline
