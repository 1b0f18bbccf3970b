"""Common parts of all charts: files, style, axes, units."""

import io
import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nnapi_shim import units
from nnapi_shim.errors import bad_data
from nnapi_shim.formats import output_file
from nnapi_shim.pictures.shades import MICROSECONDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

R = TypeVar("R")

SUFFIXES = (".png", ".svg")

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c")
MARKERS = "osD^vP*"
"""Colours and markers of the first, second, ... series."""
GREY, WARNING = "#6e7781", "#d55e00"


def require_picture(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise BAD_DATA if a picture cannot be written; call it before the measurement."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise bad_data(f"{os.fspath(path)} is no {' or '.join(SUFFIXES)} file", "tool.chart.suffix")
    output_file.require_free(path, overwrite)


def save(figure: "Figure", path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a figure as .png or .svg; equal figures give equal files.

    Raises BAD_DATA if it cannot be written.
    """
    from matplotlib import rc_context

    require_picture(path, overwrite)
    suffix = Path(path).suffix.lower()[1:]
    content = io.BytesIO()
    with rc_context({"svg.hashsalt": "nnapi_shim"}):
        figure.savefig(
            content,
            format=suffix,
            dpi=110,
            facecolor="white",
            metadata={"Date": None} if suffix == "svg" else {"Software": None},
        )
    output_file.write(path, content.getvalue(), overwrite)


def figure_of(width: float, height: float, title: str) -> "Figure":
    """An empty figure; width, height: in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, fontweight="bold", fontsize=9.5)
    return figure


def styled(draw: Callable[[R], "Figure"]) -> Callable[[R], "Figure"]:
    """Decorator: draw in the common style, independent of the program's matplotlib settings."""

    @wraps(draw)
    def drawn(report: R) -> "Figure":
        from matplotlib import rc_context, rcParamsDefault

        style: dict[Any, Any] = {k: v for k, v in rcParamsDefault.items() if k != "backend"}
        style |= {"font.size": 8.0, "legend.fontsize": 8.0}
        with rc_context(style):
            return draw(report)

    return drawn


def name_of(model: str) -> str:
    """The name of a model in titles; only the end of a long one."""
    return (model if len(model) <= 44 else f"\u2026{model[-43:]}") or "Model"


def quiet(axes: "Axes", grid: str) -> None:
    """Draw grid lines for `grid` (x, y or both) and no frame."""
    axes.grid(True, axis=grid, color="#e3e6ea", linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7.5)


def plain_ticks(axes: "Axes") -> None:
    """Plain numbers, not powers of ten, on a logarithmic x axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def unit_of(seconds: Sequence[float]) -> tuple[str, float]:
    """A unit that suits the largest of some times, and its number per second."""
    largest = max(seconds, default=0.0)
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if largest * factor >= 1:
            return unit, factor
    return MICROSECONDS, 1e6


def duration(seconds: float) -> str:
    """A time with its unit."""
    return units.duration(seconds, MICROSECONDS)
