"""walk and bind: the two compiled helpers that run a program. See ../program.py for its layout."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.kernels.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import i64
from nnapi_shim.drivers.cpu.program import BIND, CHAIN, WALK


@intrinsic
def call_kernel(typing_context: Any, function: Any, block: Any, tile: Any, deadline: Any) -> Any:
    """Call the kernel at an address. One that takes no deadline leaves the register alone."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int32(*[types.int64] * 4), generate


@kernel(WALK)
def walk(a, tile):
    """Run steps {kernel, block, tiles, jump, join} from the first to the last or to one that fails.

    The result code of that one is returned, and its number stored in `stopped`. The clock is looked
    at in front of every tile; kernels whose tiles have no bound look at it themselves, too.
    """
    steps, count, deadline = i64(a.steps), a.count, a.deadline
    step = 0
    while step < count:
        last = step
        while steps[5 * last + 4] == CHAIN and last + 1 < count:
            last += 1
        code = 0
        for part in range(steps[5 * step + 2]):
            for at in range(step, last + 1):
                if late(deadline):
                    code = DEADLINE
                else:
                    code = call_kernel(steps[5 * at], steps[5 * at + 1], part, deadline)
                if code > 0:
                    a.stopped = at
                    return code
            if code < 0:
                break
        step = last + (steps[5 * last + 3] if code < 0 else 1)
    return 0


@kernel(BIND)
def bind(a, tile):
    """words[at] = addresses[slot] + addend for every patch {at, slot, addend}."""
    words, patches, addresses = i64(a.words), i64(a.patches), i64(a.addresses)
    for patch in range(a.count):
        at, slot, addend = patches[3 * patch], patches[3 * patch + 1], patches[3 * patch + 2]
        words[at] = addresses[slot] + addend
    return 0
