"""Flame graphs: a bar for each name on a stack, as wide as its time, under that of its caller."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from nnapi_shim.pictures.legend import SOFT, text_of, words
from nnapi_shim.pictures.letters import FAMILY, width
from nnapi_shim.pictures.shades import DISTINCT, INK, WHITE
from nnapi_shim.units import duration, percent

_WIDE, _ROW, _SIZE, _NARROWEST = 1200.0, 20.0, 11.0, 0.3


@dataclass
class _Bar:
    """A name with its time in ns, and the bars under it."""

    time: int = 0
    inner: "dict[str, _Bar]" = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return 1 + max((bar.depth for bar in self.inner.values()), default=0)


def flame_graph(stacks: Mapping[tuple[str, ...], int]) -> str:
    """The text of an SVG file. stacks: names from the outermost to the innermost -> nanoseconds."""
    whole = _Bar()
    for stack, time in stacks.items():
        bar = whole
        bar.time += time
        for name in stack:
            bar = bar.inner.setdefault(name, _Bar())
            bar.time += time
    high = whole.depth * _ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {_WIDE:.0f} {high:.0f}" font-family="{FAMILY}" fill="{INK}">',
        f'<rect width="100%" height="100%" fill="{WHITE}"/>',
        *_bars("all", whole, 0.0, 0.0, max(whole.time, 1)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bars(name: str, bar: _Bar, x: float, y: float, total: int) -> Iterator[str]:
    wide = _WIDE * bar.time / total
    if wide < _NARROWEST:
        return
    colour = DISTINCT[crc32(name.partition(" ")[0].encode()) % len(DISTINCT)]
    time = f"{duration(bar.time / 1e9)} ({percent(bar.time / total)})"
    yield f"<g><title>{text_of(name)}: {time}</title>"
    yield (
        f'<rect x="{x:.2f}" y="{y:.0f}" width="{wide:.2f}" height="{_ROW - 1:.0f}" '
        f'fill="{colour}" stroke="{SOFT}" stroke-width="0.3"/>'
    )
    text = name
    while text and width(text, _SIZE) > wide - 6:
        text = text[:-1]
    if len(text) > 2:
        yield words(text, x + 3, y + 14, _SIZE)
    yield "</g>"
    for inner_name, inner in bar.inner.items():
        yield from _bars(inner_name, inner, x, y + _ROW, total)
        x += _WIDE * inner.time / total
