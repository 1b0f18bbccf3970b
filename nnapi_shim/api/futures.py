"""Runs on other threads, for futures and asyncio."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import Any

from nnapi_shim import process

_pools: dict[int, ThreadPoolExecutor] = {}
"""The threads of this process, by its generation: those of a parent are not in a child."""

_lock = process.lock()


class InTurn:
    """Threads for runs that must end in the order in which they were asked for: one at a time."""

    def __init__(self) -> None:
        self._pools: dict[int, ThreadPoolExecutor] = {}

    def submit(self, work: Callable[[], Any]) -> "Future[Any]":
        """Do the work behind all that was given before."""
        return _pool(self._pools, 1).submit(work)


def submit(work: Callable[[], Any]) -> "Future[Any]":
    """Do the work on a thread, of which there are as many as processors."""
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
