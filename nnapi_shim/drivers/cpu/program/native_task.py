"""A native task: a thread of C alone that calls one function while Python goes on.

It never takes Python's lock.
"""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import c_function
from nnapi_shim.hints import Any

_RESULT = 16
"""Offset in a block of the function's result; the block begins with the function and its argument,
and native/native_task.c has the rest.
"""
_BYTES = 64


class NativeTask:
    """A thread that calls `function(argument, 0)`. When the object goes, it waits for the thread.

    owner: keeps the memory that the thread reads and writes, until then.
    """

    def __init__(self, function: int, argument: int, owner: Any) -> None:
        """Nothing begins where no thread can be made."""
        if not _functions:
            where = c_function("nnapi_shim_getHelper", "uint64_t(*)(void)")()
            _functions.append((where, address.function(where, "int32_t(*)(uintptr_t, uintptr_t)")))
        where, self._help = _functions[0]
        block = self._block = address.Block(_BYTES)
        words = function.to_bytes(8, "little") + argument.to_bytes(8, "little")
        address.view(block.address, len(words))[:] = words
        # From here on the thread's end is waited for, whatever is raised where.
        self._end = address.at_the_end(where, block.address, (block, owner))
        self.began = bool(self._help(block.address, 0))
        """Whether there is a thread."""

    def result(self) -> int | None:
        """Wait for the thread: the int32_t that the function returned. None where it may not have
        returned: there was no thread, or this is the child of a fork, which has none.
        """
        if not self._help(self._block.address, 1):
            return None
        found = address.read(self._block.address + _RESULT, 8)
        return int.from_bytes(found, "little", signed=True)


_functions: list[tuple[int, Any]] = []
"""The C function that begins a thread and waits for it, looked up once: its address, and it."""
