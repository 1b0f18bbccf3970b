"""The result codes with which `nnapi-shim exec --sweep` lets each function fail.

OUTPUT_INSUFFICIENT_SIZE is none of them: programs then ask for the sizes, which only a device can
tell (`do=too-small`).
"""

from nnapi_shim.hal.enums import ResultCode as R

_DEADLINE = (R.MISSED_DEADLINE_TRANSIENT, R.MISSED_DEADLINE_PERSISTENT)
_RESOURCES = (R.RESOURCE_EXHAUSTED_TRANSIENT, R.RESOURCE_EXHAUSTED_PERSISTENT)
_DEVICE = (R.OP_FAILED, R.UNAVAILABLE_DEVICE, *_DEADLINE, *_RESOURCES, R.DEAD_OBJECT)
_RUN = (R.OUT_OF_MEMORY, *_DEVICE)

_CODES = {
    "Compilation_finish": (R.OUT_OF_MEMORY, *_DEVICE),
    "Execution_compute": _RUN,
    "Execution_burstCompute": _RUN,
    "Execution_startCompute": _RUN,
    "Execution_startComputeWithDependencies": _RUN,
    "Event_wait": _RUN,
    "Memory_createFromFd": (R.OUT_OF_MEMORY, R.UNMAPPABLE),
    "Memory_createFromAHardwareBuffer": (R.OUT_OF_MEMORY, R.UNMAPPABLE),
    "Memory_createFromDesc": (R.OUT_OF_MEMORY, R.OP_FAILED),
    "Memory_copy": (R.OUT_OF_MEMORY, R.OP_FAILED, R.UNMAPPABLE, R.DEAD_OBJECT),
    "Device_wait": (R.OP_FAILED, R.UNAVAILABLE_DEVICE),
}
"""Function -> codes that do not depend on what the program passes. Others: OUT_OF_MEMORY, which
every function may return.
"""


def codes_of(function: str) -> tuple[R, ...]:
    """The codes of a function of the C API."""
    return _CODES.get(function.removeprefix("ANeuralNetworks"), (R.OUT_OF_MEMORY,))
