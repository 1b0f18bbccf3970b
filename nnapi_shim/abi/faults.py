"""NNAPI_SHIM_FAULTS: faults of calls of the C functions, and what a program does after them."""

from collections import Counter
from functools import wraps
from time import sleep

from nnapi_shim import log
from nnapi_shim.abi import tables
from nnapi_shim.abi.cdata import store_handle
from nnapi_shim.abi.instrumentation import watch_all
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Any, Callable
from nnapi_shim.phones.fault_injector import Fault, Injector, injector
from nnapi_shim.recording import at_exit
from nnapi_shim.recording.vocabulary import PARAMETERS, RUNS
from nnapi_shim.settings import FAULTS

_TABLES = (
    tables.models,
    tables.compilations,
    tables.executions,
    tables.bursts,
    tables.memories,
    tables.memory_descs,
    tables.events,
)


def _fail(name: str, arguments: tuple[Any, ...]) -> None:
    """Leave the object of a call as a failure does; a call in another state changes nothing."""
    try:
        if name == "ANeuralNetworksModel_finish":
            model = tables.models[arguments[0]]
            model.state = "invalid" if model.state == "building" else model.state
        elif name == "ANeuralNetworksCompilation_finish":
            compilation = tables.compilations[arguments[0]]
            compilation.state = "failed" if compilation.state == "open" else compilation.state
        elif name in RUNS:
            tables.executions[arguments[0]].fail_run()
    except NnapiError:
        return


def begin() -> None:
    """Wrap the exported functions; reports rules that are not valid, which inject nothing."""
    try:
        made = injector()
    except NnapiError as error:
        log.error(f"{FAULTS.name}: {error.message}")
        return
    watch = _Watch(made)
    watch_all(watch.watched)
    at_exit.at_exit(watch.finish)
    made.end_with(at_exit.at_exit)


def observe(observer: Callable[[Fault], None]) -> None:
    """Tell of each fault; rules that are not valid inject none."""
    try:
        injector().observers.append(observer)
    except NnapiError:
        return


class _Watch:
    """Injects faults into calls; counts the calls for the report."""

    def __init__(self, made: Injector) -> None:
        self._injector = made
        self._calls: Counter[str] = Counter()
        self._refusals: set[tuple[str, str]] = set()
        """Function and rule of the refusals in the report."""
        self._is_told = False
        """Whether the report says that a child of fork() calls, too."""

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function with faults."""
        made = [
            at for at, parameter in enumerate(PARAMETERS.get(name, ())) if parameter.kind == "made"
        ]

        @wraps(function)
        def call(*arguments: Any) -> Any:
            self._calls[name] += 1
            if not self._is_told and self._injector.is_forked():
                self._is_told = True
                self._injector.report({"forked": name})
            deeds = []
            for fault in self._injector.at_function(name):
                if fault.rule.deed:
                    deeds.append(fault.rule.deed)
                if fault.rule.delay_s:
                    sleep(fault.rule.delay_s)
                if fault.rule.code is not None:
                    for at in made:
                        if arguments[at]:
                            store_handle(arguments[at], 0)
                    _fail(name, arguments)
                    raise fault.error(name)
            try:
                result = function(*arguments)
            except NnapiError as error:
                self._refused(name, error)
                raise
            for deed in deeds:
                from nnapi_shim.abi.fault_events import spoil_event

                spoil_event(name, arguments, deed)
            return result

        return call

    def _refused(self, name: str, error: NnapiError) -> None:
        """Report a call that is refused for another reason than a fault, once for each reason."""
        if not error.rule.startswith("fault.") and (name, error.rule) not in self._refusals:
            self._refusals.add((name, error.rule))
            self._injector.report({"refused": name, "rule": error.rule, "message": error.message})

    def finish(self) -> None:
        """At the end of the process."""
        alive = {table.kind: len(table) for table in _TABLES if len(table)}
        self._injector.report({"calls": dict(self._calls), "alive": alive})
