"""Chains: consecutive steps that run tile by tile on the same thread.

All steps of a chain are partitioned into the same units (pixels or rows). Unit n of a step reads
only unit n of the results of earlier steps in the chain.
"""

from nnapi_shim.drivers.cpu.program.program import CHAIN
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Any, Callable, NamedTuple, Sequence
from nnapi_shim.limits import look, watched


class Cut(NamedTuple):
    """How a step can be partitioned into tiles.

    units: the largest number of units.
    size: the size of the step, in the measure of the pass.
    by_unit: ADDRESS fields of which a tile reads only its own units.
    set: set(units, share) makes a tile `share` of `units` units.
    """

    units: int
    size: int
    by_unit: frozenset[str]
    set: Callable[[int, int], None]


class Chain(NamedTuple):
    """The cuts of consecutive steps, and the units into which all of them are partitioned.

    share: units of a tile; 0 leaves the steps unchanged.
    """

    cuts: Sequence[Cut]
    units: int = 0
    share: int = 0


def fuse_chains(schedule: Schedule, chain_at: Callable[[Schedule, int], Chain], text: str) -> None:
    """Partition and link the chains of a schedule.

    chain_at: the longest chain that begins at a step. text: suffix of the text for `explain`.
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
    """Partition all steps of a chain into the same tiles."""
    read_by_others: set[Any] = set()
    for scheduled, cut in watched(zip(steps, chain.cuts, strict=True)):
        step, root = scheduled.step, schedule.root
        cut.set(chain.units, chain.share)
        step.tiles = -(-chain.units // chain.share)
        for _, name in step.record.addresses:
            if name not in cut.by_unit and name != "output":
                read_by_others.add(root(step.fields[name]))
        # In place, it would overwrite data that other tiles of earlier steps may still read.
        if step.in_place and root(step.fields[step.in_place]) in read_by_others:
            step.in_place = ""
