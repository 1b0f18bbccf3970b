"""Sparse constants."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.tflite.checked import Reader
from nnapi_shim.hints import NamedTuple

_VECTORS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}


class Level(NamedTuple):
    """One dimension in storage order. size: of a dense dimension. segments, indices: of a sparse
    one, as in compressed sparse rows.
    """

    size: int
    segments: Array | None = None
    indices: Array | None = None


class Sparsity(NamedTuple):
    """The storage layout. order: the dimension of each level, block dimensions last. blocks: the
    dimension that each block dimension belongs to.
    """

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[Level, ...]
    data: Array


def read_sparsity(reader: Reader, location: str, table: Any, data: Array) -> Sparsity:
    """The sparsity of a tensor."""
    order = reader.numbers(location, table, "TraversalOrder")
    blocks = reader.numbers(location, table, "BlockMap")
    levels = [
        _level(reader, location, item) for item in reader.tables(location, table, "DimMetadata")
    ]
    return Sparsity(order, blocks, tuple(levels), data)


def _level(reader: Reader, location: str, item: Any) -> Level:
    if reader.get(location, item, "Format") == 0:
        return Level(int(reader.get(location, item, "DenseSize")))
    return Level(0, *(_vector(reader, location, item, name) for name in ("Segments", "Indices")))


def _vector(reader: Reader, location: str, item: Any, name: str) -> Array:
    kind = reader.get(location, item, f"Array{name}Type")
    if kind not in _VECTORS or not reader.has(item, f"Array{name}"):
        raise bad_data(
            f"{location}: a sparse dimension without {name.lower()}",
            "import.tflite.sparsity.index-vector",
        )
    vector = reader.union(location, item, f"Array{name}", _VECTORS[kind])
    return np.asarray(reader.array(location, vector, "Values"), np.int64)


def dense(shape: tuple[int, ...], sparsity: Sparsity, elements: Array, room: Room) -> Array:
    """The dense tensor. Raises BAD_DATA for positions outside it."""
    rank = len(shape)
    order, blocks, levels = sparsity.order, sparsity.blocks, sparsity.levels
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise bad_data(
            f"its sparsity has {len(levels)} levels in the order {list(order)}",
            "import.tflite.sparsity.order",
        )
    if any(not 0 <= dim < rank for dim in blocks) or any(at >= rank for at in order[:rank]):
        raise bad_data(
            f"its blocks are of the dimensions {list(blocks)}", "import.tflite.sparsity.blocks"
        )
    entries, positions = np.zeros(1, np.int64), room.filled((1, rank), 0, np.int64, "sparsity")
    sizes = [levels[order.index(rank + at)].size for at in range(len(blocks))]
    for dim, level in zip(order, levels, strict=True):
        entries, steps, origins = _entries(level, entries, elements.size, room)
        positions = positions[origins]
        if dim < rank:
            positions[:, dim] += steps
        else:
            own = blocks[dim - rank]
            positions[:, own] = positions[:, own] * sizes[dim - rank] + steps
    if entries.size != elements.size:
        raise bad_data(
            f"{elements.size} elements for {entries.size} positions",
            "import.tflite.sparsity.element-count",
        )
    if entries.size and ((positions < 0).any() or (positions >= np.array(shape)).any()):
        raise bad_data(f"elements lie outside of {list(shape)}", "import.tflite.sparsity.indices")
    result = room.filled(shape, 0, elements.dtype, "a sparse constant")
    result[tuple(positions.T)] = elements
    return result


def _entries(level: Level, before: Array, count: int, room: Room) -> tuple[Array, Array, Array]:
    """The entries of a level: their numbers, positions along it, and the index in `before` of each
    parent.

    count: the number of entries of the last level.
    """
    if level.segments is None or level.indices is None:
        if level.size < 1:
            raise bad_data(
                f"a dense dimension of {level.size}", "import.tflite.sparsity.dense-size"
            )
        numbers = room.counted(before.size * level.size, np.int64, "a dense dimension")
        origins, steps = numbers // level.size, numbers % level.size
        return before[origins] * level.size + steps, steps, origins
    segments, indices = level.segments, level.indices
    if before.size and before.max() + 1 >= segments.size:
        raise bad_data(
            f"{segments.size} segments for {before.max() + 1} entries",
            "import.tflite.sparsity.segment-count",
        )
    starts, ends = segments[before], segments[before + 1]
    if (starts < 0).any() or (ends < starts).any() or (ends > indices.size).any():
        raise bad_data(
            f"segments exceed the {indices.size} indices", "import.tflite.sparsity.segments"
        )
    counts = ends - starts
    entry_ends = np.cumsum(counts)
    numbers = room.counted(int(counts.sum()), np.int64, "a sparse dimension")
    origins = np.searchsorted(entry_ends, numbers, side="right")
    entries = numbers - (entry_ends - counts - starts)[origins]
    return entries, indices[entries], origins
