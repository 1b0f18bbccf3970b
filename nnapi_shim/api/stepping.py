"""Runs of a model whose states stay in memory of their own, between a kept execution and the next.

A state that is an array of Python is made, looked at and released in each run. Here each has two
places: a run reads one and writes the other, and the C function gets their addresses.
"""

from collections.abc import Sequence
from struct import pack
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array, address
from nnapi_shim.api.recurrent_state import Carried
from nnapi_shim.api.rerun import Kept, arguments_of


class Stepping:
    """Runs from state to state; one at a time."""

    def __init__(self, kept: Kept, states: Sequence[Carried], values: Sequence[Array]) -> None:
        """values: the first states, in arrays that are overwritten."""
        self._rerun = kept.rerun
        before, after = [*values], [*map(np.empty_like, values)]
        inputs, outputs = len(arguments_of(kept)) - len(kept.outputs), len(kept.outputs)
        self._turns = []
        """What is read by the next run, what it writes, and the addresses of both."""
        for read, written in ((before, after), (after, before)):
            words = [0] * (inputs + outputs)
            for state, source, target in zip(states, read, written, strict=True):
                words[state.input], words[inputs + state.output] = address(source), address(target)
            self._turns.append((read, pack(f"<{len(words)}q", *words)))
        self._turn = 0

    def __call__(
        self, inputs: tuple[Any, ...], out: tuple[Any, ...] | None
    ) -> tuple[Array, ...] | None:
        """As Rerun, from and to what is no state; the states are unchanged if there was no run."""
        results = self._rerun(inputs, out, self._turns[self._turn][1])
        if results is not None:
            self._turn ^= 1
        return results

    def states(self) -> list[Array]:
        """The current states, until the next run."""
        return self._turns[self._turn][0]


def stepping_of(
    kept: Kept | None, states: Sequence[Carried], values: Sequence[Array]
) -> Stepping | None:
    """Runs from these states on; None if an execution for their dimensions and types is not kept,
    or leaves others, or one output becomes several states.
    """
    if kept is None or len({state.output for state in states}) < len(states):
        return None
    arguments = arguments_of(kept)
    inputs = len(arguments) - len(kept.outputs)
    for state, value in zip(states, values, strict=True):
        own = ord(value.dtype.char), value.shape
        if not own == arguments[state.input] == arguments[inputs + state.output]:
            return None
    return Stepping(kept, states, values)
