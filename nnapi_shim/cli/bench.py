"""`nnapi-shim bench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import (
    Devices,
    Force,
    Inputs,
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
    spans,
    write,
    write_data,
    write_table,
)
from nnapi_shim.cli.unused import is_saved_run
from nnapi_shim.units import count, duration, rate, rounded, size

if TYPE_CHECKING:
    from nnapi_shim.tools.bench_against import Against
    from nnapi_shim.tools.bench_report import Bench, PeerBench
    from nnapi_shim.tools.latency import Latency


NO_DIFFERENCE = "no difference that this run can show"


def bench(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model, as for all commands; with --against also a saved run."
        ),
    ],
    devices: Devices = None,
    inputs: Inputs = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.001, max=86400, help="Time of each measurement."),
    ] = 2.0,
    runs: Annotated[
        int, typer.Option("--runs", min=0, help="Number of runs, instead of a time.")
    ] = 0,
    warm_up: Annotated[
        int, typer.Option("--warm-up", min=0, help="Runs before the measurement.")
    ] = 5,
    threads: Annotated[
        str, typer.Option("--threads", metavar="N,M", help="Numbers of concurrent runs.")
    ] = "1",
    peers: Annotated[
        list[str] | None,
        typer.Option(
            "--peer",
            autocompletion=completion.peers,
            metavar="litert|onnxruntime|openvino|DEVICE",
            help="Also measure another runtime or device, in turns.",
        ),
    ] = None,
    kernel_threads: Annotated[
        str | None,
        typer.Option(
            "--kernel-threads",
            metavar="N,M",
            help="Threads of one run, of nnapi-cpu and the peers alike; by default NNAPI_SHIM_"
            "THREADS, else all processors.",
        ),
    ] = None,
    before: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="FILE.json",
            help="Compare with a saved --json of a run; the --json of this run has both.",
        ),
    ] = None,
    resize: Resize = False,
    seed: Seed = 0,
    picture: PictureFile = None,
    force: Force = False,
    as_json: AsJson = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Add the time of every run to --json.")
    ] = False,
) -> None:
    """Measure latency, throughput and memory of a model, and compare it with other runtimes.

    A peer runs in turns with nnapi_shim, with as many threads; the ratio is its time divided by
    that of nnapi_shim, with the quartiles of all rounds. A device as a peer runs the whole model.

    Example: nnapi-shim bench mobilenet.tflite --peer litert --kernel-threads 1,2
    """
    from nnapi_shim.tools.bench import bench as measure
    from nnapi_shim.tools.bench_against import against, saved
    from nnapi_shim.tools.inputs import Picture

    require_json(as_json, force)
    earlier = None if before is None else saved(before)
    if earlier is not None and is_saved_run(model):
        present(against(earlier, saved(model)), as_json, force, _show_change)
        return
    require_drawable(picture, force)
    with progress() as tell:
        report = measure(
            model,
            names(devices),
            inputs=inputs or (),
            seconds=seconds,
            runs=runs,
            warm_up=warm_up,
            threads=numbers("--threads", threads),
            peers=peers or (),
            kernel_threads=numbers("--kernel-threads", kernel_threads) if kernel_threads else (),
            picture=Picture(resize),
            seed=seed,
            progress=tell,
        )
    draw(report, picture, force)
    data = report.to_json(samples)
    change = None if earlier is None else against(earlier, data)
    if as_json:
        write_data(data | (change.to_json() if change else {}), as_json, force)
    elif change is not None:
        _show_change(change)
    else:
        _show(report)


def _show_change(report: "Against") -> None:
    """The comparison of two runs."""
    if report.model_before != report.model_after:
        write(f"models: {report.model_before} before, {report.model_after} after")
    for name, (old, new) in report.differing.items():
        write(f"{name}: {old} before, {new} after")
    write_table(
        (">kernel threads", ">before", ">after", ">ratio", ">low", ">high", ""),
        [
            (
                item.kernel_threads,
                duration(item.before),
                duration(item.after),
                f"{item.ratio:.2f}",
                f"{item.low:.2f}",
                f"{item.high:.2f}",
                _no_difference(item.rounds) if item.verdict == "not shown" else item.verdict,
            )
            for item in report.changes
        ],
    )


def _show(report: "Bench") -> None:
    devices = ", ".join(dict.fromkeys(report.devices))
    write(
        f"{devices}: loaded in {duration(report.load_seconds)}, compiled in "
        f"{duration(report.compile_seconds)}, first run {duration(report.first_run_seconds)}"
    )
    machine = report.conditions
    write(
        f"nnapi_shim {machine.version}, Python {machine.python}, {machine.processor}, tier "
        f"{machine.tier or 'none'}, processors {spans(machine.affinity)}, load "
        f"{_load(machine.load_before)} before, {_load(machine.load_after)} after"
    )
    write()
    rows = []
    for measured in report.results:
        rows.append(_row("nnapi_shim", measured.kernel_threads, report, measured.latency))
        rows += [
            _row(f"{peer.name} {peer.version}", measured.kernel_threads, report, peer.latency)
            for peer in measured.peers
        ]
    write_table(
        ("", ">kernel threads", ">runs", ">min", ">mean", ">p50", ">p90", ">p95", ">p99", ">max")
        + (">deviation", ">at p50"),
        rows,
    )
    for measured in report.results:
        for peer in measured.peers:
            write(_comparison(peer, measured.kernel_threads))
    write()
    write_table(
        (">kernel threads", ">runs at once", ">runs/s", ">p50", ">p99"),
        [
            (
                measured.kernel_threads,
                item.threads,
                rounded(item.runs_per_second, 4),
                duration(item.latency.p50),
                duration(item.latency.p99),
            )
            for measured in report.results
            for item in measured.throughput
        ],
    )
    memory = report.memory
    if memory.before is not None:
        write()
        write(
            f"memory of the process: {size(memory.before)} at first, {size(memory.loaded)} with "
            f"the model, {size(memory.compiled)} compiled, {size(memory.run)} after its first "
            f"runs; at most {size(memory.peak)}"
        )


def _comparison(peer: "PeerBench", kernel_threads: int) -> str:
    from nnapi_shim.tools.bench_rounds import ROUNDS

    factor = peer.ratio if peer.ratio >= 1 else 1 / peer.ratio
    is_whole = len(peer.ratios) == ROUNDS
    cut = "" if is_whole else f" (fewer than {ROUNDS}: the time or the runs were used up)"
    differs = peer.largest_difference
    near = "" if differs is None else f"; outputs differ by at most {differs:.3g}"
    says = (
        f"{peer.name}: {_no_difference(len(peer.ratios))}"
        if peer.verdict == "not shown"
        else f"nnapi_shim is {factor:.2f} times {peer.verdict} than {peer.name}"
    )
    return (
        f"{count(kernel_threads, 'kernel thread')}: {says}: ratio {peer.ratio:.2f}, "
        f"{peer.low:.2f} to {peer.high:.2f} in half of {count(len(peer.ratios), 'round')}"
        f"{cut}{near}"
    )


def _no_difference(rounds: int) -> str:
    """The verdict that no difference is shown; with too few rounds there is no other."""
    from nnapi_shim.tools.bench_report import FEWEST_ROUNDS

    if rounds >= FEWEST_ROUNDS:
        return NO_DIFFERENCE
    return f"{NO_DIFFERENCE} ({count(rounds, 'round')}; a verdict needs {FEWEST_ROUNDS})"


def _load(average: float | None) -> str:
    return "unknown" if average is None else f"{average:.2f}"


def _row(name: str, kernel_threads: int, report: "Bench", times: "Latency") -> tuple[object, ...]:
    figures = (times.minimum, times.mean, times.p50, times.p90, times.p95, times.p99, times.maximum)
    work = report.arithmetic
    rates = (
        []
        if work is None or not times.p50
        else [
            rate(number / times.p50, unit)
            for number, unit in ((work.floating, "FLOP/s"), (work.integer, "OP/s"))
            if number
        ]
    )
    return (
        *(name, kernel_threads, times.runs, *map(duration, figures)),
        *(duration(times.deviation), ", ".join(rates)),
    )
