"""bind: the compiled helper that sets addresses. See ../program.py for the layout of programs."""

from nnapi_shim.drivers.cpu.codegen.numeric import i64
from nnapi_shim.drivers.cpu.program.program import BIND
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel


@kernel(BIND)
def bind(a, tile):
    """words[at] = addresses[slot] + addend for every patch {at, slot, addend}."""
    words, patches, addresses = i64(a.words), i64(a.patches), i64(a.addresses)
    for patch in range(a.count):
        at, slot, addend = patches[3 * patch], patches[3 * patch + 1], patches[3 * patch + 2]
        words[at] = addresses[slot] + addend
    return 0
