"""Layered graph layout (Sugiyama), from top to bottom, in columns that wrap.

A box is in the layer after all its predecessors. An edge that spans layers has a narrow dummy node
in each of them, so that it crosses no box. Up and down sweeps order each layer by the mean rank of
the neighbours; positions are the least-squares fit to the neighbours' that keeps the gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nnapi_shim.errors import bad_data

Point = tuple[float, float]

BESIDE, BELOW, BETWEEN = 16.0, 30.0, 44.0
"""Gaps between boxes of a layer, between layers, and between columns."""
_PASSING, _LANE = 12.0, 7.0
"""Widths: of the dummy node of an edge, and of an edge between columns."""
_MOST_NODES = 100_000
_SWEEPS = 6


@dataclass
class _Node:
    """A box in its layer, or a dummy node of an edge (box is None)."""

    box: int | None
    width: float
    height: float
    layer: int = 0
    x: float = 0.0  # centre
    y: float = 0.0  # upper edge


@dataclass(frozen=True)
class Route:
    """A part of an edge: to a point below, or through several points to another column.

    ends: whether it ends at a box, with an arrow head.
    """

    points: tuple[Point, ...]
    ends: bool


@dataclass(frozen=True)
class Layout:
    """Positions of boxes and edges.

    corners: the upper left corner of each box. routes: the edges; shared parts occur once.
    """

    corners: tuple[Point, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    inputs: int,
    tallest: float,
) -> Layout:
    """Lay boxes out.

    sizes: width and height of each. edges: pairs of box numbers, (predecessor, successor). inputs:
    the number of inputs, which are the first boxes. tallest: approximate height limit of a column.
    Raises BAD_DATA for a graph that is too large.
    """
    return _Layered(sizes, edges, inputs).laid_out(tallest)


class _Layered:
    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[tuple[int, int]],
        inputs: int,
    ) -> None:
        self.nodes = [_Node(box, width, height) for box, (width, height) in enumerate(sizes)]
        self.after: list[list[int]] = []
        self.before: list[list[int]] = []
        edges = sorted(set(edges))
        self._into_layers(len(sizes), edges, inputs)
        self._with_passing(edges)
        self.layers: list[list[int]] = []
        for number, node in enumerate(self.nodes):
            while len(self.layers) <= node.layer:
                self.layers.append([])
            self.layers[node.layer].append(number)

    def _into_layers(self, count: int, edges: Sequence[tuple[int, int]], inputs: int) -> None:
        """Assign the earliest layers, but the latest to inputs and boxes that depend on none."""
        follow: list[list[int]] = [[] for _ in range(count)]
        waits = [0] * count
        for first, second in edges:
            follow[first].append(second)
            waits[second] += 1
        order = [box for box in range(count) if not waits[box]]
        anchored = set(range(inputs))
        late = anchored | set(order)
        for box in order:
            for second in follow[box]:
                node = self.nodes[second]
                node.layer = max(node.layer, self.nodes[box].layer + 1)
                if box in anchored:
                    anchored.add(second)
                waits[second] -= 1
                if not waits[second]:
                    order.append(second)
        for box in reversed(order):
            if follow[box] and (box in late or box not in anchored):
                self.nodes[box].layer = min(self.nodes[b].layer for b in follow[box]) - 1

    def _with_passing(self, edges: Sequence[tuple[int, int]]) -> None:
        """Split edges into parts between adjacent layers; edges of a box share dummy nodes."""
        self.after = [[] for _ in self.nodes]
        self.before = [[] for _ in self.nodes]
        passing: dict[tuple[int, int], int] = {}
        for first, second in edges:
            source = first
            for layer in range(self.nodes[first].layer + 1, self.nodes[second].layer):
                if (first, layer) not in passing:
                    if len(self.nodes) > _MOST_NODES:
                        raise bad_data(
                            "the graph is too large for a picture", "tool.graph.too-large"
                        )
                    passing[first, layer] = len(self.nodes)
                    self._join(source, self._new(layer))
                source = passing[first, layer]
            self._join(source, second)

    def _new(self, layer: int) -> int:
        self.nodes.append(_Node(None, _PASSING, 0.0, layer))
        self.after.append([])
        self.before.append([])
        return len(self.nodes) - 1

    def _join(self, first: int, second: int) -> None:
        self.after[first].append(second)
        self.before[second].append(first)

    def laid_out(self, tallest: float) -> Layout:
        """Compute order, positions, columns and routes."""
        self._order()
        self._positions()
        columns = self._columns(tallest)
        return self._routed(columns)

    # Within layers

    def _order(self) -> None:
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            layers = self.layers[1:] if down else self.layers[-2::-1]
            neighbours = self.before if down else self.after
            for layer in layers:
                mean = {}
                for at, number in enumerate(layer):
                    near = [self._rank[other] for other in neighbours[number]]
                    mean[number] = sum(near) / len(near) if near else float(at)
                layer.sort(key=mean.__getitem__)
                self._rank.update((number, at) for at, number in enumerate(layer))

    @property
    def _rank(self) -> dict[int, float]:
        """Node -> its position in its layer."""
        if not hasattr(self, "_ranks"):
            self._ranks = {n: float(at) for layer in self.layers for at, n in enumerate(layer)}
        return self._ranks

    def _positions(self) -> None:
        for layer in self.layers:
            self._put(layer, [0.0] * len(layer))
        for sweep in range(2 * _SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.before if down else self.after
            for layer in self.layers if down else reversed(self.layers):
                targets = []
                for number in layer:
                    # Edges between boxes are straight, edges that span layers bend around them.
                    others = [self.nodes[other] for other in neighbours[number]]
                    near = [p.x for p in others if p.box is not None] or [p.x for p in others]
                    targets.append(sum(near) / len(near) if near else self.nodes[number].x)
                self._put(layer, targets)

    def _put(self, layer: Sequence[int], targets: Sequence[float]) -> None:
        """The least-squares positions that keep order and gaps.

        Nodes that would overlap are put side by side around the mean of their targets.
        """
        groups: list[tuple[float, float, list[float]]] = []  # sum, weight, offsets
        offsets = [0.0]
        for left, right in pairwise(layer):
            a, b = self.nodes[left], self.nodes[right]
            offsets.append(offsets[-1] + (a.width + b.width) / 2 + BESIDE)
        for number, target, offset in zip(layer, targets, offsets, strict=True):
            weight = 1.0 if self.nodes[number].box is None else 50.0
            total, members = (target - offset) * weight, [offset]
            while groups and groups[-1][0] / groups[-1][1] >= total / weight:
                before, more, others = groups.pop()
                total, weight, members = total + before, weight + more, others + members
            groups.append((total, weight, members))
        centres = (total / weight + o for total, weight, members in groups for o in members)
        for number, x in zip(layer, centres, strict=True):
            self.nodes[number].x = x

    # Columns

    def _columns(self, tallest: float) -> list[list[list[int]]]:
        """Split layers into columns of about the same height, where few edges cross."""
        heights = [max(self.nodes[n].height for n in layer) for layer in self.layers]
        whole = sum(heights) + BELOW * len(heights)
        count = max(1, round(whole / tallest))
        columns: list[list[list[int]]] = [[]]
        used = 0.0
        for number, layer in enumerate(self.layers):
            columns[-1].append(layer)
            used += heights[number] + BELOW
            room = whole / (count - len(columns) + 1)
            if len(columns) < count and used > 0.85 * room and number + 1 < len(heights):
                # The position with the fewest crossing edges among the possible ones.
                cuts = [self._crossing(number)]
                ahead = used
                for more in range(number + 1, len(heights) - 1):
                    ahead += heights[more] + BELOW
                    if ahead > 1.1 * room:
                        break
                    cuts.append(self._crossing(more))
                if cuts[0] == min(cuts):
                    columns.append([])
                    whole -= used
                    used = 0.0
        return columns

    def _crossing(self, layer: int) -> int:
        """The number of edges from a layer to the next."""
        return sum(len(self.after[number]) for number in self.layers[layer])

    def _routed(self, columns: Sequence[Sequence[Sequence[int]]]) -> Layout:
        """Put columns side by side and route the edges."""
        x, tallest = 0.0, 0.0
        column_of: dict[int, int] = {}
        lanes: list[list[tuple[int, int]]] = []
        gutters: list[float] = []
        bottoms: list[float] = []
        tops = self._lanes_above(columns)
        for at, column in enumerate(columns):
            everything = [self.nodes[n] for layer in column for n in layer]
            left = min(node.x - node.width / 2 for node in everything)
            right = max(node.x + node.width / 2 for node in everything)
            y = tops
            for layer in column:
                height = max(self.nodes[n].height for n in layer)
                for n in layer:
                    node = self.nodes[n]
                    node.x += x - left
                    # Boxes are centred in their layer, dummy nodes span its height.
                    node.y = y + (height - node.height) / 2 if node.box is not None else y
                    if node.box is None:
                        node.height = height
                    column_of[n] = at
                y += height + BELOW
            leaving = [(n, other) for n in column[-1] for other in self.after[n]]
            lanes.append(leaving if at + 1 < len(columns) else [])
            x += right - left
            gutters.append(x + BETWEEN / 2)
            bottoms.append(y - BELOW)
            x += BETWEEN + _LANE * len(lanes[-1])
            tallest = max(tallest, y - BELOW + _LANE * len(lanes[-1]) + 8)
        routes = []
        for n, others in enumerate(self.after):
            for other in others:
                start = (self.nodes[n].x, self.nodes[n].y + self.nodes[n].height)
                end = (self._port(n, other), self.nodes[other].y)
                points: tuple[Point, ...] = (start, end)
                at = column_of[n]
                if column_of[other] != at:
                    lane = lanes[at].index((n, other))
                    low, high = bottoms[at] + 8 + _LANE * lane, tops - 12 - _LANE * lane
                    gutter = gutters[at] + _LANE * lane
                    points = (start, (start[0], low), (gutter, low), (gutter, high))
                    points += ((end[0], high), end)
                routes.append(Route(points, self.nodes[other].box is not None))
            if self.nodes[n].box is None:
                node = self.nodes[n]
                passed = ((node.x, node.y), (node.x, node.y + node.height))
                routes.append(Route(passed, False))
        corners = tuple(
            (node.x - node.width / 2, node.y) for node in self.nodes if node.box is not None
        )
        width = x - BETWEEN
        return Layout(corners, tuple(routes), width, tallest)

    def _lanes_above(self, columns: Sequence[Sequence[Sequence[int]]]) -> float:
        """Height above the columns for edges from other columns."""
        most = max(
            (sum(len(self.after[n]) for n in column[-1]) for column in columns[:-1]), default=0
        )
        return 20 + _LANE * most if most else 0.0

    def _port(self, first: int, second: int) -> float:
        """The x position at which an edge enters a box; edges enter side by side, in order."""
        node, sources = self.nodes[second], self.before[second]
        if node.box is None or len(sources) == 1:
            return node.x
        order = sorted(sources, key=lambda n: self.nodes[n].x)
        apart = min(node.width / (len(order) + 1), 24.0)
        return node.x + (order.index(first) - (len(order) - 1) / 2) * apart
