"""A model as a self-contained SVG with tooltips.

Operations are boxes with number, name, outputs and constants, in layers from top to bottom. IF and
WHILE contain the graphs that they refer to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.log import one_line
from nnapi_shim.pictures import wording
from nnapi_shim.pictures.layout import Layout, Point, Route, layered
from nnapi_shim.pictures.letters import FAMILY, fitted, lines, width
from nnapi_shim.pictures.shades import GRADIENT, INK, WHITE, Shades
from nnapi_shim.units import count

TALLEST = 1150.0
"""Approximate height of a column."""
DEEPEST, MOST_INSIDE = 4, 500
"""Limits of drawn nested graphs: depth, and operations in total; others are only counted."""

_HEAD, _BODY, _LEGEND = 12.0, 10.0, 11.0
_PAD, _ROOM, _LEAST = 8.0, 230.0, 96.0
_MARGIN = 20.0
_EDGE, _SOFT, _PILL = "#5c6670", "#44505c", "#eceff3"


@dataclass
class _Line:
    """A line of text in a box. right: right-aligned text, the value that colours the box."""

    text: str
    size: float = _BODY
    bold: bool = False
    right: str = ""

    @property
    def width(self) -> float:
        right = width(self.right, _BODY) + 14 if self.right else 0.0
        return width(self.text, self.size, self.bold) + right


@dataclass
class _Box:
    """An operation, or an input or output of a graph (a pill)."""

    lines: list[_Line]
    tooltip: str
    kind: str
    number: int | None = None
    colour: str = WHITE
    inside: "list[tuple[str, _Drawing]]" = field(default_factory=list)

    def __post_init__(self) -> None:
        text = max(line.width for line in self.lines) + 2 * _PAD
        self.text_height = sum(line.size * 1.32 for line in self.lines) + _PAD + 2
        within = sum(d.layout.width + 2 * _PAD for _, d in self.inside)
        within += _PAD * (len(self.inside) + 1) if self.inside else 0.0
        labels = sum(width(label, _BODY) + 4 * _PAD for label, _ in self.inside)
        self.width = max(text, within, labels, _LEAST)
        tallest = max((d.layout.height for _, d in self.inside), default=0.0)
        self.height = self.text_height + (tallest + 4 * _PAD + 14 if self.inside else 0.0)


@dataclass
class _Drawing:
    """The boxes of a graph and their layout."""

    boxes: list[_Box]
    layout: Layout


def svg(model: Model, shades: Shades | None = None, title: str = "") -> str:
    """The text of an SVG file of a finished model.

    shades: the colours of operations. title: heading, which is followed by the number of
    operations. Raises BAD_STATE for an unfinished model, BAD_DATA for one that is too large.
    """
    model.runtime.require_finished()
    painter = _Painter(model, shades)
    drawing = painter.drawing(model.graph, 0)
    return "\n".join(painter.document(drawing, model, one_line(title))) + "\n"


class _Painter:
    def __init__(self, model: Model, shades: Shades | None) -> None:
        self.shades = shades
        self.inside = 0
        inputs, outputs = model.input_operands, model.output_operands
        self.states = {inputs[state.input].index for state in model.carried}
        self.states |= {outputs[state.output].index for state in model.carried}

    # From the model to boxes

    def drawing(self, graph: GraphView, depth: int) -> _Drawing:
        """The boxes of a graph: inputs first, then operations."""
        operations = graph.operations
        boxes = [
            _pill(operand, "state" if depth == 0 and operand.index in self.states else "input")
            for operand in graph.input_operands
        ]
        first = len(boxes)
        boxes += [self.operation(operation, depth) for operation in operations]
        writers = {
            operand.index: first + at
            for at, operation in enumerate(operations)
            for operand in operation.outputs
        }
        writers |= {operand.index: at for at, operand in enumerate(graph.input_operands)}
        edges = [
            (writers[operand.index], first + at)
            for at, operation in enumerate(operations)
            for operand in operation.inputs
            if operand.index in writers
        ]
        for operand in graph.output_operands:
            if operand.index in writers:
                edges.append((writers[operand.index], len(boxes)))
            is_state = depth == 0 and operand.index in self.states
            boxes.append(_pill(operand, "state" if is_state else "output"))
        sizes = [(box.width, box.height) for box in boxes]
        return _Drawing(boxes, layered(sizes, edges, first, TALLEST))

    def operation(self, operation: OperationView, depth: int) -> _Box:
        """The box of an operation."""
        shades = self.shades if depth == 0 else None
        number = operation.number
        shown = shades and (shades.is_numeric or len(shades.distinct) > 1)
        right = shades.text(number) if shades and shown else ""
        box_lines = [_Line(f"{number} {operation.name}", _HEAD, True, fitted(right, 110, _BODY))]
        outputs = [f"→ {wording.typed(operand)}" for operand in operation.outputs]
        box_lines += [_Line(fitted(text, _ROOM, _BODY)) for text in outputs[:3]]
        if len(outputs) > 3:
            box_lines.append(_Line(f"→ and {len(outputs) - 3} more"))
        box_lines += [_Line(t) for t in lines(list(wording.parameters(operation)), _ROOM, _BODY, 3)]
        inside = []
        for role, graph in wording.subgraphs(operation):
            self.inside += len(graph.operations)
            if depth < DEEPEST and self.inside <= MOST_INSIDE:
                inside.append((role, self.drawing(graph, depth + 1)))
            else:
                box_lines.append(_Line(f"{role}: {count(len(graph.operations), 'operation')}"))
        tooltip = wording.tooltip(operation)
        if shades and right:
            tooltip += f"\n{shades.title}: {shades.text(number)}"
        colour = shades.colour(number) if shades else WHITE
        return _Box(box_lines, tooltip, "operation", number, colour, inside)

    # From boxes to text

    def document(self, drawing: _Drawing, model: Model, title: str) -> Iterator[str]:
        """All lines of the file."""
        facts = count(len(model.operations), "operation")
        if self.shades:
            facts += f", coloured by {self.shades.title}"
        head = 44.0 + (30.0 if self.shades else 0.0)
        legend = list(self.legend(_MARGIN, 46.0))
        text = width(title or "Model", 15, True) + 14 + width(facts, _LEGEND)
        across = max(drawing.layout.width, text, self.legend_width()) + 2 * _MARGIN
        down = head + drawing.layout.height + 2 * _MARGIN
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}" '
            f'viewBox="0 0 {across:.0f} {down:.0f}" font-family="{FAMILY}" fill="{INK}" '
            'role="img">'
        )
        yield f"<title>{_text(title or 'Model')}: {_text(facts)}</title>"
        yield (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
            'markerHeight="6" orient="auto">'
            f'<path d="M0,0L8,4L0,8z" fill="{_EDGE}"/></marker></defs>'
        )
        yield f'<rect width="100%" height="100%" fill="{WHITE}"/>'
        title_width = width(title or "Model", 15, True)
        yield _words(title or "Model", _MARGIN, 30, 15, bold=True)
        yield _words(facts, _MARGIN + title_width + 14, 30, _LEGEND, colour=_SOFT)
        yield from legend
        yield from self.graph(drawing, (_MARGIN, head + _MARGIN))
        yield "</svg>"

    def graph(self, drawing: _Drawing, origin: Point) -> Iterator[str]:
        """Edges, and boxes on top of them."""
        x, y = origin
        yield f'<g transform="translate({x:.1f},{y:.1f})">'
        yield f'<g fill="none" stroke="{_EDGE}" stroke-width="1.2">'
        for route in drawing.layout.routes:
            head = ' marker-end="url(#arrow)"' if route.ends else ""
            yield f'<path d="{_path(route)}"{head}/>'
        yield "</g>"
        for box, corner in zip(drawing.boxes, drawing.layout.corners, strict=True):
            yield from self.box(box, corner)
        yield "</g>"

    def box(self, box: _Box, corner: Point) -> Iterator[str]:
        """A box, its lines, and the graphs in it."""
        x, y = corner
        number = "" if box.number is None else f' data-number="{box.number}"'
        yield f'<g class="{box.kind}"{number} transform="translate({x:.1f},{y:.1f})">'
        yield f"<title>{_text(box.tooltip)}</title>"
        round_ = 4 if box.kind == "operation" else min(box.height / 2, 14)
        yield (
            f'<rect width="{box.width:.1f}" height="{box.height:.1f}" rx="{round_:.0f}" '
            f'fill="{box.colour}" stroke="{_SOFT}"/>'
        )
        down = _PAD / 2 + 1
        for line in box.lines:
            down += line.size * 1.32
            base = down - line.size * 0.28
            yield _words(line.text, _PAD, base, line.size, bold=line.bold)
            if line.right:
                at = box.width - _PAD
                yield _words(line.right, at, base, _BODY, anchor="end")
        across = _PAD
        for label, drawing in box.inside:
            wide = drawing.layout.width + 2 * _PAD
            high = box.height - box.text_height - _PAD
            yield f'<g class="graph" transform="translate({across:.1f},{box.text_height:.1f})">'
            yield (
                f'<rect width="{wide:.1f}" height="{high:.1f}" rx="3" fill="{WHITE}" '
                f'stroke="{_EDGE}" stroke-dasharray="4 3"/>'
            )
            yield _words(fitted(label, wide - _PAD, _BODY), _PAD / 2, 13, _BODY, colour=_SOFT)
            yield from self.graph(drawing, (_PAD, 14 + _PAD))
            yield "</g>"
            across += wide + _PAD
        yield "</g>"

    # Legend

    def legend_width(self) -> float:
        """The width of the legend."""
        if self.shades is None:
            return 0.0
        if self.shades.is_numeric:
            return 420.0
        return sum(24 + width(text, _LEGEND) + 18 for text in self.shades.distinct)

    def legend(self, x: float, y: float) -> Iterator[str]:
        """A colour bar for numbers, or a square for each text."""
        shades = self.shades
        if shades is None:
            return
        yield '<g class="legend">'
        if shades.is_numeric and not shades.largest:
            square = f'<rect x="{x:.1f}" y="{y:.1f}" width="16" height="14"'
            yield f'{square} fill="{GRADIENT[0][1]}" stroke="{_SOFT}"/>'
            yield _words(f"all {shades.written(0.0)}", x + 24, y + 11, _LEGEND)
        elif shades.is_numeric:
            least, most = shades.written(0.0), shades.written(shades.largest)
            x += width(least, _LEGEND) + 8
            stops = "".join(
                f'<stop offset="{stop:g}" stop-color="{colour}"/>' for stop, colour in GRADIENT
            )
            yield f'<defs><linearGradient id="shade">{stops}</linearGradient></defs>'
            yield _words(least, x - 8, y + 11, _LEGEND, anchor="end")
            bar = f'<rect x="{x:.1f}" y="{y:.1f}" width="180" height="14"'
            yield f'{bar} fill="url(#shade)" stroke="{_SOFT}"/>'
            yield _words(most, x + 188, y + 11, _LEGEND)
        else:
            for text in shades.distinct:
                square = f'<rect x="{x:.1f}" y="{y:.1f}" width="16" height="14"'
                yield f'{square} fill="{shades.colour_of(text)}" stroke="{_SOFT}"/>'
                yield _words(text, x + 24, y + 11, _LEGEND)
                x += 24 + width(text, _LEGEND) + 18
        yield "</g>"


def _pill(operand: OperandView, kind: str) -> _Box:
    name = fitted(wording.called(operand), _ROOM, _BODY, True)
    box_lines = [_Line(f"{kind} {name}", _BODY, True), _Line(wording.typed(operand))]
    tooltip = f"{kind} {', '.join(wording.operand_details(operand))}"
    return _Box(box_lines, tooltip, kind, colour=_PILL)


def _path(route: Route) -> str:
    """An SVG path: curves between layers, straight lines with round corners between columns."""
    points: Sequence[Point] = route.points
    (x, y), (to_x, to_y) = points[0], points[-1]
    if len(points) == 2:
        if abs(x - to_x) < 0.5:
            return f"M{x:.1f},{y:.1f}V{to_y:.1f}"
        middle = (y + to_y) / 2
        return (
            f"M{x:.1f},{y:.1f}C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        )
    path = f"M{x:.1f},{y:.1f}"
    for before, corner, behind in zip(points, points[1:], points[2:], strict=False):
        first, last = _towards(corner, before), _towards(corner, behind)
        path += f"L{first[0]:.1f},{first[1]:.1f}"
        path += f"Q{corner[0]:.1f},{corner[1]:.1f} {last[0]:.1f},{last[1]:.1f}"
    return f"{path}L{to_x:.1f},{to_y:.1f}"


def _towards(corner: Point, other: Point) -> Point:
    """The point at which the rounding of a corner begins."""
    far = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
    share = min(5.0, far / 2) / far if far else 0.0
    return (
        corner[0] + (other[0] - corner[0]) * share,
        corner[1] + (other[1] - corner[1]) * share,
    )


def _text(text: str) -> str:
    """Text for XML; invalid characters become question marks."""
    return escape("".join(c if c in "\n\t" or c.isprintable() else "?" for c in text))


def _words(
    text: str,
    x: float,
    y: float,
    size: float,
    *,
    bold: bool = False,
    anchor: str = "start",
    colour: str = "",
) -> str:
    more = ' font-weight="bold"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor != "start" else ""
    more += f" fill={quoteattr(colour)}" if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{more}>{_text(text)}</text>'
