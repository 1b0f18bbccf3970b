"""Measurements drawn with matplotlib (the extra `tools`): profile, bench and diff as figures.

Colours can be told apart by people who are colour-blind, and nothing is told by colour alone.
"""

from typing import TYPE_CHECKING

from nnapi_shim.pictures.charts.bench import bench_chart
from nnapi_shim.pictures.charts.diff import diff_chart
from nnapi_shim.pictures.charts.figure import require_picture, save
from nnapi_shim.pictures.charts.profile import profile_chart
from nnapi_shim.tools.bench import Bench
from nnapi_shim.tools.diff import Diff
from nnapi_shim.tools.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bench_chart", "chart", "diff_chart", "profile_chart", "require_picture", "save"]


def chart(found: Profile | Bench | Diff) -> "Figure":
    """The figure of a report."""
    if isinstance(found, Profile):
        return profile_chart(found)
    return bench_chart(found) if isinstance(found, Bench) else diff_chart(found)
