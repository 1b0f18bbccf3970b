"""The branch instructions of IF and WHILE. A negative result code branches."""

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, monotonic_ns
from nnapi_shim.drivers.cpu.codegen.numeric import i64, u8
from nnapi_shim.drivers.cpu.lowering.control_flow import CLOCK, CONDITION, FAIL, JUMP, LOOP
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel


@kernel(JUMP)
def jump(a, tile):
    """Always jump."""
    return -1


@kernel(CONDITION)
def jump_unless(a, tile):
    """Jump when the condition, a byte, is 0."""
    return 0 if u8(a.condition)[0] != 0 else -1


@kernel(CLOCK)
def start_clock(a, tile):
    """output: int64, the time now in ns."""
    i64(a.output)[0] = monotonic_ns()
    return 0


@kernel(LOOP)
def loop_test(a, tile):
    """Jump when the condition, a byte, is 0; stop when the loop began longer ago than `timeout`."""
    if u8(a.condition)[0] == 0:
        return -1
    return DEADLINE if monotonic_ns() - i64(a.started)[0] > a.timeout else 0


@kernel(FAIL)
def fail(a, tile):
    """Stop with a result code."""
    return a.code
