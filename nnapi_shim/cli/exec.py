"""`nnapi-shim exec`."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import Force
from nnapi_shim.cli.output import AsJson, present, progress, require_json, write, write_table
from nnapi_shim.units import count

LEVELS = ("note", "warning", "error")
"""As phones/check_rules.py, which is imported only when it is needed."""

if TYPE_CHECKING:
    from nnapi_shim.tools.sweep import Sweep

EXIT_CODES = {"tool.exec.not-found": 127, "tool.exec.not-executable": 126}
"""Rule -> exit code, as in a shell."""


def exec_(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM [ARGUMENT]...", help="The program and its arguments."),
    ],
    trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a trace (docs/trace.md).")
    ] = None,
    capture: Annotated[
        str | None, typer.Option(metavar="FILE", help="Record every call (docs/capture.md).")
    ] = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="Report all errors of a model at once.")
    ] = False,
    device: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGEX",
            autocompletion=completion.devices,
            help="List only devices whose whole name matches; repeat it for several.",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            autocompletion=completion.log_levels,
            help="Log level: silent, error, warning, debug; json.",
        ),
    ] = None,
    settings_profile: Annotated[
        str | None,
        typer.Option(
            "--settings", metavar="PROFILE", help="Profile of the settings file (docs/settings.md)."
        ),
    ] = None,
    phone: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE.json",
            help="Phone on which the program seems to run (docs/testing.md).",
        ),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(metavar="RULES", help="Let calls and devices fail (docs/testing.md)."),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="CHECKS",
            help="Report what fails or costs on a phone: all, or some of leaks, compile-again, "
            "reuse, alignment, padding, timing, threads, lifetime, undefined, partition, "
            "min-level=N, suppress=FILE; "
            "exit code 1 if there is anything.",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            autocompletion=completion.among(LEVELS),
            help="With --check: the least level of findings that gives exit code 1: note, "
            "warning or error.",
        ),
    ] = "note",
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="Run it once for each of its calls, with that call failing; exit code 1 if the "
            "program handles a failure wrongly.",
        ),
    ] = False,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE.xml", help="With --sweep: write JUnit XML, too.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, help="With --sweep: runs at a time; 0: as many as processors.")
    ] = 0,
    limit: Annotated[
        float,
        typer.Option(
            min=0, help="With --sweep: time limit of a run in s; 0: ten times a run, at least 10."
        ),
    ] = 0,
    calls: Annotated[
        int, typer.Option(min=1, help="With --sweep: how many calls of each function fail.")
    ] = 5,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """Run an unmodified C program with this library; exit code and signals are the program's.

    A program that does not exist gives 127, one that cannot be run 126.

    `%p` in the name of a file is replaced with the process id.

    Example: nnapi-shim exec --trace trace.json --capture capture.zip -- ./program input.bin
    """
    from nnapi_shim import settings
    from nnapi_shim.cli.plain import print_error
    from nnapi_shim.errors import NnapiError
    from nnapi_shim.tools.execute import environment, execute

    variables = environment(
        settings.environment(),
        trace=trace,
        capture=capture,
        lint=lint,
        device=device or (),
        log=log,
        settings_profile=settings_profile,
        phone=phone,
        faults=faults,
        overwrite=force,
    )
    try:
        if sweep:
            if faults or trace or capture or check:
                raise typer.BadParameter(
                    "--sweep goes without --faults, --check, --trace and --capture"
                )
            _sweep(command, variables, junit, jobs, limit, calls, as_json, force)
            return
        if check is not None:
            _check(command, variables, check, fail_on)
            return
        execute(command, variables)
    except NnapiError as error:
        if error.rule not in EXIT_CODES:
            raise
        print_error(error.message)
        raise typer.Exit(EXIT_CODES[error.rule]) from None


FINDINGS = 1
"""Exit code of a sweep, or of checks, with findings."""
_OF_A_SIGNAL = 128
"""Exit code of a shell for a program that a signal ends, less the signal's number."""


def _check(command: list[str], variables: dict[str, str], checks: str, fail_on: str) -> None:
    """Run a program with checks, which it reports itself; end with its exit code, or FINDINGS."""
    from nnapi_shim.tools.checked_run import run_checked

    if fail_on not in LEVELS:
        raise typer.BadParameter(f"there is no level {fail_on!r}; there are {', '.join(LEVELS)}")
    report = run_checked(command, variables, checks)
    if report.exit_code:
        raise typer.Exit(report.exit_code)
    if report.has(fail_on):
        raise typer.Exit(FINDINGS)


def _sweep(
    command: list[str],
    variables: dict[str, str],
    junit: str | None,
    jobs: int,
    limit: float,
    calls: int,
    as_json: str | None,
    force: bool,
) -> None:
    """Sweep a program and print the findings."""
    from nnapi_shim.formats import output_file
    from nnapi_shim.tools import sweep as tool

    require_json(as_json, force)
    if junit is not None:
        output_file.require_free(junit, force)
    with progress() as tell, _ended_by_sigterm():
        report = tool.sweep(
            command, variables, jobs=jobs, limit_s=limit, most_calls=calls, progress=tell
        )
    if junit is not None:
        output_file.write(junit, tool.junit(report).encode(), force)
    present(report, as_json, force, _show)
    if report.findings:
        raise typer.Exit(FINDINGS)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the programs that run, too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(_OF_A_SIGNAL + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(report: "Sweep") -> None:
    if report.findings:
        rows = [
            (run.outcome, run.function, run.call, run.code, run.details) for run in report.findings
        ]
        write_table(("finding", "function", ">call", "code", "details"), rows)
        write(f"repeat one: nnapi-shim exec --faults '{report.findings[0].faults}' -- ...")
    outcomes = [run.outcome for run in report.runs]
    parts = [f"{outcomes.count(each)} {each}" for each in dict.fromkeys(sorted(outcomes))]
    verdict = count(len(report.findings), "finding") if report.findings else "no findings"
    write(f"{count(len(report.runs), 'run')} with a failing call: {', '.join(parts)}; {verdict}")
    if report.alive:
        kept = ", ".join(f"{number} {kind}" for kind, number in report.alive.items())
        write(f"without a fault the program does not free: {kept}")
    if report.skipped:
        write(
            f"{count(report.skipped, 'call')} did not fail; --calls sets how many of a function do"
        )
    if report.written:
        write(f"runs with a failing call wrote files here: {', '.join(report.written[:5])}")
    if not report.compares_output:
        write("stdout differs from run to run, so wrong output was not looked for")
