"""Fallback: another device runs a model on which a device failed."""

from nnapi_shim import log, process
from nnapi_shim.drivers import is_built_in
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.types import ExecutionResult, Model, Request
from nnapi_shim.hints import Callable, Sequence
from nnapi_shim.runtime.partitioning import Step, supported_by, whole_on

_OF_THE_PROGRAM = frozenset(
    (
        ResultCode.UNEXPECTED_NULL,
        ResultCode.BAD_DATA,
        ResultCode.BAD_STATE,
        ResultCode.UNMAPPABLE,
        ResultCode.OUTPUT_INSUFFICIENT_SIZE,
        ResultCode.MISSED_DEADLINE_TRANSIENT,
        ResultCode.MISSED_DEADLINE_PERSISTENT,
    )
)
"""Result codes that another device would return as well; no fallback."""


def is_of_the_device(error: NnapiError) -> bool:
    """Whether another device may succeed."""
    return error.code not in _OF_THE_PROGRAM


def fallback_step(model: Model, devices: Sequence[IDevice], steps: Sequence[Step]) -> Step | None:
    """The whole model on nnapi-reference, or else on nnapi-cpu, instead of these steps.

    None if neither is listed, has not just failed, and supports all operations.
    """
    failed = steps[0].device if len(steps) == 1 else None
    for device in reversed(devices):
        if is_built_in(device.name) and device is not failed and all(supported_by(device, model)):
            return whole_on(device, model)
    return None


class FallbackPreparedModel(IPreparedModel):
    """IPreparedModel: a primary one, and a fallback for the same model."""

    def __init__(
        self,
        prepared: IPreparedModel,
        names: str,
        name: str,
        prepare: Callable[[int | None], IPreparedModel],
    ) -> None:
        """names: of the primary devices. name: of the fallback device.
        prepare: prepares the model on the fallback, on demand, until a deadline or None.
        """
        self.prepared = prepared
        self._names = names
        self._name = name
        self._reported: dict[str, object] = {}
        """Rules of failures that were reported; each is reported once."""
        self._prepare = prepare
        self._other: IPreparedModel | None = None
        self._lock = process.lock()

    def other(self, deadline_ns: int | None) -> IPreparedModel:
        """The fallback model; prepared once, by the first run that needs it."""
        with self._lock:
            if self._other is None:
                self._other = self._prepare(deadline_ns)
            return self._other

    def tell(self, error: NnapiError) -> None:
        """Report a failure, once per rule."""
        mine = object()
        is_first = self._reported.setdefault(error.rule, mine) is mine
        log.write(
            "warning" if is_first else "debug",
            f"a computation failed on {self._names} and runs again on {self._name}, which will not "
            f"be said again for this compilation: {error}",
        )

    def createReusableExecution(  # noqa: N802 (the name in the HAL)
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "FallbackExecution":
        """Bind a request to both."""
        return FallbackExecution(self, request, measure, loop_timeout_ns)


class FallbackExecution:
    """A request with a fallback. Every run tries the primary device first."""

    def __init__(
        self, model: FallbackPreparedModel, request: Request, measure: bool, loop_timeout_ns: int
    ) -> None:
        self._model = model
        self._arguments = request, measure, loop_timeout_ns
        self._first: IExecution | None = None
        self._other: IExecution | None = None

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it; raises errors of the program, and those of the fallback."""
        try:
            if self._first is None:
                self._first = self._model.prepared.createReusableExecution(*self._arguments)
            return self._first.compute(deadline_ns)
        except NnapiError as error:
            if not is_of_the_device(error):
                raise
            self._model.tell(error)
        if self._other is None:
            self._other = self._model.other(deadline_ns).createReusableExecution(*self._arguments)
        return self._other.compute(deadline_ns)
