"""Pictures as PNG: draws the part of SVG that `svg` writes, with Pillow."""

import io
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nnapi_shim.errors import bad_data
from nnapi_shim.pictures.shades import INK, gradient

LARGEST = 1 << 28
"""The largest number of pixels."""

_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
_COMMANDS = re.compile(r"([MLVCQZz])([^MLVCQZz]*)")
_CURVE = 16
"""Number of lines that a curve is drawn with."""

Point = tuple[float, float]


def png(text: str, scale: float = 2.0) -> bytes:
    """The content of a .png file with the picture of an SVG text that `svg` wrote.

    scale: pixels per unit. Raises BAD_DATA for a picture that is too large.
    """
    from PIL import Image, ImageDraw

    root = ElementTree.fromstring(text)
    size = [round(float(root.get(name, "0")) * scale) for name in ("width", "height")]
    if size[0] * size[1] > LARGEST:
        raise bad_data(
            f"the picture has {size[0]} x {size[1]} pixels, too many for .png; .svg and .html have "
            "any size",
            "tool.graph.png-size",
        )
    image = Image.new("RGB", (size[0], size[1]), "white")
    _Painter(ImageDraw.Draw(image), scale).group(root, 0.0, 0.0, {})
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()


class _Painter:
    def __init__(self, draw: Any, scale: float) -> None:
        self.draw = draw
        self.scale = scale
        self.gradients: dict[str, list[tuple[float, str]]] = {}

    def group(self, element: Any, x: float, y: float, style: dict[str, str]) -> None:
        """Draw an element and its children; x, y: the origin."""
        style = {
            **style,
            **{key: element.get(key) for key in ("fill", "stroke") if element.get(key)},
        }
        move = _NUMBERS.findall(element.get("transform", ""))
        if len(move) == 2:
            x, y = x + float(move[0]), y + float(move[1])
        kind = element.tag.rpartition("}")[2]
        if kind == "linearGradient":
            self.gradients[element.get("id")] = [
                (float(stop.get("offset")), stop.get("stop-color")) for stop in element
            ]
        elif kind == "rect":
            self.rectangle(element, x, y, style)
        elif kind == "path" and "stroke" in style:
            self.path(element, x, y, style)
        elif kind == "text":
            self.text(element, x, y, style)
        if kind not in ("marker", "title", "text"):
            for child in element:
                self.group(child, x, y, style)

    def rectangle(self, element: Any, x: float, y: float, style: dict[str, str]) -> None:
        """A box with round corners, filled with a colour or a gradient."""
        if element.get("width") == "100%":
            return
        width, height = (float(element.get(name)) for name in ("width", "height"))
        x, y = x + float(element.get("x", 0)), y + float(element.get("y", 0))
        box = [self.scale * value for value in (x, y, x + width, y + height)]
        fill = style.get("fill", "")
        stops = self.gradients.get(fill.removeprefix("url(#").removesuffix(")"))
        outline, line = style.get("stroke"), max(1, round(self.scale))
        if stops is None:
            radius = float(element.get("rx", 0)) * self.scale
            self.draw.rounded_rectangle(box, radius, fill or None, outline, line)
            return
        for column in range(int(box[0]), int(box[2])):
            share = (column - box[0]) / max(box[2] - box[0], 1.0)
            self.draw.line([column, box[1], column, box[3]], gradient(share, stops))
        self.draw.rectangle(box, None, outline, line)

    def path(self, element: Any, x: float, y: float, style: dict[str, str]) -> None:
        """A line through all points, with an arrow head if it has a marker."""
        points = [
            ((x + px) * self.scale, (y + py) * self.scale) for px, py in _points(element.get("d"))
        ]
        colour = style["stroke"]
        self.draw.line(points, colour, max(1, round(1.2 * self.scale)), "curve")
        if element.get("marker-end"):
            (tip_x, tip_y), size = points[-1], 3.5 * self.scale
            self.draw.polygon(
                [
                    (tip_x, tip_y),
                    (tip_x - size, tip_y - 2 * size),
                    (tip_x + size, tip_y - 2 * size),
                ],
                colour,
            )

    def text(self, element: Any, x: float, y: float, style: dict[str, str]) -> None:
        """A line of text on its base line."""
        font = _font(float(element.get("font-size")) * self.scale, bool(element.get("font-weight")))
        at = (
            (x + float(element.get("x"))) * self.scale,
            (y + float(element.get("y"))) * self.scale,
        )
        anchor = "rs" if element.get("text-anchor") == "end" else "ls"
        self.draw.text(at, element.text or "", style.get("fill", INK), font, anchor)


@cache
def _font(size: float, is_bold: bool) -> Any:
    """DejaVu Sans, for which boxes are measured; matplotlib has it."""
    from PIL import ImageFont

    try:
        import matplotlib
    except ImportError:
        return ImageFont.load_default(size)
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    name = "DejaVuSans-Bold.ttf" if is_bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(folder / name), size)


def _points(path: str) -> list[Point]:
    """The points of a path, which has one line; curves become short lines."""
    points: list[Point] = []
    for command, rest in _COMMANDS.findall(path):
        numbers = [float(number) for number in _NUMBERS.findall(rest)]
        if command == "V":
            points.append((points[-1][0], numbers[0]))
            continue
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command in "ML":
            points += pairs
        elif command in "CQ":
            points += _curve([points[-1], *pairs])
    return points


def _curve(control: list[Point]) -> list[Point]:
    """Points of a Bezier curve, without the first."""
    result = []
    for step in range(1, _CURVE + 1):
        share, level = step / _CURVE, control
        while len(level) > 1:
            level = [
                (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
                for a, b in pairwise(level)
            ]
        result.append(level[0])
    return result
