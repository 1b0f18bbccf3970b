"""Runs a program once for each of its calls, with that call failing, and judges what it does."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from nnapi_shim.errors import bad_data
from nnapi_shim.phones.fault_rules import FUNCTIONS
from nnapi_shim.tools.execute import program_path
from nnapi_shim.tools.report import Progress, Report, untold
from nnapi_shim.tools.sweep_codes import codes_of
from nnapi_shim.tools.sweep_runs import Result, Runner, without_core_files

CRASHED, HUNG, LEAKED = "crashed", "hung", "leaked"
UNNOTICED, CONTINUED = "unnoticed", "continued"
"""Findings: it ended well with other output; it used what the failed call did not make."""
FAILED, RECOVERED = "failed", "recovered"
"""What is right: it ended with an exit code; it ended as without the fault."""

_SHORTEST_LIMIT_S = 10.0
_TIMES_AS_LONG = 10


@dataclass(frozen=True)
class FaultRun(Report):
    """A run with one fault. function, call, code: the call that failed, and how. outcome: as above.
    exit_code: negative for a signal; None if it hung. details: what shows the finding. faults: the
    value of NNAPI_SHIM_FAULTS that repeats it.
    """

    function: str
    call: int
    code: str
    outcome: str
    exit_code: int | None
    details: str
    faults: str

    @property
    def is_finding(self) -> bool:
        """Whether the program is wrong."""
        return self.outcome not in (FAILED, RECOVERED)


@dataclass(frozen=True)
class Sweep(Report):
    """A sweep. calls: of each function without a fault. skipped: calls above the limit of calls per
    function. alive: handles that are not freed without a fault. compares_output: False if stdout
    differs from run to run. written: entries of the current folder that runs with a fault wrote.
    """

    program: list[str]
    exit_code: int
    calls: dict[str, int]
    skipped: int
    alive: dict[str, int]
    compares_output: bool
    runs: list[FaultRun]
    written: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[FaultRun]:
        """The runs that show an error of the program."""
        return [run for run in self.runs if run.is_finding]


def sweep(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    jobs: int = 0,
    limit_s: float = 0,
    most_calls: int = 5,
    progress: Progress = untold,
) -> Sweep:
    """Run a program with each call failing in turn, with each code that the function may return.

    variables: its environment (execute.environment). jobs: runs at the same time; 0 for the number
    of processors. limit_s: time limit of a run; 0 for ten times the first one, at least 10 s.
    most_calls: of each function; later calls do not fail.

    Raises BAD_DATA for a program that cannot be swept: it fails without a fault, makes no call, or
    calls in several processes, or writes files in the current folder.
    """
    words = [program_path(command, variables), *command[1:]]
    with tempfile.TemporaryDirectory(prefix="nnapi-shim-sweep-") as folder, without_core_files():
        runner = Runner(words, variables, folder)
        before = _files()
        first = runner.run("", limit_s or 600)
        _require_sweepable(command, first)
        # Folders only now: the first run writes bytecode where the package is a checkout.
        _require_no_files(command, [name for name in _written(before) if not Path(name).is_dir()])
        limit_s = limit_s or max(_SHORTEST_LIMIT_S, _TIMES_AS_LONG * first.seconds)
        before = _files()
        second = runner.run("", limit_s)
        _require_no_files(command, _written(before))
        compares_output = first.printed == second.printed
        counts = {name: n for name, n in first.end["calls"].items() if name in FUNCTIONS}
        planned = [
            (name, call, code.name)
            for name, count in counts.items()
            for call in range(1, min(count, most_calls) + 1)
            for code in codes_of(name)
        ]
        done = [0]

        def judged(plan: tuple[str, int, str]) -> FaultRun:
            name, call, code = plan
            faults = f"function={name.removeprefix('ANeuralNetworks')} nth={call} code={code}"
            result = runner.run(faults, limit_s)
            outcome, details = _outcome(first, result, compares_output)
            done[0] += 1
            progress(done[0], len(planned), name)
            return FaultRun(name, call, code, outcome, result.exit_code, details, faults)

        with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
            try:
                runs = list(pool.map(judged, planned))
            except BaseException:
                runner.stop()
                raise
        written = _written(before)
    return Sweep(
        list(command),
        first.exit_code or 0,
        counts,
        sum(max(0, count - most_calls) for count in counts.values()),
        first.end["alive"],
        compares_output,
        runs,
        written,
    )


def _files() -> dict[str, tuple[int, int]]:
    """The entries of the current folder, with size and time of change."""
    entries = {}
    for path in Path.cwd().iterdir():
        status = path.lstat()
        entries[path.name] = (status.st_size, status.st_mtime_ns)
    return entries


def _require_sweepable(command: Sequence[str], first: Result) -> None:
    """Raise BAD_DATA if the run without a fault shows that faults would show nothing."""
    name = command[0]
    if first.exit_code is None:
        message = f"{name} does not end by itself; --limit sets the time limit"
        raise bad_data(message, "tool.sweep.hangs")
    if first.exit_code != 0:
        code = first.exit_code
        how = f"is ended by signal {-code}" if code < 0 else f"gives exit code {code}"
        message = f"{name} {how} without a fault; a program to be swept ends with 0"
        raise bad_data(message, "tool.sweep.fails")
    if not first.end.get("calls"):
        message = (
            f"{name} makes no call of NNAPI in its own process; a program to be swept uses "
            "libneuralnetworks.so, and ends by exit() or a return from main()"
        )
        raise bad_data(message, "tool.sweep.no-calls")
    processes = sum("calls" in entry or "forked" in entry for entry in first.entries)
    if processes > 1:
        message = (
            f"{name} uses NNAPI in {processes} processes, whose calls have no common order; sweep "
            "a program that uses it in one"
        )
        raise bad_data(message, "tool.sweep.processes")


def _written(before: Mapping[str, tuple[int, int]]) -> list[str]:
    """The entries of the current folder that are new or changed."""
    return sorted(name for name, status in _files().items() if before.get(name) != status)


def _require_no_files(command: Sequence[str], written: Sequence[str]) -> None:
    """Raise BAD_DATA if a run has written files in the current folder."""
    if written:
        files = ", ".join(written[:5])
        message = (
            f"{command[0]} writes files in the current folder ({files}), which its runs would "
            "share; run it where it writes none"
        )
        raise bad_data(message, "tool.sweep.writes-files")


def _outcome(first: Result, result: Result, compares_output: bool) -> tuple[str, str]:
    """Outcome and details of a run with a fault."""
    if result.exit_code is None:
        return HUNG, "it exceeded the time limit"
    if result.exit_code < 0:
        return CRASHED, f"signal {-result.exit_code}"
    as_before = first.refusals
    for what, refused in result.refusals.items():
        if what not in as_before:
            return CONTINUED, f"{refused['refused']} was refused: {refused['message']}"
    if result.exit_code != 0:
        return FAILED, ""
    if compares_output and result.printed != first.printed:
        return UNNOTICED, "exit code 0 with other output"
    alive, before = result.end.get("alive", {}), first.end["alive"]
    more = [f"{n} {kind}" for kind, n in alive.items() if n > before.get(kind, 0)]
    if more:
        return LEAKED, f"not freed: {', '.join(more)}"
    return RECOVERED, ""


def junit(report: Sweep) -> str:
    """The sweep as a JUnit XML file: a test case for each run."""
    from xml.sax.saxutils import escape, quoteattr

    name = quoteattr(f"nnapi-shim sweep {' '.join(report.program)}")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={name} tests="{len(report.runs)}" failures="{len(report.findings)}">',
    ]
    for run in report.runs:
        case = quoteattr(f"{run.function} call {run.call} {run.code}")
        begin = f"  <testcase classname={quoteattr(Path(report.program[0]).name)} name={case}"
        if not run.is_finding:
            lines.append(f"{begin}/>")
            continue
        message = quoteattr(f"{run.outcome}: {run.details}")
        repeat = escape(f"NNAPI_SHIM_FAULTS='{run.faults}'")
        lines.append(f"{begin}><failure message={message}>{repeat}</failure></testcase>")
    return "\n".join([*lines, "</testsuite>", ""])
