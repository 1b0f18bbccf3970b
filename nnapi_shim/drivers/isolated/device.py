"""IDevice, IPreparedModel and IExecution of a device in a process of its own."""

import os
from collections.abc import Sequence
from functools import partial
from itertools import count

from nnapi_shim import address, process
from nnapi_shim.drivers.adoption import Found
from nnapi_shim.drivers.guarded import checked_result, known_outputs
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.drivers.isolated.description import Description, result_from
from nnapi_shim.drivers.isolated.memory import Arguments, Constants, constants_of
from nnapi_shim.drivers.isolated.process import Process, limit_of
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, Priority, ResultCode
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hints import Any
from nnapi_shim.settings import DRIVER_TIMEOUT

_numbers = count(1)
"""Of models and executions."""


class Host:
    """The process of a device; one that has ended is replaced when it is asked for."""

    def __init__(self, name: str, source: Sequence[str], first: Process | None = None) -> None:
        """name: of the device. first: the process that its description is from."""
        self._name, self._source = name, source
        self._process = first
        self._lock = process.lock()

    def process(self) -> Process:
        """The process; raises OP_FAILED or DEAD_OBJECT if it cannot be started."""
        with self._lock:
            if self._process is None or not self._process.is_alive:
                self._process = None
                self._process = Process(self._name, self._source)
                require_device(self._process, self._name)
            return self._process


def require_device(of: Process, name: str) -> Description:
    """The description of a device of a process; raises the error of the attempt to load it."""
    for each in of.devices:
        if each.name == name:
            if each.error is not None:
                raise each.error
            return each
    raise op_failed(f"its process has no device {name} any more", "isolated.no-device")


def loaded(name: str, source: Sequence[str]) -> "IsolatedDevice":
    """A device in a process that is started for it. Raises NnapiError."""
    first = Process(name, source)
    return IsolatedDevice(Host(name, source, first), require_device(first, name))


def devices_of(name: str, origin: str, source: tuple[str, ...]) -> list[Found]:
    """The devices of an engine of this name, which has to be asked for them: the process of the
    first one does. Raises NnapiError if there are none.
    """
    first: Process | None = Process(name, source)
    assert first is not None
    devices = []
    for each in first.devices:
        if each.error is not None:
            raise each.error
        made = IsolatedDevice(Host(each.name, source, first), each)
        devices.append(Found(each.name, origin, name, partial(_itself, made), source, True))
        first = None
    return devices


def _itself(device: "IsolatedDevice") -> "IsolatedDevice":
    return device


class IsolatedDevice:
    """A device in a process of its own, which is started again after it has ended."""

    is_isolated = True

    def __init__(self, host: Host, description: Description) -> None:
        self.name = description.name
        self.version = description.version
        self.type = description.type
        self.feature_level = description.feature_level
        self.hal = description.hal
        self._description = description
        self._host = host

    def getSupportedExtensions(self) -> tuple[hal.Extension, ...]:
        """As IExtendedDevice."""
        return self._description.extensions

    def getCapabilities(self) -> hal.Capabilities:
        """As IDevice; as the device told them when it was loaded."""
        told = self._description.capabilities
        if isinstance(told, NnapiError):
            raise told.again()
        assert told is not None
        return told

    def getSupportedOperations(self, model: hal.Model) -> list[bool]:
        """As IDevice."""
        of = self._host.process()
        doing = f"{self.name} looked at the operations of a model"
        answer = _with_model(of, doing, "supported", (self.name,), model)
        return [bool(each) for each in _listed(of, answer)]

    def getReasons(self, model: hal.Model) -> list[str]:
        """As IExplainingDevice; an empty list from a device that gives no reasons."""
        of = self._host.process()
        doing = f"{self.name} looked at the operations of a model"
        answer = _with_model(of, doing, "reasons", (self.name,), model)
        return [str(each) for each in _listed(of, answer)]

    def prepareModel(
        self,
        model: hal.Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: hal.CacheHandles | None,
    ) -> "IsolatedPreparedModel":
        """As IDevice; starts a process if the last one has ended."""
        of = self._host.process()
        number = next(_numbers)
        if cache is not None:
            cache = cache._replace(directory=os.path.abspath(cache.directory))
        arguments = (self.name, number, preference, priority, deadline_ns, cache)
        doing = f"{self.name} compiled a model"
        prepared = IsolatedPreparedModel(of, self.name, number, model)
        _with_model(of, doing, "prepare", arguments, model, deadline_ns)
        return prepared

    def wait(self) -> None:
        """As IDevice."""
        self._host.process().call(f"{self.name} was waited for", "wait", self.name)


def _with_model(
    of: Process,
    doing: str,
    method: str,
    arguments: tuple[Any, ...],
    model: hal.Model,
    deadline_ns: int | None = None,
) -> Any:
    """The answer to a call about a model."""
    try:
        constants = constants_of(model)
    except OSError as error:
        raise _no_memory(error) from None
    try:
        return of.call(
            doing,
            method,
            *arguments,
            model._replace(pools=()),
            constants.places,
            _extension_types(model),
            files=constants.files,
            deadline_ns=deadline_ns,
        )
    finally:
        _close(constants)


def _close(constants: Constants) -> None:
    if constants.copied >= 0:
        os.close(constants.copied)


def _no_memory(error: OSError) -> NnapiError:
    return NnapiError(
        ResultCode.OUT_OF_MEMORY,
        f"there is no memory to share with the process of the device: {error.strerror}",
        "isolated.no-memory",
    )


def _extension_types(model: hal.Model) -> list[tuple[int, int, bool]]:
    """The operand types of extensions in a model: number, size, whether it is a scalar."""
    types = {
        int(operand.type)
        for graph in (model.main, *model.referenced)
        for operand in graph.operands
        if isinstance(operand.type, hal.ExtensionType)
    }
    return [(type, ELEMENT_BYTES[type], type in SCALARS) for type in sorted(types)]


def _listed(of: Process, answer: Any) -> list[Any]:
    """An answer that has to be a list."""
    if not isinstance(answer, list):
        raise of.nonsense()
    return answer


class IsolatedPreparedModel:
    """A model that the process has compiled; after the end of the process, DEAD_OBJECT."""

    def __init__(self, of: Process, name: str, number: int, model: hal.Model) -> None:
        self.process = of
        self.name = name
        self.number = number
        self.limit_ns = limit_of(DRIVER_TIMEOUT)
        main = model.main
        self.outputs = [main.operands[index] for index in main.output_indexes]

    def __del__(self) -> None:
        self.process.free_now(("model", self.number))

    def createReusableExecution(
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "IsolatedExecution":
        """As IPreparedModel."""
        return IsolatedExecution(self, request, measure, loop_timeout_ns)

    def execute(
        self, request: hal.Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> hal.ExecutionResult:
        """As IPreparedModel."""
        return IsolatedExecution(self, request, measure, loop_timeout_ns).compute(deadline_ns)


class IsolatedExecution:
    """A request in memory that the process maps. Its first run binds it there."""

    def __init__(
        self,
        prepared: IsolatedPreparedModel,
        request: hal.Request,
        measure: bool,
        loop_timeout_ns: int,
    ) -> None:
        self._number = 0
        self._is_under_way = False
        self._prepared = prepared
        self._process = prepared.process
        self._options = measure, loop_timeout_ns
        self._outputs = known_outputs(request, prepared.outputs)
        self._result: hal.ExecutionResult | None = None
        """The last result, which the process may refer to."""
        self._after: Sequence[Any] = ()
        self._doing = f"{prepared.name} computed"
        self._again = b""
        """The message that computes it once more."""
        self._exchange, self._limit_ns = self._process.exchange, prepared.limit_ns
        try:
            self._arguments = Arguments(request, prepared.outputs, self._process.blocks)
        except OSError as error:
            raise _no_memory(error) from None

    def __del__(self) -> None:
        if self._number:
            self._process.free_later(("execution", self._number))
        arguments = getattr(self, "_arguments", None)
        if arguments is not None and arguments.block is not None:
            blocks = self._process.blocks
            # a run that was not waited for may still write to its block
            (blocks.drop if self._is_under_way else blocks.give_back)(arguments.block)

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """As IExecution; raises DEAD_OBJECT after the end of the process."""
        for to, source, length in self._arguments.before:
            address.copy(to, source, length)
        self._is_under_way = True
        try:
            if self._result is None:
                self._told(self._first(deadline_ns))
            else:
                content = self._again
                if deadline_ns is not None:
                    content = messages.AGAIN.pack(messages.COMPUTE, self._number, deadline_ns)
                answer = self._exchange(self._doing, content, (), deadline_ns, self._limit_ns)
                if answer != messages.SAME:
                    self._told(self._process.result_of(answer))
        except NnapiError:
            self._is_under_way = False  # it has answered, or is dead
            raise
        except BaseException:
            self._result = None  # the process may tell another one, which nobody reads
            raise
        self._is_under_way = False
        for to, source, length in self._after:
            address.copy(to, source, length)
        assert self._result is not None
        return self._result

    def _first(self, deadline_ns: int | None) -> Any:
        """Bind it, compute, and return the answer."""
        self._number = self._number or next(_numbers)
        self._again = messages.AGAIN.pack(messages.COMPUTE, self._number, 0)
        arguments = self._arguments
        return self._process.call(
            self._doing,
            "compute",
            self._prepared.number,
            self._number,
            arguments.described(self._process.numbers),
            *self._options,
            deadline_ns,
            pages=arguments.pages.values(),
            deadline_ns=deadline_ns,
            limit_ns=self._prepared.limit_ns,
        )

    def _told(self, answer: Any) -> None:
        """Take a new result."""
        try:
            result = result_from(answer)
        except (TypeError, ValueError):
            raise self._process.nonsense() from None
        self._result = checked_result(result, self._outputs)
        is_done = result.status is ErrorStatus.NONE
        self._after = self._arguments.after(result.output_shapes) if is_done else ()
