"""`nnapi-shim profile --scaling`: the predicted times on more processors."""

from typing import TYPE_CHECKING

from nnapi_shim.cli.output import write, write_table
from nnapi_shim.units import count, duration, percent

if TYPE_CHECKING:
    from nnapi_shim.tools.scaling import Region, Scaling

CORES = "1,2,4,8,16"


def show(report: "Scaling") -> None:
    """The report in words and tables."""
    write(
        f"nnapi-cpu: predicted from {count(len(report.regions), 'region')} on one thread, medians "
        f"of {count(report.runs, 'run')}; memory bandwidth and clock rates are not predicted"
    )
    write()
    write_table(
        (
            ">processors",
            ">time",
            ">speed-up",
            ">measured",
            ">one tile",
            ">sharing",
            ">last tiles",
            "limit",
        ),
        [
            (
                item.cores,
                duration(item.seconds),
                f"{item.speedup:.2f}",
                "" if item.measured_seconds is None else duration(item.measured_seconds),
                percent(item.serial_seconds / item.seconds),
                percent(item.sharing_seconds / item.seconds),
                percent(item.waiting_seconds / item.seconds),
                item.limit,
            )
            for item in report.predictions
        ],
    )
    if report.hybrid is not None:
        write(
            f"if {report.hybrid.cores // 2} of {report.hybrid.cores} processors were half as fast: "
            f"{duration(report.hybrid.seconds)}, speed-up {report.hybrid.speedup:.2f}"
        )
    write()
    most = max(item.cores for item in report.predictions)
    if not report.narrow:
        write(f"each region of 20 us or more has tiles for {count(most, 'processor')}")
        return
    write(f"regions of 20 us or more with fewer than {most} tiles:")
    write_table(
        (">time", ">tiles", ">longest", "kernel", "operation"),
        [_row(item) for item in report.narrow],
    )


def _row(item: "Region") -> tuple[object, ...]:
    return (
        duration(item.seconds / item.calls),
        item.tiles,
        duration(item.longest_seconds),
        ", ".join(item.kernels),
        ", ".join(item.operations),
    )
