"""Settings in a file: lines `NAME = value`; those below `[profile]` count only when it is named.

Imported only if there is such a file, or a variable that is no setting.
"""

import os
from stat import S_ISREG

from nnapi_shim.hints import Iterable, NamedTuple

_OTHERS_MAY_WRITE = 0o022
_MOST_BYTES = 1 << 16

Values = dict[str, str]


class SettingsFile(NamedTuple):
    """The content of a file. always: what counts for every program. problems: lines to report."""

    path: str
    always: Values
    profiles: dict[str, Values]
    problems: list[str]


def read_file(path: str, names: Iterable[str], of_environment: Iterable[str]) -> SettingsFile:
    """The settings of a file; a file that others could have written has none.

    names: of all settings; of_environment: of those that are read before the file can be. What is
    no regular file, such as /dev/null or a pipe, has no settings, and is not waited for.
    """
    result = SettingsFile(path, {}, {}, [])
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            if not S_ISREG(status.st_mode):
                return result
            text = (file.read(_MOST_BYTES) or b"").decode("utf-8", "replace")
    except OSError as error:
        result.problems.append(f"{path}: the settings cannot be read: {error.strerror or error}")
        return result
    is_own = status.st_uid in (0, os.geteuid()) and not status.st_mode & _OTHERS_MAY_WRITE
    if not is_own:
        result.problems.append(
            f"{path}: the settings are not used, because another user owns the file or may write "
            "to it"
        )
        return result
    _parse(text, result, list(names), set(of_environment))
    return result


def _parse(text: str, result: SettingsFile, names: list[str], of_environment: set[str]) -> None:
    values = result.always
    for number, whole in enumerate(text.splitlines(), 1):
        line, where = whole.strip(), f"{result.path}:{number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            values = result.profiles.setdefault(line[1:-1].strip(), {})
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            result.problems.append(f"{where}: {line!r} is no line such as NNAPI_SHIM_LINT = 1")
        elif name not in names:
            result.problems.append(f"{where}: {unknown(name, names)}")
        elif name in of_environment and values is result.always:
            result.problems.append(
                f"{where}: {name} is read before this file; set it in the environment, or in a "
                "profile for `nnapi-shim exec --settings`"
            )
        else:
            values[name] = value


def unknown(name: str, names: Iterable[str]) -> str:
    """The message for a name that is no setting."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    hint = f"did you mean {near[0]}?" if near else "`nnapi-shim info` lists all settings"
    return f"{name} is no setting and has no effect; {hint}"
