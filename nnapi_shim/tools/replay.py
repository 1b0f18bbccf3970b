"""Replay: repeats the calls of a capture on any device and reports differing results.

It calls the C functions, like the recorded program.
"""

from os import PathLike
from pathlib import Path

from nnapi_shim import process
from nnapi_shim.errors import bad_data, bad_state
from nnapi_shim.formats.capture import read
from nnapi_shim.formats.capture.plan import planned
from nnapi_shim.phones import fault_injector
from nnapi_shim.phones.fault_replay import RecordedFaults
from nnapi_shim.recording.reading import Capture
from nnapi_shim.settings import FAULTS
from nnapi_shim.tools.replay_calls import Runner
from nnapi_shim.tools.replay_report import Difference as Difference
from nnapi_shim.tools.replay_report import Replay as Replay
from nnapi_shim.tools.report import Progress, untold


def replay(
    capture: str | PathLike[str] | Capture,
    device: str | None = None,
    *,
    last: bool = False,
    faults: bool = False,
    progress: Progress = untold,
) -> Replay:
    """Repeat the calls of a capture in order and compare their results.

    device: a regular expression; the first device whose whole name matches runs everything. By
        default each device of the capture must be available under its name.
    last: also repeat the call in which the program died.
    faults: also repeat the injected faults of the capture, apart from delays; not with `device`,
        and only before this process has used the library.

    Integers, quantized and boolean outputs are compared byte by byte; floats may differ by 1e-5
    plus 5 units in the last place, half-precision floats by 5 units in the last place. Timeouts are
    not set, and the program's cache folder is not used.

    Raises NnapiError for an invalid or inconsistent capture, and for an unavailable device.
    """
    opened = capture if isinstance(capture, Capture) else read(capture)
    repeated = _faults_of(opened, device) if faults else None
    runner = Runner(opened, device, repeated)
    report = Replay(opened.path, opened.is_complete, runner.device_name, len(opened.calls))
    try:
        _repeat(runner, opened, report, last=last, progress=progress)
    finally:
        runner.close()
    if repeated is not None:
        report.faults, report.recorded_faults = repeated.injected, repeated.recorded
    return report


def _faults_of(capture: Capture, device: str | None) -> RecordedFaults:
    """The faults of a capture, which this process injects from now on."""
    recorded = [fault for call in capture.calls for fault in call.faults]
    if not recorded:
        message = f"{capture.path} has no injected faults to repeat"
        raise bad_data(message, "tool.replay.no-faults")
    if device is not None:
        message = f"faults are repeated on the devices of the capture; the device is {device!r}"
        raise bad_data(message, "tool.replay.faults-device")
    from nnapi_shim.runtime import device_manager

    if process.has_called[0] or device_manager.are_listed():
        raise bad_state(
            "faults are repeated only in a process that has not used the library yet",
            "tool.replay.faults-too-late",
        )
    made = RecordedFaults(recorded)
    FAULTS.put("seed=0")  # so that the library wraps its functions and devices
    fault_injector.use(made)
    return made


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
