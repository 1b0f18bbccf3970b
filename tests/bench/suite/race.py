"""One model in all runtimes: a process for each runtime and number of threads, driven in turns.

With pauses, in which threads that wait for work by spinning come to rest.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.tools.runtimes import RUNTIMES
from tests.bench.suite.contestants import Contestant

PAUSE = 0.03
"""Seconds in front of each turn."""
TURN = 0.12
"""Seconds that a turn takes, but at least FEWEST samples."""
SAMPLE = 50e-6
"""Seconds that a sample takes: shorter calls are timed several at once."""
FEWEST, MOST = 3, 200
WORKER = Path(__file__).with_name("worker.py")


class Entrant(NamedTuple):
    """A runtime with so many threads."""

    runtime: str
    threads: int


class Start(NamedTuple):
    """What a process has cost until it had its first result: seconds, bytes."""

    wall: float
    cpu: float
    peak: int


class Race(NamedTuple):
    """What was measured of a model.

    samples: of each entrant, of each round the times of its runs in seconds. failed: why an entrant
    has none. outputs: of the first run, by entrant.
    """

    starts: dict[Entrant, Start]
    samples: dict[Entrant, list[list[float]]]
    failed: dict[Entrant, str]
    outputs: dict[Entrant, list[Any]]


class _Process:
    """A worker."""

    def __init__(
        self, entrant: Entrant, model: Path, folder: Path, variables: Mapping[str, str]
    ) -> None:
        self.errors = Path(folder, f"{entrant.runtime}_{entrant.threads}.log")
        command = [sys.executable, "-I", str(WORKER), entrant.runtime, str(model)]
        environment = {**os.environ, **variables, "NNAPI_SHIM_THREADS": str(entrant.threads)}
        with self.errors.open("w") as log:
            self.began = time.monotonic_ns()
            self._process = subprocess.Popen(
                [*command, str(entrant.threads), str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
            )

    def answer(self) -> Any:
        """The next line of the worker that is an answer; raises EOFError when it has ended."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line[0] in "{[":
                return json.loads(line)
        raise EOFError

    def ask(self, text: str) -> Any:
        """What it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        return self.answer()

    def why(self) -> str:
        """The last that it said of why it ended."""
        said = [line for line in self.errors.read_text(errors="replace").splitlines() if line]
        return said[-1][:200] if said else f"ended with {self._process.wait()}"

    def end(self) -> None:
        """Let it go."""
        self._process.kill()
        self._process.communicate()


def race(
    contestant: Contestant,
    threads: Sequence[int],
    rounds: int,
    runtimes: Sequence[str],
    title: str,
    tell: Callable[[str], None],
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Race:
    """Measure a model: start all processes, one after the other, then round by round each once.

    tell: receives a line of progress that begins with the title. variables: more of the environment
    of each process.
    """
    actual = Race({}, {}, {}, {})
    processes: dict[Entrant, _Process] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, contestant)
        try:
            for entrant in (Entrant(runtime, n) for n in threads for runtime in runtimes):
                tell(f"{title}: starting {entrant.runtime}, threads: {entrant.threads}")
                _start(contestant, entrant, folder, actual, processes, variables)
            turns: dict[Entrant, tuple[int, int]] = {}
            for at in range(rounds):
                tell(f"{title}: round {at + 1} of {rounds}")
                for entrant, process in list(processes.items()):
                    try:
                        _turn(entrant, process, turns, actual)
                    except (EOFError, BrokenPipeError):
                        actual.failed[entrant] = process.why()
                        actual.samples.pop(entrant, None)
                        processes.pop(entrant).end()
        finally:
            for process in processes.values():
                process.end()
    return actual


def _write(folder: Path, contestant: Contestant) -> None:
    for kind, arrays in (("input", contestant.inputs), ("all", contestant.all_inputs)):
        for location, array in enumerate(arrays):
            np.save(folder / f"{kind}_{location}.npy", array)


def _start(
    contestant: Contestant,
    entrant: Entrant,
    folder: Path,
    actual: Race,
    processes: dict[Entrant, _Process],
    variables: Mapping[str, str],
) -> None:
    suffixes = RUNTIMES[entrant.runtime].reads if entrant.runtime in RUNTIMES else (".tflite",)
    for suffix in suffixes:  # a runtime that reads several kinds of files may like the other better
        model = contestant.files[suffix]
        if isinstance(model, str):
            actual.failed[entrant] = f"no {suffix} of it: {model}"
            continue
        process = _Process(entrant, model, folder, variables)
        try:
            cost = process.answer()
            break
        except EOFError:
            actual.failed.setdefault(entrant, process.why())
            process.end()
    else:
        return
    actual.failed.pop(entrant, None)
    processes[entrant] = process
    actual.starts[entrant] = Start(
        (cost["at"] - process.began) / 1e9, cost["cpu"] / 1e9, cost["peak"]
    )
    prefix = f"{entrant.runtime}_{entrant.threads}"
    count = len(list(folder.glob(f"{prefix}_*.npy")))
    actual.outputs[entrant] = [np.load(folder / f"{prefix}_{at}.npy") for at in range(count)]


def _turn(
    entrant: Entrant,
    process: _Process,
    turns: dict[Entrant, tuple[int, int]],
    actual: Race,
) -> None:
    """One entrant's runs of a round; its first turn finds out how many those are."""
    time.sleep(PAUSE)
    if entrant not in turns:
        seconds = min(process.ask("run 1 3")) / 1e9
        calls = max(1, int(SAMPLE / seconds))
        count = int(min(MOST, max(FEWEST, TURN / (calls * seconds))))
        turns[entrant] = calls, count
    calls, count = turns[entrant]
    samples = [nanoseconds / 1e9 for nanoseconds in process.ask(f"run {calls} {count}")]
    actual.samples.setdefault(entrant, []).append(samples)
