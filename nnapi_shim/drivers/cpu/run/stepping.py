"""Runs a program step by step, and reports each step to the observers."""

from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import STEP_SIGNATURE
from nnapi_shim.drivers.cpu.program.program import STEP_BYTES, STEP_WORDS, WALK, WALK_BYTES, Program
from nnapi_shim.drivers.cpu.run import walk as walks
from nnapi_shim.drivers.observing import report
from nnapi_shim.errors import Where
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any, Callable, Sequence

NAME = "nnapi-cpu"
_EMPTY_WALKS = 32
_STOPPED = 16
"""Offset of the field `stopped` in a WALK record."""


def begin() -> None:
    """Run step by step in executions that are bound from now on."""
    walks.walk_of[0] = stepwise


def end() -> None:
    """Restore the compiled walk."""
    walks.walk_of[0] = walks.compiled_walk


def stepwise(program: Program, around: Sequence[Where]) -> Callable[[int, int], int]:
    """A replacement of `program.walk` that reports each step.

    around: the positions of the enclosing graphs.
    """
    overhead_ns = _overhead_ns(program)

    def walk(block: int, tile: int) -> int:
        del tile  # a walk has one tile
        steps, count, _, deadline, *crew = address.words(block, "int64_t", WALK.words)
        table = address.words(steps, "int64_t", STEP_WORDS * count)
        own = address.Block(WALK_BYTES)
        number = 0
        while number < count:
            at = STEP_WORDS * number
            kernel, arguments, tiles, branch_offset, _ = table[at : at + STEP_WORDS]
            record = WALK.pack(steps + STEP_BYTES * number, 1, 0, deadline, *crew)
            address.view(own.address, WALK_BYTES)[:] = record
            start_ns = monotonic_ns()
            if branch_offset:
                code = _called(kernel, arguments, tiles, deadline)
            else:
                code = program.walk(own.address, 0)
            end_ns = monotonic_ns()
            where, step = program.origins[number]
            report(NAME, step.kernel, around, where, start_ns, end_ns, overhead_ns)
            if code > 0:
                address.view(block + _STOPPED, 8)[:] = number.to_bytes(8, "little")
                return code
            number += branch_offset if code < 0 else 1
        return 0

    return walk


def _overhead_ns(program: Program) -> int:
    """The time that is measured for a step that does nothing: a walk of no steps."""
    own = address.Block(WALK_BYTES)
    address.view(own.address, WALK_BYTES)[:] = WALK.pack(0, 0, 0, 0, *program.crew)
    times = []
    for _ in range(_EMPTY_WALKS):
        start_ns = monotonic_ns()
        program.walk(own.address, 0)
        times.append(monotonic_ns() - start_ns)
    return min(times)


def _called(kernel: int, arguments: int, tiles: int, deadline: int) -> int:
    """The result code of a branch step, which a compiled walk of one step does not return."""
    function: Any = address.function(kernel, STEP_SIGNATURE)
    code = 0
    for tile in range(tiles):
        if deadline and monotonic_ns() >= deadline:
            return int(ResultCode.MISSED_DEADLINE_TRANSIENT)
        code = int(function(arguments, tile, deadline))
        if code:
            break
    return code
