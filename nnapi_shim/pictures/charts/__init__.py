"""Charts of profile, bench and diff with matplotlib (the extra `tools`).

Colours are safe for colour-blind people, and no information is in colour alone.
"""

from typing import TYPE_CHECKING

from nnapi_shim.pictures.charts.bench import bench_chart
from nnapi_shim.pictures.charts.diff import diff_chart
from nnapi_shim.pictures.charts.figure import require_picture, save
from nnapi_shim.pictures.charts.profile import profile_chart
from nnapi_shim.tools.bench_report import Bench
from nnapi_shim.tools.diff import Diff
from nnapi_shim.tools.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bench_chart", "chart", "diff_chart", "profile_chart", "require_picture", "save"]


def chart(report: Profile | Bench | Diff) -> "Figure":
    """The figure of a report."""
    if isinstance(report, Profile):
        return profile_chart(report)
    return bench_chart(report) if isinstance(report, Bench) else diff_chart(report)
