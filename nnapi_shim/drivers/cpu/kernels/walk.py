"""walk and bind: the two compiled helpers that run a program. See ../program.py for its layout."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import i64
from nnapi_shim.drivers.cpu.program import BIND, WALK


@intrinsic
def call_kernel(typing_context: Any, function: Any, block: Any, tile: Any) -> Any:
    """Call the kernel at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word, word])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int32(types.int64, types.int64, types.int64), generate


@kernel(WALK)
def walk(a, tile):
    """Run steps {kernel, block, tiles, flags} in order; stop at the first that does not succeed.

    Its result code is returned, and its number stored in `stopped`.
    """
    steps, count = i64(a.steps), a.count
    for step in range(count):
        for part in range(steps[4 * step + 2]):
            code = call_kernel(steps[4 * step], steps[4 * step + 1], part)
            if code != 0:
                a.stopped = step
                return code
    return 0


@kernel(BIND)
def bind(a, tile):
    """words[at] = addresses[slot] + addend for every patch {at, slot, addend}."""
    words, patches, addresses = i64(a.words), i64(a.patches), i64(a.addresses)
    for patch in range(a.count):
        at, slot, addend = patches[3 * patch], patches[3 * patch + 1], patches[3 * patch + 2]
        words[at] = addresses[slot] + addend
    return 0
