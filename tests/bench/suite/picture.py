"""The figures as a picture: for each model, how its time relates to that of the fastest peer."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnapi_shim.pictures.charts import save
from nnapi_shim.pictures.charts.figure import COLOURS, GREY, MARKERS, figure_of, quiet, styled
from tests.bench.suite.figures import Figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def picture(models: Sequence[Figures], threads: Sequence[int], path: Path) -> None:
    """Write it; left of the line nnapi_shim is faster than all peers."""
    save(_drawn((models, threads)), path, overwrite=True)


@styled
def _drawn(inputs: tuple[Sequence[Figures], Sequence[int]]) -> "Figure":
    models, threads = inputs
    figure = figure_of(7.6, 1.2 + 0.2 * len(models), "Time of a run / that of the fastest peer")
    axes: Any = figure.subplots()
    places = range(len(models))
    for at, number in enumerate(threads):
        style = {"color": COLOURS[at], "marker": MARKERS[at]}
        height = (at - (len(threads) - 1) / 2) * 0.3
        for location, model in enumerate(models):
            ratio = model.ratio(number)
            if ratio is None:
                continue
            axes.plot(
                [ratio.low, ratio.high], [location + height] * 2, color=style["color"], alpha=0.5
            )
            axes.plot([ratio.median], [location + height], markersize=4.5, linestyle="", **style)
        axes.plot([], [], linestyle="", label=f"threads: {number}", **style)
    axes.axvline(1.0, color=GREY, linewidth=1.2)
    axes.axvline(0.8, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xticks([], minor=True)
    axes.set_yticks(list(places), [model.name for model in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.set_xlabel("median of the rounds, with their quartiles; below 1 nnapi_shim is the fastest")
    axes.legend(loc="upper right", frameon=True, framealpha=0.9, edgecolor="none")
    quiet(axes, "both")
    return figure
