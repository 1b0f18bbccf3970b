"""A list of checks, a line for each."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple


class FailedCheckError(Exception):
    """What a release lacks; the text is its line."""


class OpenPointError(Exception):
    """What a release needs and a rehearsal does not."""


class NotCheckedError(Exception):
    """Why a check cannot run here."""


class Check(NamedTuple):
    """run: returns the text of the line, or raises one of the exceptions above."""

    title: str
    run: Callable[[], str]


def run(checks: Iterable[Check], final: bool) -> bool:
    """Run all checks and print their lines; True if none fails. final: open points fail."""
    began, counts = time.monotonic(), {"ok": 0, "open": 0, "not checked": 0, "failed": 0}
    for check in checks:
        state, text = _outcome(check, final)
        counts[state] += 1
        print(f"{state:12} {check.title}: {text}", flush=True)
    numbers = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    print(f"release-check: {numbers}, in {time.monotonic() - began:.0f} s")
    return not counts["failed"]


def _outcome(check: Check, final: bool) -> tuple[str, str]:
    try:
        return "ok", check.run()
    except OpenPointError as point:
        return "failed" if final else "open", str(point)
    except NotCheckedError as reason:
        return "not checked", str(reason)
    except FailedCheckError as failure:
        return "failed", str(failure)
