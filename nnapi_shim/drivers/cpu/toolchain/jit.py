"""Compile one kernel now: for kernels that the built library lacks, and to develop new ones."""

from typing import Any

import numba

from nnapi_shim.drivers.cpu import kernels
from nnapi_shim.drivers.cpu.toolchain.kernel import KERNELS, entry
from nnapi_shim.errors import op_failed

_compiled: dict[str, Any] = {}


def compile_kernel(name: str, tier: str) -> int:
    """Address of the compiled kernel; raises OP_FAILED when there is no kernel of that name."""
    for family in kernels.FAMILIES:
        if name in KERNELS:
            break
        kernels.load(family)
    if name not in KERNELS:
        raise op_failed(
            f"no family of drivers/cpu/kernels/__init__.py defines kernel {name}", "kernel.unknown"
        )
    if name not in _compiled:
        function, result, arguments = entry(KERNELS[name])
        _compiled[name] = numba.cfunc(result(*arguments), error_model="numpy")(function)
    return int(_compiled[name].address)
