"""Chains: steps that follow each other tile by tile, on the same thread.

All steps of a chain are cut into the same units (pixels, rows), and unit n of a step needs unit n
alone of the steps before it in the chain.
"""

from collections.abc import Callable, Sequence

from nnapi_shim.drivers.cpu.program.program import CHAIN
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.limits import look, watched


class Cut(NamedTuple):
    """The ways to cut a step into tiles.

    units: into so many at most.
    size: of the step, as the pass counts it.
    by_unit: fields of which a tile reads its own units alone.
    set: (units, share) lets a tile be `share` of `units` units.
    """

    units: int
    size: int
    by_unit: frozenset[str]
    set: Callable[[int, int], None]


class Chain(NamedTuple):
    """The cuts of steps that follow each other, and the units that all of them are cut into.

    share: units of a tile; 0 leaves the steps as they are.
    """

    cuts: Sequence[Cut]
    units: int = 0
    share: int = 0


def fuse_chains(schedule: Schedule, chain_at: Callable[[Schedule, int], Chain], text: str) -> None:
    """Cut and link the chains of a schedule.

    chain_at: the longest chain that begins at a step. text: for `explain`, behind the first step.
    """
    if schedule.has_branches:
        return
    steps, at = schedule.steps, 0
    while at < len(steps):
        look()
        chain = chain_at(schedule, at)
        end = at + len(chain.cuts)
        if len(chain.cuts) > 1 and chain.share:
            _cut(schedule, steps[at:end], chain)
            for number in range(at, end - 1):
                steps[number].link = CHAIN
                schedule.report(steps[number + 1], f"behind {steps[number].where}, {text}")
        at = max(end, at + 1)


def _cut(schedule: Schedule, steps: Sequence[ScheduledStep], chain: Chain) -> None:
    """Cut all steps of a chain alike."""
    read_by_others: set[Any] = set()
    for scheduled, cut in watched(zip(steps, chain.cuts, strict=True)):
        step, root = scheduled.step, schedule.root
        cut.set(chain.units, chain.share)
        step.tiles = -(-chain.units // chain.share)
        for _, name in step.record.addresses:
            if name not in cut.by_unit and name != "output":
                read_by_others.add(root(step.fields[name]))
        # Other tiles of the steps before may still read what it would write over.
        if step.in_place and root(step.fields[step.in_place]) in read_by_others:
            step.in_place = ""
