"""Pictures as PNG, as Graphviz source, as a page, and in notebooks."""

import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from nnapi_shim import Compilation, FuseCode, Model, NnapiError
from nnapi_shim.pictures import measured
from nnapi_shim.pictures import png as png_module
from nnapi_shim.pictures.dot import dot
from nnapi_shim.pictures.page import page
from nnapi_shim.pictures.png import png
from nnapi_shim.pictures.shades import DISTINCT, Shades
from nnapi_shim.pictures.svg import svg
from nnapi_shim.tools.profile import profile
from tests.pictures.models import HOSTILE, branches, chain, quantized

DEVICES = Shades("device", "device", "", {0: "a", 1: "a", 2: "b", 3: "b", 4: "b"})


def test_png_has_the_size_and_the_colours_of_the_svg() -> None:
    text = svg(chain(), DEVICES)
    picture = Image.open(io.BytesIO(png(text, 2.0))).convert("RGB")
    across, down = re.findall(r'(?:width|height)="(\d+)"', text)[:2]
    assert picture.size == (2 * int(across), 2 * int(down))
    colours = {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in picture.getcolors(1 << 24)}
    assert {DISTINCT[0], DISTINCT[1], "#ffffff"} <= colours


def test_png_draws_boxes_where_the_svg_has_them() -> None:
    """The centre of an operation's box has its colour, or that of its text."""
    text = svg(quantized(), Shades("time", "t", "", {0: 1.0}))
    picture = np.asarray(Image.open(io.BytesIO(png(text, 1.0))).convert("RGB"))
    dark = np.all(picture == (0xE4, 0x57, 0x2E), axis=2)
    assert dark.sum() > 1000


def test_a_png_that_is_too_large(monkeypatch) -> None:
    monkeypatch.setattr(png_module, "LARGEST", 100)
    with pytest.raises(NnapiError, match="too many"):
        png(svg(chain()))


def test_dot() -> None:
    text = dot(branches(), Shades("time", "t", "", {0: 1.0}))
    assert text.count("subgraph") == 2 + 4 + 2 + 2
    assert '"0" -> "output0"' in text or '"0" -> "1"' in text
    for line in text.splitlines():
        without = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert '"' not in without, line
    assert text.count("{") - sum(s.count("{") for s in re.findall(r'"[^"]*"', text)) == 11


def test_names_are_data_in_all_formats() -> None:
    with Model() as model:
        model.outputs(model.abs(model.input("TENSOR_FLOAT32", [1], name=HOSTILE)))
    text = page(model, [], HOSTILE)
    data = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert (
        HOSTILE.split("\n")[0][:5] in json.loads(data[1])["operations"]["0"]["operands"][0]["name"]
    )
    assert text.count("<script") == 2
    dot(model)


def test_a_page_has_operands_and_all_colours() -> None:
    result = json.loads(
        re.search(r'<script id="data"[^>]*>(.*?)</script>', page(chain(), [DEVICES]), re.DOTALL)[1]
    )
    assert list(result["operations"]) == ["0", "1", "2", "3", "4"]
    operands = result["operations"]["3"]["operands"]
    assert [item["others"] for item in operands] == [["2"], ["0"], [], ["4"]]
    (colours,) = result["colours"]
    assert colours["fills"]["2"] == DISTINCT[1]
    assert colours["texts"] == {"0": "a", "1": "a", "2": "b", "3": "b", "4": "b"}


def test_operations_without_steps_name_the_one_that_does_their_work() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 8, 8, 4])
        weights = np.ones((4, 1, 1, 4), np.float32)
        bias = np.zeros(4, np.float32)
        y = model.operation("CONV_2D", [x, weights, bias, 1, 1, 1, FuseCode.NONE])
        model.outputs(model.relu(y))
    operations = profile(model, "nnapi-cpu", runs=1, against_peaks=False).operations
    (number,) = [item.fused_into for item in operations if item.fused_into is not None]
    assert operations[number].steps
    assert measured.times(profile(model, runs=1, against_peaks=False)).text(1 - number) == (
        f"fused into {number}"
    )


def test_in_notebooks() -> None:
    model = chain()
    assert "<svg" in model._repr_html_()
    compilation = Compilation(model)
    html = compilation._repr_html_()
    assert "compiled in" in html
    assert "coloured by device" in html
    compilation.close()
    assert "<svg" not in compilation._repr_html_()
    assert "<svg" not in Model()._repr_html_()


def test_a_compilation_shows_its_devices(monkeypatch) -> None:
    from nnapi_shim.drivers.cpu.device import CpuDevice
    from nnapi_shim.runtime import device_manager
    from tests.runtime.partial_devices import PartialDevice

    fast = PartialDevice("fast", "TANH", (0.5, 0.5))
    monkeypatch.setattr(device_manager, "_devices", {"all": [fast, CpuDevice()]})
    compilation = Compilation(chain())
    assert list(compilation._devices().values()) == [
        "nnapi-cpu",
        "fast",
        "fast",
        "nnapi-cpu",
        "nnapi-cpu",
    ]
    html = compilation._repr_html_()
    assert "compilation for several devices" in html
    assert ">fast</text>" in html
