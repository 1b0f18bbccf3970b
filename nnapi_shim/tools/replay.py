"""Replay: repeats the calls of a capture on any device and reports differing results.

It calls the C functions, like the recorded program.
"""

from os import PathLike
from pathlib import Path

from nnapi_shim.formats.capture import read
from nnapi_shim.formats.capture.plan import planned
from nnapi_shim.recording.reading import Capture
from nnapi_shim.tools.replay_calls import Runner
from nnapi_shim.tools.replay_report import Difference as Difference
from nnapi_shim.tools.replay_report import Replay as Replay
from nnapi_shim.tools.report import Progress, untold


def replay(
    capture: str | PathLike[str] | Capture,
    device: str | None = None,
    *,
    last: bool = False,
    progress: Progress = untold,
) -> Replay:
    """Repeat the calls of a capture in order and compare their results.

    device: a regular expression; the first device whose whole name matches runs everything. By
        default each device of the capture must be available under its name.
    last: also repeat the call in which the program died.

    Integers, quantized and boolean outputs are compared byte by byte; floats may differ by 1e-5
    plus 5 units in the last place, half-precision floats by 5 units in the last place. Timeouts are
    not set, and the program's cache folder is not used.

    Raises NnapiError for an invalid or inconsistent capture, and for an unavailable device.
    """
    opened = capture if isinstance(capture, Capture) else read(capture)
    runner = Runner(opened, device)
    report = Replay(opened.path, opened.is_complete, runner.device_name, len(opened.calls))
    try:
        _repeat(runner, opened, report, last=last, progress=progress)
    finally:
        runner.close()
    return report


def _repeat(
    runner: Runner, opened: Capture, report: Replay, *, last: bool, progress: Progress
) -> None:
    for number, plan in enumerate(planned(opened)):
        progress(number, len(opened.calls), plan.call.short)
        if plan.call.end is None:
            report.died_in = f"call {plan.call.number}, {plan.call.function}"
            if not last:
                continue
        if plan.why_not:
            report.skipped.append(f"call {plan.call.number}, {plan.call.function}: {plan.why_not}")
            continue
        runner.make(plan, report)


def write_reproducer(
    capture: str | PathLike[str] | Capture, path: str | PathLike[str], *, overwrite: bool = False
) -> list[Path]:
    """Write the calls of a capture as a program, `.c` or `.py`, and return the written files. Large
    contents go to a file beside it.

    Raises NnapiError for other suffixes, for an existing file unless `overwrite`, and for an
    invalid capture.
    """
    from nnapi_shim.formats.capture.source import write_source

    opened = capture if isinstance(capture, Capture) else read(capture)
    return write_source(opened, Path(path), overwrite=overwrite)
