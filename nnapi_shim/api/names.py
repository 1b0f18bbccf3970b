"""Names in place of numbers: `"TENSOR_FLOAT32"` wherever an enumeration's member may stand."""

from difflib import get_close_matches
from enum import IntEnum
from typing import TypeVar

from nnapi_shim.errors import NnapiError, bad_data

Member = TypeVar("Member", bound=IntEnum)


def member(kind: type[Member], given: Member | str | int) -> Member:
    """The member of an enumeration with this name or number; raises BAD_DATA if there is none."""
    try:
        return kind[given] if isinstance(given, str) else kind(given)
    except (KeyError, ValueError):
        raise unknown(kind.__name__, given, list(kind.__members__)) from None


def unknown(what: str, given: object, names: list[str]) -> NnapiError:
    """The refusal of a name that is not among `names`; says which are close, or a few of them."""
    close = get_close_matches(str(given), names)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    elif len(names) <= 8:
        hint = f"there are {', '.join(names) or 'none'}"
    else:
        hint = f"there are {len(names)}, such as {', '.join(names[:3])}"
    return bad_data(f"there is no {what} {given!r}; {hint}")
