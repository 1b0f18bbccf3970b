"""The same calls in three processes: on nnapi-cpu alone, on nnapi-reference alone, on both.

Every call has to give the same result code in all of them, so that programs cannot tell the devices
apart by what they refuse, nor by the order in which they look. What follows from a seed is the same
everywhere as long as the codes are; the first call that differs is the finding.

What may differ by right is made equal or left out, in the processes themselves:

* `getDeviceCount` and `getDevice` are left out: they tell how many devices there are. Named lists
  hold the first device; with both, compilations for any device are what chooses among them.
* Limits of time are none, or 0, which is over at once: how long something takes is no answer.
* A computation that was started is waited for: whether it has ended would depend on the threads.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

DEVICES = {"nnapi-cpu": "nnapi-cpu", "nnapi-reference": "nnapi-reference", "both": "nnapi-.*"}
"""What is compared -> DEBUG_NN_ENABLED_DEVICES."""
LEFT_OUT = frozenset(("_getDeviceCount", "_getDevice"))
FOREVER = 2**64 - 1
DURATIONS = {
    "Compilation_setTimeout": 1,
    "Execution_setTimeout": 1,
    "Execution_setLoopTimeout": 1,
    "Execution_startComputeWithDependencies": 3,
}
"""Position of the duration among the arguments."""


class Answer(NamedTuple):
    """A line of a trace: the story that a call belongs to, the call, its code and message."""

    step: str
    function: str
    arguments: str
    code: str
    message: str


class Trace:
    """Answers in a file, in the order of the calls."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def note(self, answer: Answer) -> None:
        """Add a line; what was noted survives the process."""
        words = [word.translate(_NO_SEPARATORS) for word in answer]
        os.write(self._file, ("\t".join(words) + "\n").encode(errors="replace"))


_NO_SEPARATORS = {ord("\t"): " ", ord("\n"): " "}


class Finding(NamedTuple):
    """The first call with different answers; None where a process has made no more calls."""

    number: int
    answers: dict[str, Answer | None]

    def __str__(self) -> str:
        lines = [f"call {self.number} has different answers:"]
        for device, answer in self.answers.items():
            messages = "no such call" if answer is None else " ".join(answer).strip()
            lines.append(f"  {device}: {messages}")
        return "\n".join(lines)


def answers(path: Path) -> Iterator[Answer]:
    """The lines of a trace."""
    with path.open(errors="replace") as file:
        for line in file:
            yield Answer(*line.rstrip("\n").split("\t"))


def first_difference(traces: dict[str, Path]) -> Finding | None:
    """The first call that is not answered alike."""
    read = [answers(path) for path in traces.values()]
    for number, actual in enumerate(zip_longest(*read)):
        if len({answer and (answer.function, answer.code) for answer in actual}) > 1:
            return Finding(number, dict(zip(traces, actual, strict=True)))
    return None


def compare(seed: int, calls: int, steps: Sequence[str] = ()) -> tuple[str, bool]:
    """Make the same calls on all devices: what was found, and whether that is nothing.

    steps: options of the command line that choose stories.
    """
    with tempfile.TemporaryDirectory(prefix="nnapi_fuzz_") as folder:
        traces = {name: Path(folder) / name for name in DEVICES}
        for name, pattern in DEVICES.items():
            command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz"]
            command += ["--seed", str(seed), "--calls", str(calls), *steps]
            command += ["--log", f"{traces[name]}.log", "--trace", str(traces[name])]
            traces[name].touch()
            Path(f"{traces[name]}.log").touch()
            result = subprocess.run(
                command,
                env=os.environ | {"NNAPI_SHIM_LOG": "silent", "DEBUG_NN_ENABLED_DEVICES": pattern},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if result.returncode:
                return f"on {name}, exit status {result.returncode}:\n{result.stdout}", False
        finding = first_difference(traces)
        if finding is not None:
            return str(finding), False
        count = sum(1 for _ in answers(traces["both"]))
        return f"{count} calls have the same result codes on {', '.join(DEVICES)}", True
