"""The checks of NNAPI_SHIM_CHECK: which there are, and which are asked for (docs/testing.md)."""

from nnapi_shim.errors import bad_data
from nnapi_shim.hints import NamedTuple

CHECKS = {
    "leaks": "a handle that is never freed",
    "compile-again": "a model that is compiled three times",
    "reuse": "a fourth execution of a compilation, after three were used once and freed",
    "alignment": "an argument without the alignment that the library prefers",
}
"""Check -> what it reports."""
LEVEL = "min-level"
"""The check with a number: what is above that feature level."""


class Checks(NamedTuple):
    """The checks that are asked for. min_level: 1 to 8; 8 checks nothing. report: a file, or ""."""

    ids: frozenset[str]
    min_level: int
    report: str


def parsed(text: str) -> Checks:
    """The checks of a text such as `leaks reuse min-level=3`, or `all`. Raises BAD_DATA."""
    words, _, report = text.partition("report=")
    ids: set[str] = set()
    min_level = 8
    for word in words.replace(",", " ").split():
        name, equals, number = word.partition("=")
        if word == "all":
            ids |= set(CHECKS)
        elif word in CHECKS:
            ids.add(word)
        elif name == LEVEL and equals and number in tuple("12345678"):
            min_level = int(number)
        else:
            known = ", ".join([*CHECKS, f"{LEVEL}=1 to {LEVEL}=8"])
            raise bad_data(f"there is no check {word!r}; there are all, {known}", "check.unknown")
    return Checks(frozenset(ids), min_level, report)
