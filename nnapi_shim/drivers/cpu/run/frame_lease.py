"""Frame leases: the memory of the results of a run, until it is released."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.segments import Segment
from nnapi_shim.drivers.cpu.program.program import Frame


class FrameLease:
    """Frames and blocks of memory in which results lie, until the lease is released."""

    def __init__(self) -> None:
        self._frames: list[tuple[Segment, Frame]] = []
        self._blocks: list[address.Block] = []

    def frame(self, segment: Segment) -> Frame:
        """Lease a frame of a segment."""
        frame = segment.frame()
        self._frames.append((segment, frame))
        return frame

    def copy(self, source: int, length: int) -> int:
        """Address of a copy of `length` bytes."""
        block = address.Block(length)
        address.copy(block.address, source, length)
        self._blocks.append(block)
        return block.address

    def zeros(self, length: int) -> int:
        """Address of `length` bytes of 0."""
        block = address.Block(length)
        self._blocks.append(block)
        return block.address

    def take_over(self, other: "FrameLease") -> None:
        """Take over the frames and blocks of another lease."""
        self._frames += other._frames
        self._blocks += other._blocks

    def release(self) -> None:
        """Give the frames back for other runs."""
        for segment, frame in self._frames:
            segment.frames.append(frame)
        self._frames, self._blocks = [], []
