"""`nnapi-shim bench`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import (
    Devices,
    Force,
    Inputs,
    ModelPath,
    PictureFile,
    Resize,
    Seed,
    names,
)
from nnapi_shim.cli.chart import draw, require_drawable
from nnapi_shim.cli.output import (
    AsJson,
    progress,
    require_json,
    write,
    write_json,
    write_table,
)
from nnapi_shim.units import count, duration, number, rounded, size

if TYPE_CHECKING:
    from nnapi_shim.tools.bench import Bench
    from nnapi_shim.tools.latency import Latency


def bench(
    model: ModelPath,
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
        str, typer.Option("--threads", metavar="N,M", help="Numbers of concurrent threads.")
    ] = "1",
    peers: Annotated[
        list[str] | None,
        typer.Option(
            "--peer",
            autocompletion=completion.peers,
            metavar="litert|onnxruntime|openvino",
            help="Also measure another runtime, in turns.",
        ),
    ] = None,
    peer_threads: Annotated[
        int, typer.Option("--peer-threads", min=1, help="Threads of one run of a peer.")
    ] = 1,
    resize: Resize = False,
    seed: Seed = 0,
    picture: PictureFile = None,
    force: Force = False,
    as_json: AsJson = None,
) -> None:
    """Measure latency, throughput and memory of a model, and compare it with other runtimes.

    A peer runs in turns with nnapi_shim; the ratio is its time divided by that of nnapi_shim, with
    the quartiles of all rounds.

    Example: nnapi-shim bench mobilenet.tflite --peer litert --threads 1,2
    """
    from nnapi_shim.tools.bench import bench as measure
    from nnapi_shim.tools.inputs import Picture

    require_json(as_json, force)
    require_drawable(picture, force)
    with progress() as tell:
        report = measure(
            model,
            names(devices),
            inputs=inputs or (),
            seconds=seconds,
            runs=runs,
            warm_up=warm_up,
            threads=_numbers(threads),
            peers=peers or (),
            peer_threads=peer_threads,
            picture=Picture(resize),
            seed=seed,
            progress=tell,
        )
    draw(report, picture, force)
    if as_json:
        write_json(report, as_json, force)
    else:
        _show(report)


def _numbers(option: str) -> list[int]:
    from nnapi_shim.errors import bad_data

    try:
        return [int(number) for number in option.split(",")]
    except ValueError:
        raise bad_data(
            f"--threads is {option!r}; it must be numbers with commas, such as 1,2",
            "tool.bench.threads-option",
        ) from None


def _show(report: "Bench") -> None:
    from nnapi_shim.tools.bench import ROUNDS

    devices = ", ".join(dict.fromkeys(report.devices))
    write(
        f"{devices}: loaded in {duration(report.load_seconds)}, compiled in "
        f"{duration(report.compile_seconds)}, first run {duration(report.first_run_seconds)}"
    )
    write()
    rows = [_row("nnapi_shim", report.latency)]
    rows += [_row(f"{peer.name} {peer.version}", peer.latency) for peer in report.peers]
    write_table(
        ("", ">runs", ">min", ">mean", ">p50", ">p90", ">p95", ">p99", ">max", ">deviation"), rows
    )
    for peer in report.peers:
        faster = "faster" if peer.ratio >= 1 else "slower"
        factor = peer.ratio if peer.ratio >= 1 else 1 / peer.ratio
        near = (
            ""
            if peer.largest_difference is None
            else f"; outputs differ by at most {number(peer.largest_difference, 3)}"
        )
        is_whole = len(peer.ratios) == ROUNDS
        cut = "" if is_whole else f" (fewer than {ROUNDS}: the time or the runs were used up)"
        write(
            f"nnapi_shim is {factor:.2f} times {faster} than {peer.name}: ratio {peer.ratio:.2f}, "
            f"{peer.low:.2f} to {peer.high:.2f} in half of {count(len(peer.ratios), 'round')}"
            f"{cut}{near}"
        )
    write()
    write_table(
        (">threads", ">runs/s", ">p50", ">p99"),
        [
            (
                item.threads,
                rounded(item.runs_per_second, 4),
                duration(item.latency.p50),
                duration(item.latency.p99),
            )
            for item in report.throughput
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


def _row(name: str, times: "Latency") -> tuple[object, ...]:
    figures = (times.minimum, times.mean, times.p50, times.p90, times.p95, times.p99, times.maximum)
    return (name, times.runs, *map(duration, figures), duration(times.deviation))
