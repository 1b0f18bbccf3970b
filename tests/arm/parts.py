"""A part of `make test-arm`: where and how it runs, and how it ends; the table of all."""

import argparse
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Setting(NamedTuple):
    """What a part is told.

    root: the arm64 root. tier: of the emulated processor. checks: those of the vectors. jobs:
    processes at once.
    """

    root: Path
    tier: str
    is_quick: bool
    checks: str
    jobs: int


class Outcome(NamedTuple):
    """Whether a part passed, and what it counted, in a few words."""

    passed: bool
    text: str


class Result(NamedTuple):
    """A part that ended, on a tier. processor: seconds of all processors, which say more than
    those that passed where other programs run.
    """

    part: str
    tier: str
    outcome: Outcome
    seconds: float
    processor: float

    def __str__(self) -> str:
        passed = "passed" if self.outcome.passed else "FAILED"
        times = f"{self.seconds:6.0f} s {self.processor:6.0f} s of processors"
        return f"{self.part:11} {self.tier:8} {passed:6} {times}  {self.outcome.text}"


Part = Callable[[Setting], Outcome]


def shown(command: Sequence[str | Path]) -> Outcome:
    """Run a command and show what it prints while it runs: its last line is the text."""
    printed = b""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read1():
            printed += chunk
            sys.stdout.buffer.write(chunk)
            sys.stdout.flush()
    lines = printed.decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "nothing was printed")
    status = f"exit status {process.returncode}: " if process.returncode else ""
    return Outcome(process.returncode == 0, f"{status}{last.strip()}")


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Passed if each is."""
    outcomes = [*outcomes]
    return Outcome(all(each.passed for each in outcomes), "; ".join(each.text for each in outcomes))


def processor_seconds() -> float:
    """What all programs have taken that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def attempted(name: str, part: Part, setting: Setting) -> Result:
    """A part, run to its end. One that raises an error or leaves the program has failed: the others
    go on.
    """
    began, used = time.monotonic(), processor_seconds()
    print(f"{setting.tier}: {name}", flush=True)
    try:
        outcome = part(setting)
    except SystemExit as error:
        outcome = Outcome(False, str(error))
    except Exception as error:
        traceback.print_exc()
        outcome = Outcome(False, f"{type(error).__name__}: {error}".split("\n")[0])
    passed = time.monotonic() - began
    result = Result(name, setting.tier, outcome, passed, processor_seconds() - used)
    print(result, flush=True)
    return result


def setting_of(options: argparse.Namespace, tier: str) -> Setting:
    """What the command line says."""
    return Setting(options.root, tier, options.quick, options.checks, options.jobs)


def summary(results: Sequence[Result], seconds: float) -> str:
    """A line for each, and one for all."""
    failed = sum(not result.outcome.passed for result in results)
    total = f"{len(results) - failed} passed, {failed} failed, in {seconds:.0f} s"
    return "\n".join(["", *map(str, results), total])
