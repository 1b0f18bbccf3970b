"""Starts the process of a device."""

import json
import os
import sys
from signal import Signals

import nnapi_shim
from nnapi_shim import address
from nnapi_shim.drivers.isolated.messages import pair
from nnapi_shim.errors import op_failed
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.pages import above_standard
from nnapi_shim.settings import ISOLATE, environment

_APART = 10
"""Lowest number of the descriptors for the process, so that none is in the way of another."""
CONTROL, LIFELINE = 3, 4
"""Descriptors of the process."""
_BOOT = "boot.py"
SERVER = "nnapi_shim.drivers.isolated.server"
"""What answers in the process of a device."""
_KEPT = ("SIGKILL", "SIGSTOP")


class Started(NamedTuple):
    """control: a socket to the process. lifeline: a descriptor; closing it kills the process."""

    control: Any
    lifeline: int


def started(name: str, server: str = SERVER) -> Started:
    """Start a process; raises OP_FAILED. name: of its device or engine, for lists of processes.
    server: the module whose serve(control) answers there.

    It has none of the program's descriptors but stderr, and is no child of the program.
    """
    python = python_executable()
    control, theirs = pair()
    try:
        read, write = (above_standard(end) for end in os.pipe())
    except BaseException:
        control.close()
        theirs.close()
        raise
    ends = [address.duplicate(end, _APART) for end in (theirs.fileno(), read)]
    try:
        child = os.posix_spawn(
            python,
            [python, *_options(), *_script(name, server)],
            {**environment(), ISOLATE.name: ""},
            file_actions=_file_actions(*ends),
            setsigmask=(),
            setsigdef=[each for each in Signals if each.name not in _KEPT],
        )
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass  # the program has waited for it, or ignores its children
    except OSError as error:
        os.close(write)
        control.close()
        raise op_failed(f"{python} cannot be started: {error}", "isolated.cannot-start") from None
    finally:
        theirs.close()
        for each in (read, *ends):
            os.close(each)
    return Started(control, write)


def python_executable() -> str:
    """The Python for processes of devices: that of this process, or one of its version. Raises
    OP_FAILED if there is none.
    """
    version = "python{}.{}".format(*sys.version_info)
    own = sys.executable or ""
    candidates = [own] if os.path.basename(own).startswith("python") else []
    candidates += [f"{prefix}/bin/{version}" for prefix in (sys.prefix, sys.base_prefix)]
    for path in candidates:
        if os.access(path, os.X_OK):
            return path
    from shutil import which

    found = which(version)
    if found is None:
        raise op_failed(
            f"a process of its own needs the program {version}, which is neither in "
            f"{sys.base_prefix}/bin nor in PATH",
            "isolated.no-python",
        )
    return found


def _options() -> list[str]:
    """Those with which the process has the modules of this one."""
    return ["-I"] if "site" in sys.modules else ["-I", "-S"]


def _script(name: str, server: str) -> list[str]:
    """boot.py and its arguments."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), _BOOT)
    return [path, str(CONTROL), str(LIFELINE), json.dumps(_search_path()), server, name]


def _search_path() -> list[str]:
    package = os.path.dirname(os.path.dirname(os.path.abspath(nnapi_shim.__file__)))
    return [*dict.fromkeys([os.path.abspath(each) for each in [*sys.path, package]])]


def _file_actions(control: int, lifeline: int) -> list[Any]:
    """Descriptors 0 to 4 of the process: nothing, stderr, stderr, socket, pipe."""
    null = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0)]
    try:
        os.fstat(2)
        errors = [(os.POSIX_SPAWN_DUP2, 2, 1)]
    except OSError:  # the program has closed it
        errors = [(os.POSIX_SPAWN_DUP2, 0, each) for each in (1, 2)]
    ours = [
        (os.POSIX_SPAWN_DUP2, control, CONTROL),
        (os.POSIX_SPAWN_DUP2, lifeline, LIFELINE),
    ]
    # Beyond a limit that was lowered, posix_spawn closes none; the process does, a little later.
    closed = range(LIFELINE + 1, os.sysconf("SC_OPEN_MAX"))
    others = [(os.POSIX_SPAWN_CLOSE, each) for each in _inheritable() if each in closed]
    return [*null, *errors, *ours, *others]


def _inheritable() -> list[int]:
    """The descriptors of the program that it would leave open in the process."""
    found = []
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return []  # the process closes them itself, a little later
    for name in names:
        try:
            if os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue  # of the listing itself, or closed meanwhile
    return found
