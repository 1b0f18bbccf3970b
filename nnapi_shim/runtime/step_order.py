"""Orders the operations of several devices into few steps."""

from nnapi_shim.hal.types import Model, dependencies
from nnapi_shim.hints import Sequence


def in_steps(model: Model, chosen: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Device and operations of each step, given the device of every operation.

    A step takes all operations that are ready on its device. Each device is tried as the first;
    then the device whose ready operations have the longest chain of device changes comes next.
    This is minimal for two devices, and nearly always for more.
    """
    flow = _Flow(model, chosen)
    best: list[tuple[int, tuple[int, ...]]] | None = None
    for first in sorted({chosen[position] for position in flow.ready}, reverse=True):
        steps = flow.steps(first, len(best) if best is not None else len(chosen) + 1)
        if steps is not None:
            best = steps
    assert best is not None
    return best


class _Flow:
    """Dependencies between operations."""

    def __init__(self, model: Model, chosen: Sequence[int]) -> None:
        self._chosen = chosen
        self._waits_for, self._readers = dependencies(model.main.operations)
        self.ready = [position for position, waits in enumerate(self._waits_for) if not waits]
        # Operations are in topological order: in reverse, the device changes after every reader
        # are known.
        self._changes = [0] * len(chosen)
        for position in reversed(range(len(chosen))):
            self._changes[position] = max(
                (
                    self._changes[reader] + (chosen[reader] != chosen[position])
                    for reader in self._readers[position]
                ),
                default=0,
            )

    def steps(self, first: int, limit: int) -> list[tuple[int, tuple[int, ...]]] | None:
        """The steps with `first` as the first device; None if there are `limit` or more."""
        chosen, changes = self._chosen, self._changes
        waits_for = self._waits_for.copy()
        queues: dict[int, list[int]] = {}
        most: dict[int, int] = {}

        def enqueue(position: int) -> None:
            device = chosen[position]
            queues.setdefault(device, []).append(position)
            most[device] = max(most.get(device, 0), changes[position])

        for position in self.ready:
            enqueue(position)
        steps: list[tuple[int, tuple[int, ...]]] = []
        device = first
        while queues:
            if len(steps) + 1 >= limit:
                return None
            queue = queues[device]
            for position in queue:  # grows while it is walked
                for reader in self._readers[position]:
                    waits_for[reader] -= 1
                    if not waits_for[reader]:
                        enqueue(reader)
            steps.append((device, tuple(sorted(queue))))
            del queues[device], most[device]
            if most:
                device = max(most, key=lambda other: (most[other], other))
        return steps
