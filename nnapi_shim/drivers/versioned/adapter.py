"""A device for HAL 1.0 or 1.1 behind the canonical interface.

The driver receives only models that its HAL supports; of other models, the supported slice.
"""

from itertools import islice
from time import monotonic_ns, sleep
from typing import Any

from nnapi_shim import log
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.drivers.versioned.answer import (
    Answer,
    is_status,
    require_success,
    returned,
    shown,
)
from nnapi_shim.drivers.versioned.compliance import LEVEL_OF_HAL, compliance
from nnapi_shim.drivers.versioned.conversion import (
    require_compliance,
    to_request,
    to_v1_0,
    to_v1_1,
)
from nnapi_shim.drivers.versioned.defaults import without_defaults
from nnapi_shim.drivers.versioned.shapes import OutputDimensions
from nnapi_shim.drivers.versioned.slices import Slice, sliced
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal import v1_0, v1_1
from nnapi_shim.hal.enums import (
    DeviceType,
    ErrorStatus,
    ExecutionPreference,
    FeatureLevel,
    OperandType,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.interfaces import IPreparedModel
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    ExecutionResult,
    Model,
    OutputShape,
    PerformanceInfo,
    Request,
    byte_size,
    is_known,
)

_FLOAT32 = (OperandType.FLOAT32, OperandType.TENSOR_FLOAT32)
_AS_QUANTIZED = (
    OperandType.TENSOR_QUANT8_ASYMM,
    OperandType.INT32,
    OperandType.UINT32,
    OperandType.TENSOR_INT32,
    OperandType.OEM_SCALAR,
    OperandType.TENSOR_OEM_BYTE,
)
"""Types to which an older HAL's quantized performance applies."""

_NEVER = PerformanceInfo(float("inf"), float("inf"))
"""Performance of types and control flow that an older HAL lacks."""

_POLL_S = 0.01


class VersionedDevice:
    """Adapts a `driver` for hal.v1_0 or hal.v1_1 to the canonical interface.

    hal: "1.0" or "1.1". name, version, type: as reported to programs.
    """

    def __init__(self, driver: Any, hal: str, name: str, version: str, type: DeviceType) -> None:
        self.name = name
        self.version = version
        self.type = type
        self.hal = hal
        self.feature_level = FeatureLevel(26 + LEVEL_OF_HAL[hal])
        self._driver = driver
        self._is_1_1 = hal == "1.1"

    def _method(self, name: str) -> tuple[str, Any]:
        """The name of a method in messages, and the driver's method."""
        if self._is_1_1:
            name += "_1_1"
        return f"{self.name}.{name}", getattr(self._driver, name)

    def getCapabilities(self) -> Capabilities:
        """The driver's capabilities; types that its HAL lacks get the worst performance."""
        what, method = self._method("getCapabilities")
        capabilities: Capabilities = returned(what, lambda: self._capabilities(method()))
        return capabilities

    def _capabilities(self, answer: Any) -> Capabilities:
        value = _value(answer)
        expected = v1_1.Capabilities if self._is_1_1 else v1_0.Capabilities
        try:
            quick, quantized, *rest = [PerformanceInfo(*map(float, info)) for info in value]
            (relaxed,) = rest if self._is_1_1 else (quick,)
        except (TypeError, ValueError):
            raise op_failed(
                f"the answer is {shown(value)}; it must be {expected.__name__}",
                "driver.answer.capabilities",
            ) from None
        return Capabilities(
            relaxed,
            relaxed,
            dict.fromkeys(OperandType, _NEVER)
            | dict.fromkeys(_FLOAT32, quick)
            | dict.fromkeys(_AS_QUANTIZED, quantized),
            _NEVER,
            _NEVER,
        )

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """The driver's answer for operations that its HAL supports; False for all others.

        A driver that fails here supports nothing, and one line on stderr reports it.
        """
        supported = [False] * len(model.main.operations)
        model = without_defaults(model)
        part = sliced(model, compliance(model).allows(LEVEL_OF_HAL[self.hal]))
        if part.model is None:
            return supported
        what, method = self._method("getSupportedOperations")
        converted = self._converted(part.model)
        try:
            answers = returned(what, lambda: _answers(method(converted), len(part.operations)))
        except NnapiError as error:
            log.warning(f"{self.name} is left out: {error.message}")
            return supported
        for position, answer in zip(part.operations, answers, strict=True):
            supported[position] = answer
        return supported

    def _converted(self, model: Model) -> v1_0.Model | v1_1.Model:
        return to_v1_1(model) if self._is_1_1 else to_v1_0(model)

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> "VersionedPreparedModel":
        """Pass the model to the driver and wait for its callback.

        Raises BAD_DATA for a model that the HAL does not support, UNMAPPABLE for constants that
        cannot be mapped, and the errors of Answer.get.
        """
        model = without_defaults(model)
        require_compliance(model, self.hal)
        part = sliced(model, [True] * len(model.main.operations))
        if part.model is None:
            raise bad_data(
                f"HAL {self.hal} has no models without inputs or outputs", "hal.model.no-arguments"
            )
        for pool in part.model.pools:
            pool.map()  # fail here, before the driver does
        what, method = self._method("prepareModel")
        converted = self._converted(part.model)
        chosen = (v1_1.ExecutionPreference(preference),) if self._is_1_1 else ()
        answer = Answer(what)
        prepared = answer.get(lambda: method(converted, *chosen, answer), deadline_ns)
        if prepared is None:
            raise op_failed(
                f"{what} answered NONE without a prepared model", "driver.answer.no-prepared-model"
            )
        return VersionedPreparedModel(f"{self.name}.execute", prepared, part)

    def wait(self) -> None:
        """Wait while the driver is busy; raises UNAVAILABLE_DEVICE if it is offline."""
        what = f"{self.name}.getStatus"
        limit = time_limit_ns()
        end = None if limit is None else monotonic_ns() + limit
        while True:
            status = returned(what, lambda: _device_status(self._driver.getStatus()))
            if status == v1_0.DeviceStatus.OFFLINE:
                raise NnapiError(
                    ResultCode.UNAVAILABLE_DEVICE, f"{self.name} is offline", "driver.offline"
                )
            if status != v1_0.DeviceStatus.BUSY:
                return
            if end is not None and monotonic_ns() >= end:
                raise NnapiError(
                    ResultCode.UNAVAILABLE_DEVICE, f"{self.name} is still busy", "driver.busy"
                )
            sleep(_POLL_S)


def _value(answer: Any) -> Any:
    """The value of a (status, value) answer; raises the status's error."""
    if not (isinstance(answer, tuple) and len(answer) == 2 and is_status(answer[0])):
        raise op_failed(
            f"the answer is {shown(answer)}; it must be an ErrorStatus and a value",
            "driver.answer.value",
        )
    require_success("it", answer[0])
    return answer[1]


def _answers(answer: Any, count: int) -> list[bool]:
    """One answer per operation; reads at most one more than the number of operations."""
    answers = [bool(item) for item in islice(_value(answer), count + 1)]
    if len(answers) != count:
        many = f"{len(answers)} answers" if len(answers) < count else f"more than {count} answers"
        raise op_failed(
            f"{many} given; there are {count} operations", "driver.answer.supported-operations"
        )
    return answers


def _device_status(answer: Any) -> v1_0.DeviceStatus:
    try:
        return v1_0.DeviceStatus(answer)
    except ValueError:
        raise op_failed(
            f"the answer is {shown(answer)}; it must be a DeviceStatus",
            "driver.answer.device-status",
        ) from None


class VersionedPreparedModel(IPreparedModel):
    """A prepared model of HAL 1.0 and 1.1."""

    def __init__(self, what: str, prepared: Any, part: Slice) -> None:
        assert part.model is not None
        self.what = what
        self.prepared = prepared
        self.part = part
        self.model = part.model
        self.output_dimensions = OutputDimensions(part.model)

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "VersionedExecution":
        """Bind a request; the HAL reports no durations."""
        return VersionedExecution(self, request)


class VersionedExecution:
    """A request of a prepared model, in separate memory."""

    def __init__(self, owner: VersionedPreparedModel, request: Request) -> None:
        self._owner = owner
        part = owner.part
        self._inputs = [request.inputs[position] for position in part.inputs]
        self._outputs = [request.outputs[position] for position in part.outputs]

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run the request; outputs are copied to the program after success.

        Unknown dimensions of outputs are inferred first. Raises OP_FAILED if they depend on
        computed values, and the errors of Answer.get.
        """
        owner, model = self._owner, self._owner.model
        dimensions = owner.output_dimensions.of(self._inputs, self._outputs)
        shapes = []
        for index, argument, sizes in zip(
            model.main.output_indexes, self._outputs, dimensions, strict=True
        ):
            operand = model.main.operands[index]
            is_sized = operand.type is not OperandType.OEM_SCALAR and is_known(operand.type, sizes)
            fits = (
                argument.has_no_value
                or not is_sized
                or byte_size(operand._replace(dimensions=sizes)) <= argument.length
            )
            shapes.append(OutputShape(sizes, fits))
        if not all(shape.is_sufficient for shape in shapes):
            return ExecutionResult(ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, shapes)
        converted = to_request(model.main, self._inputs, self._outputs, dimensions)
        converted.give()
        answer = Answer(owner.what)
        answer.get(lambda: owner.prepared.execute(converted.request, answer), deadline_ns)
        converted.take()
        return ExecutionResult(ErrorStatus.NONE, shapes)
