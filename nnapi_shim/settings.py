"""Every environment variable that the library reads, in one table.

The environment is read when a value is asked for, not at import: a program may set a variable
between loading the library and its first call.
"""

import os
from typing import NamedTuple


class Setting(NamedTuple):
    """One environment variable: its name, its default and what it does."""

    name: str
    default: str
    meaning: str

    def get(self) -> str:
        """The value in the environment, or the default."""
        return os.environ.get(self.name, self.default)


LOG = Setting(
    "NNAPI_SHIM_LOG",
    "error",
    "what is written to stderr: silent, error, warning or debug",
)
ENABLED_DEVICES = Setting(
    "DEBUG_NN_ENABLED_DEVICES",
    "",
    "regular expression that a device's whole name must match; a device that does not match does "
    "not exist, not even as a fallback; empty means all devices",
)
TIER = Setting(
    "NNAPI_SHIM_TIER",
    "",
    "highest instruction-set tier of the CPU device: v2, v3 or v4; empty means the best that the "
    "processor has",
)
KERNELS = Setting(
    "NNAPI_SHIM_KERNELS",
    "",
    "folder of the built kernel libraries; empty means where the build put them",
)
JIT = Setting(
    "NNAPI_SHIM_JIT",
    "on",
    "off: a kernel that is missing in the built library is an error, and is not compiled by numba",
)
# Read by native/boot.c before Python runs; listed here so that the table is complete.
HOME = Setting(
    "NNAPI_SHIM_HOME",
    "",
    "folder that holds the package nnapi_shim, in place of what the location file beside the "
    "library says",
)
# Read by the companion libraries (native/companion).
ASSETS = Setting("NNAPI_SHIM_ASSETS", ".", "folder that a NULL AAssetManager stands for")
LOG_PRIORITY = Setting(
    "NNAPI_SHIM_LOG_PRIORITY",
    "VERBOSE",
    "lowest priority that __android_log_* writes to stderr",
)

SETTINGS = (LOG, ENABLED_DEVICES, TIER, KERNELS, JIT, HOME, ASSETS, LOG_PRIORITY)
