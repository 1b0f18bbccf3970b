"""Computing in child processes: an engine that crashes or hangs costs one item, and is told of."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

MOST_S = 60
"""For an item: an engine that keeps Python's lock cannot be stopped otherwise."""

TELLS_AFTER = 500
"""Items after which a line on stderr says how far it is."""

Item = TypeVar("Item")


def end_of(status: int) -> str:
    """How a child ended, in words."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return f"it did not end within {MOST_S} s"
    return f"status {status}"


def computed(
    items: Sequence[Item], compute: Callable[[Item], Any], died: Callable[[Item, int], Any]
) -> list[Any]:
    """What compute makes of each item, as JSON has it; died(item, status) for one with which a
    child ends, and another takes over.
    """
    results: list[Any] = []
    while len(results) < len(items):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            _compute(items[len(results) :], compute, write)
        os.close(write)
        with os.fdopen(read) as pipe:
            for line in pipe:
                results.append(json.loads(line))
                if len(results) % TELLS_AFTER == 0:
                    print(f"{len(results)} of {len(items)} computed", file=sys.stderr, flush=True)
        _, status = os.waitpid(child, 0)
        if status:
            results.append(died(items[len(results)], status))
    return results


def _compute(items: Sequence[Item], compute: Callable[[Item], Any], write: int) -> NoReturn:
    """In the child, which nothing leaves but its results."""
    try:
        with os.fdopen(write, "w") as pipe:
            for item in items:
                signal.alarm(MOST_S)
                print(json.dumps(compute(item)), file=pipe, flush=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
