"""Chart of a profile: the time of operations, and a roofline plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.pictures.charts.figure import (
    COLOURS,
    GREY,
    MARKERS,
    duration,
    figure_of,
    name_of,
    quiet,
    styled,
    unit_of,
)
from nnapi_shim.tools.profile import OperationProfile, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 30
"""Number of bars; the last one sums the remaining operations."""


@styled
def profile_chart(report: Profile) -> "Figure":
    """Operations by time, and a roofline plot if the machine's peaks were measured."""
    bars = _bars(report)
    marks = _marks(report.operations)
    has_roof = report.peaks is not None and any(
        item.flops and item.bytes and item.seconds for item in report.operations
    )
    height = max(3.6, 1.3 + 0.21 * len(bars))
    devices = ", ".join(dict.fromkeys(report.devices))
    title = f"{name_of(report.model)} on {devices}: {duration(report.run_seconds)} in a run"
    figure = figure_of(11.0 if has_roof else 7.0, height, title)
    axes = figure.subplots(1, 2 if has_roof else 1, squeeze=False)[0]
    _draw_bars(axes[0], bars, marks, report)
    if has_roof:
        _draw_roof(axes[1], report, marks)
    return figure


_Bar = tuple[str, float, str]
"""Label, seconds, kind."""


def _bars(report: Profile) -> list[_Bar]:
    timed = [item for item in report.operations if item.seconds]
    timed.sort(key=lambda item: -(item.seconds or 0.0))
    bars = [(f"{item.number} {item.name}", item.seconds or 0.0, item.name) for item in timed]
    if len(bars) > MOST_BARS:
        rest = bars[MOST_BARS - 1 :]
        label = f"{len(rest)} others"
        bars = bars[: MOST_BARS - 1] + [(label, sum(seconds for _, seconds, _ in rest), "")]
    return bars


def _marks(operations: Sequence[OperationProfile]) -> dict[str, tuple[str, str]]:
    """Kind of operation -> colour and marker; the slowest kinds have their own."""
    total: dict[str, float] = {}
    for item in operations:
        total[item.name] = total.get(item.name, 0.0) + (item.seconds or 0.0)
    kinds = sorted(total, key=lambda name: -total[name])
    own = dict(zip(kinds, zip(COLOURS, MARKERS, strict=True), strict=False))
    return {kind: own.get(kind, (COLOURS[-1], MARKERS[-1])) for kind in kinds}


def _draw_bars(
    axes: "Axes", bars: Sequence[_Bar], marks: dict[str, tuple[str, str]], report: Profile
) -> None:
    unit, factor = unit_of([seconds for _, seconds, _ in bars])
    values = [seconds * factor for _, seconds, _ in bars]
    colours = [marks[kind][0] if kind else "#d0d4d9" for _, _, kind in bars]
    positions = range(len(bars))
    axes.barh(positions, values, color=colours, height=0.72)
    axes.set_yticks(positions, [label for label, _, _ in bars])
    axes.invert_yaxis()
    axes.margins(y=0.01)
    for position, value, (_, seconds, _) in zip(positions, values, bars, strict=True):
        share = seconds / report.seen_seconds if report.seen_seconds else 0.0
        axes.annotate(
            f"{share:.1%}", (value, position), (3, 0), textcoords="offset points", va="center"
        )
    axes.set_xlim(0, max(values, default=1.0) * 1.12)
    axes.set_xlabel(f"time in a run, {unit} (median of {report.runs}), and share")
    axes.tick_params(axis="y", length=0)
    quiet(axes, "x")


def _draw_roof(axes: "Axes", report: Profile, marks: dict[str, tuple[str, str]]) -> None:
    """Roofline plot: GFLOP/s by FLOP per byte, with the machine's peaks as lines."""
    assert report.peaks is not None
    kinds: dict[str, list[OperationProfile]] = {}
    for item in report.operations:
        if item.flops and item.bytes and item.seconds:
            kinds.setdefault(item.name, []).append(item)
    intensity = [
        i.flops / i.bytes for items in kinds.values() for i in items if i.flops and i.bytes
    ]
    low, high = min(intensity) / 3, max(intensity) * 6
    line = np.geomspace(low, high, 200)
    for peak, name, style in (
        (report.peaks.int8, "int8", "-"),
        (report.peaks.float32, "float32", "--"),
    ):
        if peak:
            roof = np.minimum(peak, report.peaks.bytes * line) / 1e9
            axes.plot(line, roof, style, color=GREY, linewidth=1.3)
            axes.annotate(
                f"peak, {name}: {peak / 1e9:.3g}",
                (high, peak / 1e9),
                (-2, 4),
                textcoords="offset points",
                ha="right",
                color=GREY,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for kind in sorted(kinds, key=list(marks).index):
        items = kinds[kind]
        colour, marker = marks[kind]
        axes.scatter(
            [i.flops / i.bytes for i in items if i.flops and i.bytes],
            [i.flops_per_second / 1e9 for i in items if i.flops_per_second],
            [14 + 500 * (i.share or 0.0) for i in items],
            color=colour,
            marker=marker,
            alpha=0.75,
            edgecolors="white",
            linewidths=0.4,
            label=kind,
            zorder=3,
        )
    rates = [
        i.flops_per_second / 1e9 for items in kinds.values() for i in items if i.flops_per_second
    ]
    top = max(filter(None, (report.peaks.int8, report.peaks.float32)), default=1e9) / 1e9
    axes.set_xlim(low, high)
    axes.set_ylim(min(rates) / 3, max(top, *rates) * 2)
    axes.set_xlabel("FLOP per byte of operands")
    axes.set_ylabel("GFLOP/s; of quantized operations GOP/s")
    axes.set_title(
        f"slope of the roof: {report.peaks.bytes / 1e9:.3g} GB/s, the peak of a copy; "
        "size: share of the time",
        fontsize=8,
        color=GREY,
    )
    axes.legend(loc="lower right", frameon=False, markerscale=0.8)
    quiet(axes, "both")
