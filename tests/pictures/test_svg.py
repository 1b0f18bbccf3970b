"""SVG: well-formed, self-contained, complete; what is in a model cannot break out of its text."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.pictures import measured
from nnapi_shim.pictures.shades import DISTINCT, GRADIENT, Shades
from nnapi_shim.pictures.svg import svg
from nnapi_shim.pictures.wording import TIMES
from nnapi_shim.tools.diff import diff
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.profile import profile
from tests.pictures.models import HOSTILE, branches, chain, quantized

NS = "{http://www.w3.org/2000/svg}"


def drawn(model, shades=None, title="some model"):
    """The SVG as a tree."""
    return ElementTree.fromstring(svg(model, shades, title))


def operations(root):
    """Number -> the group of an operation of the main graph."""
    graph = next(g for g in root.findall(f"{NS}g") if g.get("class") is None)
    groups = [g for g in graph.findall(f"{NS}g") if g.get("class") == "operation"]
    return {int(group.get("data-path").rpartition("/")[2]): group for group in groups}


def texts(element):
    """All that is written, with an x between sizes."""
    return [text.text.replace(TIMES, "x") for text in element.iter(f"{NS}text")]


@pytest.mark.parametrize("model", [chain(5), chain(70), quantized(), branches()], ids=str)
def test_everything_is_there_and_nothing_comes_from_elsewhere(model) -> None:
    text = svg(model, title="title")
    root = ElementTree.fromstring(text)
    result = operations(root)
    assert list(result) == [item.number for item in model.operations]
    for item in model.operations:
        assert f"{item.number} {item.name}" in texts(result[item.number])
    assert not re.search(r"href|<script|<style|<image|@import|url\((?!#)", text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert text == svg(model, title="title")


def test_what_is_written_in_boxes() -> None:
    root = drawn(chain())
    box = operations(root)[0]
    title = box.find(f"{NS}title").text.replace(TIMES, "x")
    assert texts(box) == [
        "0 CONV_2D",
        "→ 1x16x16x8 FLOAT32",
        "filter 8x3x3x8 · bias 8 · SAME",
        "stride 1x1 · RELU6",
    ]
    assert "filter: operand 1, 8x3x3x8 FLOAT32, = 576 elements from -1 to 1" in title
    assert {"input image", "output scores"} <= set(texts(root))


def test_hostile_names_are_text() -> None:
    title = next(drawn(quantized(), title=HOSTILE).iter(f"{NS}title")).text
    assert title.startswith('<script>alert("&")</script>')
    assert "\u202e" not in title


def test_many_operations_stand_in_columns() -> None:
    root = drawn(chain(70))
    assert 0.5 < float(root.get("width")) / float(root.get("height")) < 3


def test_graphs_stand_in_their_operation() -> None:
    result = operations(drawn(branches()))
    inside = [g for g in result[0].iter(f"{NS}g") if g.get("class") == "graph"]
    assert len(inside) == 2 + 2 * 2
    assert texts(result[0]).count("0 LOG") == 4
    assert {"condition", "body"} <= set(texts(result[1]))


def test_graphs_within_graphs_are_counted_where_they_are_too_many() -> None:
    text = svg(branches(300))
    assert len(text) < 1_000_000
    assert "then: 1 operation<" in text


def test_colours() -> None:
    shades = Shades("time", "time in a run", "µs", {0: 0.0, 1: 50.0, 2: 100.0, 3: float("inf")})
    root = drawn(chain(), shades)
    fills = [group.find(f"{NS}rect").get("fill") for group in operations(root).values()]
    light, middle, dark = (colour for _, colour in GRADIENT)
    assert fills == [light, middle, dark, dark, "#ffffff"]
    assert {"0", "50 µs", "100 µs"} <= set(texts(root))


def test_nothing_to_tell_apart() -> None:
    """Errors that are all 0, and devices of a model that none runs."""
    equal = drawn(chain(), Shades("error", "largest error", "", {0: 0.0, 1: 0.0}))
    assert "all 0" in texts(equal)
    nowhere = drawn(chain(), Shades("device", "device", "", {}))
    fills = {group.find(f"{NS}rect").get("fill") for group in operations(nowhere).values()}
    assert fills == {"#ffffff"}


def test_measurements() -> None:
    model = chain()
    explained = explain(model)
    devices = measured.devices(explained)
    assert set(devices.values.values()) == {"nnapi-cpu"}
    assert set(measured.partitions(explained).values.values()) == {"0: nnapi-cpu"}
    times = measured.times(profile(model, runs=2, against_peaks=False))
    assert set(times.values) == {0, 1, 2, 3, 4}
    errors = measured.errors(diff(model, "nnapi-cpu", "nnapi-reference"))
    assert errors.is_numeric
    assert errors.largest < 1e-5
    steps = measured.errors(diff(quantized(), "nnapi-cpu", "nnapi-reference"))
    assert steps.title.startswith("largest error, quantization steps")
    box = operations(drawn(model, devices))[0]
    assert box.find(f"{NS}rect").get("fill") == DISTINCT[0]


def test_models_that_cannot_be_drawn() -> None:
    model = Model()
    model.input("TENSOR_FLOAT32", [1])
    with pytest.raises(NnapiError, match="finish"):
        svg(model)


def test_unknown_sizes_and_omitted_operands() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None, 3])
        model.outputs(model.operation("RESHAPE", [x, np.array([-1], np.int32)]))
    assert any("?x3 FLOAT32" in text for text in texts(drawn(model)))


def test_partitions_of_several_devices(monkeypatch) -> None:
    """Each step has its colour, and its text where there is more than one."""
    from nnapi_shim.drivers.cpu.device import CpuDevice
    from nnapi_shim.runtime import device_manager
    from tests.runtime.partial_devices import PartialDevice

    fast = PartialDevice("fast", "TANH", (0.5, 0.5))
    monkeypatch.setattr(device_manager, "_devices", {"all": [fast, CpuDevice()]})
    model = chain()
    shades = measured.partitions(explain(model))
    assert shades.distinct == ("0: nnapi-cpu", "1: fast", "2: nnapi-cpu")
    result = operations(drawn(model, shades))
    fills = [group.find(f"{NS}rect").get("fill") for group in result.values()]
    assert fills == [DISTINCT[0], DISTINCT[1], DISTINCT[1], DISTINCT[2], DISTINCT[2]]
    assert "1: fast" in texts(result[1])
