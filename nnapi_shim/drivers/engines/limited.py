"""Work of engines within a time limit."""

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from time import monotonic_ns
from typing import TypeVar

from nnapi_shim import log
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.errors import NnapiError, last_line, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.settings import Setting

T = TypeVar("T")

_LONGEST_WAIT_S = 1e8


def require_time(deadline_ns: int | None, what: str) -> None:
    """Raise MISSED_DEADLINE_PERSISTENT if a deadline has passed before the start."""
    if deadline_ns is not None and monotonic_ns() >= deadline_ns:
        raise NnapiError(
            ResultCode.MISSED_DEADLINE_PERSISTENT,
            f"the deadline passed before {what}",
            "engine.deadline.before-start",
        )


def end_of(deadline_ns: int | None, limit_ns: int | None) -> int | None:
    """When work ends that begins now: at the deadline, or when it has taken `limit_ns`."""
    ends = [end for end in (deadline_ns, limit_ns and monotonic_ns() + limit_ns) if end]
    return min(ends, default=None)


def seconds_until(end_ns: int) -> float:
    """The seconds that are left, as locks and sockets take them."""
    return min(max((end_ns - monotonic_ns()) / 1e9, 0.0), _LONGEST_WAIT_S)


def limited(
    what: str,
    work: Callable[[], T],
    deadline_ns: int | None,
    stop: Callable[[], None] = lambda: None,
    setting: Setting | None = None,
) -> T:
    """The result of `work`. With a limit it runs on a thread of its own, and is left alone when the
    limit has passed.

    deadline_ns: of the program. stop: makes the work end sooner. setting: another limit, of which
    the program knows nothing. Raises MISSED_DEADLINE_TRANSIENT after the deadline, OP_FAILED after
    the limit of the setting, and what `work` raises.
    """
    limit_ns = None if setting is None else time_limit_ns(setting)
    end_ns = end_of(deadline_ns, limit_ns)
    if end_ns is None:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    ended = allocate_lock()
    ended.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # the waiting thread raises it
            errors.append(error)
        finally:
            ended.release()

    try:
        start_new_thread(run, ())
    except RuntimeError as error:
        raise op_failed(
            f"there is no thread in which {what}: {error}", "engine.no-thread"
        ) from None
    if not ended.acquire(timeout=seconds_until(end_ns)):
        stop()
        if end_ns == deadline_ns or limit_ns is None or setting is None:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_TRANSIENT,
                f"the deadline passed while {what}",
                "engine.deadline.passed",
            )
        raise op_failed(
            f"{what}, which did not end within {limit_ns / 1e9:g} s (see {setting.name})",
            "engine.timeout",
        )
    if errors:
        raise errors.pop()  # the list is of this frame, and so in the traceback
    return results[0]


def attempted(work: Callable[[], T], failed: str = "") -> T | None:
    """The result of `work` that is not needed; None if it fails: engines raise what they like.
    failed: in words, for a debug line.
    """
    try:
        return work()
    except Exception as error:
        if failed:
            log.write("debug", f"{failed}: {last_line(error)}")
        log.trace(error)
        return None
