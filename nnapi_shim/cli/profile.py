"""`nnapi-shim profile`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import (
    Devices,
    Force,
    Inputs,
    ModelPath,
    PictureFile,
    Resize,
    Seed,
    names,
    numbers,
)
from nnapi_shim.cli.chart import draw, require_drawable
from nnapi_shim.cli.output import (
    AsJson,
    present,
    progress,
    require_json,
    require_suffix,
    write,
    write_table,
)
from nnapi_shim.cli.scaling import CORES, show
from nnapi_shim.units import count, duration, percent, rate, rounded

if TYPE_CHECKING:
    from nnapi_shim.tools.profile import OperationProfile, Profile

_TOO_LARGE = 1.5
"""The sum of the steps by the time of a run above which the steps are said to be too slow."""


def profile(
    model: ModelPath,
    devices: Devices = None,
    inputs: Inputs = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of observed runs.")] = 20,
    warm_up: Annotated[
        int, typer.Option("--warm-up", min=0, help="Runs before the measurement.")
    ] = 3,
    steps: Annotated[
        bool, typer.Option("--steps", help="Also show the steps of each operation.")
    ] = False,
    top: Annotated[
        int, typer.Option("--top", metavar="K", min=0, help="Show only the K slowest operations.")
    ] = 0,
    no_peaks: Annotated[
        bool, typer.Option("--no-peaks", help="Do not measure the machine's peaks.")
    ] = False,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Predict the time on more processors, instead.")
    ] = False,
    kernel_threads: Annotated[
        str,
        typer.Option(
            "--kernel-threads", metavar="N,M", help="Numbers of processors for --scaling."
        ),
    ] = CORES,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="FILE.json", help="Write a trace for Perfetto (ui.perfetto.dev)."
        ),
    ] = None,
    force: Force = False,
    resize: Resize = False,
    seed: Seed = 0,
    picture: PictureFile = None,
    as_json: AsJson = None,
) -> None:
    """Measure the time of each operation, and compare it with the machine's peaks.

    Example: nnapi-shim profile mobilenet.tflite --top 10 --trace profile.json
    """
    from nnapi_shim.formats.output_file import require_free
    from nnapi_shim.tools.inputs import Picture
    from nnapi_shim.tools.profile import profile as find

    require_suffix(trace, ".json")
    if trace is not None:
        require_free(trace, force)
    require_json(as_json, force)
    require_drawable(picture, force)
    if scaling:
        from nnapi_shim.tools.scaling import scaling as predict

        with progress() as tell:
            prediction = predict(
                model,
                numbers("--kernel-threads", kernel_threads),
                inputs=inputs or (),
                runs=runs,
                warm_up=warm_up,
                picture=Picture(resize),
                seed=seed,
                progress=tell,
            )
        present(prediction, as_json, force, show)
        return
    with progress() as tell:
        report = find(
            model,
            names(devices),
            inputs=inputs or (),
            runs=runs,
            warm_up=warm_up,
            against_peaks=not no_peaks,
            picture=Picture(resize),
            seed=seed,
            progress=tell,
        )
    if trace is not None:
        report.save_trace(trace, force)
    draw(report, picture, force)
    present(report, as_json, force, lambda report: _show(report, steps, top))


def _show(report: "Profile", steps: bool, top: int) -> None:
    devices = ", ".join(dict.fromkeys(report.devices))
    write(
        f"{devices}: {duration(report.run_seconds)} in a run, {duration(report.observed_seconds)} "
        f"while each step is timed; medians of {count(report.runs, 'run')}"
    )
    if report.timing_seconds:
        write(f"each step is shown without the {duration(report.timing_seconds)} that timing adds")
    if report.seen_seconds > _TOO_LARGE * report.run_seconds:
        write(
            f"the times below are too large: they add up to {duration(report.seen_seconds)}, "
            "because steps are timed one by one, with less in caches"
        )
    if report.peaks is not None:
        measured = report.peaks
        load = "" if measured.load is None else f", at a load of {measured.load:.2f}"
        write(
            f"peaks of this machine{load}: {rate(measured.float32, 'FLOP/s')} in float32, "
            f"{rate(measured.int8, 'OP/s')} in int8, {rate(measured.bytes, 'B/s')}"
        )
        if any(_of_peak(item) > 1 for item in report.operations):
            write(
                "more than 100% of a peak is no figure to trust: the data is in a cache, or the "
                "machine was busy while the peak was measured"
            )
    if untold := _untold(report):
        write(f"{untold} does not tell the times of its operations")
    write()
    shown = list(report.operations)
    if top:
        shown = sorted(shown, key=lambda item: -(item.seconds or 0.0))[:top]
    rows: list[tuple[object, ...]] = []
    for item in shown:
        rows.append(_row(item))
        if steps:
            rows += [
                ("", f"  {step.kernel or step.where}", step.device, duration(step.seconds))
                for step in item.steps
            ]
    columns: tuple[str, ...] = (
        ">#",
        "operation",
        "device",
        ">time",
        ">share",
        ">arithmetic",
        ">GB/s",
    )
    if report.peaks is not None:
        columns += (">of peak", "bound")
    width = len(columns)
    write_table(columns, [(*row, *[""] * width)[:width] for row in rows])
    if report.seen_seconds:
        write()
        write_table(
            ("operation", ">count", ">time", ">share"),
            [
                (kind.name, kind.count, duration(kind.seconds), percent(kind.share))
                for kind in report.kinds
            ],
        )


def _untold(report: "Profile") -> str:
    """The devices that tell no time of any operation."""
    told = {item.device for item in report.operations if item.seconds is not None}
    return ", ".join(dict.fromkeys(each for each in report.devices if each not in told))


def _row(item: "OperationProfile") -> tuple[object, ...]:
    from nnapi_shim.tools.observed_run import time_text

    nearest = _of_peak(item)
    return (
        item.number,
        item.name,
        item.device,
        time_text(item),
        percent(item.share),
        _arithmetic(item),
        _giga(item.bytes_per_second),
        "> 100%" if nearest > 1 else percent(nearest or None),
        "" if nearest > 1 else item.bound,
    )


def _of_peak(item: "OperationProfile") -> float:
    """The part of the nearer peak; 0 if it is unknown."""
    return max(item.of_peak_flops or 0.0, item.of_peak_bytes or 0.0)


def _arithmetic(item: "OperationProfile") -> str:
    if item.flops_per_second is None:
        return ""
    return f"{_giga(item.flops_per_second)} {'GOP/s' if item.is_integer else 'GFLOP/s'}"


def _giga(value: float | None) -> str:
    return "" if value is None else rounded(value / 1e9)
