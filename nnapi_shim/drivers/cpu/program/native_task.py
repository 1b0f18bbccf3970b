"""A native task: a C thread that calls one function and never takes Python's lock."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import c_function
from nnapi_shim.hints import Any

_RESULT = 16
"""Offset of the function's result in a block. A block begins with the function and its argument;
native/native_task.c defines the rest.
"""
_BYTES = 64


class NativeTask:
    """A thread that calls `function(argument, 0)`. The object's finalizer waits for the thread.

    owner: owns the memory that the thread accesses; kept alive until the thread has ended.
    """

    def __init__(self, function: int, argument: int, owner: Any) -> None:
        """Start the thread; if none can be created, `began` is False."""
        if not _functions:
            where = c_function("nnapi_shim_getHelper", "uint64_t(*)(void)")()
            _functions.append((where, address.function(where, "int32_t(*)(uintptr_t, uintptr_t)")))
        where, self._help = _functions[0]
        block = self._block = address.Block(_BYTES)
        words = function.to_bytes(8, "little") + argument.to_bytes(8, "little")
        address.write(block.address, words)
        # From here on the finalizer waits for the thread, even after an exception.
        self._end = address.at_the_end(where, block.address, (block, owner))
        self.began = bool(self._help(block.address, 0))
        """Whether there is a thread."""

    def result(self) -> int | None:
        """Wait for the thread, and return the function's int32_t result. None if there was no
        thread, or this process is a fork, which has no copy of the thread.
        """
        if not self._help(self._block.address, 1):
            return None
        data = address.read(self._block.address + _RESULT, 8)
        return int.from_bytes(data, "little", signed=True)


_functions: list[tuple[int, Any]] = []
"""The C function that starts a thread and waits for it: its address and the callable."""
