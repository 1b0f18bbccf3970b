"""IBuffer of the devices of engines, and the process in which engines work."""

from nnapi_shim import process
from nnapi_shim.drivers.engines.engine import Memory
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions


class DeviceBuffer:
    """As IBuffer: memory of an engine for a tensor with these dimensions."""

    def __init__(self, memory: Memory, dimensions: Dimensions) -> None:
        self.memory = memory
        self.dimensions = dimensions
        self._generation = process.generation[0]

    def copyTo(self, address: int, length: int) -> None:
        """As IBuffer; raises DEAD_OBJECT in a forked child."""
        self._require_same_process()
        self.memory.read(address, length)

    def copyFrom(self, address: int, length: int) -> None:
        """As IBuffer; raises DEAD_OBJECT in a forked child."""
        self._require_same_process()
        self.memory.write(address, length)

    def _require_same_process(self) -> None:
        require_generation(
            self._generation, "the memory was made", "use memory that it has made itself"
        )


def require_generation(generation: int, what: str, cure: str) -> None:
    """Raise DEAD_OBJECT in a child that was forked later: the engine's threads are in the parent
    alone. generation: process.generation at that time.
    """
    if process.generation[0] != generation:
        raise NnapiError(
            ResultCode.DEAD_OBJECT,
            f"{what} before the process was forked; a child has to {cure}",
            "engine.forked",
        )
