"""What is lent to those who run it again without Python, as the C API does (abi/fast_path.py).

Entering Python takes longer than a small model takes to run. An execution that has run, and would
do the same again, is lent, therefore: a run is a compiled function and its argument then. It is
taken back before anything looks at it or changes it.
"""

from collections.abc import Callable

from nnapi_shim.hints import NamedTuple, Protocol


class Again(NamedTuple):
    """What runs an execution once more: `function(block, 0)` answers 0, or the code of a failure.

    function: 0 for a burst, which is taken together with an execution.
    family: the same for executions and bursts of one compilation.
    """

    function: int
    block: int
    family: int


class Lent(Protocol):
    """What is lent, as the one sees it who lends it."""

    def take_back(self) -> int:
        """Take it back: 0; -1 while it runs; or the code of a run that failed on this thread, which
        has to tell of it.
        """

    def is_running(self) -> bool:
        """Whether it is being run."""

    def release(self, item: object) -> None:
        """Take it back for good; a run goes on to its end, and keeps `item` until then."""


Lender = Callable[[Again], Lent | None]
"""Takes what can be run again; None where it is not taken."""
