"""The contents of a profile."""

from nnapi_shim.drivers.reference.precision import Precision
from nnapi_shim.hal.enums import DeviceType, OperandType, OperationType
from nnapi_shim.hal.levels import AndroidVersion
from nnapi_shim.hal.types import Capabilities
from nnapi_shim.hints import NamedTuple

SCHEMA = 1
"""The version of the schema that this library reads."""

CPU = "nnapi-reference"
"""The name of the CPU device, the last one of every Android phone."""


class Rule(NamedTuple):
    """Operations that a device takes, if all their tensors are within the limits.

    names: the operations; None for all of the device's level. types: of tensors; None for all.
    The limits are None where there are none. max_batch: of the first dimension.
    known_dimensions: whether all dimensions must be declared.
    """

    names: frozenset[OperationType] | None
    types: frozenset[OperandType] | None
    min_rank: int | None
    max_rank: int | None
    max_dimension: int | None
    max_elements: int | None
    max_batch: int | None
    known_dimensions: bool


class Delays(NamedTuple):
    """Time that a device takes in addition to computing, in us: to compile a model, to run it, for
    each operation of a run, and to run it in a burst (None: as outside).
    """

    compile_us: float = 0
    run_us: float = 0
    operation_us: float = 0
    burst_run_us: float | None = None


class CacheFiles(NamedTuple):
    """How many files a device keeps for a compiled model: with code, and with data."""

    model: int
    data: int


ONE_FILE = CacheFiles(1, 0)
"""As the devices of this library keep a model."""


class DeviceProfile(NamedTuple):
    """A device of a phone.

    level: its feature level, 1 to 8. computed_by: the device of this library that computes.
    caching: the files of a compiled model; None if it keeps none.
    float16: how it computes relaxed models, and those with float16; None: as computed_by.
    memory_domains: whether it allocates memory for ANeuralNetworksMemory_createFromDesc.
    """

    name: str
    version: str
    type: DeviceType
    level: int
    computed_by: str
    capabilities: Capabilities
    caching: CacheFiles | None
    delays: Delays
    rules: tuple[Rule, ...]
    float16: Precision | None = None
    memory_domains: bool = True


class Profile(NamedTuple):
    """A phone. devices: with the CPU, which is the last one. faults: rules (fault_rules.py)."""

    name: str
    description: str
    android: str
    api_level: int
    level: int
    devices: tuple[DeviceProfile, ...]
    faults: tuple[str, ...]

    @property
    def version(self) -> AndroidVersion:
        """Its levels."""
        return AndroidVersion(self.api_level, self.level)
