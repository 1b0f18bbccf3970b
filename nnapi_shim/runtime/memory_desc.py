"""MemoryDesc: the roles of a device memory; and the memory that is made from it."""

from nnapi_shim import log, vlog
from nnapi_shim.errors import NnapiError, bad_data, bad_state, op_failed, unmappable
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.quantization import MAX_BYTES, SCALARS
from nnapi_shim.hal.types import Dimensions, IBuffer, Operand, byte_size, combined, is_known
from nnapi_shim.hints import Any
from nnapi_shim.pages import Pages
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.memory import Memory, Role, described, is_same_kind


class MemoryDesc:
    """A memory descriptor. States: open, then finished.

    All roles must agree in the type of the operand. Its dimensions are merged from all roles and
    setDimensions.
    """

    def __init__(self) -> None:
        self.finished = False
        self._roles: dict[Role, None] = {}
        self._operand: Operand | None = None
        self._dimensions: Dimensions = ()
        self._devices: list[IDevice] = []
        self._only_devices: list[IDevice | None] = []
        self._explicit = False

    def _require_open(self) -> None:
        if self.finished:
            raise bad_state(
                "the memory descriptor is finished; it can no longer be changed",
                "memory-desc.sealed",
            )

    def add_role(self, compilation: Compilation, role: str, index: int, frequency: float) -> None:
        """Use the memory as this input or output of executions of a compilation.

        Raises BAD_STATE after finish, BAD_DATA for everything else; changes nothing then.
        """
        self._require_open()
        if (compilation, role, index) in self._roles:
            raise bad_data(
                f"the memory has the role of {role} {index} already", "memory-desc.role-twice"
            )
        if compilation.state != "finished":
            raise bad_data(
                f"the compilation is {compilation.state}; {compilation.what_to_do}",
                "compilation.not-finished",
            )
        operands = compilation.inputs if role == "input" else compilation.outputs
        if not 0 <= index < len(operands):
            raise bad_data(
                f"{role} {index} does not exist; the model has {len(operands)}",
                "memory-desc.role-index",
            )
        operand = operands[index]
        if self._operand is not None and not is_same_kind(self._operand, operand):
            raise bad_data(
                f"{role} {index} is {described(operand)}; an earlier role is "
                f"{described(self._operand)}",
                "memory-desc.role-operand",
            )
        dimensions = self._merged(operand, operand.dimensions)
        if frequency <= 0 or frequency > 1:  # as in the reference, NaN is accepted
            raise bad_data(
                f"frequency is {frequency:g}; it must be above 0 and at most 1",
                "memory-desc.role-frequency",
            )
        self._roles[compilation, role, index] = None
        self._operand = operand
        self._dimensions = dimensions
        self._devices += compilation.devices_of(role, index)
        self._only_devices += [compilation.only_device]
        self._explicit = self._explicit or compilation.explicit

    def set_dimensions(self, dimensions: Dimensions) -> None:
        """Dimensions of the contents; 0 is an unknown size, () an unknown rank.

        Raises BAD_STATE after finish, BAD_DATA if they contradict a role or an earlier call.
        """
        self._require_open()
        self._dimensions = self._merged(self._operand, dimensions)

    def _merged(self, operand: Operand | None, dimensions: Dimensions) -> Dimensions:
        """Merge dimensions with the current ones; raises BAD_DATA if they contradict each other."""
        if operand is not None and operand.type in SCALARS and (self._dimensions or dimensions):
            raise bad_data(
                f"dimensions {list(self._dimensions or dimensions)} given; "
                f"{operand.type.name} is a scalar and has none",
                "memory-desc.scalar-dimensions",
            )
        merged = combined(self._dimensions, dimensions)
        if merged is None:
            raise bad_data(
                f"dimensions {list(dimensions)} contradict {list(self._dimensions)} of a role or "
                "of setDimensions",
                "memory-desc.dimensions",
            )
        return merged

    def finish(self) -> None:
        """Raises BAD_DATA, and stays open, without a role; BAD_STATE when called again."""
        self._require_open()
        if not self._roles:
            raise bad_data(
                "the memory descriptor has no role; addInputRole and addOutputRole give it some",
                "memory-desc.no-role",
            )
        self.finished = True

    def create_memory(self) -> "DeviceMemory":
        """A memory for these roles. Any number may be made, and they outlive the descriptor.

        Raises BAD_STATE before finish; OP_FAILED if dimensions are unknown, or if no single device
        of those that the program named has all the roles, or if that allocates no memory (the
        attribute memory_domains of devices of phone profiles).
        """
        if not self.finished:
            raise bad_state(
                "the memory descriptor is not finished; ANeuralNetworksMemoryDesc_finish must come "
                "first",
                "memory-desc.not-finished",
            )
        assert self._operand is not None
        operand = self._operand._replace(dimensions=self._dimensions)
        if not is_known(operand.type, operand.dimensions):
            raise op_failed(
                f"memory for {described(operand)} cannot be allocated; dimensions must be known",
                "memory-desc.unknown-dimensions",
            )
        # As on Android, programs that name devices get no memory for several devices, although
        # all devices here use memory of the process.
        if self._explicit and any(device is not self._devices[0] for device in self._devices):
            raise op_failed(
                "the roles are on different devices; their compilations were created for named "
                "devices, so that no other memory may take the place of a device's",
                "memory-desc.several-devices",
            )
        if self._explicit and not getattr(self._devices[0], "memory_domains", True):
            raise op_failed(
                f"{self._devices[0].name} allocates no memory; the compilation was created for "
                "named devices, so that no other memory may take its place",
                "memory-desc.no-domains",
            )
        return DeviceMemory(frozenset(self._roles), operand, self._only_device())

    def _only_device(self) -> IDevice | None:
        """The device that alone computes with all roles; None if there is none."""
        first, *others = self._only_devices
        return first if all(device is first for device in others) else None


class DeviceMemory(Memory):
    """Memory for the roles of a descriptor; it has no contents before the first write.

    It lies on the device that alone computes with it, if that has memory of its own, and in the
    process otherwise. Its dimensions are fixed: an output with other dimensions fails.
    """

    operand: Operand

    def __init__(
        self, roles: frozenset[Role], operand: Operand, device: IDevice | None = None
    ) -> None:
        """device: asked for the memory. Raises OP_FAILED if there is too little memory."""
        super().__init__(byte_size(operand))
        if not 0 < self.size <= MAX_BYTES:
            raise op_failed(
                f"memory for {described(operand)} has {self.size} bytes; allowed are 1 to "
                f"{MAX_BYTES}",
                "memory-desc.size",
            )
        self.operand = operand
        self.is_initialized = False
        self._roles = roles
        self._pages: Pages | None = None
        self.buffer = None if device is None else _allocated(device, operand)
        if self.buffer is not None:
            assert device is not None
            vlog.write("memory", f"{self.size} bytes for {described(operand)} on {device.name}")
            return
        try:
            # anonymous pages: allocated at the first write, freed with the memory
            self._pages = Pages(self.size)
        except OSError as error:
            raise op_failed(
                f"{self.size} bytes of memory cannot be allocated: {error}",
                "memory-desc.out-of-memory",
            ) from None
        vlog.write("memory", f"{self.size} bytes for {described(operand)}")

    def check_constant(self, offset: int, length: int) -> None:
        """Raises BAD_DATA: constants have no role."""
        raise bad_data("memory made from a descriptor cannot hold constants", "memory.constant")

    def check_argument(
        self, role: Role, dimensions: Dimensions | None, offset: int, length: int
    ) -> int:
        """Raise BAD_DATA unless it is used as a whole, (0, 0), in one of its roles.

        Dimensions passed with the argument must not contradict those of the descriptor.
        """
        if role not in self._roles:
            raise bad_data(
                "the memory was made from a descriptor without this role", "memory.other-role"
            )
        if offset or length:
            raise bad_data(
                "memory made from a descriptor is used as a whole: offset is "
                f"{offset} and length {length}; both must be 0",
                "memory.whole-only",
            )
        if dimensions is not None and not self.can_hold(dimensions):
            raise bad_data(
                f"the type has dimensions {list(dimensions)}; the memory was made for "
                f"{described(self.operand)}",
                "memory.dimensions",
            )
        return self.size

    def can_hold(self, dimensions: Dimensions) -> bool:
        """Whether it can hold contents with these dimensions, as far as they are known."""
        return combined(self.operand.dimensions, dimensions) is not None

    def map(self) -> int:
        """Address of the first byte; raises UNMAPPABLE for memory on a device."""
        if self._pages is None:
            raise unmappable("the memory lies on a device", "memory.cannot-map")
        return self._pages.address

    def set_initialized(self, initialized: bool) -> None:
        """Record whether it has contents, after a run with it as an output or a copy into it."""
        self.is_initialized = initialized


def _allocated(device: IDevice, operand: Operand) -> IBuffer | None:
    """Memory of a device; None, with a line in the log for a failure, if it gives none."""
    allocate: Any = getattr(device, "allocate", None)
    if allocate is None:
        return None
    try:
        buffer: IBuffer | None = allocate(operand)
    except NnapiError as error:
        log.warning_once(
            (device.name, "allocate"),
            f"{device.name} has no memory for {described(operand)}; memory of the process takes "
            f"its place, which will not be said again: {error.message}",
        )
        return None
    return buffer
