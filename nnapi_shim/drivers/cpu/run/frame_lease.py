"""Frame leases: own the memory of a run's results until they are released."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.segments import Segment
from nnapi_shim.drivers.cpu.program.program import Frame


class FrameLease:
    """The frames and memory blocks that hold results, until `release`."""

    def __init__(self) -> None:
        self._frames: list[tuple[Segment, Frame]] = []
        self._blocks: list[address.Block] = []

    def frame(self, segment: Segment) -> Frame:
        """Lease a frame of a segment."""
        frame = segment.frame()
        self._frames.append((segment, frame))
        return frame

    def copy(self, source: int, length: int) -> int:
        """Copy `length` bytes into a new block; returns its address."""
        block = address.Block(length)
        address.copy(block.address, source, length)
        self._blocks.append(block)
        return block.address

    def zeros(self, length: int) -> int:
        """Allocate `length` zero bytes; returns their address."""
        block = address.Block(length)
        self._blocks.append(block)
        return block.address

    def take_over(self, other: "FrameLease") -> None:
        """Take over the frames and blocks of another lease."""
        self._frames += other._frames
        self._blocks += other._blocks

    def release(self) -> None:
        """Return the frames to their segments for other runs, and free the blocks."""
        for segment, frame in self._frames:
            segment.frames.append(frame)
        self._frames, self._blocks = [], []
