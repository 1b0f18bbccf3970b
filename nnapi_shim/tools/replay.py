"""Replay: repeats the calls of a capture on any device, and reports different results.

The calls go through the C functions, so they run what the program ran.
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
    """Repeat the calls of a capture in their order, and compare their results.

    device: a regular expression; the first device whose whole name matches runs everything. By
        default each device of the capture must be here under its name.
    last: repeat the call that the program died in, too.

    Integers, quantized and boolean outputs are compared byte by byte; floats may differ by 1e-5
    plus 5 units in the last place, those of half precision by 5 units of theirs. Timeouts are
    not set, and nothing is cached where the program had it.

    Raises NnapiError for what is no capture, contradicts itself, or needs a device that is not
    here.
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
    """Write the calls of a capture as a program of its own: C for a name that ends in `.c`, Python
    for `.py`. Contents that are too many for a source are in a file beside it; the files written.

    Raises NnapiError for other names, for a file that is there unless `overwrite`, and for what is
    no capture.
    """
    from nnapi_shim.formats.capture.source import write_source

    opened = capture if isinstance(capture, Capture) else read(capture)
    return write_source(opened, Path(path), overwrite=overwrite)
