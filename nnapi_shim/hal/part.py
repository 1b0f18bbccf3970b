"""Builds partitions of a model: renumbers operations, copies constants, memories and graphs."""

from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import DataLocation, Model, Operand, Operation, Pool, Subgraph
from nnapi_shim.hints import Mapping, Sequence

L = OperandLifeTime

_ALIGNMENT = 64
"""Alignment in bytes of constants larger than this; others have _ELEMENT_ALIGNMENT."""
_ELEMENT_ALIGNMENT = 8


def renumbered(item: Operation, indexes: Mapping[int, int]) -> Operation:
    """The operation with the operand indexes of a partition; indexes: old index to new index."""
    return item._replace(
        inputs=tuple([indexes[index] for index in item.inputs]),
        outputs=tuple([indexes[index] for index in item.outputs]),
    )


class Contents:
    """The constants, pools and graphs of a model that a partition needs."""

    def __init__(self, source: Model) -> None:
        self._source = source
        self._values = bytearray()
        self._moved: dict[DataLocation, DataLocation] = {}
        self._pools: list[Pool] = []
        self._graphs: dict[int, int] = {}
        self._referenced: list[Subgraph] = []

    def moved(self, operand: Operand) -> Operand:
        """An operand with the location of its constant or graph in the partition."""
        where = operand.location
        if operand.lifetime is L.CONSTANT_COPY:
            where = self._constant(where)
        elif operand.lifetime is L.CONSTANT_REFERENCE:
            pool = self._source.pools[where.pool_index]
            if pool not in self._pools:
                self._pools.append(pool)
            where = where._replace(pool_index=self._pools.index(pool))
        elif operand.lifetime is L.SUBGRAPH:
            where = where._replace(offset=self._graph(where.offset))
        else:
            return operand
        return operand._replace(location=where)

    def _constant(self, where: DataLocation) -> DataLocation:
        moved = self._moved.get(where)
        if moved is None:
            alignment = _ALIGNMENT if where.length > _ALIGNMENT else _ELEMENT_ALIGNMENT
            self._values += bytes(-len(self._values) % alignment)
            moved = self._moved[where] = where._replace(offset=len(self._values))
            data = memoryview(self._source.operand_values)
            self._values += data[where.offset : where.offset + where.length]
        return moved

    def _graph(self, number: int) -> int:
        """Index of a referenced graph, which is copied with all graphs that it refers to."""
        for needed in sorted(
            self._not_moved(number)
        ):  # topological order: a graph follows those that it refers to
            graph = self._source.referenced[needed]
            operands = tuple([self.moved(operand) for operand in graph.operands])
            self._graphs[needed] = len(self._referenced)
            self._referenced.append(graph._replace(operands=operands))
        return self._graphs[number]

    def _not_moved(self, number: int) -> set[int]:
        """A referenced graph and those that it refers to, except those already copied."""
        needed: set[int] = set()
        rest = [number]
        while rest:
            number = rest.pop()
            if number in self._graphs or number in needed:
                continue
            needed.add(number)
            operands = self._source.referenced[number].operands
            rest += [other.location.offset for other in operands if other.lifetime is L.SUBGRAPH]
        return needed

    def graph(
        self,
        used: Sequence[int],
        items: Sequence[Operation],
        inputs: Sequence[int],
        outputs: Sequence[int],
        added: Sequence[Operand] = (),
    ) -> Subgraph:
        """The graph of these operations.

        used: the operands, by their indexes in the main graph of the source. added: operands
        behind these, the inputs -1 and so on.
        """
        main = self._source.main
        new_index = {index: at for at, index in enumerate(used)}
        new_index |= {-1 - at: len(used) + at for at in range(len(added))}
        lifetimes = dict.fromkeys([i for item in items for i in item.outputs], L.TEMPORARY_VARIABLE)
        lifetimes |= dict.fromkeys(inputs, L.SUBGRAPH_INPUT)
        lifetimes |= dict.fromkeys(outputs, L.SUBGRAPH_OUTPUT)
        operands = [self.moved(main.operands[index]) for index in used]
        for at, index in enumerate(used):
            if index in lifetimes:
                operands[at] = operands[at]._replace(lifetime=lifetimes[index])
        return Subgraph(
            (*operands, *added),
            tuple([renumbered(item, new_index) for item in items]),
            tuple([new_index[index] for index in inputs]),
            tuple([new_index[index] for index in outputs]),
        )

    def model(self, main: Subgraph) -> Model:
        """The partition as a model."""
        return self._source._replace(
            main=main,
            referenced=tuple(self._referenced),
            operand_values=bytes(self._values),
            pools=tuple(self._pools),
        )
