"""NNAPI_SHIM_CHECK: reports what works here, and fails or costs on a phone."""

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import wraps

from nnapi_shim import log, process
from nnapi_shim.abi import cdata, tables
from nnapi_shim.abi.instrumentation import watch_all
from nnapi_shim.drivers.versioned.compliance import compliance
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.levels import API_LEVELS, FUNCTION_LEVELS
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.phones.check_rules import LEVEL, Checks, parsed
from nnapi_shim.recording import at_exit
from nnapi_shim.recording.vocabulary import PARAMETERS
from nnapi_shim.runtime.compilation import PREFERRED_ALIGNMENT
from nnapi_shim.settings import CHECK

_PREFIX = "ANeuralNetworks"
_MOST = 3
"""How often a program may do what it could do once."""


def begin() -> None:
    """Wrap the exported functions; reports checks that do not exist."""
    try:
        checks = parsed(CHECK.get())
    except NnapiError as error:
        log.error(f"{CHECK.name}: {error.message}")
        return
    checker = _Checker(checks)
    watch_all(checker.watched)
    at_exit.at_exit(checker.finish)


class _Made(NamedTuple):
    """An object of the program: its kind, the call that made it, the object that it belongs to."""

    kind: str
    function: str
    call: int
    owner: int


class _Checker:
    """The objects of the program, and what was reported. Thread-safe."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._made: dict[int, _Made] = {}
        self._compiled: Counter[int] = Counter()
        """Model -> its compilations."""
        self._used_once: Counter[int] = Counter()
        """Compilation -> executions that are not reusable, and were freed."""
        self._reusable: set[int] = set()
        self._known: set[object] = set()
        self._calls = 0
        self._lock = process.lock()
        self._process = os.getpid()
        self._after: dict[str, Callable[..., None]] = {
            "Model_finish": self._finished,
            "Compilation_create": self._compiles,
            "Compilation_createForDevices": self._compiles,
            "Execution_setReusable": self._set_reusable,
            "Execution_create": self._executes,
            "Execution_setInput": self._argument("input"),
            "Execution_setOutput": self._argument("output"),
        }
        """Function -> what is done after a call that succeeds."""
        self._highest_api = API_LEVELS.get(checks.min_level, max(API_LEVELS.values()))

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function with checks."""
        short = name.removeprefix(_PREFIX)
        makes = [
            (at, parameter.of)
            for at, parameter in enumerate(PARAMETERS.get(name, ()))
            if parameter.kind == "made" and parameter.of != "device"
        ]
        after = self._after.get(short)
        is_free = name.endswith("_free")
        level = FUNCTION_LEVELS.get(name, 0)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            with self._lock:
                self._calls += 1
                number = self._calls
            if level > self._highest_api:
                self._report(LEVEL, name, f"{name} is of API level {level}")
            result = function(*arguments)
            for at, kind in makes:
                handle = cdata.handle_at(arguments[at])
                owner = arguments[0] if at else 0
                self._made[handle] = _Made(kind, name, number, owner)
            if is_free:
                self._freed(arguments[0])
            if after is not None:
                after(*arguments)
            return result

        return call

    def _name(self, handle: int) -> str:
        """An object in a message, by the call that made it."""
        made = self._made.get(handle)
        return f"the {made.kind} of call {made.call} ({made.function})" if made else "an object"

    def _freed(self, handle: int) -> None:
        made = self._made.pop(handle, None)
        if made is not None and made.kind == "execution":
            if handle not in self._reusable:
                self._used_once[made.owner] += 1
            self._reusable.discard(handle)

    def _set_reusable(self, execution: int, reusable: bool) -> None:
        if reusable:
            self._reusable.add(execution)
        else:
            self._reusable.discard(execution)

    def _finished(self, model: int) -> None:
        finished = tables.models[model].hal
        if self._checks.min_level == 8 or finished is None:
            return
        for item in compliance(finished).operations:
            for reason in item.reasons:
                if reason.level > self._checks.min_level:
                    text = f"{item.name} (operation {item.number}): {reason.text} is of feature "
                    self._report(LEVEL, (item.name, reason), f"{text}level {reason.level}")

    def _compiles(self, model: int, *_: Any) -> None:
        self._compiled[model] += 1
        if self._compiled[model] == _MOST:
            text = f"{self._name(model)} is compiled {_MOST} times; keep its compilation"
            self._report("compile-again", model, text)

    def _executes(self, compilation: int, _: int) -> None:
        if self._used_once[compilation] == _MOST:
            text = f"{self._name(compilation)} had {_MOST} executions, each used once; from feature"
            more = " level 5 on, one with ANeuralNetworksExecution_setReusable does for all"
            self._report("reuse", compilation, text + more)

    def _argument(self, role: str) -> Callable[..., None]:
        def check(execution: int, index: int, _: int, buffer: int, length: int) -> None:
            if buffer % PREFERRED_ALIGNMENT:
                made = self._made.get(execution)
                about = (made.owner if made else 0, role, index)
                text = f"{role} {index} is at {buffer % PREFERRED_ALIGNMENT} bytes after an address"
                more = f" that {PREFERRED_ALIGNMENT} divides; aligned buffers need no copy"
                self._report("alignment", about, text + more)

        return check

    def _report(self, check: str, about: object, text: str) -> None:
        """Report a finding, once for what it is about."""
        if check != LEVEL and check not in self._checks.ids:
            return
        with self._lock:
            if (check, about) in self._known or os.getpid() != self._process:
                return
            self._known.add((check, about))
        log.warning(f"check {check}: {text}")
        if self._checks.report:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            fd = os.open(self._checks.report, flags, 0o600)
            try:
                os.write(fd, f"{json.dumps({'check': check, 'text': text})}\n".encode())
            finally:
                os.close(fd)

    def finish(self) -> None:
        """At the end of the process."""
        for handle in list(self._made):
            self._report("leaks", handle, f"{self._name(handle)} is not freed")
