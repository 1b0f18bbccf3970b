"""The report of a replay: repeated calls and differing results."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi_shim.formats.capture.plan import Check
from nnapi_shim.tools.report import Report

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Difference(Report):
    """A result that differs from the capture.

    call, function: the call. what: `result`, `output 0`, the name of a variable, or a memory.
    expected, found: captured and actual value as text. elements, differing: number of elements and
    of differing ones. largest: the largest absolute difference, None if there are no elements.
    """

    call: int
    function: str
    what: str
    expected: str
    found: str
    elements: int = 0
    differing: int = 0
    largest: float | None = None


@dataclass
class Replay(Report):
    """The result of a replay.

    is_complete: whether the capture is complete. device: the device that ran everything, "" if
    compilations used the captured devices. calls: number of captured calls. repeated: number of
    repeated ones. executions: computations among them. outputs: number of compared contents.
    skipped: calls that could not be repeated, with reasons. died_in: the call in which the program
    died, or "". faults: injected faults that were repeated. recorded_faults: how many of them there
    are in the capture; None if they were not to be repeated.
    """

    path: str
    is_complete: bool
    device: str
    calls: int
    repeated: int = 0
    executions: int = 0
    outputs: int = 0
    died_in: str = ""
    faults: int = 0
    recorded_faults: int | None = None
    skipped: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)


def differs(
    expected: "NDArray[Any]", found: "NDArray[Any]", check: Check
) -> tuple[str, str, int, int, float | None] | None:
    """The fields of a Difference from `expected` on; None if the contents match."""
    if not (check.absolute or check.relative):
        wrong = expected.view(f"u{expected.itemsize}") != found.view(f"u{found.itemsize}")
        wide = (expected.astype(np.float64), found.astype(np.float64))
    else:
        wide = (expected.astype(np.float64), found.astype(np.float64))
        with np.errstate(invalid="ignore"):
            near = np.abs(wide[0] - wide[1]) <= check.absolute + check.relative * np.abs(wide[0])
            near &= np.isfinite(wide[0]) & np.isfinite(wide[1])
            same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
        wrong = ~(near | same)
    if not wrong.any():
        return None
    first = int(np.flatnonzero(wrong)[0])
    with np.errstate(invalid="ignore"):
        largest = float(np.nanmax(np.abs(wide[0] - wide[1])[wrong], initial=0.0))
    return (
        f"{expected[first]} at {first}",
        f"{found[first]}",
        expected.size,
        int(wrong.sum()),
        largest,
    )
