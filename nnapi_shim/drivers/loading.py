"""Loads third-party devices on a separate thread, within a time limit.

This imports their modules, which may run any code: deadlock with another thread that waits for the
list of devices, or raise KeyboardInterrupt. Python handles SIGINT on the main thread only, so a
KeyboardInterrupt on the loading thread is the module's, and the user's interrupt ends the wait.
"""

from _thread import allocate_lock, start_new_thread
from contextlib import AbstractContextManager

from nnapi_shim.drivers.adoption import Found
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.drivers.versioned.answer import LONGEST_WAIT_S, guarded
from nnapi_shim.drivers.versioned.watchdog import Watchdog
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.settings import DRIVER_LOAD_TIMEOUT


def loaded(entry: Found, around: AbstractContextManager[None]) -> IDevice:
    """Load a device. around: a context for the loading thread.

    Exceptions of the driver become NnapiError. Raises OP_FAILED after
    NNAPI_SHIM_DRIVER_LOAD_TIMEOUT; the thread continues, and its result is dropped.
    """
    limit = time_limit_ns(DRIVER_LOAD_TIMEOUT)
    seconds = -1.0 if limit is None else min(limit / 1e9, LONGEST_WAIT_S)
    what = f"loading {entry.module} of {entry.name}"
    made: list[IDevice | NnapiError] = []
    ended = allocate_lock()
    ended.acquire()

    def load() -> None:
        try:
            with around:
                made.append(guarded(entry.name, entry.load))
        except NnapiError as error:
            made.append(error.again())
        finally:
            ended.release()

    watchdog = None if limit is None else Watchdog(what, seconds)
    try:
        start_new_thread(load, ())
        if not ended.acquire(timeout=seconds):
            message = f"{what} did not end within {seconds:g} s (see {DRIVER_LOAD_TIMEOUT.name})"
            raise op_failed(message, "driver.load.timeout")
    except RuntimeError as error:
        raise op_failed(
            f"there is no thread for {what}: {error}", "driver.load.no-thread"
        ) from None
    finally:
        if watchdog is not None:
            watchdog.stop()
    (outcome,) = made
    if isinstance(outcome, NnapiError):
        raise outcome
    return outcome
