"""An unmodified C program with this library: what its environment is to be, and running it."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from nnapi_shim import settings
from nnapi_shim.errors import bad_data
from nnapi_shim.folders import get_library_dir
from nnapi_shim.formats.output_file import require_free
from nnapi_shim.log import JSON, LEVELS

_SEARCH = "LD_LIBRARY_PATH"
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")


def environment(
    given: Mapping[str, str],
    *,
    trace: str | None = None,
    capture: str | None = None,
    lint: bool = False,
    device: str | None = None,
    log: str | None = None,
    overwrite: bool = False,
) -> dict[str, str]:
    """The environment `given`, in which a program finds libneuralnetworks.so and its companions.

    trace, capture: files to be written; `%p` in a name is the process's number.
    lint: whether the building of models goes on after a refusal. device: a regular expression that
    names of devices must match. log: what is written to stderr, such as `debug,json`.
    overwrite: whether files that are there already may be replaced.

    Raises BAD_DATA for a value that cannot be, FileNotFoundError where the library is not built.
    """
    made = dict(given)
    before = made.get(_SEARCH)
    made[_SEARCH] = get_library_dir() + (f":{before}" if before else "")
    for setting, file in ((settings.TRACE, trace), (settings.CAPTURE, capture)):
        if file is None:
            continue
        if not file:
            raise bad_data(f"the file for {setting.name} has no name", "tool.exec.file-name")
        if "%p" not in Path(file).name:
            require_free(file, overwrite)
        made[setting.name] = str(Path(file).absolute())  # the program may go to another folder
    if lint:
        made[settings.LINT.name] = "1"
    if device is not None:
        try:
            re.compile(device)
        except re.error as error:
            told = f"{device!r} is no regular expression: {error}"
            raise bad_data(told, "tool.exec.device-pattern") from None
        made[settings.ENABLED_DEVICES.name] = device
    if log is not None:
        allowed = (*LEVELS, JSON)
        for word in log.replace(",", " ").split():
            if word not in allowed:
                told = f"there is no log level {word!r}; there are {', '.join(allowed)}"
                raise bad_data(told, "tool.exec.log-level")
        made[settings.LOG.name] = log
    return made


def execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Become the program: its exit code and the signals that end it are those of this process.

    command: its name or path, and its arguments. Raises BAD_DATA where it cannot be run.
    """
    if not command:
        raise bad_data("there is no program to run", "tool.exec.no-program")
    path = shutil.which(command[0], path=environment.get("PATH"))
    if path is None:
        why = "is no program that may be run" if Path(command[0]).exists() else "is not found"
        raise bad_data(f"{command[0]} {why}", "tool.exec.not-found")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    for name in _IGNORED_BY_PYTHON:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(path, [*command], dict(environment))
    except OSError as error:
        raise bad_data(
            f"{path} cannot be run: {error.strerror or error}", "tool.exec.not-executable"
        ) from None
