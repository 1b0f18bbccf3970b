"""NNAPI_SHIM_CHECK: reports what works here, and fails or costs on a phone."""

from _thread import get_ident
from collections import Counter
from functools import wraps

from nnapi_shim import log, process
from nnapi_shim.abi import cdata, tables
from nnapi_shim.abi.check_report import CheckReport
from nnapi_shim.abi.check_undefined import IDENTIFY, Lifetimes, UndefinedCalls
from nnapi_shim.abi.instrumentation import watch_all
from nnapi_shim.drivers import is_built_in
from nnapi_shim.drivers.versioned.compliance import compliance
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.levels import API_LEVELS, FUNCTION_LEVELS
from nnapi_shim.hints import Any, Callable, NamedTuple
from nnapi_shim.phones.check_rules import LEVEL, Checks, parsed
from nnapi_shim.phones.profile import CPU
from nnapi_shim.recording import at_exit
from nnapi_shim.recording.vocabulary import PARAMETERS
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.compilation import PREFERRED_ALIGNMENT
from nnapi_shim.runtime.partitioning import supported_by
from nnapi_shim.settings import CHECK

_PREFIX = "ANeuralNetworks"
_MOST = 3
"""How often a program may do what it could do once, and in how many parts a model may run."""
_PADDING = PREFERRED_ALIGNMENT
_OWNED = ("compilation", "execution", "burst")
"""Objects that the first argument of the call that makes them must outlive."""
_BUILDS = ("Model_", "Compilation_set", "Compilation_finish", "Execution_set")
"""Functions that change an object, which only one thread at a time may do."""


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
        self._equal: dict[int, list[int]] = {}
        """Contents of a model -> the models with these contents that were compiled."""
        self._measured: dict[int, str] = {}
        """Execution that measures durations, which nobody has read -> its name."""
        self._threads: dict[int, list[int]] = {}
        """Object -> threads that changed it, in turn."""
        self._report = CheckReport(checks)
        self._calls = 0
        self._lock = process.lock()
        self._undefined = UndefinedCalls(self._report, self._name)
        self._lifetimes = Lifetimes(self._report, self._name, self._made.__contains__)
        own: dict[str, Callable[..., None]] = {
            "Model_finish": self._finished,
            "Compilation_create": self._compiles,
            "Compilation_createForDevices": self._compiles,
            "Compilation_finish": self._partitioned,
            "Execution_setReusable": self._set_reusable,
            "Execution_setMeasureTiming": self._measures,
            "Execution_create": self._executes,
            "Execution_setInput": self._argument("input"),
            "Execution_setOutput": self._argument("output"),
            "Execution_setInputFromMemory": self._region("input"),
            "Execution_setOutputFromMemory": self._region("output"),
        }
        tables_of_all = (own, self._undefined.after, self._lifetimes.after)
        self._after = {
            name: [table[name] for table in tables_of_all if name in table]
            for name in {name for table in tables_of_all for name in table}
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
        after = self._after.get(short, ())
        identifies = short == IDENTIFY
        is_free = name.endswith("_free")
        level = FUNCTION_LEVELS.get(name, 0)
        builds = short.startswith(_BUILDS) and not is_free and short != "Model_create"
        reads_duration = short == "Execution_getDuration"

        @wraps(function)
        def call(*arguments: Any) -> Any:
            with self._lock:
                self._calls += 1
                number = self._calls
            if level > self._highest_api:
                self._report.finding(LEVEL, name, f"{name} is of API level {level}")
            if builds:
                self._changes(arguments[0])
            if reads_duration:
                self._reads_duration(arguments[0])
            if arguments:
                self._lifetimes.used(arguments[0])
            if is_free:
                self._lifetimes.freed(arguments[0])
            try:
                result = function(*arguments)
            except NnapiError as error:
                if identifies:
                    self._undefined.not_identified(arguments[0], error.rule)
                raise
            for at, kind in makes:
                handle = cdata.handle_at(arguments[at])
                owner = arguments[0] if at else 0
                self._made[handle] = _Made(kind, name, number, owner)
                if kind in _OWNED:
                    self._lifetimes.made(handle, owner)
            if is_free:
                self._freed(arguments[0])
            for done in after:
                done(*arguments)
            return result

        return call

    def _name(self, handle: int) -> str:
        """An object in a message, by the call that made it."""
        made = self._made.get(handle)
        return f"the {made.kind} of call {made.call} ({made.function})" if made else "an object"

    def _freed(self, handle: int) -> None:
        self._unread(handle)
        self._threads.pop(handle, None)
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
                    self._report.finding(LEVEL, (item.name, reason), f"{text}level {reason.level}")

    def _compiles(self, model: int, *_: Any) -> None:
        self._compiled[model] += 1
        if self._compiled[model] == _MOST:
            text = f"{self._name(model)} is compiled {_MOST} times; keep its compilation"
            self._report.finding("compile-again", model, text)
        finished = tables.models[model].hal
        if finished is None or not self._report.asks_for("compile-again"):
            return
        main = finished.main
        contents = hash((main.operands, main.operations, finished.operand_values))
        equal = self._equal.setdefault(contents, [])
        if model not in equal:
            equal.append(model)
            if len(equal) == _MOST:
                text = (
                    f"{self._name(model)} equals {_MOST - 1} others that were compiled; build and "
                )
                more = "compile a model once, before the loop"
                self._report.finding("compile-again", equal[0], text + more)

    def _partitioned(self, compilation: int) -> None:
        """Look at the parts of a compilation that may run on any device."""
        item = tables.compilations[compilation]
        if not self._report.asks_for("partition"):
            return
        others = [it for it in device_manager.devices() if not is_built_in(it.name)]
        others = [it for it in others if it.name != CPU]
        names = [device.name for device in item.devices]
        is_split = len(names) >= _MOST
        is_missed = bool(others) and not item.explicit and set(names) == {CPU}
        if not (is_split or is_missed):
            return
        main = item.hal.main
        parts = f"in {len(names)} parts, on {', '.join(names[:8])}" if is_split else f"on {CPU}"
        text = f"{self._name(compilation)} runs {parts}"
        for device in others:
            answers = supported_by(device, item.hal)
            refused = [
                f"{getattr(it.type, 'name', it.type)} (operation {it.number})"
                for it, supported in zip(main.operations, answers, strict=True)
                if not supported
            ]
            if refused:
                text += f"; {device.name} does not take {', '.join(refused[:5])}"
        self._report.finding("partition", compilation, text)

    def _measures(self, execution: int, measure: bool) -> None:
        if measure:
            self._measured[execution] = self._name(execution)
        else:
            self._measured.pop(execution, None)

    def _reads_duration(self, execution: int) -> None:
        item = tables.executions.get(execution)
        if item is not None and not item.measures:
            text = f"durations of {self._name(execution)} are read, and not measured; call "
            more = "ANeuralNetworksExecution_setMeasureTiming before it runs"
            self._report.finding("timing", execution, text + more)
        self._measured.pop(execution, None)

    def _unread(self, execution: int) -> None:
        name = self._measured.pop(execution, None)
        if name is not None:
            made = self._made.get(execution)
            text = f"{name} measures durations, which nobody reads; measuring costs time"
            self._report.finding("timing", made.owner if made else execution, text)

    def _changes(self, handle: int) -> None:
        """Note the thread that changes an object; a third change of hands is a finding."""
        with self._lock:
            threads = self._threads.setdefault(handle, [])
            if not threads or threads[-1] != get_ident():
                threads.append(get_ident())
            is_finding = len(threads) == _MOST
        if is_finding:
            text = f"two threads change {self._name(handle)} in turn; their calls must not overlap"
            self._report.finding("threads", handle, text)

    def _executes(self, compilation: int, _: int) -> None:
        if self._used_once[compilation] == _MOST:
            text = f"{self._name(compilation)} had {_MOST} executions, each used once; from feature"
            more = " level 5 on, one with ANeuralNetworksExecution_setReusable does for all"
            self._report.finding("reuse", compilation, text + more)

    def _argument(self, role: str) -> Callable[..., None]:
        def check(execution: int, index: int, _: int, buffer: int, length: int) -> None:
            if buffer % PREFERRED_ALIGNMENT:
                made = self._made.get(execution)
                about = (made.owner if made else 0, role, index)
                text = f"{role} {index} is at {buffer % PREFERRED_ALIGNMENT} bytes after an address"
                more = f" that {PREFERRED_ALIGNMENT} divides; aligned buffers need no copy"
                self._report.finding("alignment", about, text + more)
            self._padding(execution, role, index, length)

        return check

    def _region(self, role: str) -> Callable[..., None]:
        def check(
            execution: int, index: int, _: int, memory: int, offset: int, length: int
        ) -> None:
            made = self._made.get(execution)
            about = (made.owner if made else 0, role, index)
            if offset % PREFERRED_ALIGNMENT:
                text = f"{role} {index} is at offset {offset} of a memory; preferred are multiples "
                more = f"of {PREFERRED_ALIGNMENT}"
                self._report.finding("alignment", about, text + more)
            self._padding(execution, role, index, length)

        return check

    def _padding(self, execution: int, role: str, index: int, length: int) -> None:
        if length % _PADDING:
            made = self._made.get(execution)
            about = (made.owner if made else 0, role, index)
            text = (
                f"{role} {index} has {length} bytes; preferred are multiples of {_PADDING}, with "
            )
            more = "ANeuralNetworksExecution_enableInputAndOutputPadding"
            self._report.finding("padding", about, text + more)

    def finish(self) -> None:
        """At the end of the process."""
        for handle in list(self._made):
            self._unread(handle)
            self._report.finding("leaks", handle, f"{self._name(handle)} is not freed")
        self._report.finish()
