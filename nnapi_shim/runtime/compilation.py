"""Compilation: preferences of the program, and the prepared model that finish makes."""

from collections.abc import Callable, Sequence
from functools import wraps
from time import monotonic_ns
from typing import Any, TypeVar

from nnapi_shim import log
from nnapi_shim.errors import NnapiError, bad_data, bad_state, op_failed
from nnapi_shim.hal.enums import (
    BYTE_SIZE_OF_CACHE_TOKEN,
    ExecutionPreference,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.interfaces import IDevice, IPreparedModel
from nnapi_shim.hal.types import Model as HalModel
from nnapi_shim.hal.types import Operand
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.model import Model
from nnapi_shim.runtime.partitioning import candidates

PREFERRED_ALIGNMENT = 64

Method = TypeVar("Method", bound=Callable[..., Any])


def while_open(method: Method) -> Method:
    """A method that is allowed until finish; raises BAD_STATE afterwards."""

    @wraps(method)
    def checked(self: "Compilation", *arguments: Any) -> Any:
        if self.state != "open":
            raise bad_state(f"the compilation is {self.state}; it can no longer be changed")
        return method(self, *arguments)

    return checked  # type: ignore[return-value]


class Compilation:
    """A compilation. States: open, then finished, or failed after a finish that failed."""

    def __init__(self, model: Model, devices: Sequence[IDevice] | None = None) -> None:
        """devices: those that the program named, or None for all; raises BAD_STATE for a model
        that is not finished.
        """
        model.require_finished()
        assert model.hal is not None
        self.state = "open"
        self._model = model
        self.hal: HalModel = model.hal
        self.explicit = devices is not None
        self._devices = list(devices) if devices is not None else device_manager.devices()
        self._preference = ExecutionPreference.FAST_SINGLE_ANSWER
        self._priority = Priority.MEDIUM
        self._timeout_ns = 0
        self._caching: tuple[str, bytes] | None = None
        self._attributes: dict[tuple[str, int], bytes] = {}
        self.prepared: IPreparedModel | None = None
        self.device: IDevice | None = None

    @property
    def inputs(self) -> list[Operand]:
        """The model's inputs."""
        return [self.hal.main.operands[index] for index in self.hal.main.input_indexes]

    @property
    def outputs(self) -> list[Operand]:
        """The model's outputs."""
        return [self.hal.main.operands[index] for index in self.hal.main.output_indexes]

    def require_single_explicit_device(self, what: str) -> None:
        """Raise BAD_DATA unless the program named exactly one device."""
        if not (self.explicit and len(self._devices) == 1):
            raise bad_data(f"{what} needs a compilation created for exactly one device")

    def require_finished(self) -> None:
        """Raise BAD_STATE unless finish has succeeded."""
        if self.state != "finished":
            raise bad_state(f"the compilation is {self.state}; it must be finished")

    @while_open
    def set_preference(self, preference: int) -> None:
        """0 low power, 1 fast single answer, 2 sustained speed."""
        # Differs: negative values pass, as in the reference, and mean the default.
        if preference > 2:
            raise bad_data(f"preference is {preference}; allowed are 0 to 2")
        if preference >= 0:
            self._preference = ExecutionPreference(preference)

    @while_open
    def set_priority(self, priority: int) -> None:
        """90 low, 100 medium, 110 high."""
        if priority not in (90, 100, 110):
            raise bad_data(f"priority is {priority}; allowed are 90, 100 and 110")
        self._priority = Priority(priority)

    @while_open
    def set_timeout(self, duration_ns: int) -> None:
        """Time that finish may take; 0 for no limit."""
        self.require_single_explicit_device("a compilation timeout")
        self._timeout_ns = duration_ns

    @while_open
    def set_caching(self, directory: str, token: bytes) -> None:
        """Where a compiled model may be kept. Nothing about the folder is checked."""
        if len(token) != BYTE_SIZE_OF_CACHE_TOKEN:
            raise bad_data(f"the token has {len(token)} bytes; it must have 32")
        self._caching = (directory, token)

    @while_open
    def add_extension_attribute(self, name: str, code: int, data: bytes) -> None:
        """Keep an attribute for the device; unknown names are accepted."""
        self.require_single_explicit_device("an extension attribute")
        if (name, code) in self._attributes:
            raise bad_data(f"attribute {name} {code} is set already")
        self._attributes[name, code] = data

    @while_open
    def finish(self) -> None:
        """Choose a device and prepare the model on it. A failure is final."""
        self.state = "failed"
        deadline = monotonic_ns() + self._timeout_ns if self._timeout_ns else None
        errors: list[NnapiError] = []
        for device in candidates(self.hal, self._devices):
            if deadline is not None and monotonic_ns() >= deadline:
                raise NnapiError(
                    ResultCode.MISSED_DEADLINE_PERSISTENT,
                    f"the compilation took longer than its {self._timeout_ns} ns",
                )
            try:
                self.prepared = device.prepareModel(
                    self.hal, self._preference, self._priority, deadline, None
                )
            except NnapiError as error:
                if self.explicit or error.code is not ResultCode.OP_FAILED:
                    raise
                log.error(f"{device.name} is passed over, it cannot run this: {error.message}")
                errors.append(error)
                continue
            self.device = device
            self.state = "finished"
            return
        raise errors[0] if errors else op_failed("there is no device")

    def preferred_memory(self, role: str, index: int) -> int:
        """Preferred alignment and padding in bytes of an argument, the same for all."""
        self.require_finished()
        operands = self.inputs if role == "input" else self.outputs
        if not 0 <= index < len(operands):
            raise bad_data(f"{role} {index} does not exist; the model has {len(operands)}")
        return PREFERRED_ALIGNMENT


def supported_operations(model: Model, devices: Sequence[IDevice]) -> list[bool]:
    """Per operation, in the order they were added: whether one of the devices runs it."""
    model.require_finished()
    assert model.hal is not None
    operations = model.hal.main.operations
    result = [False] * len(operations)
    for device in devices:
        for item, supported in zip(
            operations, device.getSupportedOperations(model.hal), strict=True
        ):
            result[item.number] = result[item.number] or supported
    return result
