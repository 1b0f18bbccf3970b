"""A device that fails as the rules of NNAPI_SHIM_FAULTS say."""

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic_ns, sleep

from nnapi_shim import address
from nnapi_shim.drivers.adoption import Found
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, OperandType, Priority, ResultCode
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    ExecutionResult,
    Extension,
    Model,
    OutputShape,
    Request,
    element_count,
)
from nnapi_shim.phones.fault_injector import Fault, Injector

CACHE_DEEDS = ("no-cache", "damaged-cache")
"""Faults of compilations with a cache alone."""
_FLOATS = {OperandType.TENSOR_FLOAT32: (4, 0x7FC00000), OperandType.TENSOR_FLOAT16: (2, 0x7E00)}
"""Float type -> bytes of an element, and a NaN."""


def faulty(entry: Found, injector: Injector) -> Found:
    """A device, not loaded yet, with the faults of an injector."""
    return entry._replace(load=lambda: FaultyDevice(entry.load(), injector))


def _happen(
    injector: Injector, device: str, place: str, without: Sequence[str] = ()
) -> list[Fault]:
    """Let delays and errors happen; the faults that change what the call does."""
    others = []
    for fault in injector.at_device(device, place, without):
        if fault.rule.delay_s:
            sleep(fault.rule.delay_s)
        if fault.rule.code is not None:
            raise fault.error(f"{device}, {place}")
        if fault.rule.deed:
            others.append(fault)
    return others


class FaultyDevice:
    """Another device, whose calls get faults."""

    def __init__(self, device: IDevice, injector: Injector) -> None:
        self.name = device.name
        self.version = device.version
        self.type = device.type
        self.feature_level = device.feature_level
        self.memory_domains = getattr(device, "memory_domains", True)
        self._device = device
        self._injector = injector

    def getSupportedExtensions(self) -> tuple[Extension, ...]:
        """As IExtendedDevice."""
        get = getattr(self._device, "getSupportedExtensions", None)
        return () if get is None else get()

    def getCapabilities(self) -> Capabilities:
        """As IDevice."""
        return self._device.getCapabilities()

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """As IDevice; the fault `unsupported`: no operation; `fewer`: some, others in each call."""
        faults = _happen(self._injector, self.name, "supported")
        answer = list(self._device.getSupportedOperations(model))
        for fault in faults:
            is_drawn = self._injector.is_drawn
            for at, _ in enumerate(answer):
                if fault.rule.deed == "unsupported" or is_drawn(fault, at):
                    answer[at] = False
        return answer

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> IPreparedModel:
        """As IDevice; the fault `no-cache`: the cached model is gone, and none is stored;
        `damaged-cache`: it is cut off.
        """
        without = CACHE_DEEDS if cache is None else ()
        deeds = [it.rule.deed for it in _happen(self._injector, self.name, "prepare", without)]
        with ExitStack() as stack:
            if cache is not None and "damaged-cache" in deeds:
                from nnapi_shim.phones.damaged_cache import damaged

                cache = stack.enter_context(damaged(cache))
            if "no-cache" in deeds:
                cache = None
            prepared = self._device.prepareModel(model, preference, priority, deadline_ns, cache)
        return FaultyPreparedModel(prepared, self.name, self._injector, model)

    def wait(self) -> None:
        """As IDevice."""
        self._device.wait()


class FaultyPreparedModel(IPreparedModel):
    """Another prepared model, whose runs get faults."""

    def __init__(
        self, prepared: IPreparedModel, device: str, injector: Injector, model: Model
    ) -> None:
        self.device = device
        self.injector = injector
        self.is_lost = False
        """Whether the device died: all runs fail until the model is compiled again."""
        main = model.main
        self.types = [main.operands[index].type for index in main.output_indexes]
        self._prepared = prepared

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """As IPreparedModel."""
        execution = self._prepared.createReusableExecution(request, measure, loop_timeout_ns)
        return _FaultyExecution(self, execution, request)


class _FaultyExecution:
    def __init__(self, model: FaultyPreparedModel, execution: IExecution, request: Request) -> None:
        self._model = model
        self._execution = execution
        self._request = request

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        model = self._model
        deeds = [each.rule.deed for each in _happen(model.injector, model.device, "run")]
        if "hang" in deeds:
            _hang(deadline_ns)
        if "lost" in deeds or model.is_lost:
            model.is_lost = True
            raise NnapiError(
                ResultCode.DEAD_OBJECT,
                f"{model.device} is lost (injected); compile the model again",
                "fault.lost",
            )
        result = self._execution.compute(deadline_ns)
        if result.status is not ErrorStatus.NONE:
            return result
        if "too-small" in deeds:
            shapes = [OutputShape(shape.dimensions, False) for shape in result.output_shapes]
            return ExecutionResult(ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, shapes)
        for deed in deeds:
            _spoil(deed, self._request, model.types, result.output_shapes)
        return result


def _hang(deadline_ns: int | None) -> None:
    """Wait for the deadline and raise MISSED_DEADLINE_PERSISTENT; without one, wait for ever."""
    while deadline_ns is None or monotonic_ns() < deadline_ns:
        sleep(0.001 if deadline_ns is not None else 1)
    code = ResultCode.MISSED_DEADLINE_PERSISTENT
    raise NnapiError(code, "the device hung until the deadline (injected)", "fault.hang")


def _spoil(
    deed: str, request: Request, types: Sequence[OperandType], shapes: Sequence[OutputShape]
) -> None:
    """Change the first element of each output: `nan` and `ulp` of floats, `step` of integers."""
    for argument, kind, shape in zip(request.outputs, types, shapes, strict=True):
        if argument.has_no_value or not element_count(shape.dimensions):
            continue
        size, nan = _FLOATS.get(kind, (0, 0))
        if (deed == "step") == bool(size):
            continue
        size = size or ELEMENT_BYTES[kind]
        bits = int.from_bytes(address.read(argument.address, size), "little")
        # One more, as bits: the next float away from 0, or the next step of an integer.
        changed = nan if deed == "nan" else (bits + 1) % (1 << (8 * size))
        address.write(argument.address, changed.to_bytes(size, "little"))
