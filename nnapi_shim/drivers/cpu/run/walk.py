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
        what = "the loop" if step.kernel == "loop_test" else "the computation"
        return NnapiError(ResultCode(code), f"{where}: {what} took longer than it may", "too_long")
    if step.kernel == "fail":
        return NnapiError(ResultCode(code), step.complaint, "branch")
    from nnapi_shim.drivers.cpu.run.explanation import explanation

    complaint = explanation(step.kernel, frame, frame.stopped()) or step.complaint
    rule = f"drivers.cpu.kernels.{step.kernel}"
    return NnapiError(ResultCode(code), complaint, rule=rule).at(where)
