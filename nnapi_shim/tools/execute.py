"""Runs an unmodified C program with this library."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from nnapi_shim import settings
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.folders import get_library_dir
from nnapi_shim.formats.output_file import require_free
from nnapi_shim.log import JSON, LEVELS

_SEARCH = "LD_LIBRARY_PATH"
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")


def environment(
    variables: Mapping[str, str],
    *,
    trace: str | None = None,
    capture: str | None = None,
    lint: bool = False,
    device: Sequence[str] = (),
    log: str | None = None,
    settings_profile: str | None = None,
    phone: str | None = None,
    faults: str | None = None,
    overwrite: bool = False,
) -> dict[str, str]:
    """`variables` with the settings with which a program loads libneuralnetworks.so and companions.

    trace, capture: output files; `%p` in a name is replaced with the process id.
    lint: whether model building continues after an error. device: regular expressions; a device
    name must match one of them. log: log level and format, such as `debug,json`.
    settings_profile: name of a profile of the settings file, whose settings go before `variables`.
    phone: name or path of a phone profile; functions of later Android versions are hidden.
    faults: rules of NNAPI_SHIM_FAULTS.
    overwrite: whether existing files may be replaced.

    Raises BAD_DATA for an invalid value, FileNotFoundError if the library is not built.
    """
    result = dict(variables)
    if settings_profile is not None:
        result |= _profile(settings_profile)
    folders = [get_library_dir()]
    if phone is not None:
        folders = [*_of_phone(phone, result), *folders]
    result[_SEARCH] = ":".join([*folders, *filter(None, [result.get(_SEARCH)])])
    for setting, file in ((settings.TRACE, trace), (settings.CAPTURE, capture)):
        if file is None:
            continue
        if not file:
            raise bad_data(f"the file for {setting.name} has no name", "tool.exec.file-name")
        if "%p" not in Path(file).name:
            require_free(file, overwrite)
        result[setting.name] = str(Path(file).absolute())  # the program may change its directory
    if lint:
        result[settings.LINT.name] = "1"
    for pattern in device:
        try:
            re.compile(pattern)
        except re.error as error:
            message = f"{pattern!r} is no regular expression: {error}"
            raise bad_data(message, "tool.exec.device-pattern") from None
    if device:
        result[settings.ENABLED_DEVICES.name] = "|".join(device)
    if faults is not None:
        from nnapi_shim.phones.fault_rules import parsed, with_absolute_files

        parsed(faults)
        result[settings.FAULTS.name] = with_absolute_files(faults)
    if log is not None:
        allowed = (*LEVELS, JSON)
        for word in log.replace(",", " ").split():
            if word not in allowed:
                message = f"there is no log level {word!r}; there are {', '.join(allowed)}"
                raise bad_data(message, "tool.exec.log-level")
        result[settings.LOG.name] = log
    return result


def _of_phone(name: str, variables: dict[str, str]) -> list[str]:
    """Set what a phone profile needs; the folders of libraries that come before all others.

    Raises BAD_DATA for a profile that cannot be used.
    """
    from nnapi_shim.phones.files import path_of, read
    from nnapi_shim.tools.phone_library import folder_for

    api_level = read(name).api_level
    is_path = path_of(name) == name
    variables[settings.PROFILE.name] = str(Path(name).absolute()) if is_path else name
    variables["LD_BIND_NOW"] = "1"  # as on Android: a missing function is found at the start
    folder = folder_for(api_level)
    return [] if folder is None else [folder]


def _profile(name: str) -> dict[str, str]:
    """The settings of a profile; raises BAD_DATA if the settings file has none of this name."""
    file = settings.read_config()
    if name not in file.profiles:
        there = ", ".join(file.profiles) or "none"
        problem = f" ({'; '.join(file.problems)})" if file.problems else ""
        raise bad_data(
            f"there is no profile {name!r} in {file.path or 'a settings file'}{problem}; there are "
            f"{there}. A line [{name}] begins one, with lines such as NNAPI_SHIM_LINT = 1 below it",
            "tool.exec.settings",
        )
    return file.profiles[name]


def program_path(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The file of a program; raises BAD_DATA if there is none that can be run."""
    if not command:
        raise bad_data("there is no program to run", "tool.exec.no-program")
    path = shutil.which(command[0], path=environment.get("PATH"))
    if path is None:
        if Path(command[0]).exists():
            message = f"{command[0]} is no executable file"
            raise bad_data(message, "tool.exec.not-executable")
        raise bad_data(f"there is no program {command[0]}", "tool.exec.not-found")
    return path


def execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process with the program.

    command: its name or path, and its arguments. Raises BAD_DATA if it cannot be run.
    """
    path = program_path(command, environment)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    for name in _IGNORED_BY_PYTHON:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(path, [*command], dict(environment))
    except OSError as error:
        raise cannot_run(path, error) from None


def cannot_run(path: str, error: OSError) -> NnapiError:
    """The error of a file that is no program, such as a script without its first line."""
    message = f"{path} cannot be run: {error.strerror or error}"
    return bad_data(message, "tool.exec.not-executable")
