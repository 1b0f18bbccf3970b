"""Finds and reads the files of profiles."""

import json
from pathlib import Path

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hints import Any
from nnapi_shim.phones.profile import Profile
from nnapi_shim.phones.schema import parsed

FOLDER = Path(__file__).with_name("profiles")
"""Folder of the shipped profiles."""
_SUFFIX = ".json"


def shipped() -> list[str]:
    """The names of the shipped profiles, `android-VERSION-DEVICES`: first those with the CPU alone,
    then by version.
    """
    names = [path.stem for path in FOLDER.glob(f"*{_SUFFIX}")]

    def order(name: str) -> tuple[bool, float, str]:
        _, version, *devices = name.split("-")
        return bool(devices), float(version), name

    return sorted(names, key=order)


def path_of(name: str) -> str:
    """The file of a profile: a name of a shipped one, or a path. Raises BAD_DATA."""
    if "/" in name or name.endswith(_SUFFIX):
        return name
    if name not in shipped():
        raise bad_data(
            f"there is no profile {name!r}; there are {', '.join(shipped())}, and paths of .json "
            "files",
            "profile.not-found",
        )
    return str(FOLDER / f"{name}{_SUFFIX}")


def text_of(name: str) -> str:
    """The text of a profile's file; raises BAD_DATA."""
    path = path_of(name)
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise bad_data(f"{path}: {reason}", "profile.unreadable") from None


def checked(name: str) -> tuple[Profile | None, list[NnapiError]]:
    """A profile, and all that is wrong with its file."""
    problems: list[NnapiError] = []
    try:
        data = json.loads(
            text_of(name), object_pairs_hook=_without_duplicates, parse_constant=_refused
        )
    except (ValueError, RecursionError) as error:
        return None, [bad_data(f"{path_of(name)} is no JSON: {error}", "profile.no-json")]
    except NnapiError as error:
        return None, [error]
    profile = parsed(data, problems)
    return profile, problems


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"field {name!r} is there twice")
    return dict(pairs)


def read(name: str) -> Profile:
    """A profile; raises BAD_DATA with the first problem of its file."""
    profile, problems = checked(name)
    if profile is None:
        more = f" (and {len(problems) - 1} more: nnapi-shim profiles check)"
        first = problems[0]
        message = f"profile {name}: {first.message}{more if len(problems) > 1 else ''}"
        raise first.worded(message)
    return profile
