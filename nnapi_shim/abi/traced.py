"""NNAPI_SHIM_TRACE: records calls of the program, and their internal work, as slices of a trace."""

from functools import wraps
from time import monotonic_ns

from nnapi_shim.abi import decoding
from nnapi_shim.abi.instrumentation import Watcher, code_of
from nnapi_shim.hints import Any, Callable
from nnapi_shim.recording import trace as recording
from nnapi_shim.recording.vocabulary import PARAMETERS
from nnapi_shim.runtime.traced import trace_all


def tracer(has_faults: bool) -> Watcher | None:
    """The tracer of calls; None, after a warning, if the trace cannot be written.

    has_faults: whether faults are injected, which the trace has as moments.
    """
    trace = recording.opened()
    if trace is None:
        return None
    trace_all(trace)
    if has_faults:
        from nnapi_shim.abi.faults import observe

        observe(
            lambda fault: trace.instant(
                "injected fault",
                recording.API,
                monotonic_ns(),
                where=fault.where,
                call=fault.call,
                rule=fault.rule.text,
            )
        )

    def traced(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        shown = [
            (at, parameter)
            for at, parameter in enumerate(PARAMETERS.get(name, ()))
            if parameter.kind in ("handle", "int", "float", "string")
        ]

        @wraps(function)
        def call(*arguments: Any) -> Any:
            began = monotonic_ns()
            values = {
                parameter.name: decoding.argument(parameter, arguments[at], {})
                for at, parameter in shown
            }
            trace.begin(name, recording.API, began, **values)
            try:
                result = function(*arguments)
            except BaseException as error:
                trace.end(monotonic_ns(), result=code_of(error), error=str(error))
                raise
            trace.end(monotonic_ns(), result=code_of(None))
            return result

        return call

    return traced
