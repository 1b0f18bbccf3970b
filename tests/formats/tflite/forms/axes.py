"""Reductions, and what is left of the schema."""

from collections.abc import Iterator

import numpy as np

from tests.formats.tflite.forms.form import (
    ALL,
    FLOATS,
    Form,
    constant,
    form,
    i32,
    number,
    out,
    spec,
)

SHAPES = (
    ((5,), ((0,),)),
    ((2, 3), ((0,), (1,), (-1,), (0, 1))),
    ((2, 3, 2), ((1,), (0, 2), (0, 1, 2))),
)
SHAPES += (
    ((1, 3, 2, 4), ((1, 2), (3,), (0, 1, 2, 3), ())),
    ((2, 1, 3, 1, 2), ((2,), (1, 3), (0, 4))),
)  # type: ignore[assignment]


def reductions() -> Iterator[Form]:
    """Along axes."""
    for name in (
        "MEAN",
        "SUM",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "REDUCE_PROD",
        "REDUCE_ANY",
        "REDUCE_ALL",
    ):
        for type in ALL:
            for shape, all_axes in SHAPES:
                for axes in all_axes:
                    for keep in (False, True):
                        same = name in ("REDUCE_MAX", "REDUCE_MIN")
                        for which in (0, 2):
                            if which == 2 and (same or type not in ("INT8", "UINT8", "INT16")):
                                continue
                            yield form(
                                name,
                                [spec(type, shape), i32(list(axes))],
                                out(type, which),
                                "ReducerOptions",
                                f"{axes}{keep:d}{which}",
                                keepDims=keep,
                            )
            yield form(
                name, [spec(type, (2, 3)), number(1)], out(type, 0), "ReducerOptions", "axis"
            )
            yield form(name, [spec(type), i32([])], out(type, 0), "ReducerOptions", "axis")
    for name in ("ARG_MAX", "ARG_MIN"):
        kind = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
        for type in ALL:
            for shape in ((5,), (3, 4), (2, 3, 4), (1, 2, 3, 4), (2, 1, 3, 1, 2)):
                for axis in (0, -1, len(shape) - 1):
                    for result, code in (("INT32", 2), ("INT64", 4)):
                        for bits in ("INT32", "INT64"):
                            yield form(
                                name,
                                [spec(type, shape), number(axis, bits)],
                                out(result),
                                kind,
                                f"{axis}{result.lower()}",
                                outputType=code,
                            )
    for type in ALL:
        for shape in ((6,), (3, 6), (2, 2, 6)):
            for count in (1, 3):
                yield form(
                    "TOPK_V2",
                    [spec(type, shape), number(count)],
                    [out(type, 0), out("INT32")],
                    "TopKV2Options",
                    domains={0: "distinct"},
                )
        for exclusive in (False, True):
            yield form(
                "CUMSUM",
                [spec(type, (2, 3)), number(1)],
                out(type, 0),
                "CumsumOptions",
                f"{exclusive:d}",
                exclusive=exclusive,
            )


def tables() -> Iterator[Form]:
    """Lookups."""
    for type in ALL:
        table = constant(type, np.arange(10).reshape(5, 2), 0)
        yield form(
            "EMBEDDING_LOOKUP", [spec("INT32", (3,)), table], out(type, 0), domains={0: "below:5"}
        )
        yield form(
            "EMBEDDING_LOOKUP",
            [spec("INT32", (3,)), table],
            out("FLOAT32"),
            tag="reals",
            domains={0: "below:5"},
        )
        three = constant(type, np.arange(30).reshape(5, 2, 3), 0)
        yield form(
            "EMBEDDING_LOOKUP", [spec("INT32", (3,)), three], out(type, 0), domains={0: "below:5"}
        )
        yield form(
            "HASHTABLE_LOOKUP",
            [spec("INT32", (3,)), i32(1, 4, 9, 11, 12), table],
            [out(type, 0), out("UINT8")._replace(scale=0.0, zero_point=0)],
            domains={0: "below:10"},
        )
    for kind in (1, 2):
        yield form(
            "LSH_PROJECTION",
            [spec("FLOAT32", (3, 4)), spec("INT32", (5,))],
            out("INT32"),
            "LSHProjectionOptions",
            str(kind),
            type=kind,
        )


def rest() -> Iterator[Form]:
    """Operators that NNAPI has nothing for."""
    for type in FLOATS:
        f = spec(type, (2, 3))
        yield form("SCATTER_ND", [i32([[0], [1]]), f, i32(4, 3)], out(type), "ScatterNdOptions")
        yield form(
            "SPARSE_TO_DENSE",
            [i32([[0, 1]]), i32(2, 3), spec(type, (1,)), number(0, type)],
            out(type),
            "SparseToDenseOptions",
        )
        yield form("SEGMENT_SUM", [f, i32(0, 1)], out(type), "SegmentSumOptions")
        for name in ("SUM", "PROD", "MAX", "MIN"):
            yield form(f"UNSORTED_SEGMENT_{name}", [f, i32(0, 1), number(3)], out(type))
        yield form("WHERE", [spec("BOOL", (2, 3))], out("INT64"), "WhereOptions")
        yield form(
            "UNIQUE", [spec(type, (4,))], [out(type), out("INT32")], "UniqueOptions", idxOutType=2
        )
        yield form(
            "REVERSE_SEQUENCE",
            [f, i32(1, 2)],
            out(type),
            "ReverseSequenceOptions",
            seqDim=1,
            batchDim=0,
        )
        yield form("MATRIX_DIAG", [f], out(type), "MatrixDiagOptions")
        yield form(
            "MATRIX_SET_DIAG",
            [spec(type, (3, 3)), spec(type, (3,))],
            out(type),
            "MatrixSetDiagOptions",
        )
        yield form("BUCKETIZE", [f], out("INT32"), "BucketizeOptions", boundaries=[0.0, 1.0])
        yield form(
            "DYNAMIC_UPDATE_SLICE",
            [f, spec(type, (1, 2)), i32(0, 1)],
            out(type),
            "DynamicUpdateSliceOptions",
        )
        yield form("BITCAST", [f], out("INT32"), "BitcastOptions")
        yield form("RFFT2D", [spec(type, (1, 4, 4)), i32(4, 4)], spec("COMPLEX64"), "Rfft2dOptions")
        yield form("RANDOM_UNIFORM", [i32(2, 3)], out(type), "RandomOptions", seed=1, seed2=2)
        yield form(
            "RANDOM_STANDARD_NORMAL", [i32(2, 3)], out(type), "RandomOptions", seed=1, seed2=2
        )
        yield form("MULTINOMIAL", [f, number(3)], out("INT64"), "RandomOptions", seed=1, seed2=2)
        boxes, scores = spec(type, (3, 4)), spec(type, (3,))
        limits = [number(3), number(0.5, type), number(0.1, type)]
        yield form("NON_MAX_SUPPRESSION_V4", [boxes, scores, *limits], [out("INT32"), out("INT32")])
        yield form(
            "NON_MAX_SUPPRESSION_V5",
            [boxes, scores, *limits, number(0.0, type)],
            [out("INT32"), out(type), out("INT32")],
        )
        yield form(
            "REDUCE_WINDOW",
            [f, number(0, type), np.array([1, 2]), np.array([1, 1]), np.array([1, 1])],
            out(type),
            "",
        )
        yield form("DILATE", [f, np.array([2, 2]), number(0, type)], out(type), "")
    one, other = (constant("INT32", value) for value in ((2, 1, 3), (4, 1)))
    yield form("BROADCAST_ARGS", [one, other], out("INT32"))
    yield form(
        "BROADCAST_ARGS", [spec("INT32", (2,)), other], out("INT32"), domains={0: "is:[4,5]"}
    )


def forms() -> Iterator[Form]:
    """All of them."""
    for family in (reductions, tables, rest):
        yield from family()
