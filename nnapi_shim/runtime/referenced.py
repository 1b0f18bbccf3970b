"""Joins a model with the models that it refers to: graphs, constants and memories."""

from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import Model, Operand, Pool, Subgraph
from nnapi_shim.hints import Mapping, Sequence

_ALIGNMENT = 64
"""Alignment of the constants of each model, in bytes."""


class Part:
    """A model without those that it refers to.

    own: its graph, constants and memories; SUBGRAPH operands hold indexes into `inner`.
    names: of its operands, by their indexes.
    """

    __slots__ = ("inner", "names", "own")

    def __init__(
        self, own: Model, inner: Sequence["Part"], names: Mapping[int, str] | None = None
    ) -> None:
        self.own = own
        self.inner = inner
        self.names = names or {}


def joined(part: Part) -> Model:
    """A model with all models that it refers to, once each, in topological order."""
    if not part.inner:
        return part.own
    order = in_order(part)
    indexes = {id(other): index for index, other in enumerate(order)}
    values = bytearray(part.own.operand_values)
    pools = _Pools()
    main = _moved(part, indexes, pools, 0)
    referenced = []
    for other in order[:-1]:
        values += bytes(-len(values) % _ALIGNMENT)
        referenced.append(_moved(other, indexes, pools, len(values)))
        values += other.own.operand_values
    return part.own._replace(
        main=main,
        referenced=tuple(referenced),
        operand_values=bytes(values),
        pools=tuple(pools.all),
    )


def in_order(part: Part) -> list[Part]:
    """A part and all parts that it refers to, in topological order. Iterative, as the nesting may
    exceed the recursion limit.
    """
    order: list[Part] = []
    visited = {id(part)}
    path = [(part, iter(part.inner))]
    while path:
        current, rest = path[-1]
        for other in rest:
            if id(other) not in visited:
                visited.add(id(other))
                path.append((other, iter(other.inner)))
                break
        else:
            order.append(current)
            path.pop()
    return order


class _Pools:
    """The memories of all models, without duplicates."""

    def __init__(self) -> None:
        self.all: list[Pool] = []
        self._positions: dict[int, int] = {}

    def position(self, pool: Pool) -> int:
        position = self._positions.setdefault(id(pool), len(self.all))
        if position == len(self.all):
            self.all.append(pool)
        return position


def _moved(part: Part, indexes: dict[int, int], pools: _Pools, base: int) -> Subgraph:
    """The graph of a part with new indexes. base: offset of its constants."""

    def moved(operand: Operand) -> Operand:
        where = operand.location
        if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
            where = where._replace(offset=base + where.offset)
        elif operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
            where = where._replace(pool_index=pools.position(part.own.pools[where.pool_index]))
        elif operand.lifetime is OperandLifeTime.SUBGRAPH:
            where = where._replace(offset=indexes[id(part.inner[where.offset])])
        else:
            return operand
        return operand._replace(location=where)

    graph = part.own.main
    return graph._replace(operands=tuple(map(moved, graph.operands)))
