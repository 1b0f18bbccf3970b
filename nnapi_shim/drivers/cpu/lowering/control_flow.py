"""The branch steps of IF and WHILE; `compile/control_flow.py` inserts them between inlined graphs.

A branch step continues at its branch offset or at the next step.
"""

from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, LOOP_TIMEOUT, Buffer, Step, record
from nnapi_shim.errors import NnapiError
from nnapi_shim.operations.declare import BoundOperand

JUMP = record()
CONDITION = record(condition=ADDRESS)
CLOCK = record(output=ADDRESS)
LOOP = record(condition=ADDRESS, started=ADDRESS, timeout=ADDRESS)
FAIL = record(code=INT64)


def branch() -> Step:
    """An unconditional branch."""
    return Step(JUMP, "jump", writes=())


def branch_unless(condition: BoundOperand) -> Step:
    """A branch that is taken if the condition is false."""
    return Step(CONDITION, "jump_unless", condition=condition, writes=())


def start_clock(started: Buffer) -> Step:
    """Stores the start time of a loop."""
    return Step(CLOCK, "start_clock", output=started)


def loop_test(condition: BoundOperand, started: Buffer) -> Step:
    """A branch out of a loop if the condition is false; fails after the loop timeout."""
    return Step(
        LOOP,
        "loop_test",
        condition=condition,
        started=started,
        timeout=LOOP_TIMEOUT,
        writes=(),
    )


def fail(error: NnapiError) -> Step:
    """Ends the run with the error of a branch of an IF."""
    return Step(FAIL, "fail", writes=(), complaint=error.message, code=int(error.code))
