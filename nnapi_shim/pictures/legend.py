"""The legend of a picture, and text in SVG."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from nnapi_shim.pictures.letters import width
from nnapi_shim.pictures.shades import GRADIENT, WITHIN, Shades, gradient

LEGEND = 11.0
"""Size of its text."""
SOFT = "#44505c"
"""Colour of outlines and of less important text."""


def legend_width(shades: Shades) -> float:
    """The width of the legend."""
    if shades.is_numeric:
        return 420.0 + (_WITHIN_WIDTH if shades.beyond is not None else 0.0)
    return sum(24 + width(text, LEGEND) + 18 for text in shades.distinct)


_WITHIN_TEXT = "within the tolerance"
_WITHIN_WIDTH = 24 + width(_WITHIN_TEXT, LEGEND) + 18


def legend(shades: Shades, x: float, y: float) -> Iterator[str]:
    """A colour bar for numbers, or a square for each text."""
    yield f'<g class="legend" data-name={quoteattr(shades.name)}>'
    if not shades.is_numeric:
        for text in shades.distinct:
            yield from _square(text, shades.colour_of(text), x, y)
            x += 24 + width(text, LEGEND) + 18
    elif not shades.largest:
        colour = GRADIENT[0][1] if shades.beyond is None else WITHIN
        yield from _square(f"all {shades.written(0.0)}", colour, x, y)
    elif shades.beyond is None:
        yield from _bar(shades, x, y, 0.0)
    else:
        yield from _square(_WITHIN_TEXT, WITHIN, x, y)
        if shades.beyond:
            yield from _bar(shades, x + _WITHIN_WIDTH, y, 0.5)
    yield "</g>"


def _square(text: str, colour: str, x: float, y: float) -> Iterator[str]:
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="16" height="14" fill="{colour}" stroke="{SOFT}"/>'
    yield words(text, x + 24, y + 11, LEGEND)


def _bar(shades: Shades, x: float, y: float, lowest: float) -> Iterator[str]:
    """A bar from 0, in the colour of the share `lowest`, to the largest number."""
    least, most = shades.written(0.0), shades.written(shades.largest)
    x += width(least, LEGEND) + 8
    shares = (0.0, 0.5, 1.0)
    stops = "".join(
        f'<stop offset="{share:g}" stop-color="{gradient(lowest + (1 - lowest) * share)}"/>'
        for share in shares
    )
    name = f"shade-{shades.name}"
    yield f'<defs><linearGradient id="{name}">{stops}</linearGradient></defs>'
    yield words(least, x - 8, y + 11, LEGEND, anchor="end")
    bar = f'<rect x="{x:.1f}" y="{y:.1f}" width="180" height="14"'
    yield f'{bar} fill="url(#{name})" stroke="{SOFT}"/>'
    yield words(most, x + 188, y + 11, LEGEND)


def text_of(text: str) -> str:
    """Text for XML; invalid characters become question marks."""
    return escape("".join(c if c in "\n\t" or c.isprintable() else "?" for c in text))


def words(
    text: str,
    x: float,
    y: float,
    size: float,
    *,
    bold: bool = False,
    anchor: str = "start",
    colour: str = "",
    kind: str = "",
) -> str:
    """A line of text. anchor: the part of it at (x, y); kind: its class."""
    more = f" class={quoteattr(kind)}" if kind else ""
    more += ' font-weight="bold"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor != "start" else ""
    more += f" fill={quoteattr(colour)}" if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{more}>{text_of(text)}</text>'
