"""The steps of IF and WHILE; `compile/control_flow.py` puts them around the inlined graphs.

A step that branches goes on with the step at its branch offset, or with the next one.
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
    """Branches always."""
    return Step(JUMP, "jump", writes=())


def branch_unless(condition: BoundOperand) -> Step:
    """Branches where the condition is false."""
    return Step(CONDITION, "jump_unless", condition=condition, writes=())


def start_clock(started: Buffer) -> Step:
    """Stores the time at which a loop begins."""
    return Step(CLOCK, "start_clock", output=started)


def loop_test(condition: BoundOperand, started: Buffer) -> Step:
    """Branches out of a loop where the condition is false; fails after the loop timeout."""
    return Step(
        LOOP,
        "loop_test",
        condition=condition,
        started=started,
        timeout=LOOP_TIMEOUT,
        writes=(),
    )


def fail(error: NnapiError) -> Step:
    """Ends the run with an error: the branch of an IF that cannot run."""
    return Step(FAIL, "fail", writes=(), complaint=error.message, code=int(error.code))
