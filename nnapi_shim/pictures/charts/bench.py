"""A benchmark as a figure: how times are spread, ratios, throughput."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.pictures.charts.figure import (
    COLOURS,
    GREY,
    MARKERS,
    figure_of,
    name_of,
    plain_ticks,
    quiet,
    styled,
    unit_of,
)
from nnapi_shim.tools.bench import Bench
from nnapi_shim.tools.latency import Latency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PERCENTILES = ("p50", "p90", "p99")


@styled
def bench_chart(found: Bench) -> "Figure":
    """How the times of runs are spread, of each runtime; beside it the ratios of the rounds, and
    the throughput where several numbers of threads were measured.
    """
    several = len(found.throughput) > 1
    count = 1 + bool(found.peers) + several
    devices = ", ".join(dict.fromkeys(found.devices))
    figure = figure_of(4.0 + 3.2 * count, 4.2, f"{name_of(found.model)} on {devices}")
    ratios = {"width_ratios": [2.0] + [1.0] * (count - 1)}
    panels = iter(figure.subplots(1, count, squeeze=False, gridspec_kw=ratios)[0])
    times = {"nnapi_shim": found.latency}
    times |= {f"{peer.name} {peer.version}": peer.latency for peer in found.peers}
    _draw_times(next(panels), times)
    if found.peers:
        _draw_ratios(next(panels), found)
    if several:
        _draw_throughput(next(panels), found)
    return figure


def _draw_times(axes: "Axes", times: dict[str, Latency]) -> None:
    """The share of runs that take at most a time; the percentiles are marked."""
    unit, factor = unit_of([found.p50 for found in times.values()])
    styles = cycle(("-", "--", ":"))
    for (name, found), colour, marker in zip(times.items(), cycle(COLOURS), cycle(MARKERS)):
        samples = np.sort(np.asarray(found.samples)) * factor
        shares = np.arange(1, len(samples) + 1) / len(samples)
        # Some thousands of steps look like all of them.
        kept = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), 2000)).astype(int))
        marked = [getattr(found, name) * factor for name in _PERCENTILES]
        label = f"{name}: " + ", ".join(
            f"{percentile} {value:.3g}"
            for percentile, value in zip(_PERCENTILES, marked, strict=True)
        )
        style = next(styles)
        axes.step(samples[kept], shares[kept], style, where="post", color=colour)
        heights = [int(percentile[1:]) / 100 for percentile in _PERCENTILES]
        axes.plot(marked, heights, marker, color=colour, markersize=5)
        axes.plot([], [], style, color=colour, marker=marker, label=f"{label} {unit}")
    low = min(found.minimum for found in times.values()) * factor
    high = max(max(found.p99 * 1.5, found.p50 * 2) for found in times.values()) * factor
    axes.set_xscale("log")
    axes.set_xlim(low / 1.15, high)
    axes.set_ylim(0, 1.02)
    plain_ticks(axes)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel(f"time of a run on one thread, {unit}")
    axes.set_ylabel("runs that take at most as long")
    beyond = {
        name: sum(sample * factor > high for sample in found.samples) / found.runs
        for name, found in times.items()
    }
    told = [f"{share:.2%} of {name}" for name, share in beyond.items() if share]
    if told:
        axes.set_xlabel(f"{axes.get_xlabel()}; longer than shown: {', '.join(told)}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0.2)
    quiet(axes, "both")


def _draw_ratios(axes: "Axes", found: Bench) -> None:
    for place, (peer, colour) in enumerate(zip(found.peers, cycle(COLOURS[1:]))):
        across = place + np.linspace(-0.16, 0.16, len(peer.ratios))
        axes.plot(across, peer.ratios, "o", color=colour, markersize=4, alpha=0.8)
        axes.fill_between(
            [place - 0.28, place + 0.28], peer.low, peer.high, color=colour, alpha=0.2
        )
        axes.hlines(peer.ratio, place - 0.28, place + 0.28, color=colour)
        axes.annotate(
            f"{peer.ratio:.2f}",
            (place + 0.28, peer.ratio),
            (4, 0),
            textcoords="offset points",
            va="center",
        )
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle="--")
    axes.set_xlim(-0.6, len(found.peers) - 0.4)
    axes.set_ylim(0, max(1.0, *(max(peer.ratios) for peer in found.peers)) * 1.08)
    axes.set_xticks(range(len(found.peers)), [f"{p.name} {p.version}" for p in found.peers])
    axes.set_ylabel("time / time of nnapi_shim, round by round")
    axes.set_title(
        "above 1 nnapi_shim is faster; band: half of the rounds", fontsize=7.5, color=GREY
    )
    quiet(axes, "y")


def _draw_throughput(axes: "Axes", found: Bench) -> None:
    rates = [item.runs_per_second for item in found.throughput]
    places = range(len(rates))
    bars = axes.bar(places, rates, color=COLOURS[0], width=0.6)
    axes.bar_label(bars, [f"{rate:,.0f}" for rate in rates], padding=2)
    axes.set_xticks(places, [str(item.threads) for item in found.throughput])
    axes.set_ylim(0, max(rates) * 1.12)
    axes.set_xlabel("threads at once")
    axes.set_ylabel("runs per second")
    quiet(axes, "y")
