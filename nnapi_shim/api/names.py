"""Names of enumeration members in place of the members, names of arguments, similar names."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import TypeVar

from nnapi_shim.errors import NnapiError, bad_data

Member = TypeVar("Member", bound=IntEnum)

KEYWORDS = ("self", "out", "intermediates")
"""Parameters of `run`, which are no names of inputs."""


def member(kind: type[Member], value: Member | str | int) -> Member:
    """The member of an enumeration by name or number; raises BAD_DATA if there is none."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        raise unknown(kind.__name__, value, list(kind.__members__)) from None


def unknown(
    what: str, value: object, names: list[str], meant: str = "", hint: str = ""
) -> NnapiError:
    """The error for an unknown name; the message lists similar names, or a few valid ones.

    meant: the only similar name, if the caller knows it. hint: another one of the caller's.
    """
    text = value.__name__ if isinstance(value, type) else str(value)
    hint = hint or _hint([meant] if meant else close_to(text, names), names)
    return bad_data(f"there is no {what} {value!r}; {hint}", "name.unknown")


def _hint(close: list[str], names: list[str]) -> str:
    if close:
        return f"did you mean {' or '.join(close)}?"
    if len(names) <= 8:
        return f"there are {', '.join(names) or 'none'}"
    return f"there are {len(names)}, such as {', '.join(names[:3])}"


def close_to(text: str, names: Iterable[str]) -> list[str]:
    """Similar names: in another library's spelling (`Conv2D`), with swapped words
    (`FLOAT32_TENSOR`), or mistyped.
    """
    from difflib import get_close_matches  # imported on first use: it takes a millisecond

    names = list(names)
    spellings: tuple[Callable[[str], str], ...] = (_letters, _words)
    for spelling in spellings:
        same = [name for name in names if spelling(name) == spelling(text)]
        if same:
            return same
    by_letters = {_letters(name): name for name in names}
    return [by_letters[match] for match in get_close_matches(_letters(text), by_letters)]


def unique_names(names: Sequence[str], role: str) -> tuple[str, ...]:
    """A unique name for each argument; of inputs, one that is no keyword of `run`."""
    keywords = KEYWORDS if role == "input" else ()
    return tuple(
        name if name and names.count(name) == 1 and name not in keywords else f"{role}_{position}"
        for position, name in enumerate(names)
    )


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).upper()


def _words(name: str) -> str:
    return " ".join(sorted(re.split(r"[\W_]+", name.upper())))
