"""Chart of a comparison of two devices: the error of each operation."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi_shim.pictures.charts.figure import (
    COLOURS,
    GREY,
    WARNING,
    figure_of,
    name_of,
    quiet,
    styled,
)
from nnapi_shim.tools.diff import Diff, OperandDiff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def diff_chart(report: Diff) -> "Figure":
    """The largest error of each operation: absolute for floats, in steps for quantized values."""
    items = [item for item in report.operands if item.difference is not None]
    outputs = Counter(item.number for item in items)
    labels = [
        f"{item.number} {item.operation}" + (f" {item.role}" if outputs[item.number] > 1 else "")
        for item in items
    ]
    in_steps = [at for at, item in enumerate(items) if _steps(item) is not None]
    others = [at for at, item in enumerate(items) if _steps(item) is None]
    how = "the same inputs for each operation" if report.is_isolated else "each with its own values"
    figure = figure_of(
        9.0,
        min(1.5 + 0.155 * len(items), 24.0),
        f"{name_of(report.model)}: {report.a} and {report.b}, {how}",
    )
    chosen = [group for group in (others, in_steps) if group] or [others]
    panels = figure.subplots(1, len(chosen), squeeze=False, sharey=True)[0]
    for axes, group in zip(panels, chosen, strict=True):
        _draw_errors(axes, items, group, group is in_steps)
    every = -(-len(items) // 130)
    panels[0].set_yticks(range(0, len(items), every), labels[::every])
    panels[0].set_ylim(max(len(items), 1) - 0.3, -0.7)
    return figure


def _steps(item: OperandDiff) -> int | None:
    return None if item.difference is None else item.difference.steps


def _draw_errors(
    axes: "Axes", items: Sequence[OperandDiff], positions: Sequence[int], in_steps: bool
) -> None:
    from matplotlib.ticker import MaxNLocator

    values = {}
    for position in positions:
        difference = items[position].difference
        assert difference is not None
        values[position] = float(difference.steps or 0) if in_steps else difference.largest
    shown = [value for value in values.values() if value and math.isfinite(value)]
    if in_steps or not shown:
        low, high = 0.0, max(shown, default=1.0) * 1.15
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        low, high = min(shown) / 4, max(shown) * 3
        axes.set_xscale("log")
    axes.set_xlim(low, high)
    groups: dict[str, list[int]] = {"equal": [], "different, tolerated": [], "beyond": []}
    for position, value in values.items():
        kind = "different, tolerated" if value else "equal"
        groups["beyond" if items[position].is_beyond else kind].append(position)
    looks = {"equal": (GREY, "o"), "different, tolerated": (COLOURS[0], "o")}
    for label, group in groups.items():
        colour, marker = looks.get(label, (WARNING, "D"))
        ends = [min(values[position], high) if values[position] else low for position in group]
        axes.hlines(group, low, ends, color=colour, linewidth=1.4)
        legend = f"{label}: {len(group)}"
        axes.plot(
            ends,
            group,
            marker,
            color=colour,
            label=legend,
            markersize=5,
            clip_on=False,
            fillstyle="none" if label == "equal" else "full",
        )
    axes.set_xlabel("largest error, quantization steps" if in_steps else "largest error")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        frameon=False,
        borderaxespad=0.2,
        columnspacing=1.2,
        handletextpad=0.3,
    )
    quiet(axes, "x")
