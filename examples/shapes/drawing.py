"""Draws random pictures of ten shapes: position, size, angle, colours and noise vary."""

import math
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

LABELS = (
    "arrow", "circle", "crescent", "cross", "heart", "hexagon", "ring", "square", "star", "triangle"
)  # fmt: skip
FINE = 4
"""A picture is drawn this many times larger, and then scaled down."""

Points = list[tuple[float, float]]


def regular(corners: int, inner: float = 1.0) -> Points:
    """The corners of a regular polygon; with inner < 1, of a star, whose points alternate."""
    count = corners if inner == 1 else 2 * corners
    points = []
    for number in range(count):
        radius, angle = (1.0, inner)[number % 2], 2 * math.pi * number / count
        points.append((radius * math.sin(angle), -radius * math.cos(angle)))
    return points


def heart() -> Points:
    """A heart as a polygon of 48 corners."""
    points = []
    for number in range(48):
        t = 2 * math.pi * number / 48
        height = 13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)
        points.append((math.sin(t) ** 3, -height / 16))
    return points


POLYGONS: dict[str, Points] = {
    "arrow": [(0, -1), (0.7, 0), (0.28, 0), (0.28, 1), (-0.28, 1), (-0.28, 0), (-0.7, 0)],
    "circle": regular(64),
    "cross": [
        *((-0.28, -1), (0.28, -1), (0.28, -0.28), (1, -0.28), (1, 0.28), (0.28, 0.28)),
        *((0.28, 1), (-0.28, 1), (-0.28, 0.28), (-1, 0.28), (-1, -0.28), (-0.28, -0.28)),
    ],
    "crescent": regular(64),
    "heart": heart(),
    "hexagon": regular(6),
    "ring": regular(64),
    "square": [(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
    "star": regular(5, 0.42),
    "triangle": regular(3),
}
HOLES = {"crescent": (0.75, 0.5, 0.0), "ring": (0.55, 0.0, 0.0)}
"""Radius and centre of the circle that is cut out of a shape."""


def picture(label: str, size: int, generator: np.random.Generator) -> Image.Image:
    """A random picture of a shape, size x size pixels."""
    fine = size * FINE
    radius = fine * generator.uniform(0.34, 0.46)
    free = fine / 2 - radius
    centre = fine / 2 + generator.uniform(-free, free, 2)
    angle = generator.uniform(0, 2 * math.pi)
    cosine, sine = radius * math.cos(angle), radius * math.sin(angle)

    def placed(points: Points) -> Points:
        """Points of the unit square in the picture."""
        return [
            (centre[0] + x * cosine - y * sine, centre[1] + x * sine + y * cosine)
            for x, y in points
        ]

    mask = Image.new("L", (fine, fine), 0)
    pen = ImageDraw.Draw(mask)
    pen.polygon(placed(POLYGONS[label]), fill=255)
    if label in HOLES:
        hole, x, y = HOLES[label]
        pen.polygon(placed([(x + hole * u, y + hole * v) for u, v in regular(64)]), fill=0)
    share = np.asarray(mask.resize((size, size), Image.Resampling.BOX), np.float32)[..., None] / 255
    background, colour = colours(generator)
    pixels = background * (1 - share) + colour * share
    pixels += generator.normal(0, generator.uniform(0, 8), pixels.shape)
    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def colours(generator: np.random.Generator) -> Any:
    """Two colours, red, green and blue, that differ enough to be told apart."""
    while True:
        pair = generator.uniform(0, 255, (2, 3))
        if np.abs(pair[0] - pair[1]).sum() > 200:
            return pair


def dataset(count: int, size: int, seed: int) -> tuple[Any, Any]:
    """Pictures as an array of bytes, and the number of the label of each."""
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, len(LABELS), count)
    pictures = [np.asarray(picture(LABELS[number], size, generator)) for number in numbers]
    return np.stack(pictures), numbers
