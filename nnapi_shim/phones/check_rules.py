"""The checks of NNAPI_SHIM_CHECK: which there are, and which are asked for (docs/testing.md)."""

from pathlib import Path

from nnapi_shim.errors import bad_data
from nnapi_shim.hints import NamedTuple

LEVELS = ("note", "warning", "error")
"""Levels of findings, from what costs little to what fails on a phone."""
CHECKS = {
    "leaks": ("warning", "a handle that is never freed"),
    "compile-again": ("warning", "a model, or equal ones, compiled three times"),
    "reuse": (
        "warning",
        "a fourth execution of a compilation, after three were used once and freed",
    ),
    "alignment": ("note", "an argument without the alignment that the library prefers"),
    "padding": ("note", "an argument without the padding that the library prefers"),
    "timing": ("warning", "durations that are not measured, or measured and never read"),
    "lifetime": ("warning", "an object that is freed before others that it must outlive"),
    "undefined": ("error", "a call that succeeds here, and not on every phone"),
    "threads": ("warning", "an object that two threads change in turn"),
    "partition": ("warning", "a model in three or more parts, or one that no accelerator takes"),
}
"""Check -> its level, and what it reports."""
LEVEL = "min-level"
"""The check with a number: what is above that feature level. Its findings are errors."""
_EXTRA = ("padding",)
"""Checks that `all` leaves out, as most programs have findings."""


class Suppression(NamedTuple):
    """A line of a file of suppressions: a check, or "*", and a pattern of texts, as in a shell."""

    check: str
    pattern: str
    where: str


class Checks(NamedTuple):
    """The checks that are asked for. min_level: 1 to 8; 8 checks nothing. report: a file, or ""."""

    ids: frozenset[str]
    min_level: int
    report: str
    suppressions: tuple[Suppression, ...] = ()


def level_of(check: str) -> str:
    """The level of the findings of a check."""
    return "error" if check == LEVEL else CHECKS[check][0]


def parsed(text: str) -> Checks:
    """The checks of a text such as `leaks reuse min-level=3`, or `all`. Raises BAD_DATA."""
    words, _, report = text.partition("report=")
    ids: set[str] = set()
    min_level = 8
    suppressions: tuple[Suppression, ...] = ()
    for word in words.replace(",", " ").split():
        name, equals, value = word.partition("=")
        if word == "all":
            ids |= set(CHECKS) - set(_EXTRA)
        elif word in CHECKS:
            ids.add(word)
        elif name == LEVEL and equals and value in tuple("12345678"):
            min_level = int(value)
        elif name == "suppress" and value:
            suppressions += suppressions_of(value)
        else:
            known = ", ".join([*CHECKS, f"{LEVEL}=1 to {LEVEL}=8", "suppress=FILE"])
            raise bad_data(f"there is no check {word!r}; there are all, {known}", "check.unknown")
    return Checks(frozenset(ids), min_level, report, suppressions)


def suppressions_of(path: str) -> tuple[Suppression, ...]:
    """The lines of a file of suppressions: `CHECK: PATTERN`. Raises BAD_DATA."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise bad_data(f"{path} cannot be read: {reason}", "check.suppressions-file") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        check, colon, pattern = (part.strip() for part in line.partition(":"))
        if not colon or not pattern or check not in (*CHECKS, LEVEL, "*"):
            known = ", ".join([*CHECKS, LEVEL, "*"])
            message = f"{path}, line {number} is {line!r}; it must be CHECK: PATTERN, with {known}"
            raise bad_data(message, "check.suppression")
        found.append(Suppression(check, pattern, f"{path}, line {number}"))
    return tuple(found)
