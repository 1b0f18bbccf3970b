"""A device of a profile that runs whole models, to see what its precision costs."""

from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.interfaces import IPreparedModel
from nnapi_shim.hal.types import CacheHandles, Model
from nnapi_shim.phones.device import ProfiledDevice
from nnapi_shim.phones.profile import DeviceProfile
from nnapi_shim.phones.taken import taken


class WholeDevice(ProfiledDevice):
    """Operations that the device takes compute as there, float32 as in a relaxed model; all others
    as on the CPU.
    """

    def __init__(self, described: DeviceProfile, name: str) -> None:
        super().__init__(described)
        self.name = name

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """All that this library supports."""
        return self._computing.getSupportedOperations(model)

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> IPreparedModel:
        """As IDevice; without a cache."""
        described = self._described
        device = self._computing
        if described.float16 is not None:
            relaxed = model._replace(relax_computation_float32_to_float16=True)
            own = taken(relaxed, described.rules, described.level)
            numbers = [
                item.number for item, it in zip(model.main.operations, own, strict=True) if it
            ]
            device = ReferenceDevice(described.float16.of_model(relaxed, frozenset(numbers)))
        return device.prepareModel(model, preference, priority, deadline_ns, None)
