"""Chart of a benchmark: distribution of times, ratios, throughput."""

from collections.abc import Sequence
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
from nnapi_shim.tools.bench_report import Bench, Measured, PeerBench
from nnapi_shim.tools.latency import Latency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PERCENTILES = ("p50", "p90", "p99")


@styled
def bench_chart(report: Bench) -> "Figure":
    """The distribution of run times per runtime, the ratios of the rounds, and the throughput if
    several numbers of concurrent runs were measured.
    """
    measured = report.results
    several = any(len(each.throughput) > 1 for each in measured)
    count = 1 + any(each.peers for each in measured) + several
    devices = ", ".join(dict.fromkeys(report.devices))
    figure = figure_of(4.0 + 3.2 * count, 4.2, f"{name_of(report.model)} on {devices}")
    ratios = {"width_ratios": [2.0] + [1.0] * (count - 1)}
    panels = iter(figure.subplots(1, count, squeeze=False, gridspec_kw=ratios)[0])
    times = {}
    for each in measured:
        note = _threads(each) if len(measured) > 1 else ""
        times[f"nnapi_shim{note}"] = each.latency
        times |= {f"{peer.name} {peer.version}{note}": peer.latency for peer in each.peers}
    _draw_times(next(panels), times)
    if len(measured) == 1:
        threads = _threads(measured[0]).removeprefix(", ")
        figure.axes[0].set_title(
            threads, fontsize=7.5, color=GREY, loc="right"
        )  # beside the legend
    peers = {
        f"{peer.name} {peer.version}{_threads(each) if len(measured) > 1 else ''}": peer
        for each in measured
        for peer in each.peers
    }
    if peers:
        _draw_ratios(next(panels), peers)
    if several:
        _draw_throughput(next(panels), measured)
    return figure


def _threads(measured: Measured) -> str:
    number = measured.kernel_threads
    return f", {number} kernel thread{'' if number == 1 else 's'}"


def _draw_times(axes: "Axes", times: dict[str, Latency]) -> None:
    """The cumulative distribution of run times, with marked percentiles."""
    unit, factor = unit_of([latency.p50 for latency in times.values()])
    styles = cycle(("-", "--", ":"))
    for (name, latency), colour, marker in zip(times.items(), cycle(COLOURS), cycle(MARKERS)):
        samples = np.sort(np.asarray(latency.samples)) * factor
        shares = np.arange(1, len(samples) + 1) / len(samples)
        # 2000 points look the same as all of them.
        kept = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), 2000)).astype(int))
        marked = [getattr(latency, name) * factor for name in _PERCENTILES]
        label = f"{name}: " + ", ".join(
            f"{percentile} {value:.3g}"
            for percentile, value in zip(_PERCENTILES, marked, strict=True)
        )
        style = next(styles)
        axes.step(samples[kept], shares[kept], style, where="post", color=colour)
        heights = [int(percentile[1:]) / 100 for percentile in _PERCENTILES]
        axes.plot(marked, heights, marker, color=colour, markersize=5)
        axes.plot([], [], style, color=colour, marker=marker, label=f"{label} {unit}")
    low = min(latency.minimum for latency in times.values()) * factor
    high = max(max(latency.p99 * 1.5, latency.p50 * 2) for latency in times.values()) * factor
    axes.set_xscale("log")
    axes.set_xlim(low / 1.15, high)
    axes.set_ylim(0, 1.02)
    plain_ticks(axes)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel(f"time of a run, {unit}")
    axes.set_ylabel("runs that take at most as long")
    beyond = {
        name: sum(sample * factor > high for sample in latency.samples) / latency.runs
        for name, latency in times.items()
    }
    notes = [f"{share:.2%} of {name}" for name, share in beyond.items() if share]
    if notes:
        axes.set_xlabel(f"{axes.get_xlabel()}; longer than shown: {', '.join(notes)}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0.2)
    quiet(axes, "both")


def _draw_ratios(axes: "Axes", peers: dict[str, PeerBench]) -> None:
    for position, (peer, colour) in enumerate(zip(peers.values(), cycle(COLOURS[1:]))):
        across = position + np.linspace(-0.16, 0.16, len(peer.ratios))
        axes.plot(across, peer.ratios, "o", color=colour, markersize=4, alpha=0.8)
        axes.fill_between(
            [position - 0.28, position + 0.28], peer.low, peer.high, color=colour, alpha=0.2
        )
        axes.hlines(peer.ratio, position - 0.28, position + 0.28, color=colour)
        axes.annotate(
            f"{peer.ratio:.2f}",
            (position + 0.28, peer.ratio),
            (4, 0),
            textcoords="offset points",
            va="center",
        )
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle="--")
    axes.set_xlim(-0.6, len(peers) - 0.4)
    axes.set_ylim(0, max(1.0, *(max(peer.ratios) for peer in peers.values())) * 1.08)
    axes.set_xticks(range(len(peers)), [name.replace(", ", "\n") for name in peers])
    axes.set_ylabel("time / time of nnapi_shim, round by round")
    axes.set_title(
        "above 1 nnapi_shim is faster; band: half of the rounds", fontsize=7.5, color=GREY
    )
    quiet(axes, "y")


def _draw_throughput(axes: "Axes", measured: Sequence[Measured]) -> None:
    bars = [(each.kernel_threads, item) for each in measured for item in each.throughput]
    rates = [item.runs_per_second for _, item in bars]
    positions = range(len(rates))
    drawn = axes.bar(positions, rates, color=COLOURS[0], width=0.6)
    axes.bar_label(drawn, [f"{rate:,.0f}" for rate in rates], padding=2)
    several = len(measured) > 1
    names = [
        f"{item.threads} x {kernel}" if several else str(item.threads) for kernel, item in bars
    ]
    axes.set_xticks(positions, names)
    axes.set_ylim(0, max(rates) * 1.12)
    axes.set_xlabel("runs at once x kernel threads" if several else "runs at once")
    axes.set_ylabel("runs per second")
    quiet(axes, "y")
