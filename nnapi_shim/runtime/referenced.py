"""Models that refer to other models: their graphs, constants and memories in one."""

from collections.abc import Sequence

from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import DataLocation, Model, Pool, Subgraph

_ALIGNMENT = 64
"""Of the constants of each model, in bytes."""


def joined(model: Model, inner: Sequence[Model]) -> Model:
    """A model whose SUBGRAPH operands number the models of `inner`, as one model.

    A graph of `inner` that refers to others has them in `referenced`, too.
    """
    values = bytearray(model.operand_values)
    pools: list[Pool] = list(model.pools)
    referenced: list[Subgraph] = []
    numbers: dict[int, int] = {}

    def number_of(graph: Subgraph, owner: Model, base: int) -> int:
        """Position of a graph; it is moved there with all that it refers to at its first use."""
        found = numbers.get(id(graph))
        if found is None:
            operands = []
            for operand in graph.operands:
                where = operand.location
                if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
                    where = where._replace(offset=base + where.offset)
                elif operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
                    where = where._replace(pool_index=_position(pools, owner, where))
                elif operand.lifetime is OperandLifeTime.SUBGRAPH:
                    other = owner.referenced[where.offset]
                    where = where._replace(offset=number_of(other, owner, base))
                operands.append(operand._replace(location=where))
            found = numbers[id(graph)] = len(referenced)
            referenced.append(graph._replace(operands=tuple(operands)))
        return found

    positions = []
    for other in inner:
        values += bytes(-len(values) % _ALIGNMENT)
        positions.append(number_of(other.main, other, len(values)))
        values += other.operand_values
    operands = tuple(
        operand._replace(location=DataLocation(0, positions[operand.location.offset]))
        if operand.lifetime is OperandLifeTime.SUBGRAPH
        else operand
        for operand in model.main.operands
    )
    return model._replace(
        main=model.main._replace(operands=operands),
        referenced=tuple(referenced),
        operand_values=bytes(values),
        pools=tuple(pools),
    )


def _position(pools: list[Pool], owner: Model, where: DataLocation) -> int:
    """Index of a memory among those of all models, each of which stands there once."""
    pool = owner.pools[where.pool_index]
    if pool not in pools:
        pools.append(pool)
    return pools.index(pool)
