"""IDevice of a profile: another device of this library computes what it takes."""

from contextlib import AbstractContextManager, nullcontext
from time import sleep

from nnapi_shim.drivers import built_in_devices
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.levels import feature_level
from nnapi_shim.hal.types import CacheHandles, Capabilities, ExecutionResult, Model, Request
from nnapi_shim.phones.bursts import is_in_a_burst
from nnapi_shim.phones.profile import ONE_FILE, CacheFiles, DeviceProfile
from nnapi_shim.phones.taken import taken

_US = 1e-6


class ProfiledDevice:
    """A device with the name, the levels and the limits of a profile."""

    def __init__(self, described: DeviceProfile) -> None:
        self.name = described.name
        self.version = described.version
        self.type = described.type
        self.feature_level = feature_level(described.level)
        self.memory_domains = described.memory_domains
        self._described = described
        self._computing: IDevice = next(
            entry.load() for entry in built_in_devices() if entry.name == described.computed_by
        )

    def getCapabilities(self) -> Capabilities:
        """The figures of the profile."""
        return self._described.capabilities

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """What the profile takes, as far as the computing device supports it."""
        supported = self._computing.getSupportedOperations(model)
        chosen = taken(model, self._described.rules, self._described.level)
        return [can and may for can, may in zip(supported, chosen, strict=True)]

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> IPreparedModel:
        """Compile on the computing device; with its cache only if the profile has caching, in as
        many files as it says. If the profile says how the device computes with float16,
        nnapi-reference does so, without a cache.
        """
        delays = self._described.delays
        if delays.compile_us:
            sleep(delays.compile_us * _US)
        handles = cache if self._described.caching else None
        computing = self._computing
        half = self._described.float16
        precision = None if half is None else half.of_model(model)
        if precision is not None:
            computing, handles = ReferenceDevice(precision), None
        with self._in_files(handles, self._described.caching, model) as own:
            prepared = computing.prepareModel(model, preference, priority, deadline_ns, own)
        burst_us = delays.run_us if delays.burst_run_us is None else delays.burst_run_us
        operations_us = delays.operation_us * len(model.main.operations)
        if not (delays.run_us or burst_us or operations_us):
            return prepared
        return DelayedPreparedModel(
            prepared, delays.run_us + operations_us, burst_us + operations_us
        )

    def _in_files(
        self, cache: CacheHandles | None, files: CacheFiles | None, model: Model
    ) -> AbstractContextManager[CacheHandles | None]:
        """The cache of the computing device, whose file becomes the files of this one."""
        if cache is None or files is None or files == ONE_FILE:
            return nullcontext(cache)
        from nnapi_shim.phones.cache_files import in_parts

        return in_parts(cache, files, self.name, model)

    def wait(self) -> None:
        """As the computing device."""
        self._computing.wait()


class DelayedPreparedModel(IPreparedModel):
    """A prepared model whose runs take longer, by another time in bursts."""

    def __init__(self, prepared: IPreparedModel, longer_us: float, burst_us: float) -> None:
        self._prepared = prepared
        self._longer_us = longer_us
        self._burst_us = burst_us

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """As IPreparedModel."""
        execution = self._prepared.createReusableExecution(request, measure, loop_timeout_ns)
        return _DelayedExecution(execution, self._longer_us, self._burst_us)


class _DelayedExecution:
    def __init__(self, execution: IExecution, longer_us: float, burst_us: float) -> None:
        self._execution = execution
        self._longer_us = longer_us
        self._burst_us = burst_us

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution; measured times have the delay."""
        longer_us = self._burst_us if is_in_a_burst() else self._longer_us
        sleep(longer_us * _US)
        result = self._execution.compute(deadline_ns)
        longer_ns = int(longer_us * 1000)
        device, driver = result.timing
        if device is None or driver is None:
            return result
        timing = result.timing._replace(
            time_on_device_ns=device + longer_ns, time_in_driver_ns=driver + longer_ns
        )
        return result._replace(timing=timing)
