"""Runs small independent steps in parallel.

A step of few tiles leaves threads idle. It is moved next to an earlier small step that it does not
depend on. Examples: the transposes of an attention, the reductions of a detector's heads.
"""

from nnapi_shim.drivers.cpu.program.program import END
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Sequence
from nnapi_shim.limits import watched

MAX_TILES = 7
"""Tiles of a small step, at most: more tiles occupy the threads alone."""
MIN_BYTES = 16 << 10
"""Bytes that a small step reads and writes, at least: below that a thread wakes up too late."""


def _is_small(steps: Sequence[ScheduledStep], schedule: Schedule) -> bool:
    """Whether the steps of a chain have few tiles and at least MIN_BYTES of operands."""
    if steps[0].step.tiles > MAX_TILES:
        return False
    roots = [root for scheduled in watched(steps) for root in schedule.roots(scheduled.step)]
    size_of = schedule.sizes.__getitem__
    if sum(map(size_of, roots)) < MIN_BYTES:  # even if some are the same
        return False
    return sum(map(size_of, set(roots))) >= MIN_BYTES


def has_small_steps(schedule: Schedule) -> bool:
    """Whether a step of a schedule, which has no chains, may run in parallel with others."""
    return any(_is_small([scheduled], schedule) for scheduled in watched(schedule.steps))


def run_parallel(schedule: Schedule) -> None:
    """Group small independent steps."""
    if schedule.has_branches or _is_chain(schedule):
        return
    chains = _chains(schedule.steps)
    small = [_is_small(chain, schedule) for chain in watched(chains)]
    if sum(small) >= 2:
        from nnapi_shim.drivers.cpu.passes.schedule.parallel_groups import group_small

        group_small(schedule, chains, small)


def _is_chain(schedule: Schedule) -> bool:
    """Whether each step of few tiles depends on the step before it. Most graphs are such chains and
    have no parallel steps.
    """
    before: ScheduledStep | None = None
    for scheduled in watched(schedule.steps):
        step = scheduled.step
        if before is not None and before.link == END and step.tiles <= MAX_TILES:
            written = {schedule.root(before.step.fields[name]) for name in before.step.writes}
            written.discard(None)
            if written.isdisjoint(schedule.roots(step)):
                return False
        before = scheduled
    return True


def _chains(steps: Sequence[ScheduledStep]) -> list[list[ScheduledStep]]:
    chains = []
    chain: list[ScheduledStep] = []
    for scheduled in watched(steps):
        chain.append(scheduled)
        if scheduled.link == END:
            chains.append(chain)
            chain = []
    return chains
