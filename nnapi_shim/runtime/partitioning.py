"""Which device runs a model."""

from collections.abc import Sequence

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Model


def candidates(model: Model, devices: Sequence[IDevice]) -> list[IDevice]:
    """The devices that run the whole model, in the order given.

    Raises BAD_DATA naming the first operation that no device runs.
    """
    operations = model.main.operations
    anyone = [False] * len(operations)
    whole = []
    for device in devices:
        supported = device.getSupportedOperations(model)
        anyone = [a or b for a, b in zip(anyone, supported, strict=True)]
        if all(supported):
            whole.append(device)
    if whole:
        return whole
    names = ", ".join(device.name for device in devices) or "none"
    for item, supported_by_one in zip(operations, anyone, strict=True):
        if not supported_by_one:
            kind = item.type
            name = kind.name if isinstance(kind, OperationType) else f"extension {kind:#x}"
            raise bad_data(
                f"{name} (operation {item.number}) is supported by no device of: {names}"
            )
    raise op_failed(
        f"no single device of {names} runs the whole model; splitting a model over devices is not "
        "available in this version"
    )
