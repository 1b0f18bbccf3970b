"""Walks: what runs a program, and the error of a walk that stopped."""

from collections.abc import Callable, Sequence

from nnapi_shim.drivers.cpu.program.program import Frame, Program
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import ResultCode


def compiled_walk(program: Program, around: Sequence[Where]) -> Callable[[int, int], int]:
    """One compiled call for all steps of a program."""
    del around  # no one observes it
    return program.walk


walk_of = [compiled_walk]
"""The walk that runs are bound with: another function while they are observed (stepping.py)."""


def stopped(frame: Frame, code: int) -> NnapiError:
    """The error of a walk that a step stopped."""
    where, step = frame.program.origins[frame.stopped()]
    if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
        is_loop = step.kernel == "loop_test"
        what = "the loop" if is_loop else "the computation"
        return NnapiError(
            ResultCode(code),
            f"{where}: {what} took longer than it may",
            "while.timeout" if is_loop else "execution.deadline.passed",
        )
    if step.kernel == "fail":
        return NnapiError(ResultCode(code), step.complaint, "if.branch")
    from nnapi_shim.drivers.cpu.run.explanation import explanation

    refused = explanation(step.kernel, frame, frame.stopped())
    error = refused or NnapiError(ResultCode(code), step.complaint, "operation.value")
    return error.at(where)
