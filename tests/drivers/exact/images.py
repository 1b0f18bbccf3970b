"""RESIZE_BILINEAR and ROI_ALIGN of quantized images, number by number, each in float32.

Written from semantics.md (7.8, 12.8), sharing no code with a device. Scales and strides are Python
floats that hold float32 numbers; a float64 operation on two float32 rounded once more is the
float32 operation.
"""

import math
from collections.abc import Sequence

from tests.drivers.exact.integers import away, into, scaled, single, wrapped

Pixels = Sequence[Sequence[Sequence[int]]]
"""[height][width][channel]"""

Tap = tuple[int, int, float]
"""The pixels below and above a place, and the share of the one above."""


def divided(a: float, b: float) -> float:
    """The quotient, in float32."""
    return single(single(a) / single(b))


def places(size: int, resized: int, align_corners: bool, half_pixel_centers: bool) -> list[Tap]:
    """Where the pixels of an axis of RESIZE_BILINEAR come from."""
    corners = 1 if align_corners and resized > 1 else 0
    scale = divided(size - corners, resized - corners)
    taps = []
    for y in range(resized):
        at = single(y * scale)
        if half_pixel_centers:
            at = single(single(single(y + 0.5) * scale) - 0.5)
        lower, upper = max(math.floor(at), 0), min(math.ceil(at), size - 1)
        taps.append((lower, upper, single(at - lower)))
    return taps


def resize_bilinear(
    image: Pixels, height: int, width: int, variant: str, align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> list[list[list[int]]]:  # fmt: skip
    """An image in another size."""
    flags = align_corners, half_pixel_centers
    rows, columns = places(len(image), height, *flags), places(len(image[0]), width, *flags)
    return [
        [
            [_between(image, row, column, channel, variant) for channel in range(len(image[0][0]))]
            for column in columns
        ]
        for row in rows
    ]


def _between(image: Pixels, row: Tap, column: Tap, channel: int, variant: str) -> int:
    y0, y1, dy = row
    x0, x1, dx = column
    total = 0.0
    for y, x, of_row, of_column in (
        (y0, x0, single(1 - dy), single(1 - dx)),
        (y1, x0, dy, single(1 - dx)),
        (y0, x1, single(1 - dy), dx),
        (y1, x1, dy, dx),
    ):
        total = single(total + single(single(image[y][x][channel] * of_row) * of_column))
    return into(math.trunc(single(total + 0.5)), variant)


def samples(start: float, end: float, bins: int, ratio: int) -> list[list[float]]:
    """The places of the samples of each bin of an axis of ROI_ALIGN."""
    step = divided(max(single(end - start), 1.0), bins)
    count = ratio or math.ceil(step)
    distance = divided(step, count)
    return [
        [
            single(single(single(single(step * j) + start) + single(distance / 2)) + inside)
            for inside in (single(distance * n) for n in range(count))
        ]
        for j in range(bins)
    ]


def roi_align(
    image: Pixels, corners: Sequence[int], size: tuple[int, int], strides: tuple[float, float],
    ratios: tuple[int, int], of_x: tuple[float, int], of_z: tuple[float, int], variant: str,
) -> list[list[list[int]]]:  # fmt: skip
    """A roi, its corners in eighths; size, strides and ratios are (height, width)."""
    height, width = (divided(1, stride) for stride in strides)
    x1, y1, x2, y2 = (
        single(single(corner * scale) * 0.125)
        for corner, scale in zip(corners, (width, height, width, height), strict=True)
    )
    rows, columns = samples(y1, y2, size[0], ratios[0]), samples(x1, x2, size[1], ratios[1])
    factor = divided(single(of_x[0] * divided(1, 255)), of_z[0])
    factor = divided(factor, len(rows[0]) * len(columns[0]))
    result = []
    for bin_of_rows in rows:
        result.append([])
        for bin_of_columns in columns:
            taps = [
                tap
                for y in bin_of_rows
                for x in bin_of_columns
                for tap in _weights(_tap(y, len(image)), _tap(x, len(image[0])))
            ]
            totals = (
                wrapped(sum(weight * (image[y][x][channel] - of_x[1]) for y, x, weight in taps))
                for channel in range(len(image[0][0]))
            )
            result[-1].append([into(scaled(t, factor) + of_z[1], variant) for t in totals])
    return result


def _tap(location: float, size: int) -> Tap:
    low = math.floor(location)
    return (size - 1, size - 1, 0.0) if low >= size - 1 else (low, low + 1, single(location - low))


def _weights(row: Tap, column: Tap) -> list[tuple[int, int, int]]:
    """(y, x, weight in steps of 1/255) of four points."""
    y0, y1, dy = row
    x0, x1, dx = column
    return [
        (y, x, away(divided(single(of_row * of_column), divided(1, 255))))
        for y, of_row in ((y0, single(1 - dy)), (y1, dy))
        for x, of_column in ((x0, single(1 - dx)), (x1, dx))
    ]
