"""A model as a self-contained SVG with tooltips.

Operations are boxes with number, name, outputs and constants, in layers from top to bottom. IF and
WHILE contain the graphs that they refer to.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.log import one_line
from nnapi_shim.pictures import wording
from nnapi_shim.pictures.layout import Layout, Point, Route, layered
from nnapi_shim.pictures.legend import LEGEND, SOFT, legend, legend_width, text_of, words
from nnapi_shim.pictures.letters import FAMILY, fitted, lines, width
from nnapi_shim.pictures.shades import INK, WHITE, Shades
from nnapi_shim.units import count

TALLEST = 1150.0
"""Approximate height of a column."""
DEEPEST, MOST_INSIDE = 4, 500
"""Limits of drawn nested graphs: depth, and operations in total; others are only counted."""

_HEAD, _BODY = 12.0, 10.0
_PAD, _ROOM, _LEAST = 8.0, 230.0, 96.0
_MARGIN = 20.0
_EDGE, _PILL = "#5c6670", "#eceff3"


@dataclass
class _Line:
    """A line of text in a box. right: right-aligned text, the value that colours the box. room:
    width for the longest of the texts that a page shows there.
    """

    text: str
    size: float = _BODY
    bold: bool = False
    right: str = ""
    room: float = 0.0

    @property
    def width(self) -> float:
        room = max(width(self.right, _BODY), self.room)
        right = room + 14 if room else 0.0
        return width(self.text, self.size, self.bold) + right


@dataclass
class _Box:
    """An operation, or an input or output of a graph (a pill)."""

    lines: list[_Line]
    tooltip: str
    kind: str
    path: str = ""
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


def svg(
    model: Model,
    shades: Shades | None = None,
    title: str = "",
    *,
    others: Sequence[Shades] = (),
) -> str:
    """The text of an SVG file of a finished model.

    shades: the colours of operations. title: heading, which is followed by the number of
    operations. others: colours that a page shows instead; boxes have room for their values, and
    their legends are in the file, too.
    Raises BAD_STATE for an unfinished model, BAD_DATA for one that is too large.
    """
    model.runtime.require_finished()
    inputs, outputs = model.input_operands, model.output_operands
    states = {inputs[state.input].index for state in model.carried}
    states |= {outputs[state.output].index for state in model.carried}
    return graph_svg(model.graph, shades, title, others=others, states=states)


def graph_svg(
    graph: GraphView,
    shades: Shades | None = None,
    title: str = "",
    *,
    others: Sequence[Shades] = (),
    states: Collection[int] = (),
) -> str:
    """As `svg`, of the main graph of a finished model. states: operands that are carried from run
    to run.
    """
    painter = _Painter(shades, others, states)
    drawing = painter.drawing(graph, 0, "")
    return "\n".join(painter.document(drawing, len(graph.operations), one_line(title))) + "\n"


class _Painter:
    def __init__(
        self, shades: Shades | None, others: Sequence[Shades], states: Collection[int]
    ) -> None:
        self.shades = shades
        self.others = others
        self.inside = 0
        self.states = states

    # From the model to boxes

    def drawing(self, graph: GraphView, depth: int, path: str) -> _Drawing:
        """The boxes of a graph: inputs first, then operations."""
        operations = graph.operations
        boxes = [
            _pill(operand, "state" if depth == 0 and operand.index in self.states else "input")
            for operand in graph.input_operands
        ]
        first = len(boxes)
        boxes += [self.operation(operation, depth, path) for operation in operations]
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

    def operation(self, operation: OperationView, depth: int, path: str) -> _Box:
        """The box of an operation."""
        shades = self.shades if depth == 0 else None
        number = operation.number
        shown = shades and (shades.is_numeric or len(shades.distinct) > 1)
        right = shades.text(number) if shades and shown else ""
        box_lines = [_Line(f"{number} {operation.name}", _HEAD, True, fitted(right, 110, _BODY))]
        if depth == 0:
            texts = [width(each.text(number), _BODY) for each in self.others]
            box_lines[0].room = min(max(texts, default=0.0), 130.0)
        outputs = [f"→ {wording.typed(operand)}" for operand in operation.outputs]
        box_lines += [_Line(fitted(text, _ROOM, _BODY)) for text in outputs[:3]]
        if len(outputs) > 3:
            box_lines.append(_Line(f"→ and {len(outputs) - 3} more"))
        box_lines += [_Line(t) for t in lines(list(wording.parameters(operation)), _ROOM, _BODY, 3)]
        inside = []
        for role, graph in wording.subgraphs(operation):
            self.inside += len(graph.operations)
            if depth < DEEPEST and self.inside <= MOST_INSIDE:
                inside.append((role, self.drawing(graph, depth + 1, f"{path}{number}/{role}/")))
            else:
                box_lines.append(_Line(f"{role}: {count(len(graph.operations), 'operation')}"))
        tooltip = wording.tooltip(operation)
        if shades and right:
            tooltip += f"\n{shades.title}: {shades.text(number)}"
        colour = shades.colour(number) if shades else WHITE
        return _Box(box_lines, tooltip, "operation", f"{path}{number}", colour, inside)

    # From boxes to text

    def document(self, drawing: _Drawing, operations: int, title: str) -> Iterator[str]:
        """All lines of the file."""
        facts = count(operations, "operation")
        if self.shades:
            facts += f", coloured by {self.shades.title}"
        all_shades = [each for each in (self.shades, *self.others) if each is not None]
        head = 44.0 + (30.0 if all_shades else 0.0)
        text = width(title or "Model", 15, True) + 14 + width(facts, LEGEND)
        across = max(drawing.layout.width, text, *map(legend_width, all_shades)) + 2 * _MARGIN
        down = head + drawing.layout.height + 2 * _MARGIN
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}" '
            f'viewBox="0 0 {across:.0f} {down:.0f}" font-family="{FAMILY}" fill="{INK}" '
            'role="img">'
        )
        yield f"<title>{text_of(title or 'Model')}: {text_of(facts)}</title>"
        yield (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
            'markerHeight="6" orient="auto">'
            f'<path d="M0,0L8,4L0,8z" fill="{_EDGE}"/></marker></defs>'
        )
        yield f'<rect width="100%" height="100%" fill="{WHITE}"/>'
        title_width = width(title or "Model", 15, True)
        yield words(title or "Model", _MARGIN, 30, 15, bold=True)
        yield words(facts, _MARGIN + title_width + 14, 30, LEGEND, colour=SOFT, kind="facts")
        for shades in all_shades:
            yield from legend(shades, _MARGIN, 46.0)
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
        path = f" data-path={quoteattr(box.path)}" if box.path else ""
        yield f'<g class="{box.kind}"{path} transform="translate({x:.1f},{y:.1f})">'
        yield f"<title>{text_of(box.tooltip)}</title>"
        round_ = 4 if box.kind == "operation" else min(box.height / 2, 14)
        yield (
            f'<rect width="{box.width:.1f}" height="{box.height:.1f}" rx="{round_:.0f}" '
            f'fill="{box.colour}" stroke="{SOFT}"/>'
        )
        down = _PAD / 2 + 1
        for line in box.lines:
            down += line.size * 1.32
            base = down - line.size * 0.28
            yield words(line.text, _PAD, base, line.size, bold=line.bold)
            if line.right or line.room:
                at = box.width - _PAD
                yield words(line.right, at, base, _BODY, anchor="end", kind="value")
        across = _PAD
        for label, drawing in box.inside:
            wide = drawing.layout.width + 2 * _PAD
            high = box.height - box.text_height - _PAD
            yield f'<g class="graph" transform="translate({across:.1f},{box.text_height:.1f})">'
            yield (
                f'<rect width="{wide:.1f}" height="{high:.1f}" rx="3" fill="{WHITE}" '
                f'stroke="{_EDGE}" stroke-dasharray="4 3"/>'
            )
            yield words(fitted(label, wide - _PAD, _BODY), _PAD / 2, 13, _BODY, colour=SOFT)
            yield from self.graph(drawing, (_PAD, 14 + _PAD))
            yield "</g>"
            across += wide + _PAD
        yield "</g>"


def _pill(operand: OperandView, kind: str) -> _Box:
    name = fitted(wording.short(operand), _ROOM, _BODY, True)
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
