"""What grouped convolutions do before the matrix product."""

from nnapi_shim.drivers.cpu.kernels.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import u8
from nnapi_shim.drivers.cpu.lowering.convolution import JOIN_GROUPS


@kernel(JOIN_GROUPS)
def join_groups(a, tile, deadline):
    """filter: [columns, taps, bytes], output: [columns, taps, joined, bytes].

    A column belongs to a group of group_columns, and of `joined` groups it sees its own; the rest
    is the byte `fill`.
    """
    length, wide = a.bytes, a.joined * a.bytes
    x, y = u8(a.filter), u8(a.output)
    work = 0
    for column in range(a.columns):
        work += a.taps * wide
        if work >= LONG:
            work = 0
            if late(deadline):
                return DEADLINE
        own = column // a.group_columns % a.joined * length
        for tap in range(column * a.taps, (column + 1) * a.taps):
            for i in range(wide):
                y[tap * wide + i] = a.fill
            for i in range(length):
                y[tap * wide + own + i] = x[tap * length + i]
    return 0
