"""A thread that stops in front of an instruction of the library until another thread is done."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import nnapi_shim
from tests.waiting import HANGS_S

LIBRARY = str(Path(nnapi_shim.__file__).parent)
LONGEST_PAUSE_S = 0.25
"""What the other thread cannot do in this time waits for a lock that the paused one has."""

Instruction = tuple[CodeType, int, int]
"""Its function, the place in it, and the line."""


class Instructions:
    """Called for each instruction of the library that a thread is about to run."""

    def __init__(self, at: Callable[[Instruction], None]) -> None:
        self._at = at

    def run(self, work: Callable[[], Any]) -> Any:
        """Do some work on this thread under observation."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            return work()
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self._at((frame.f_code, frame.f_lasti, frame.f_lineno))
        return self._instruction


def instructions_of(work: Callable[[], Any]) -> list[Instruction]:
    """Every instruction of the library that some work on this thread runs, once."""
    actual: dict[Instruction, None] = {}
    Instructions(lambda location: actual.setdefault(location)).run(work)
    return list(actual)


def paused(
    work: Callable[[], Any], location: Instruction, other: Callable[[], Any]
) -> tuple[Any, Any]:
    """What `work` gives, and what `other` gives, which another thread does in front of an
    instruction that `work` comes to, the first time. Raises what either raises.
    """
    outcome: list[Any] = []

    def elsewhere() -> None:
        try:
            outcome.append(other())
        except BaseException as error:
            outcome.append(error)

    threads: list[threading.Thread] = []

    def at(this: Instruction) -> None:
        if this == location and not threads:
            threads.append(threading.Thread(target=elsewhere))
            threads[0].start()
            threads[0].join(LONGEST_PAUSE_S)
            sys.settrace(None)  # nothing more is to be seen

    result = Instructions(at).run(work)
    if not threads:  # it went another way this time
        threads.append(threading.Thread(target=elsewhere))
        threads[0].start()
    threads[0].join(HANGS_S)
    assert not threads[0].is_alive(), "the other thread hangs"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return result, outcome[0]
