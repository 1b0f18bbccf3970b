"""Threads of a run, for tools that compare numbers of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nnapi_shim.drivers.cpu.program.threads import MAX_THREADS
from nnapi_shim.errors import bad_data
from nnapi_shim.settings import THREADS


def require_kernel_threads(numbers: Sequence[int]) -> None:
    """Raise BAD_DATA unless each is a number of threads that a run can have, 1 to 64."""
    if any(not 1 <= number <= MAX_THREADS for number in numbers):
        raise bad_data(
            f"kernel threads are {list(numbers)}; each number must be 1 to {MAX_THREADS}",
            "tool.bench.kernel-threads",
        )


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Compilations within it use this number of threads for a run."""
    before = THREADS.put(str(number))
    try:
        yield
    finally:
        THREADS.put(before)
