"""Constants of which a file has the elements that are not 0, and where they lie."""

import math
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.checked import Reader

LARGEST = 1000
"""How many times as large as the file a constant may become."""

_VECTORS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}


class Level(NamedTuple):
    """One dimension in the order in which elements lie. size: of a dense one. segments, indices:
    of a sparse one, where the entries of each entry before begin and end, and their places.
    """

    size: int
    segments: Array | None = None
    indices: Array | None = None


class Sparsity(NamedTuple):
    """Where elements lie. order: the dimension of each level, blocks behind all others. blocks: the
    dimension that each is a block of.
    """

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[Level, ...]
    data: Array


def read_sparsity(reader: Reader, place: str, table: Any, data: Array) -> Sparsity:
    """What a file says of a sparse tensor."""
    order = reader.numbers(place, table, "TraversalOrder")
    blocks = reader.numbers(place, table, "BlockMap")
    levels = [_level(reader, place, item) for item in reader.tables(place, table, "DimMetadata")]
    return Sparsity(order, blocks, tuple(levels), data)


def _level(reader: Reader, place: str, item: Any) -> Level:
    if reader.call(place, item.Format) == 0:
        return Level(int(reader.call(place, item.DenseSize)))
    return Level(0, *(_vector(reader, place, item, name) for name in ("Segments", "Indices")))


def _vector(reader: Reader, place: str, item: Any, name: str) -> Array:
    kind = reader.call(place, getattr(item, f"Array{name}Type"))
    table = reader.call(place, getattr(item, f"Array{name}"))
    if kind not in _VECTORS or table is None:
        raise bad_data(f"{place}: a sparse dimension without {name.lower()}", "sparsity")
    vector = getattr(schema.package(), _VECTORS[kind])()
    reader.call(place, vector.Init, table.Bytes, table.Pos)
    reader.call(place, lambda: vector)
    found: Array = np.asarray(reader.array(place, vector, "Values", 4 >> (kind - 1)), np.int64)
    return found


def dense(shape: tuple[int, ...], sparsity: Sparsity, elements: Array, file_size: int) -> Array:
    """The whole tensor. Raises BAD_DATA for places that are none of its own."""
    rank, count = len(shape), math.prod(shape)
    order, blocks, levels = sparsity.order, sparsity.blocks, sparsity.levels
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise bad_data(f"its sparsity has {len(levels)} levels in the order {list(order)}", "order")
    if any(not 0 <= dim < rank for dim in blocks) or any(at >= rank for at in order[:rank]):
        raise bad_data(f"its blocks are of the dimensions {list(blocks)}", "blocks")
    if count * elements.itemsize > LARGEST * file_size:
        raise bad_data(f"it has {count} elements, and the file {file_size} bytes", "size")
    entries, places = np.zeros(1, np.int64), np.zeros((1, rank), np.int64)
    sizes = [levels[order.index(rank + at)].size for at in range(len(blocks))]
    for dim, level in zip(order, levels, strict=True):
        entries, steps, origins = _entries(level, entries, elements.size, file_size)
        places = places[origins]
        if dim < rank:
            places[:, dim] += steps
        else:
            own = blocks[dim - rank]
            places[:, own] = places[:, own] * sizes[dim - rank] + steps
    if entries.size != elements.size:
        raise bad_data(f"{elements.size} elements for {entries.size} places", "elements")
    if entries.size and ((places < 0).any() or (places >= np.array(shape)).any()):
        raise bad_data(f"elements lie outside of {list(shape)}", "places")
    found = np.zeros(shape, elements.dtype)
    found[tuple(places.T)] = elements
    return found


def _entries(level: Level, before: Array, count: int, file_size: int) -> tuple[Array, Array, Array]:
    """Entries of a level: their numbers, places along it, and which of `before` each is of."""
    if level.segments is None or level.indices is None:
        if level.size < 1 or before.size * level.size > max(count, 16 * file_size):
            raise bad_data(f"a dense dimension of {level.size}", "dense")
        steps = np.tile(np.arange(level.size), before.size)
        origins = np.repeat(np.arange(before.size), level.size)
        return before[origins] * level.size + steps, steps, origins
    segments, indices = level.segments, level.indices
    if before.size and before.max() + 1 >= segments.size:
        raise bad_data(f"{segments.size} segments for {before.max() + 1} entries", "segments")
    starts, ends = segments[before], segments[before + 1]
    if (starts < 0).any() or (ends < starts).any() or (ends > indices.size).any():
        raise bad_data(f"segments lead out of {indices.size} indices", "segments")
    counts = ends - starts
    if counts.sum() > max(count, file_size):
        raise bad_data(f"{counts.sum()} entries", "entries")
    origins = np.repeat(np.arange(before.size), counts)
    entries = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    entries = entries + starts[origins]
    return entries, indices[entries], origins
