"""Charts say what the reports say, with units, and nothing in them is cut off."""

from itertools import pairwise

import pytest

pytest.importorskip("matplotlib")

from nnapi_shim import NnapiError
from nnapi_shim.pictures.charts import bench_chart, chart, diff_chart, profile_chart, save
from nnapi_shim.tools.bench import bench
from nnapi_shim.tools.diff import diff
from nnapi_shim.tools.profile import profile
from tests.pictures.models import chain, quantized


def written(figure):
    """All texts of a figure that are drawn."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def require_legible(figure):
    """Every text lies within the figure, and no labels of an axis overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    texts = written(figure)
    whole = figure.bbox
    for axes in figure.axes:
        low, high = axes.get_xlim(), axes.get_ylim()
        shown = [
            label.label1
            for axis, (a, b) in ((axes.xaxis, low), (axes.yaxis, high))
            for label in axis.get_major_ticks()
            if min(a, b) <= label.get_loc() <= max(a, b) and label.label1.get_visible()
        ]
        titles = [axes.title, axes.xaxis.label, axes.yaxis.label]
        for text in (text for text in [*shown, *titles, *figure.texts] if text.get_text()):
            box = text.get_window_extent()
            assert box.x0 >= whole.x0 - 1, text
            assert box.x1 <= whole.x1 + 1, text
            assert box.y0 >= whole.y0 - 1, text
            assert box.y1 <= whole.y1 + 1, text
        rows = [label.label1.get_window_extent() for label in axes.yaxis.get_major_ticks()]
        rows.sort(key=lambda box: box.y0)
        assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(rows))
    return {text.get_text() for text in texts}


@pytest.fixture(scope="module")
def profiled():
    return profile(chain(45), runs=3)


def test_profile(profiled) -> None:
    texts = require_legible(profile_chart(profiled))
    assert "0 CONV_2D" in texts
    assert "16 others" in texts
    assert any(text.startswith("peak, float32: ") for text in texts)
    assert "GFLOP/s; of quantized operations GOP/s" in texts
    assert any(text.startswith("time in a run, ") for text in texts)


def test_profile_without_peaks() -> None:
    figure = profile_chart(profile(quantized(), runs=2, against_peaks=False))
    assert len(figure.axes) == 1
    require_legible(figure)


def test_bench() -> None:
    result = bench(chain(), runs=40, threads=(1, 2))
    texts = require_legible(bench_chart(result))
    assert "runs that take at most as long" in texts
    assert any("p50" in text and "p99" in text for text in texts)
    assert "runs per second" in texts


def test_bench_with_a_peer(tmp_path) -> None:
    pytest.importorskip("ai_edge_litert")
    path = tmp_path / "model.tflite"
    chain().save(path)
    result = bench(str(path), runs=40, peers=["litert"])
    texts = require_legible(bench_chart(result))
    assert "time / time of nnapi_shim, round by round" in texts


def test_diff() -> None:
    result = diff(chain(), "nnapi-cpu", "nnapi-reference")
    texts = require_legible(diff_chart(result))
    assert "largest error" in texts
    assert "4 SOFTMAX" in texts
    texts = require_legible(diff_chart(diff(quantized(), "nnapi-cpu", "nnapi-reference")))
    assert "largest error, quantization steps" in texts
    assert "equal: 1" in texts


def test_the_same_chart_is_the_same_file(tmp_path) -> None:
    result = diff(quantized(), "nnapi-cpu", "nnapi-reference")
    for suffix in ("svg", "png"):
        paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        for path in paths:
            save(chart(result), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_files_that_cannot_be_written(profiled, tmp_path) -> None:
    path = tmp_path / "a.png"
    path.write_text("mine")
    with pytest.raises(NnapiError, match="is there already"):
        save(profile_chart(profiled), path)
    assert path.read_text() == "mine"
    with pytest.raises(NnapiError, match=r"no .png or .svg file"):
        save(profile_chart(profiled), tmp_path / "a.bmp")
