"""Devices of other people are made on a thread of their own, within a time limit.

Their modules are imported then, and may do what they like: wait for another thread that calls the
library, and with it for the list of devices that they are to be part of; or raise
KeyboardInterrupt. Python runs the handler of SIGINT on the main thread alone, so that an interrupt
that is raised here is the module's, and one of the user ends the wait.
"""

from _thread import allocate_lock, start_new_thread
from contextlib import AbstractContextManager

from nnapi_shim.drivers.adoption import Found
from nnapi_shim.drivers.versioned.answer import guarded, time_limit_ns
from nnapi_shim.drivers.versioned.watchdog import Watchdog
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.settings import DRIVER_LOAD_TIMEOUT

_LONGEST_WAIT_S = 1e8
"""More than locks can wait is not asked of them."""


def loaded(found: Found, around: AbstractContextManager[None]) -> IDevice:
    """The device. around: what is entered on the thread that makes it, and left there.

    Raises NnapiError, whatever the driver raises, and OP_FAILED where it takes longer than
    NNAPI_SHIM_DRIVER_LOAD_TIMEOUT: its thread goes on, and what it makes is dropped.
    """
    limit = time_limit_ns(DRIVER_LOAD_TIMEOUT)
    seconds = -1.0 if limit is None else min(limit / 1e9, _LONGEST_WAIT_S)
    what = f"loading {found.module} of {found.name}"
    made: list[IDevice | NnapiError] = []
    ended = allocate_lock()
    ended.acquire()

    def load() -> None:
        try:
            with around:
                made.append(guarded(found.name, found.load))
        except NnapiError as error:
            made.append(error.again())
        finally:
            ended.release()

    watchdog = None if limit is None else Watchdog(what, seconds)
    try:
        start_new_thread(load, ())
        if not ended.acquire(timeout=seconds):
            told = f"{what} did not end within {seconds:g} s (see {DRIVER_LOAD_TIMEOUT.name})"
            raise op_failed(told, "driver.load.timeout")
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
