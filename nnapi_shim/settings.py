"""Every environment variable that the library reads, in one table.

The environment is read when a value is asked for, not at import: a program may set a variable
between loading the library and its first call.
"""

import os
from collections.abc import Callable

from nnapi_shim.hints import NamedTuple

_refused: dict[tuple[str, str], object] = {}
"""Values that a message was written about; one is enough."""

_environment_counts = True

_tell: Callable[[str], object] | None = None
"""What writes a line; None until log.py, which has a setting of its own, says it."""


def tell_with(function: Callable[[str], object]) -> None:
    """Let a function write the lines about values that are not used."""
    global _tell
    _tell = function


def ignore_environment() -> None:
    """Let every setting be its default: the program runs with rights that whoever started it, and
    made its environment, does not have.
    """
    global _environment_counts
    _environment_counts = False


def is_environment_ignored() -> bool:
    """Whether the environment does not count."""
    return not _environment_counts


def environment() -> dict[str, str]:
    """All variables, for a program that is to be started with them."""
    return dict(os.environ)


class Setting(NamedTuple):
    """One environment variable: its name, its default and what it does.

    allowed: the values that it may have; empty if any text will do.
    privileged: its value in a program with raised privileges, if not the default.
    """

    name: str
    default: str
    meaning: str
    allowed: tuple[str, ...] = ()
    privileged: str | None = None

    def get(self) -> str:
        """The value in the environment, or the default where there is none that is allowed."""
        if not _environment_counts:
            return self.default if self.privileged is None else self.privileged
        value = os.environ.get(self.name, self.default)
        if self.allowed and value not in self.allowed:
            if value:
                self.refuse(value, f"allowed are {', '.join(filter(None, self.allowed))}")
            return self.default
        return value

    @property
    def origin(self) -> str:
        """Where the value comes from: `default` or `environment`."""
        if not _environment_counts or self.name not in os.environ:
            return "default"
        value = os.environ[self.name]
        is_used = not self.allowed or value in self.allowed
        return "environment" if is_used else "default"

    def refuse(self, value: str, reason: str) -> None:
        """Say, once, that a value is not used."""
        if _tell is None:
            return
        mine = object()
        if _refused.setdefault((self.name, value), mine) is mine:  # one thread, once
            _tell(f"{self.name} is {value!r}, which is not used; {reason}")


LOG = Setting(
    "NNAPI_SHIM_LOG",
    "warning",
    "what is written to stderr: silent, error, warning or debug; with `json` behind it, such as "
    "`warning,json`, as lines of JSON",
)
ENABLED_DEVICES = Setting(
    "DEBUG_NN_ENABLED_DEVICES",
    "",
    "regular expression that a device's whole name must match; a device that does not match does "
    "not exist, not even as a fallback; empty means all devices",
)
PARTITION = Setting(
    "DEBUG_NN_PARTITION",
    "1",
    "how a compilation uses the devices where the program names none: 0, each model runs as a "
    "whole on one device; 1, models are split over devices, and a model that fails on one runs on "
    "nnapi-reference; 2, models are split, and what fails has failed",
    ("0", "1", "2"),
)
CPU_ONLY = Setting(
    "DEBUG_NN_CPUONLY",
    "0",
    "1: nnapi-reference is the only device",
    ("0", "1"),
)
VLOG = Setting(
    "DEBUG_NN_VLOG",
    "",
    "what is told of on stderr as it happens, whatever NNAPI_SHIM_LOG says: some of model, "
    "compilation, execution, memory, device, manager, driver and cpuexe with spaces or commas "
    "between them, or all",
)
LINT = Setting(
    "NNAPI_SHIM_LINT",
    "0",
    "1: calls that build a model go on after a refusal, which is told of and answered with "
    "NO_ERROR; finish tells of everything that is wrong with the model, and then fails; where "
    "nothing is, of what computations will refuse whatever their inputs are",
    ("0", "1"),
)
BREAK = Setting(  # read in native/message.c
    "NNAPI_SHIM_BREAK",
    "0",
    "1: a refusal raises SIGTRAP once it is told of, so that a debugger stops in the call that is "
    "refused; without a debugger the program ends there (docs/debugging.md)",
    ("0", "1"),
)
TIER = Setting(
    "NNAPI_SHIM_TIER",
    "",
    "highest instruction-set tier of the CPU device: v2, v3 or v4; portable: without instructions "
    "that only some processors have, `make kernels TIERS=portable` builds it; empty means the best "
    "that the processor has",
)
THREADS = Setting(
    "NNAPI_SHIM_THREADS",
    "0",
    "threads that a computation of the CPU device takes at most, 1 to 64; 0 means as many as the "
    "process has processors: those of its affinity mask, and no more than a quota of its control "
    "group is worth",
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
    ("on", "off"),
    privileged="off",  # numba has settings of its own in the environment
)
PASSES = Setting(
    "NNAPI_SHIM_PASSES",
    "",
    "passes of the CPU device over a model that are left out, with commas between them, such as "
    "`-fold_constants,-fuse_padding`, or `-all` (ARCHITECTURE.md, Passes)",
)
DRIVERS = Setting(
    "NNAPI_SHIM_DRIVERS",
    "",
    "folders with manifests of devices (*.json), separated by colons (docs/drivers.md)",
)
DRIVER_TIMEOUT = Setting(
    "NNAPI_SHIM_DRIVER_TIMEOUT",
    "60",
    "seconds that a device of HAL 1.0 or 1.1 may take for an answer; 0 means any time",
)
DRIVER_LOAD_TIMEOUT = Setting(
    "NNAPI_SHIM_DRIVER_LOAD_TIMEOUT",
    "30",
    "seconds that the import of a device's module and the making of the device may take; then it "
    "is left out; 0 means any time",
)
STATE = Setting(
    "XDG_STATE_HOME",
    "",
    "folder whose folder nnapi_shim holds the key of the user's cached models; empty means "
    "`~/.local/state`",
)
# Read in native/ before Python runs; listed here so that the table is complete.
HOME = Setting(
    "NNAPI_SHIM_HOME",
    "",
    "folder that holds the package nnapi_shim, in place of what the location file beside the "
    "library says",
)
PYTHON = Setting(
    "NNAPI_SHIM_PYTHON",
    "",
    "Python that a C program is to use: a shared libpython, a python, or the folder of an "
    "environment; empty means the one that nnapi_shim is installed for",
)
# Read by the companion libraries (native/companion).
ASSETS = Setting("NNAPI_SHIM_ASSETS", ".", "folder that a NULL AAssetManager stands for")
LOG_PRIORITY = Setting(
    "NNAPI_SHIM_LOG_PRIORITY",
    "VERBOSE",
    "lowest priority that __android_log_* writes to stderr",
)
ANDROID_API = Setting(
    "NNAPI_SHIM_ANDROID_API",
    "34",
    "API level of the Android version that a program believes to run on (docs/android.md)",
)
PROPERTIES = Setting(
    "NNAPI_SHIM_PROPERTIES",
    "",
    "system properties, as name=value with commas between them; a comma within a value is written "
    "twice",
)
TRACE = Setting(
    "NNAPI_SHIM_TRACE",
    "",
    "file for what happens when: calls, what the runtime and the devices do for them, each "
    "operation, and what the program says with ATrace_*; trace events in JSON, which Perfetto and "
    "Chrome show (docs/trace.md); `%p` in its name is the process's number; empty means none",
)
CAPTURE = Setting(
    "NNAPI_SHIM_CAPTURE",
    "",
    "file for all calls of a program with everything that they were given and gave, to be repeated "
    "with `nnapi-shim replay` (docs/capture.md); `%p` in its name is the process's number; empty "
    "means none",
)

SETTINGS = (
    LOG,
    ENABLED_DEVICES,
    PARTITION,
    CPU_ONLY,
    VLOG,
    LINT,
    BREAK,
    TIER,
    THREADS,
    KERNELS,
    JIT,
    PASSES,
    DRIVERS,
    DRIVER_TIMEOUT,
    DRIVER_LOAD_TIMEOUT,
    STATE,
    HOME,
    PYTHON,
    ASSETS,
    LOG_PRIORITY,
    ANDROID_API,
    PROPERTIES,
    TRACE,
    CAPTURE,
)
