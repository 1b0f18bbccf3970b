"""All executions of a program."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.memory_order.controls import Ended, text_of
from tests.memory_order.machine import FoundError, Machine, Setting
from tests.memory_order.states import State

MOST_STATES = 2_000_000

Origin = tuple[State, int, Any] | None
"""Whence a state came: the state before, the thread, and what it got; None for the first."""


@dataclass
class Explored:
    """results: those of the threads, of each execution that ended. finding: what is wrong, and the
    execution that leads there; empty if nothing is.
    """

    states: int
    results: set[tuple[Any, ...]]
    finding: str = ""
    execution: Sequence[str] = ()


def explore(program: Setting, most: int = MOST_STATES) -> Explored:
    """All executions, in the order of their lengths, up to the first finding."""
    machine = Machine(program)
    state, results = machine.begin, set()
    came_from: dict[State, Origin] = {}
    try:
        for number in range(len(machine.names)):
            state = machine.settled(state, number)
        came_from[state] = None
        waiting = deque([state])
        while waiting:
            state = waiting.popleft()
            is_stuck = True
            for after, *step in machine.steps(state):
                is_stuck = False
                if after not in came_from:
                    came_from[after] = (state, *step)
                    waiting.append(after)
            if is_stuck:
                results.add(_results(machine, state))
            if len(came_from) > most:
                raise FoundError(f"more than {most} states")
    except FoundError as found:
        return Explored(len(came_from), results, str(found), _way_to(machine, state, came_from))
    return Explored(len(came_from), results)


def _results(machine: Machine, state: State) -> tuple[Any, ...]:
    """What all threads gave, if all have ended."""
    ends = [machine.controls.next(thread.control) for thread in state.threads]
    waiting = [
        f"{name} at {text_of(end)}"
        for name, end in zip(machine.names, ends, strict=True)
        if not isinstance(end, Ended) and not getattr(end, "may_last", False)
    ]
    if waiting:
        raise FoundError(f"waits for ever: {', '.join(waiting)}")
    return tuple(getattr(end, "result", None) for end in ends)


def _way_to(machine: Machine, state: State, came_from: Mapping[State, Origin]) -> list[str]:
    """The steps of the execution that leads to a state."""
    steps = []
    while (origin := came_from.get(state)) is not None:
        steps.append(machine.step_text(*origin))
        state = origin[0]
    return steps[::-1]
