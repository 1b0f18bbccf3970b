"""Thread pools for futures and asyncio."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import Any

from nnapi_shim import process

_pools: dict[int, ThreadPoolExecutor] = {}
"""Generation of the process -> its thread pool: a forked child has none of the parent's threads."""

_lock = process.lock()


class InTurn:
    """A queue that runs its work one at a time, in the order of submission."""

    def __init__(self) -> None:
        self._pools: dict[int, ThreadPoolExecutor] = {}

    def submit(self, work: Callable[[], Any]) -> "Future[Any]":
        """Queue the work behind all submitted before."""
        return _pool(self._pools, 1).submit(work)


def submit(work: Callable[[], Any]) -> "Future[Any]":
    """Run the work on the pool, which has one thread per processor."""
    return _pool(_pools, cpu_count() or 1).submit(work)


def _pool(pools: dict[int, ThreadPoolExecutor], threads: int) -> ThreadPoolExecutor:
    generation = process.generation[0]
    with _lock:
        pool = pools.get(generation)
        if pool is None:
            pools.clear()
            pool = ThreadPoolExecutor(threads, thread_name_prefix="nnapi_shim")
            pools[generation] = pool
        return pool
