"""Every environment variable that the library reads, in one table.

The environment is read when a value is asked for, not at import: a program may set a variable
between loading the library and its first call.
"""

import os

from nnapi_shim.hints import TYPE_CHECKING, Callable, NamedTuple

if TYPE_CHECKING:
    from nnapi_shim.settings_file import SettingsFile

_refused: dict[tuple[str, str], object] = {}
"""Rejected values that were already reported; each is reported once."""

_environment_counts = True

_tell: Callable[[str], object] | None = None
"""Writes a line; None until log.py, which reads a setting itself, sets it."""

_warn: Callable[[str], object] | None = None
"""As _tell, for what is not used because of its name."""

_untold: list[str] = []
"""Warnings from before log.py was imported."""

_in_file: dict[str, str] | None = None
"""The settings of the file; None until the first setting is read."""


def tell_with(function: Callable[[str], object], warn: Callable[[str], object]) -> None:
    """Set the functions that report rejected values, and names that are no settings."""
    global _tell, _warn
    _tell, _warn = function, warn
    while _untold:
        warn(_untold.pop(0))


def ignore_environment() -> None:
    """Use the default of every setting: the program has privileges that the user who set its
    environment lacks.
    """
    global _environment_counts
    _environment_counts = False


def is_environment_ignored() -> bool:
    """Whether settings ignore the environment."""
    return not _environment_counts


def environment() -> dict[str, str]:
    """A copy of all variables, to start a program with."""
    return dict(os.environ)


class Setting(NamedTuple):
    """One environment variable: its name, its default and what it does.

    allowed: the allowed values; empty if any text is allowed.
    privileged: its value in a program with raised privileges, if not the default.
    is_early: whether C reads it, from the environment alone.
    """

    name: str
    default: str
    meaning: str
    allowed: tuple[str, ...] = ()
    privileged: str | None = None
    is_early: bool = False

    def get(self) -> str:
        """The value in the environment; the default if it is not set or not allowed."""
        if not _environment_counts:
            return self.default if self.privileged is None else self.privileged
        value = os.environ.get(self.name)
        if value is None:
            value = _from_file().get(self.name, self.default)
        if self.allowed and value not in self.allowed:
            if value:
                self.refuse(value, f"allowed are {', '.join(filter(None, self.allowed))}")
            return self.default
        return value

    def words(self) -> list[str]:
        """The value as a list, of what commas separate."""
        return [word for word in map(str.strip, self.get().split(",")) if word]

    def put(self, value: str | None) -> str | None:
        """Set the variable, or remove it for None; returns what it was, to put it back."""
        before = os.environ.pop(self.name, None)
        if value is not None:
            os.environ[self.name] = value
        return before

    @property
    def origin(self) -> str:
        """The source of the value: `default`, `environment`, or the path of the settings file."""
        if not _environment_counts:
            return "default"
        source, value = "environment", os.environ.get(self.name)
        if value is None:
            source, value = config_file(), _from_file().get(self.name)
        is_used = value is not None and (not self.allowed or value in self.allowed)
        return source if is_used else "default"

    def refuse(self, value: str, reason: str) -> None:
        """Report, once, that a value is rejected."""
        if _tell is None:
            return
        mine = object()
        if _refused.setdefault((self.name, value), mine) is mine:  # one thread, once
            _tell(f"{self.name} is {value!r}, which is not used; {reason}")


LOG = Setting(
    "NNAPI_SHIM_LOG",
    "warning",
    "level of the messages on stderr: silent, error, warning or debug; followed by `json`, as in "
    "`warning,json`, messages are lines of JSON",
)
ENABLED_DEVICES = Setting(
    "DEBUG_NN_ENABLED_DEVICES",
    "",
    "regular expression that the full name of a device must match; other devices are not listed "
    "and are no fallback; empty means all devices",
)
PARTITION = Setting(
    "DEBUG_NN_PARTITION",
    "1",
    "partitioning of a compilation for which the program names no devices: 0, each model runs on "
    "one device; 1, models are split over devices, with a fallback to nnapi-reference if a device "
    "fails; 2, models are split without a fallback",
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
    "topics of verbose logging on stderr, independent of NNAPI_SHIM_LOG: model, compilation, "
    "execution, memory, device, manager, driver and cpuexe, separated by spaces or commas, or all",
)
LINT = Setting(
    "NNAPI_SHIM_LINT",
    "0",
    "1: calls that build a model report a refusal and return NO_ERROR, so that building goes on; "
    "finish reports all errors of the model and then fails; addOperation and finish warn of "
    "computations that fail for all inputs; constants that are freed or changed before finish, and "
    "padding schemes that do not exist, are errors",
    ("0", "1"),
)
BREAK = Setting(  # read in native/message.c
    "NNAPI_SHIM_BREAK",
    "0",
    "1: a refusal raises SIGTRAP after its message, so that a debugger stops in the refused call; "
    "without a debugger the program ends there (docs/debugging.md)",
    ("0", "1"),
    is_early=True,
)
TIER = Setting(
    "NNAPI_SHIM_TIER",
    "",
    "highest instruction-set tier of the CPU device: v2, v3, v3vnni or v4, on AArch64 neon, "
    "dotprod or i8mm; portable: no instruction-set extensions, built by `make kernels "
    "TIERS=portable`; empty means the highest tier that the processor supports",
)
THREADS = Setting(
    "NNAPI_SHIM_THREADS",
    "0",
    "maximum number of threads of a computation on the CPU device, 1 to 64; 0 means the number of "
    "processors in the affinity mask of the process, limited by the CPU quota of its control group",
)
KERNELS = Setting(
    "NNAPI_SHIM_KERNELS",
    "",
    "folder of the built kernel libraries; empty means the folder of the build",
)
JIT = Setting(
    "NNAPI_SHIM_JIT",
    "on",
    "off: a kernel that is missing in the built library is an error; on: numba compiles it",
    ("on", "off"),
    privileged="off",  # numba reads its own variables from the environment
)
PASSES = Setting(
    "NNAPI_SHIM_PASSES",
    "",
    "optimization passes of the CPU device to disable, separated by commas, such as "
    "`-fold_constants,-fuse_padding`, or `-all` (ARCHITECTURE.md, Passes)",
)
DRIVERS = Setting(
    "NNAPI_SHIM_DRIVERS",
    "",
    "folders with manifests of devices (*.json), separated by colons (docs/drivers.md)",
)
ENGINES = Setting(
    "NNAPI_SHIM_ENGINES",
    "",
    "installed engines whose devices are listed, such as `openvino,onnxruntime`, or `all` "
    "(docs/engines.md); empty means none",
)
ISOLATE = Setting(
    "NNAPI_SHIM_ISOLATE",
    "",
    "engines and devices that run in processes of their own, such as `openvino,my-device`, or "
    "`all` (docs/drivers.md); empty means those whose manifest asks for it",
)
CALIBRATION = Setting(
    "NNAPI_SHIM_CALIBRATION",
    "on",
    "on: models are divided by the times that `nnapi-shim calibrate` has measured, if devices of "
    "others are listed (docs/engines.md); off: by the figures that devices declare",
    ("on", "off"),
)
DRIVER_TIMEOUT = Setting(
    "NNAPI_SHIM_DRIVER_TIMEOUT",
    "60",
    "time limit in seconds for a call of a HAL 1.0 or 1.1 device, or of a device in a process of "
    "its own; 0 means no limit",
)
DRIVER_LOAD_TIMEOUT = Setting(
    "NNAPI_SHIM_DRIVER_LOAD_TIMEOUT",
    "30",
    "time limit in seconds for importing the module of a device and creating the device; a device "
    "that exceeds it is not listed; 0 means no limit",
)
STATE = Setting(
    "XDG_STATE_HOME",
    "",
    "folder for state; its subfolder nnapi_shim holds the key that signs the user's cached models, "
    "and the calibration of devices; empty means `~/.local/state`",
)
CONFIG = Setting(
    "NNAPI_SHIM_CONFIG",
    "",
    "file with settings, in lines such as `NNAPI_SHIM_LINT = 1`; those below a line `[debug]` "
    "count only for `nnapi-shim exec --settings debug`; an environment variable overrides "
    "the file; empty means `nnapi_shim/settings.conf` in XDG_CONFIG_HOME",
    is_early=True,
)
CONFIG_HOME = Setting(
    "XDG_CONFIG_HOME",
    "",
    "folder for configuration files; empty means `~/.config`",
    is_early=True,
)
# Read in native/ before Python runs; listed here so that the table is complete.
HOME = Setting(
    "NNAPI_SHIM_HOME",
    "",
    "folder that holds the package nnapi_shim; overrides the location file in the library's folder",
    is_early=True,
)
PYTHON = Setting(
    "NNAPI_SHIM_PYTHON",
    "",
    "Python for C programs: a shared libpython, a python executable, or the folder of a virtual "
    "environment; empty means the Python that nnapi_shim is installed for",
    is_early=True,
)
# Read by the companion libraries (native/companion).
ASSETS = Setting("NNAPI_SHIM_ASSETS", ".", "folder that a NULL AAssetManager reads", is_early=True)
LOG_PRIORITY = Setting(
    "NNAPI_SHIM_LOG_PRIORITY",
    "VERBOSE",
    "lowest priority that __android_log_* writes to stderr",
    is_early=True,
)
ANDROID_API = Setting(
    "NNAPI_SHIM_ANDROID_API",
    "34",
    "Android API level that the library reports to the program (docs/android.md)",
    is_early=True,
)
PROPERTIES = Setting(
    "NNAPI_SHIM_PROPERTIES",
    "",
    "system properties, as name=value, separated by commas; a comma in a value is doubled",
    is_early=True,
)
TRACE = Setting(
    "NNAPI_SHIM_TRACE",
    "",
    "file for a trace in the JSON trace event format of Perfetto and Chrome (docs/trace.md): "
    "calls, work of the runtime and the devices, each operation, and ATrace_* sections of the "
    "program; `%p` in the name is the process id; empty means no trace",
)
PROFILE = Setting(
    "NNAPI_SHIM_PROFILE",
    "",
    "phone that this machine stands for: the name of a shipped profile, such as android-10-dsp, or "
    "the path of a JSON file (docs/testing.md); empty means none. `nnapi-shim exec --profile` also "
    "hides the functions of later Android versions",
    is_early=True,
)
FAULTS = Setting(
    "NNAPI_SHIM_FAULTS",
    "",
    "faults to inject into calls and devices, such as `function=Execution_compute nth=2 "
    "code=DEAD_OBJECT` (docs/testing.md); empty means none",
)
CHECK = Setting(
    "NNAPI_SHIM_CHECK",
    "",
    "checks for what works here, and fails or costs on a phone, such as `leaks min-level=3`, or "
    "`all` (docs/testing.md); empty means none",
)
CAPTURE = Setting(
    "NNAPI_SHIM_CAPTURE",
    "",
    "file for a capture of all calls of a program with their arguments and results, for "
    "`nnapi-shim replay` (docs/capture.md); `%p` in the name is the process id; empty means no "
    "capture",
)

SETTINGS = tuple([item for item in globals().values() if isinstance(item, Setting)])


def config_file() -> str:
    """The path of the settings file, which need not exist; "" if there is no place for one."""
    named = os.environ.get(CONFIG.name)
    if named:
        return named
    home = os.environ.get(CONFIG_HOME.name)
    if not home:
        user = os.environ.get("HOME")
        home = f"{user}/.config" if user else ""
    return f"{home}/nnapi_shim/settings.conf" if home else ""


def read_config() -> "SettingsFile":
    """The settings file; empty if it does not exist."""
    from nnapi_shim.settings_file import read_file

    early = [setting.name for setting in SETTINGS if setting.is_early]
    return read_file(config_file(), [setting.name for setting in SETTINGS], early)


def _from_file() -> dict[str, str]:
    """The settings of the file, by name. The first call reads it, and looks for variables that are
    no settings.
    """
    global _in_file
    if _in_file is not None:
        return _in_file
    problems: list[str] = []
    own = [name for name in os.environ if name.startswith(_OWN)]
    if own:
        names = {setting.name for setting in SETTINGS}
        for name in own:
            if name not in names and not name.startswith(_OF_THE_BUILD):
                from nnapi_shim.settings_file import unknown

                problems.append(unknown(name, names))
    values: dict[str, str] = {}
    path = config_file()
    if path and (os.environ.get(CONFIG.name) or os.path.exists(path)):
        file = read_config()
        values = file.always
        problems += file.problems
    _in_file = values  # before reporting, which reads settings
    for problem in problems:
        mine = object()
        if _refused.setdefault((problem, ""), mine) is mine:  # one thread, once
            if _warn is None:
                _untold.append(problem)
            else:
                _warn(problem)
    return values


_OWN, _OF_THE_BUILD = "NNAPI_SHIM_", "NNAPI_SHIM_BUILD_"
"""How the names of this library's variables begin, and those that the build takes."""
