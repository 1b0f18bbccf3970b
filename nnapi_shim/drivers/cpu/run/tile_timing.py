"""Runs programs region by region on one thread, and reports the time of each region or tile.

    with timed_regions(regions.append, by_tile=True):
        compilation.run(x)

The times of tiles are too long, because Python runs between them and displaces caches; those of
whole regions are not. Who needs both times runs the model twice.
"""

from contextlib import contextmanager
from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import STEP_SIGNATURE, current
from nnapi_shim.drivers.cpu.program.program import (
    CHAIN,
    END,
    STEP_BYTES,
    STEP_WORDS,
    WALK,
    WALK_BYTES,
    Program,
)
from nnapi_shim.drivers.cpu.program.threads import ALONE
from nnapi_shim.drivers.cpu.run import walk as walks
from nnapi_shim.errors import Where
from nnapi_shim.hints import Any, Callable, Iterator, NamedTuple, Sequence

_STOPPED = 16
"""Offset of the field `stopped` in a WALK record."""

_EMPTY_CALLS = 32
"""Of which the fastest is the time that a measurement adds."""

Row = Sequence[int]
"""A step in memory: kernel, argument block, tiles, branch offset, link."""


class TimedRegion(NamedTuple):
    """A region of a run (program/program.py).

    key: the program, and the number of the region's first step. steps: kernel and operation of each
    step. tiles: their number. durations_ns: the time of each tile, or of the whole region alone.
    """

    key: tuple[int, int]
    steps: tuple[tuple[str, str], ...]
    tiles: int
    durations_ns: tuple[int, ...]


Observer = Callable[[TimedRegion], object]


@contextmanager
def timed_regions(observer: Observer, by_tile: bool) -> Iterator[None]:
    """Report each region of executions that are bound within this block.

    by_tile: report the time of each tile, instead of that of the region. Steps that branch are no
    part of the reports: they take nanoseconds.
    """
    before = walks.walk_of[0]
    walks.walk_of[0] = lambda program, around: _Walk(program, around, observer, by_tile)
    try:
        yield
    finally:
        walks.walk_of[0] = before


class _Walk:
    """A replacement of `program.walk`. around: the positions of the enclosing graphs."""

    def __init__(
        self, program: Program, around: Sequence[Where], observer: Observer, by_tile: bool
    ) -> None:
        self._program = program
        self._around = around
        self._observer = observer
        self._by_tile = by_tile
        self._own = address.Block(WALK_BYTES)
        empty = address.function(current().address("jump"), STEP_SIGNATURE)
        call: Callable[[int, int, int], int] = empty if by_tile else self._walk
        times = []
        for _ in range(_EMPTY_CALLS):
            began = monotonic_ns()
            call(0, 0, 0)
            times.append(monotonic_ns() - began)
        self._overhead_ns = min(times)

    def __call__(self, block: int, tile: int) -> int:
        del tile  # a walk has one tile
        steps, step_count, _, deadline, *_ = address.words(block, "int64_t", WALK.words)
        table = address.words(steps, "int64_t", STEP_WORDS * step_count)
        rows = [table[at : at + STEP_WORDS] for at in range(0, len(table), STEP_WORDS)]
        number = 0
        while number < step_count:
            end = number + 1
            while end < step_count and rows[end - 1][4] != END:
                end += 1
            region = rows[number:end]
            if self._by_tile or region[0][3]:
                code, stopped, durations = _run_tiles(region, deadline)
            else:
                began = monotonic_ns()
                code = self._walk(steps + STEP_BYTES * number, len(region), deadline)
                durations = [monotonic_ns() - began]
                stopped = address.words(self._own.address + _STOPPED, "int64_t", 1)[0]
            if code > 0:
                address.view(block + _STOPPED, 8)[:] = (number + stopped).to_bytes(8, "little")
                return code
            if not region[0][3]:
                self._report(number, region, durations)
            number = number + region[0][3] if code < 0 else end
        return 0

    def _walk(self, steps: int, step_count: int, deadline: int) -> int:
        address.view(self._own.address, WALK_BYTES)[:] = WALK.pack(
            steps, step_count, 0, deadline, *ALONE
        )
        return int(self._program.walk(self._own.address, 0))

    def _report(self, number: int, region: Sequence[Row], durations: Sequence[int]) -> None:
        origins = self._program.origins[number : number + len(region)]
        steps = [
            (step.kernel, ": ".join(map(str, (*self._around, where)))) for where, step in origins
        ]
        tiles = sum(group[0][2] for group in _chains(region))
        known = tuple(max(1, duration - self._overhead_ns) for duration in durations)
        self._observer(TimedRegion((id(self._program), number), tuple(steps), tiles, known))


def _chains(region: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The steps of a region whose tiles follow each other, group by group."""
    begin = 0
    for at, row in enumerate(region):
        if row[4] != CHAIN or at + 1 == len(region):
            yield region[begin : at + 1]
            begin = at + 1


def _run_tiles(region: Sequence[Row], deadline: int) -> tuple[int, int, list[int]]:
    """The result code of the tile that stopped or branches, or 0, its step in the region, and the
    time of each tile.
    """
    durations: list[int] = []
    first = 0
    for chain in _chains(region):
        calls: list[tuple[Any, int]] = [
            (address.function(kernel, STEP_SIGNATURE), block) for kernel, block, *_ in chain
        ]
        for tile in range(chain[0][2]):
            began = monotonic_ns()
            for at, (kernel, block) in enumerate(calls):
                code = int(kernel(block, tile, deadline))
                if code:
                    return code, first + at, durations
            durations.append(monotonic_ns() - began)
        first += len(chain)
    return 0, 0, durations
