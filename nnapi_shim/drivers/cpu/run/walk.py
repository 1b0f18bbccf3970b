"""Walks: functions that run a program, and the error of a stopped walk."""

from nnapi_shim.drivers.cpu.program.program import Frame, Program
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Callable, Sequence


def compiled_walk(program: Program, around: Sequence[Where]) -> Callable[[int, int], int]:
    """The compiled function that runs all steps of a program."""
    del around  # only observers need it
    return program.walk


walk_of = [compiled_walk]
"""The walk of new executions; stepping.py replaces it while runs are observed."""


def stopped(frame: Frame, code: int) -> NnapiError:
    """The error of the step that stopped a walk."""
    where, step = frame.program.origins[frame.stopped()]
    if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
        is_loop = step.kernel == "loop_test"
        subject = "the loop" if is_loop else "the computation"
        return NnapiError(
            ResultCode(code),
            f"{where}: {subject} took longer than it may",
            "while.timeout" if is_loop else "execution.deadline.passed",
        )
    if step.kernel == "fail":
        return NnapiError(ResultCode(code), step.complaint, "if.branch")
    from nnapi_shim.drivers.cpu.run.explanation import explanation

    explained = explanation(step.kernel, frame, frame.stopped())
    error = explained or NnapiError(ResultCode(code), step.complaint, "operation.value")
    return error.at(where)
