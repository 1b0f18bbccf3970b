"""What a browser makes of the pictures: text in its boxes, nodes and operands in Model Explorer."""

import re
import signal
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from nnapi_shim.pictures.page import page as made_page
from nnapi_shim.pictures.shades import Shades
from nnapi_shim.pictures.svg import svg
from tests.pictures.chromium import chromium, pixels
from tests.pictures.models import branches, chain, quantized

pytestmark = pytest.mark.integration

OVERLAPS = """
() => {
  const found = [];
  const inside = (a, b) => a.x >= b.x - 1 && a.y >= b.y - 1 &&
    a.right <= b.right + 1 && a.bottom <= b.bottom + 1;
  const apart = (a, b) => a.right <= b.x + 1 || b.right <= a.x + 1 ||
    a.bottom <= b.y + 1 || b.bottom <= a.y + 1;
  const place = e => e.getBoundingClientRect();
  const whole = document.documentElement.viewBox.baseVal;
  for (const text of document.querySelectorAll('text')) {
    const box = text.parentElement.querySelector(':scope > rect') || document.documentElement;
    if (text.parentElement.getAttribute('class') !== 'legend' && !inside(place(text), place(box)))
      found.push('outside: ' + text.textContent);
    if (place(text).right > whole.width) found.push('beyond: ' + text.textContent);
  }
  for (const group of document.querySelectorAll('g')) {
    const texts = [...group.querySelectorAll(':scope > text')];
    const boxes = [...group.querySelectorAll(':scope > g[class] > rect')];
    for (const things of [texts, boxes])
      things.forEach((one, at) => things.slice(at + 1).forEach(other => {
        if (!apart(place(one), place(other)))
          found.push('overlap: ' + one.parentElement.textContent.slice(0, 60));
      }));
  }
  return [found, document.querySelectorAll('g.operation').length];
}
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as result:
        yield result


@pytest.mark.parametrize(
    ("model", "operations"),
    [(chain(70), 70), (branches(), 2 + 6 + 2 + 3), (quantized(), 1)],
    ids=["chain", "branches", "quantized"],
)
def test_svg_is_legible(browser, tmp_path, model, operations) -> None:
    numbers = {item.number: 1234.5 * item.number for item in model.operations}
    shades = Shades("time", "time in a run", "\u00b5s", numbers)
    path = tmp_path / "model.svg"
    path.write_text(svg(model, shades, "A model with a name that is rather long.tflite"))
    page = browser.new_page()
    page.goto(path.as_uri())
    faults, drawn = page.evaluate(OVERLAPS)
    assert faults == []
    assert drawn == operations
    page.close()


def test_a_page(browser, tmp_path) -> None:
    """Colours can be chosen, operations are found by name, a click shows operands, wheels zoom."""
    model = branches()
    times = {item.number: 100.0 * item.number for item in model.operations}
    all_shades = [
        Shades("time", "time in a run", "\u00b5s", times),
        Shades("device", "device", "", dict.fromkeys(times, "nnapi-cpu")),
    ]
    path = tmp_path / "model.html"
    path.write_text(made_page(model, all_shades, "<b>some</b> model"))
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url))
    page.goto(path.as_uri())
    first = page.locator('g.operation[data-path="0"] > rect')
    assert page.locator("#title").inner_text() == "<b>some</b> model"
    assert first.get_attribute("fill") == all_shades[0].colour(0)
    assert page.locator("g.legend:visible").count() == 1
    page.select_option("#colour", "device")
    assert first.get_attribute("fill") == all_shades[1].colour(0)
    page.select_option("#colour", "")
    assert first.get_attribute("fill") == "#ffffff"

    page.fill("#search", "log")
    assert page.locator("g.operation:not(.dim)").count() == 6
    page.press("#search", "Enter")
    assert "LOG" in page.locator("#panel h2").inner_text()
    page.fill("#search", "")
    assert page.locator("g.operation.dim").count() == 0

    before = page.locator("#picture svg").get_attribute("viewBox")
    page.mouse.move(300, 300)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    after = page.locator("#picture svg").get_attribute("viewBox")
    assert float(after.split()[2]) < float(before.split()[2])
    page.click("#fit")
    page.locator('g.operation[data-path="1"] > text').first.click()
    panel = page.locator("#panel").inner_text()
    assert panel.startswith("1 WHILE")
    assert "time in a run: 100 \u00b5s" in panel
    page.locator("#panel button", has_text="from 0 IF").first.click()
    assert page.locator("#panel h2").inner_text() == "0 IF"
    assert faults == [path.as_uri()]
    page.close()


NEAR = 3
"""Parts in 255 by which colours may differ: the table has rounded numbers, WebGL rounds, too."""


class Explorer:
    """`nnapi-shim graph` as a process, and a page that shows what it serves."""

    CANVAS, TOP = 1000, 110
    """The page's width left of its side panel, and where its tools end."""

    TABLE = "table.results"

    def __init__(self, browser, path, *options: str) -> None:
        command = [sys.executable, "-m", "nnapi_shim", "graph", str(path)]
        command += ["--explorer", "--no-open", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.elsewhere: set[str] = set()
        self.page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.page.set_default_timeout(20_000)
        self.page.route(lambda url: urlsplit(url).hostname != "localhost", self._refuse)

    def __enter__(self):
        self.page.goto(self.address)
        self.page.locator(self.TABLE).wait_for()
        return self

    def __exit__(self, *_) -> None:
        self.page.close()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()

    def _refuse(self, route) -> None:
        self.elsewhere.add(urlsplit(route.request.url).hostname)
        route.abort()

    def table(self) -> dict[str, list[str]]:
        """Of the table of node data: rank and name of a node -> its cells."""
        rows = self.page.locator(self.TABLE).locator("tr").all_inner_texts()
        cells = [[cell.strip() for cell in re.split(r"\t|\n\n", row)] for row in rows]
        return {f"{row[0]} {row[1]}": row[2:] for row in cells if row[0].isdigit()}

    def boxes(self, colours: Any) -> list[tuple[float, float, Any]]:
        """The nodes on the canvas with one of these colours, from above: x, y, colour."""
        shown = pixels(self.page, self.CANVAS, self.TOP)
        is_box = np.abs(shown[:, :, None, :] - colours).max(axis=3).min(axis=2) <= NEAR
        rows = np.flatnonzero(is_box.sum(axis=1) > 40)
        result = []
        for band in np.split(rows, np.flatnonzero(np.diff(rows) > 8) + 1):
            y, x = np.nonzero(is_box[band[0] : band[-1] + 1])
            y = y + band[0]
            location = float(np.median(x)), float(np.median(y)) + self.TOP
            result.append((*location, np.median(shown[y, x], axis=0)))
        return result

    def panel(self, name: str) -> str:
        """What the side panel says of an operation, in one line, as soon as it is of that one."""
        self.page.wait_for_function(
            "name => document.querySelector('info-panel').innerText.replace(/\\s+/g, ' ')"
            ".includes(`op name ${name} `)",
            arg=name,
        )
        return " ".join(self.page.locator("info-panel").inner_text().split())


def test_model_explorer(browser, tmp_path) -> None:
    """Nodes are there, times colour them, a click shows operands."""
    path = tmp_path / "some.py"
    path.write_text("from tests.pictures.models import chain as model\n")
    with Explorer(browser, path, "--profile") as explorer:
        look(explorer)
    assert explorer.process.returncode == 0
    assert explorer.elsewhere <= {"fonts.gstatic.com"}


def look(explorer: Explorer) -> None:
    """What a person would look at, from the table to the canvas to an operand."""
    table = explorer.table()
    names = ["CONV_2D", "TANH", "TANH", "ADD", "SOFTMAX"]
    operations = [f"{at + 1} {name}" for at, name in enumerate(names)]
    assert list(table) == ["0 GraphInputs", *operations, "6 GraphOutputs"]
    assert all(table[name][0] == "0: nnapi-cpu" for name in operations)

    times = {at: float(table[name][2]) for at, name in enumerate(operations)}
    shades = Shades("time", "", "", times)
    expected = np.array([list(bytes.fromhex(shades.colour(at)[1:])) for at in times])
    assert np.ptp(expected, axis=0).max() > 50, "colours that can be told apart"
    explorer.page.wait_for_timeout(500)  # the page moves the model into view
    boxes = explorer.boxes(expected)
    assert len(boxes) == len(expected)
    for (_, _, colour), reference in zip(boxes, expected, strict=True):
        assert np.abs(colour - reference).max() <= NEAR

    explorer.page.mouse.click(*boxes[3][:2])
    panel = explorer.panel("ADD")
    assert "activation RELU" in panel
    assert "input0 (TANH)" in panel
    assert "input1 (CONV_2D)" in panel
    assert "shape 1\u00d716\u00d716\u00d78" in panel
    explorer.page.mouse.click(*boxes[4][:2])
    assert "tensor_name scores" in explorer.panel("SOFTMAX")
