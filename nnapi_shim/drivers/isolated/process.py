"""The process of a device, as the program sees it: started, called, and given up."""

import atexit
import json
import os
import pickle
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from time import monotonic, monotonic_ns, sleep
from weakref import WeakSet, ref

from nnapi_shim import log, process
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.drivers.isolated.description import Description, error_from
from nnapi_shim.drivers.isolated.lane import Lane
from nnapi_shim.drivers.isolated.memory import Blocks, Numbers
from nnapi_shim.drivers.isolated.start import started
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any
from nnapi_shim.pages import SharedPages
from nnapi_shim.settings import DRIVER_LOAD_TIMEOUT, DRIVER_TIMEOUT, Setting

GRACE_NS = 10**9
"""What a call may take beyond its limit or deadline, which the device itself observes."""

Freed = tuple[str, int]
"""What the process needs no more: its kind, "model", "execution" or "memory", and its number."""

_all: "WeakSet[Process]" = WeakSet()


def _in_child() -> None:
    """A forked child has no part in the processes of its parent, whose pipes must end with it."""
    for each in [*_all]:
        each.leave()
    for channel in [*_open]:  # those of calls under way
        _close(channel)


os.register_at_fork(after_in_child=_in_child)


def _at_exit() -> None:
    """End all while the modules are there that this takes."""
    for each in [*_all]:
        each.end("was ended with the program")


atexit.register(_at_exit)


def _forget(of: "ref[Process]", number: int) -> None:
    """Tell a process that memory is gone. It is no part of a cycle: its last user ends it."""
    told = of()
    if told is not None:
        told.free_now(("memory", number))


_open: set[socket.socket | Lane] = set()
"""The sockets and lanes of all processes: one that goes with a cycle would not be closed."""


def _close(channel: socket.socket | Lane) -> None:
    _open.discard(channel)
    channel.close()


class Process:
    """A process with devices. Thread-safe: each call under way has a lane of its own."""

    def __init__(self, name: str, source: Sequence[str]) -> None:
        """Start it and load its devices, which then are `devices`. name: for messages. source: as
        in sources.py. Raises OP_FAILED, and DEAD_OBJECT if it ends meanwhile.
        """
        self.name = name
        self.blocks = Blocks()
        self.numbers = Numbers(partial(_forget, ref(self)))
        self.generation = process.generation[0]
        self._lanes: list[Lane] = []
        self._freed: deque[Freed] = deque()
        self._why = ""
        """Why it was given up; "" while it is used."""
        self.id = 0
        self._control, self._lifeline = started(name)
        _all.add(self)
        _open.add(self._control)
        try:
            what = f"the devices of {name} were loaded"
            answer = self.call(what, "load", tuple(source), limit_ns=limit_of(DRIVER_LOAD_TIMEOUT))
            self.devices = [Description.read(each) for each in answer["devices"]]
            self.id = max(int(answer["id"]), 0)
            for line in answer["said"]:
                log.repeat_once(str(line))
        except (KeyError, TypeError, ValueError):
            raise self.nonsense() from None
        except BaseException:
            self.end("was not needed")
            raise

    # Calls

    def call(
        self,
        doing: str,
        method: str,
        *arguments: Any,
        pages: Iterable[SharedPages] = (),
        files: Sequence[int] = (),
        deadline_ns: int | None = None,
        limit_ns: int | None = None,
    ) -> Any:
        """The answer to a call, as JSON has it; raises the error of the device.

        doing: what is under way, for messages. pages: memory that the arguments refer to. files:
        descriptors for the process. limit_ns: of its time, 0 for none; None: that of the setting.
        Raises DEAD_OBJECT if the process ends or does not answer.
        """
        numbered = [(self.numbers.number(each), each) for each in pages]
        new = [(number, each) for number, each in numbered if number not in self.numbers.known]
        described = [(number, each.offset, each.length, each.protect) for number, each in new]
        call = (method, arguments, described, self._take_freed())
        descriptors = [each.fd for _, each in new]
        answer = self.exchange(
            doing,
            messages.CALL + pickle.dumps(call, pickle.HIGHEST_PROTOCOL),
            [*descriptors, *files],
            deadline_ns,
            limit_of(DRIVER_TIMEOUT) if limit_ns is None else limit_ns,
        )
        result = self.result_of(answer)
        self.numbers.known.update(number for number, _ in new)
        return result

    def exchange(
        self,
        doing: str,
        content: bytes,
        descriptors: Sequence[int],
        deadline_ns: int | None,
        limit_ns: int,
    ) -> bytes:
        """Send a message and wait for its answer; raises DEAD_OBJECT if none comes.

        This is most of the time of an execution, so it does no more than it has to.
        """
        if self._why or process.generation[0] != self.generation:
            raise self._dead(doing)
        wait_ns = limit_ns if deadline_ns is None else _time_to_wait(deadline_ns, limit_ns)
        try:
            return self._answer(content, descriptors, wait_ns)
        except BlockingIOError:
            self.end(f"did not answer within {wait_ns / 1e9:g} s while {doing}")
        except messages.NonsenseError:
            self.end(f"gave an answer that is none while {doing}")
        except OSError:
            self.end(f"ended while {doing}")
        raise self._dead(doing)

    def _answer(self, content: bytes, descriptors: Sequence[int], wait_ns: int) -> bytes:
        """Send a message on a lane, and wait for its answer; raises as Lane.answer."""
        lane = self._lanes.pop() if self._lanes else self._new_lane()
        try:
            if content[:1] == messages.COMPUTE:
                lane.ask_again(content)
            else:
                lane.ask(content, descriptors)
            answer = lane.answer(wait_ns)
        except BaseException:
            # It may still answer on this lane: nobody may take that for the answer to a later call.
            _close(lane)
            raise
        if self._why:
            _close(lane)
        else:
            self._lanes.append(lane)
        return answer

    def result_of(self, answer: bytes) -> Any:
        """The value of an answer; raises the error that it has, and DEAD_OBJECT for nonsense."""
        try:
            if answer[:1] != messages.JSON:
                raise ValueError
            value = json.loads(answer[1:])
            error = value.get("error")
            if error is None:
                return value["result"]
            failed = error_from(error)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self.nonsense() from None
        try:
            raise failed
        finally:
            del failed  # a traceback that refers to itself keeps all arguments alive

    def nonsense(self) -> NnapiError:
        """The error of an answer that is none; the process is given up."""
        self.end("gave an answer that is none")
        return self._dead("")

    def _new_lane(self) -> Lane:
        """One more lane. Raises OSError."""
        lane = Lane()
        _open.add(lane)
        try:
            lane.give(self._control)
        except BaseException:
            _close(lane)
            raise
        return lane

    # What it needs no more

    def free_later(self, what: Freed) -> None:
        """Tell the process with the next call."""
        if not self._why:
            self._freed.append(what)

    def free_now(self, what: Freed) -> None:
        """Tell the process at once, if it listens; may be called wherever an object goes."""
        if self._why or process.generation[0] != self.generation:
            return
        freed = [*self._take_freed(), what]
        try:
            content = json.dumps(freed).encode()
            messages.send_packet(self._control, content, (), socket.MSG_DONTWAIT)
        except OSError:  # it does not listen, or is gone; a call will tell
            self._freed.extend(freed)

    def _take_freed(self) -> list[Freed]:
        taken: list[Freed] = []
        while self._freed and len(taken) < _MOST_FREED:
            try:
                taken.append(self._freed.popleft())
            except IndexError:  # another thread has taken it
                break
        return taken

    # Its end

    @property
    def is_alive(self) -> bool:
        """Whether calls can reach it; a process that hangs is alive."""
        if self._why or process.generation[0] != self.generation:
            return False
        try:
            return bool(self._control.recv(1, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True  # it sends nothing here
        except OSError:
            return False

    def end(self, why: str) -> None:
        """Kill it, if it still runs, and make all later calls fail. why: for messages."""
        if self._why:
            return
        self._why = why
        self.leave()
        if self.id:
            _reap(self.id)

    def leave(self) -> None:
        """Close what connects this process with it; without its lifeline it is killed, if no other
        process has that open.
        """
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)
        _close(self._control)
        while self._lanes:
            _close(self._lanes.pop())

    def __del__(self) -> None:
        if getattr(self, "_lifeline", -1) >= 0:
            self.end("was not needed")

    def _dead(self, doing: str) -> NnapiError:
        """The error of a call that cannot reach it."""
        if process.generation[0] != self.generation:
            return NnapiError(
                ResultCode.DEAD_OBJECT,
                f"the process of {self.name} belongs to the parent of this one; a child has to "
                "compile the model again",
                "isolated.forked",
            )
        known = f" (process {self.id})" if self.id else ""
        return NnapiError(
            ResultCode.DEAD_OBJECT,
            f"the process of {self.name}{known} {self._why or f'ended while {doing}'}; the next "
            "compilation starts a new one",
            "isolated.ended",
        )


_MOST_FREED = 1000
"""Of one message."""


_REAP_S, _REAP_STEP_S = 1.0, 0.001
"""How long a process that was killed is waited for, and how often it is looked at."""


def _reap(id: int) -> None:
    """Wait for a process that was killed, where it is a child of this one: the first process of a
    container inherits all those that are nobody's.
    """
    end = monotonic() + _REAP_S
    try:
        while os.waitpid(id, os.WNOHANG)[0] == 0 and monotonic() < end:
            sleep(_REAP_STEP_S)
    except OSError:
        pass  # it is none


def limit_of(setting: Setting) -> int:
    """How long an answer may take by a setting, in ns; 0 for any time."""
    limit_ns = time_limit_ns(setting)
    return 0 if limit_ns is None else limit_ns + GRACE_NS


def _time_to_wait(deadline_ns: int, limit_ns: int) -> int:
    """How long an answer may take with a deadline, and a limit or 0."""
    until_ns = max(deadline_ns - monotonic_ns(), 0) + GRACE_NS
    return min(until_ns, limit_ns or until_ns)
