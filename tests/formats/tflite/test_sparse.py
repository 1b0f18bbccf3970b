"""Sparse constants, and composites: what a file holds in another way than it is computed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert")

from ai_edge_litert import schema_py_generated as schema

from nnapi_shim import NnapiError
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.tflite.sparsity import Level, Sparsity, dense
from tests.formats.tflite.building import Array, Building, Spec, code
from tests.formats.tflite.cases import F, f32
from tests.formats.tflite.running import compare, model_of

# Sparse constants


def level(format: str, **fields: Any) -> Any:
    result = schema.DimensionMetadataT()
    result.format = code("DimensionType", format)
    for name, values in fields.items():
        if name == "denseSize":
            result.denseSize = values
            continue
        vector, kind = {
            np.dtype(np.int32): (schema.Int32VectorT(), "Int32Vector"),
            np.dtype(np.uint16): (schema.Uint16VectorT(), "Uint16Vector"),
            np.dtype(np.uint8): (schema.Uint8VectorT(), "Uint8Vector"),
        }[values.dtype]
        vector.values = values.tolist()
        setattr(result, name, vector)
        setattr(result, f"{name}Type", code("SparseIndexVector", kind))
    return result


def rows(value: Array, dtype: Any = np.int32) -> tuple[list[Any], Array]:
    """A matrix as rows of which each has its own columns."""
    kept = [np.flatnonzero(row) for row in value]
    segments = np.cumsum([0, *map(len, kept)]).astype(dtype)
    sparse = level(
        "SPARSE_CSR", arraySegments=segments, arrayIndices=np.concatenate(kept).astype(dtype)
    )
    return [level("DENSE", denseSize=len(value)), sparse], value[value != 0]


def blocks(value: Array, size: tuple[int, int]) -> tuple[list[Any], Array]:
    """A matrix as blocks, of which each row of blocks has some."""
    high, wide = value.shape[0] // size[0], value.shape[1] // size[1]
    cut = value.reshape(high, size[0], wide, size[1]).transpose(0, 2, 1, 3)
    kept = [np.flatnonzero(row.any((1, 2))) for row in cut]
    segments = np.cumsum([0, *map(len, kept)]).astype(np.uint16)
    sparse = level(
        "SPARSE_CSR", arraySegments=segments, arrayIndices=np.concatenate(kept).astype(np.uint8)
    )
    dims = [level("DENSE", denseSize=high), sparse]
    dims += [level("DENSE", denseSize=n) for n in size]
    return dims, np.concatenate([cut[at][columns].reshape(-1) for at, columns in enumerate(kept)])


def with_weights(
    shape: tuple[int, int], dims: list[Any], order: Sequence[int], map: Sequence[int], data: Array
) -> bytes:
    """FULLY_CONNECTED behind DENSIFY."""
    made = Building()
    type = {"float32": "FLOAT32", "float16": "FLOAT16"}[data.dtype.name]
    sparse, whole = made.tensor(Spec(type, shape, value=data)), made.tensor(Spec(type, shape))
    table = schema.SparsityParametersT()
    table.traversalOrder, table.blockMap, table.dimMetadata = list(order), list(map), dims
    made.current.tensors[sparse].sparsity = table
    made.operator("DENSIFY", [sparse], [whole], "DensifyOptions")
    if type == "FLOAT16":
        half, whole = whole, made.tensor(F(*shape))
        made.operator("DEQUANTIZE", [half], [whole], "DequantizeOptions")
    x, y = made.tensor(F(3, shape[1])), made.tensor(F(3, shape[0]))
    made.operator("FULLY_CONNECTED", [x, whole, -1], [y], "FullyConnectedOptions")
    made.ends([x], [y])
    return made.file()


def holes(shape: tuple[int, int], dtype: Any = np.float32) -> Array:
    result = f32(*shape).astype(dtype)
    result[np.random.default_rng(1).uniform(size=shape) < 0.6] = 0
    result[1] = 0
    return result


def sparse_rows(dtype: Any = np.int32) -> bytes:
    dims, data = rows(holes((5, 7)), dtype)
    return with_weights((5, 7), dims, [0, 1], [], data)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.uint8])
def test_rows_with_columns_of_their_own(dtype: Any) -> None:
    model = compare(sparse_rows(dtype))
    assert [operation.name for operation in model.operations] == ["FULLY_CONNECTED"]


def test_columns_with_rows_of_their_own() -> None:
    value = holes((5, 7))
    dims, data = rows(np.ascontiguousarray(value.T))
    compare(with_weights((5, 7), dims, [1, 0], [], data))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_blocks(dtype: Any) -> None:
    value = holes((8, 6), dtype)
    value[:4, 2:4] = 0
    dims, data = blocks(value, (4, 2))
    compare(with_weights((8, 6), dims, [0, 1, 2, 3], [0, 1], data))


def test_damaged_sparse_constants() -> None:
    value = holes((5, 7))
    dims, data = rows(value)
    with pytest.raises(NnapiError, match="elements for"):
        model_of(with_weights((5, 7), dims, [0, 1], [], data[:-1]))
    with pytest.raises(NnapiError, match=r"has 2 levels in the order \[0, 0\]"):
        model_of(with_weights((5, 7), dims, [0, 0], [], data))
    dims[1].arrayIndices.values[0] = 7
    with pytest.raises(NnapiError, match=r"elements lie outside of \[5, 7\]"):
        model_of(with_weights((5, 7), dims, [0, 1], [], data))
    dims[1].arraySegments.values[2] = 100
    with pytest.raises(NnapiError, match="segments exceed the"):
        model_of(with_weights((5, 7), dims, [0, 1], [], data))


def test_small_file_of_a_large_constant() -> None:
    segments = np.ones(2**13 + 1, np.uint16)
    segments[0] = 0
    columns = level("SPARSE_CSR", arraySegments=segments, arrayIndices=np.zeros(1, np.uint8))
    dims = [level("DENSE", denseSize=2**13), columns]
    with pytest.raises(NnapiError, match="a sparse constant takes 268435456 bytes"):
        model_of(with_weights((2**13, 2**13), dims, [0, 1], [], np.ones(1, np.float32)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_sparsity_is_read_or_refused(data: st.DataObject) -> None:
    small = st.integers(-1, 5)
    arrays = st.lists(small, max_size=6).map(lambda v: np.array(v, np.int64))
    levels = st.builds(Level, small, st.none() | arrays, st.none() | arrays)
    drawn = Sparsity(
        tuple(data.draw(st.lists(small, max_size=4))),
        tuple(data.draw(st.lists(small, max_size=2))),
        tuple(data.draw(st.lists(levels, max_size=4))),
        np.empty(0, np.uint8),
    )
    elements = np.ones(data.draw(st.integers(0, 6)), np.float32)
    try:
        result = dense((3, 4), drawn, elements, Room(100))
    except NnapiError:
        return
    assert result.shape == (3, 4)


# Composites


def composite(inner: str = "NEG", graph: int = 1) -> bytes:
    """EXP, a composite of two inputs, ABS."""
    made = Building()
    x, a, b, y = (made.tensor(F(2, 3)) for _ in range(4))
    made.operator("EXP", [x], [a], "ExpOptions")
    made.operator("STABLEHLO_COMPOSITE", [a, made.constant(f32(3))], [b])
    table = schema.StableHLOCompositeOptionsT()
    table.name, table.decompositionSubgraphIndex = "odml.something", graph
    table.compositeAttributes = list(flexbuffers.Dumps({}))
    made.current.operators[-1].builtinOptions2 = table
    made.current.operators[-1].builtinOptions2Type = code(
        "BuiltinOptions2", "StableHLOCompositeOptions"
    )
    made.operator("ABS", [b], [y], "AbsOptions")
    made.ends([x], [y])
    made.graph()
    p, q, s, t = made.tensor(F(2, 3)), made.tensor(F(3)), made.tensor(F(2, 3)), made.tensor(F(2, 3))
    made.operator("ADD", [p, q], [s], "AddOptions")
    if inner == "CUMSUM":
        made.operator("CUMSUM", [s, made.constant(np.array(1, np.int32))], [t], "CumsumOptions")
    else:
        made.operator("NEG", [s], [t], "NegOptions")
    made.ends([p, q], [t])
    return made.file()


def doubling(depth: int, branches: int = 0) -> bytes:
    """Graphs each of which refers to the next one twice, called by each branch of IFs."""
    made = Building()

    def call(source: int, target: int, graph: int) -> None:
        made.operator("STABLEHLO_COMPOSITE", [source], [target])
        table = schema.StableHLOCompositeOptionsT()
        table.decompositionSubgraphIndex = graph
        made.current.operators[-1].builtinOptions2 = table
        made.current.operators[-1].builtinOptions2Type = code(
            "BuiltinOptions2", "StableHLOCompositeOptions"
        )

    first = 1 + 2 * branches
    x = y = made.tensor(F(4))
    condition = made.tensor(Spec("BOOL", (1,)))
    for at in range(branches):
        source, y = y, made.tensor(F(4))
        graphs = {"thenSubgraphIndex": 1 + 2 * at, "elseSubgraphIndex": 2 + 2 * at}
        made.operator("IF", [condition, source], [y], "IfOptions", **graphs)
    if not branches:
        y = made.tensor(F(4))
        call(x, y, first)
    made.ends([x, condition], [y])
    for _ in range(2 * branches):
        made.graph()
        p, q = made.tensor(F(4)), made.tensor(F(4))
        call(p, q, first)
        made.ends([p], [q])
    for at in range(depth):
        made.graph()
        p, q, r = (made.tensor(F(4)) for _ in range(3))
        if at < depth - 1:
            call(p, q, first + at + 1)
            call(q, r, first + at + 1)
        else:
            made.operator("NEG", [p], [q], "NegOptions")
            made.operator("ABS", [q], [r], "AbsOptions")
        made.ends([p], [r])
    return made.file()


@pytest.mark.parametrize(("depth", "branches"), [(15, 0), (11, 3)])
def test_composites_that_become_more_than_a_file_may(depth: int, branches: int) -> None:
    """All graphs of the file together."""
    assert len(model_of(doubling(6)).operations) == 64
    with pytest.raises(
        NnapiError, match=r"inlined for a composite, takes \d+ bytes; for a file of"
    ):
        model_of(doubling(depth, branches))


def test_composite() -> None:
    model = compare(composite())
    assert [operation.name for operation in model.operations] == ["EXP", "ADD", "NEG", "ABS"]


def test_composites_that_have_no_place() -> None:
    with pytest.raises(
        NnapiError, match=r"operator 1 STABLEHLO_COMPOSITE: no combination of NNAPI operations"
    ):
        model_of(composite("CUMSUM"))
    with pytest.raises(NnapiError, match="STABLEHLO_COMPOSITE: graph 7; the file has 2"):
        model_of(composite(graph=7))
    with pytest.raises(NnapiError, match="STABLEHLO_COMPOSITE: graph 0; the file has 2"):
        model_of(composite(graph=0))
