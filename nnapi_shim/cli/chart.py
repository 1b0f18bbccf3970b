"""The option --picture of `profile`, `bench` and `diff`."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nnapi_shim.tools.bench_report import Bench
    from nnapi_shim.tools.diff import Diff
    from nnapi_shim.tools.profile import Profile


def require_drawable(picture: Path | None, force: bool) -> None:
    """Raise before the measurement if the picture cannot be drawn or written."""
    if picture is not None:
        import matplotlib  # noqa: F401

        from nnapi_shim.pictures.charts import require_picture

        require_picture(picture, force)


def draw(report: "Profile | Bench | Diff", picture: Path | None, force: bool) -> None:
    """Write the chart of a report, if requested."""
    if picture is None:
        return
    from nnapi_shim.pictures.charts import chart, save

    save(chart(report), picture, force)
