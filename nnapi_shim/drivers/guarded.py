"""Guards third-party canonical devices: their exceptions become NnapiErrors that name them."""

from itertools import islice
from math import prod

from nnapi_shim.drivers.versioned.answer import guarded, shown
from nnapi_shim.errors import op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import (
    DeviceType,
    ErrorStatus,
    ExecutionPreference,
    FeatureLevel,
    OperandType,
    Priority,
)
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import ELEMENT_BYTES, MAX_BYTES
from nnapi_shim.hints import Any, Callable, NamedTuple, Sequence


class GuardedDevice:
    """A device with guarded calls. Its extensions are queried once."""

    def __init__(self, device: IDevice) -> None:
        """Raises OP_FAILED for invalid extensions."""
        self.name = device.name
        self.version = device.version
        self.type: DeviceType = device.type
        self.feature_level: FeatureLevel = device.feature_level
        self._device = device
        self._extensions: tuple[hal.Extension, ...] = ()
        get: Callable[[], Any] | None = getattr(device, "getSupportedExtensions", None)
        if get is not None:
            ask = get
            self._extensions = self._guarded("getSupportedExtensions", lambda: _extensions(ask()))

    def _guarded(self, method: str, call: Callable[[], Any]) -> Any:
        return guarded(f"{self.name}.{method}", call)

    def getSupportedExtensions(self) -> tuple[hal.Extension, ...]:
        """As IExtendedDevice."""
        return self._extensions

    def getCapabilities(self) -> hal.Capabilities:
        """As IDevice."""
        ask = self._device.getCapabilities
        capabilities: hal.Capabilities = self._guarded(
            "getCapabilities", lambda: _capabilities(ask())
        )
        return capabilities

    def getSupportedOperations(self, model: hal.Model) -> list[bool]:
        """As IDevice."""
        ask = self._device.getSupportedOperations
        answers: list[bool] = self._guarded(
            "getSupportedOperations", lambda: _answers(ask(model), model)
        )
        return answers

    def getReasons(self, model: hal.Model) -> list[str]:
        """As IExplainingDevice; an empty list from a device that gives no reasons."""
        ask: Callable[[hal.Model], Any] | None = getattr(self._device, "getReasons", None)
        if ask is None:
            return []
        asked, count = ask, len(model.main.operations)
        reasons: list[str] = self._guarded(
            "getReasons", lambda: [str(each) for each in islice(asked(model), count)]
        )
        return reasons

    def compileTogether(
        self, models: Sequence[hal.Model], cache: hal.CacheHandles, deadline_ns: int
    ) -> bool:
        """As ITogetherDevice; False from a device that lacks the method."""
        ask: Callable[..., Any] | None = getattr(self._device, "compileTogether", None)
        if ask is None:
            return False
        asked = ask
        return bool(self._guarded("compileTogether", lambda: asked(models, cache, deadline_ns)))

    def allocate(self, operand: hal.Operand) -> "GuardedBuffer | None":
        """As IAllocatingDevice; None from a device that lacks the method."""
        ask: Callable[[hal.Operand], Any] | None = getattr(self._device, "allocate", None)
        if ask is None:
            return None
        asked = ask
        own = self._guarded("allocate", lambda: _buffer(asked(operand)))
        return own and GuardedBuffer(self.name, own)

    def prepareModel(
        self,
        model: hal.Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: hal.CacheHandles | None,
    ) -> "GuardedPreparedModel":
        """As IDevice."""
        prepare = self._device.prepareModel
        prepared = self._guarded(
            "prepareModel",
            lambda: _with_methods(
                prepare(model, preference, priority, deadline_ns, cache), IPreparedModel, _PREPARED
            ),
        )
        return GuardedPreparedModel(self.name, model, prepared)

    def wait(self) -> None:
        """As IDevice."""
        self._guarded("wait", self._device.wait)


def _answers(answers: Any, model: hal.Model) -> list[bool]:
    """The answers as booleans; reads at most one more than the number of operations."""
    return [bool(answer) for answer in islice(answers, len(model.main.operations) + 1)]


def _extensions(answer: Any) -> tuple[hal.Extension, ...]:
    listed = tuple(answer)
    if not all(map(_is_extension, listed)):
        raise op_failed(
            f"the answer is {shown(listed)}; it must be Extensions, with types from 0 to 65535 of "
            "at least one byte",
            "driver.answer.extensions",
        )
    return listed


def _is_extension(answer: Any) -> bool:
    return (
        isinstance(answer, hal.Extension)
        and isinstance(answer.name, str)
        and isinstance(answer.operand_types, tuple | list)
        and all(
            isinstance(known, hal.ExtensionOperandType)
            and _is_number(known.type, 0, 1 << 16)
            and _is_number(known.byte_size, 1, MAX_BYTES)
            for known in answer.operand_types
        )
    )


def _is_number(answer: Any, low: int, end: int) -> bool:
    return isinstance(answer, int) and low <= answer < end


class GuardedBuffer:
    """As IBuffer; the device gets its own one in requests."""

    def __init__(self, name: str, own: hal.IBuffer) -> None:
        self._name = name
        self.own = own

    def copyTo(self, address: int, length: int) -> None:
        """As IBuffer."""
        guarded(f"{self._name}.copyTo", lambda: self.own.copyTo(address, length))

    def copyFrom(self, address: int, length: int) -> None:
        """As IBuffer."""
        guarded(f"{self._name}.copyFrom", lambda: self.own.copyFrom(address, length))


def _buffer(answer: Any) -> Any:
    return None if answer is None else _with_methods(answer, hal.IBuffer, ("copyTo", "copyFrom"))


def _of_the_device(request: hal.Request) -> hal.Request:
    """The request with the device's own buffers."""
    if all(each.buffer is None for each in (*request.inputs, *request.outputs)):
        return request

    def of_the_device(argument: hal.RequestArgument) -> hal.RequestArgument:
        buffer = argument.buffer
        return argument._replace(buffer=buffer.own if isinstance(buffer, GuardedBuffer) else buffer)

    return request._replace(
        inputs=tuple(map(of_the_device, request.inputs)),
        outputs=tuple(map(of_the_device, request.outputs)),
    )


_PREPARED = ("createReusableExecution", "execute")


def _with_methods(answer: Any, interface: type, names: Sequence[str]) -> Any:
    """An object with the methods of an interface."""
    if not all(callable(getattr(answer, name, None)) for name in names):
        raise op_failed(
            f"the answer is {shown(answer)}; it must be an {interface.__name__}",
            "driver.answer.interface",
        )
    return answer


def _capabilities(answer: Any) -> hal.Capabilities:
    if not isinstance(answer, hal.Capabilities) or not _are_numbers(answer):
        raise op_failed(
            f"the answer is {shown(answer)}; it must be Capabilities with numbers",
            "driver.answer.capabilities",
        )
    return answer


def _are_numbers(answer: hal.Capabilities) -> bool:
    return isinstance(answer.operand_performance, dict) and all(
        isinstance(figures, tuple)
        and len(figures) == 2
        and all(isinstance(figure, int | float) for figure in figures)
        for part in answer
        for figures in (part.values() if isinstance(part, dict) else (part,))
    )


class Output(NamedTuple):
    """The known properties of an output before a run; a result must match them."""

    type: OperandType
    dimensions: hal.Dimensions
    length: int | None
    """Size of its buffer in bytes; None if it needs none."""

    def bytes_of(self, shape: hal.OutputShape) -> int | None:
        """The required size in bytes; None for types of unknown element size."""
        size = ELEMENT_BYTES.get(self.type)
        if size is None or self.length is None or self.type is OperandType.OEM_SCALAR:
            return None
        return size * prod(shape.dimensions)


def known_outputs(request: hal.Request, operands: Sequence[hal.Operand]) -> list[Output]:
    """What is known of the outputs of a request. operands: those of the outputs."""
    return [
        Output(
            operand.type,
            argument.dimensions or operand.dimensions,
            None if argument.has_no_value else argument.length,
        )
        for argument, operand in zip(request.outputs, operands, strict=True)
    ]


class GuardedPreparedModel:
    """As IPreparedModel."""

    def __init__(self, name: str, model: hal.Model, prepared: IPreparedModel) -> None:
        self._name = name
        self._prepared = prepared
        main = model.main
        self._outputs = [main.operands[index] for index in main.output_indexes]

    def createReusableExecution(
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "GuardedExecution":
        """As IPreparedModel."""
        create = self._prepared.createReusableExecution
        execution = guarded(
            f"{self._name}.createReusableExecution",
            lambda: _with_methods(
                create(_of_the_device(request), measure, loop_timeout_ns), IExecution, ("compute",)
            ),
        )
        return GuardedExecution(self._name, execution, self._known(request))

    def execute(
        self, request: hal.Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> hal.ExecutionResult:
        """As IPreparedModel."""
        execute, known = self._prepared.execute, self._known(request)
        result: hal.ExecutionResult = guarded(
            f"{self._name}.execute",
            lambda: checked_result(
                execute(_of_the_device(request), measure, deadline_ns, loop_timeout_ns), known
            ),
        )
        return result

    def _known(self, request: hal.Request) -> list[Output]:
        return known_outputs(request, self._outputs)


class GuardedExecution:
    """As IExecution."""

    def __init__(self, name: str, execution: IExecution, known: list[Output]) -> None:
        self._what = f"{name}.compute"
        self._run = execution.compute
        self._known = known
        self._checked: hal.ExecutionResult | None = None
        """An immutable result that was checked: a device may answer with it again."""

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """As IExecution."""
        result: hal.ExecutionResult = guarded(self._what, lambda: self._compute(deadline_ns))
        return result

    def _compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        answer = self._run(deadline_ns)
        if answer is not self._checked:
            checked = checked_result(answer, self._known)
            shapes = checked.output_shapes
            parts = (shapes, checked.timing, *(shape.dimensions for shape in shapes))
            self._checked = checked if all(isinstance(it, tuple) for it in parts) else None
        return answer


def checked_result(result: Any, known: Sequence[Output]) -> hal.ExecutionResult:
    """A validated result; raises OP_FAILED, and any exception of the driver's own objects."""
    if not isinstance(result, hal.ExecutionResult):
        raise op_failed(
            f"the answer is {shown(result)}; it must be an ExecutionResult",
            "driver.answer.execution-result",
        )
    shapes = tuple(result.output_shapes)
    if result.status not in (ErrorStatus.NONE, ErrorStatus.OUTPUT_INSUFFICIENT_SIZE):
        raise op_failed(
            f"the status is {shown(result.status)}; it must be NONE or OUTPUT_INSUFFICIENT_SIZE",
            "driver.answer.execution-status",
        )
    if not (
        len(shapes) == len(known)
        and all(map(_is_shape, shapes))
        and all(map(_fits, shapes, known))
        and len(result.timing) == 2
        and all(time is None or _is_number(time, 0, 1 << 64) for time in result.timing)
    ):
        raise op_failed(
            f"the answer has outputs {[*map(_dimensions, shapes)]} and {shown(result.timing)}; "
            f"declared are {[list(output.dimensions) for output in known]}, and times are numbers "
            "of ns or None",
            "driver.answer.outputs",
        )
    if (result.status == ErrorStatus.NONE) != all(shape.is_sufficient for shape in shapes):
        raise op_failed(
            f"the status is {shown(result.status)}; the outputs deny it",
            "driver.answer.insufficient-size",
        )
    for at, (shape, output) in enumerate(zip(shapes, known, strict=True)):
        needed = output.bytes_of(shape)
        if needed is not None and shape.is_sufficient != (needed <= (output.length or 0)):
            verdict = "enough" if shape.is_sufficient else "too few"
            raise op_failed(
                f"{output.length} bytes are said to be {verdict} for output {at}; with dimensions "
                f"{list(shape.dimensions)} it has {needed}",
                "driver.answer.output-size",
            )
    return result


def _is_shape(answer: Any) -> bool:
    return isinstance(answer, hal.OutputShape) and all(
        _is_number(size, 0, MAX_BYTES + 1) for size in answer.dimensions
    )


def _fits(shape: hal.OutputShape, output: Output) -> bool:
    """Whether dimensions match the known declared ones."""
    declared = output.dimensions
    return not declared or (
        len(shape.dimensions) == len(declared)
        and all(
            size in (0, size_now) for size, size_now in zip(declared, shape.dimensions, strict=True)
        )
    )


def _dimensions(shape: Any) -> str:
    return shown(getattr(shape, "dimensions", shape))
