"""Runs of a swept program: each is isolated and limited in time, and reports its calls."""

import json
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from nnapi_shim import settings
from nnapi_shim.tools.execute import cannot_run

_LATE_S = 1.0
"""How long output of processes that the program left behind is waited for."""
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Result:
    """What a program did. exit_code: negative for a signal, None if it exceeded the time limit.
    printed: a digest of its stdout.
    """

    exit_code: int | None
    printed: bytes
    seconds: float
    entries: list[dict[str, Any]]

    @property
    def end(self) -> dict[str, Any]:
        """The entry of the end of the process; empty if it did not get there."""
        return next((each for each in self.entries if "calls" in each), {})

    @property
    def refusals(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Function and rule -> the entry of its first refusal for another reason than a fault."""
        return {(it["refused"], it["rule"]): it for it in self.entries if "refused" in it}


class Runner:
    """Runs the program, each time with a report of its own and a temporary folder of its own."""

    def __init__(self, words: Sequence[str], variables: Mapping[str, str], folder: str) -> None:
        """folder: for the reports and temporary folders."""
        self._words = words
        self._variables = variables
        self._folder = folder
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """End all runs, and let no other begin."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                _end_group(process)

    def run(self, faults: str, limit_s: float) -> Result:
        """Run it with a fault."""
        own = Path(tempfile.mkdtemp(dir=self._folder))
        temporary = own / "tmp"
        temporary.mkdir()
        report = own / "report"
        rules = "; ".join(filter(None, (faults, f"report={report}")))
        changed = {settings.FAULTS.name: rules, "TMPDIR": str(temporary)}
        began = monotonic()
        with self._process(dict(self._variables) | changed) as process:
            assert process.stdout is not None
            output = _Output(process.stdout)
            try:
                code: int | None = process.wait(limit_s)
                output.join(_LATE_S)
            except subprocess.TimeoutExpired:
                code = None
            seconds = monotonic() - began
        _end_left_behind(str(own))
        output.join(_LATE_S)
        lines = report.read_text().splitlines() if report.exists() else []
        return Result(code, output.digest(), seconds, [json.loads(line) for line in lines])

    @contextmanager
    def _process(self, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
        """The program, which is ended with its process group at the end."""
        with self._lock:
            if self._is_stopped:
                raise KeyboardInterrupt
            try:
                process = subprocess.Popen(
                    self._words,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise cannot_run(self._words[0], error) from None
            self._running.add(process)
        try:
            yield process
        finally:
            _end_group(process)
            process.wait()
            with self._lock:
                self._running.discard(process)


class _Output(Thread):
    """Reads what a program prints, however much it is."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._digest = blake2b()
        self.start()

    def run(self) -> None:
        """Read to the end."""
        with self._stream:
            while data := os.read(self._stream.fileno(), _AT_ONCE):
                self._digest.update(data)

    def digest(self) -> bytes:
        """The digest of what was read."""
        return self._digest.digest()


@contextmanager
def without_core_files() -> Iterator[None]:
    """Programs that crash meanwhile leave no core files, which would fill the current folder."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the program and the processes that it left behind in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end_left_behind(folder: str) -> None:
    """End processes that have left the group, such as daemons: their environment names the folder
    of the run.
    """
    name = os.fsencode(folder)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if name in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
