"""Dropping what a failure does not need: what dropped operations computed becomes an input."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.random_models.closeness import Difference
from tests.random_models.graph import Graph, Item, part

MAX_ATTEMPTS = 300

Check = Callable[[Graph], None]


def minimal(graph: Graph, result: Difference, check: Check) -> tuple[Graph, Difference]:
    """A part of a graph with a difference, and that difference.

    found: the difference of the whole. check: raises it.
    """
    search = _Search(graph, result, check)
    if result.graph is not None:
        search.attempt(part(result.graph, range(len(result.graph.nodes))))
    result = search.found
    if result.node is not None:
        search.keep([result.node] if result.node < len(graph.nodes) else [])
    size = len(search.graph.nodes)
    while size:
        start = 0
        while start < len(search.graph.nodes):
            rest = [n for n in range(len(search.graph.nodes)) if not start <= n < start + size]
            if not search.keep(rest):
                start += size
        size = min(size, len(search.graph.nodes)) // 2
    search.attempt(_without_failing(search.graph))
    search.attempt(_plain(search.graph))
    return search.graph, search.found


class _Search:
    def __init__(self, graph: Graph, result: Difference, check: Check) -> None:
        self.graph = graph
        self.found = result
        self._check = check
        self._attempts = 0

    def keep(self, numbers: Sequence[int]) -> bool:
        """Go on with these operations alone if there is a difference in them."""
        return len(numbers) < len(self.graph.nodes) and self.attempt(part(self.graph, numbers))

    def attempt(self, graph: Graph) -> bool:
        """Go on with another graph if there is a difference in it."""
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS or not (graph.nodes or graph.failing):
            return False
        try:
            self._check(graph)
        except Difference as result:
            self.graph, self.found = graph, result
            return True
        return False


def _without_failing(graph: Graph) -> Graph:
    whole = replace(graph, failing=None)
    return part(whole, range(len(graph.nodes)))


def _plain(graph: Graph) -> Graph:
    """All that is known is declared, and nothing else."""

    def plain(item: Item) -> Item:
        known = item.value.operand.dimensions
        return item._replace(declared=known, is_exposed=False, is_misdeclared=False)

    return replace(graph, items=[plain(item) for item in graph.items])
