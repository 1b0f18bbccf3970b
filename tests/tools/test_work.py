"""How much work operations are."""

import numpy as np
import pytest

from nnapi_shim import FuseCode, Model
from nnapi_shim.operations import registry
from nnapi_shim.operations.work import FORMULAS
from nnapi_shim.tools.work import flops, moved_bytes


def only(build):
    with Model() as model:
        model.outputs(build(model))
    (view,) = model.operations
    return view


def image(model, *dimensions):
    return model.input("TENSOR_FLOAT32", dimensions)


def zeros(*dimensions):
    return np.zeros(dimensions, np.float32)


VIEWS = {
    "CONV_2D": (
        lambda m: m.operation(
            "CONV_2D", [image(m, 1, 4, 4, 3), zeros(5, 3, 3, 3), zeros(5), 1, 1, 1, FuseCode.NONE]
        ),
        2 * (4 * 4 * 5) * 27 + 80,
        4 * (48 + 135 + 5 + 80),
    ),
    "DEPTHWISE_CONV_2D": (
        lambda m: m.operation(
            "DEPTHWISE_CONV_2D",
            [image(m, 1, 4, 4, 3), zeros(1, 3, 3, 6), zeros(6), 1, 1, 1, 2, FuseCode.NONE],
        ),
        2 * (4 * 4 * 6) * 9 + 96,
        4 * (48 + 54 + 6 + 96),
    ),
    "FULLY_CONNECTED": (
        lambda m: m.operation(
            "FULLY_CONNECTED", [image(m, 2, 8), zeros(3, 8), zeros(3), FuseCode.NONE]
        ),
        2 * 6 * 8 + 6,
        4 * (16 + 24 + 3 + 6),
    ),
    "BATCH_MATMUL": (
        lambda m: m.operation("BATCH_MATMUL", [image(m, 2, 8, 3), image(m, 2, 8, 5), True, False]),
        2 * (2 * 3 * 5) * 8,
        4 * (48 + 80 + 30),
    ),
    "MAX_POOL_2D": (
        lambda m: m.operation("MAX_POOL_2D", [image(m, 1, 4, 4, 3), 2, 2, 2, 2, 2, FuseCode.NONE]),
        12 * 4,
        4 * (48 + 12),
    ),
    "TRANSPOSE": (
        lambda m: m.operation("TRANSPOSE", [image(m, 2, 3), np.array([1, 0], np.int32)]),
        0,
        24 + 8 + 24,
    ),
    "GATHER": (
        lambda m: m.operation("GATHER", [image(m, 100, 3), 0, np.array([7], np.int32)]),
        0,
        12 + 4 + 12,
    ),
    "MEAN": (
        lambda m: m.operation("MEAN", [image(m, 2, 3), np.array([1], np.int32), 0]),
        6,
        24 + 4 + 8,
    ),
}


def test_every_formula_is_of_an_operation_and_every_word_has_one() -> None:
    assert {d.work for d in registry() if isinstance(d.work, str)} == FORMULAS.keys()


@pytest.mark.parametrize("declaration", registry(), ids=lambda declaration: declaration.type.name)
def test_inputs_that_work_is_counted_by(declaration) -> None:
    inputs = {name for accepted in declaration.forms for name in accepted.inputs.names}
    named = {declaration.looks_up} - {""}
    if isinstance(declaration.work, tuple):
        named.add(declaration.work[1])
    assert named <= inputs


def test_what_only_moves_values_is_no_work_whatever_the_dimensions() -> None:
    view = only(lambda m: m.operation("SQUEEZE", [image(m, None, 1), np.array([1], np.int32)]))
    assert flops(view, {}) == 0


@pytest.mark.parametrize("name", VIEWS)
def test_counts(name) -> None:
    build, operations, touched = VIEWS[name]
    view = only(build)
    assert (flops(view, {}), moved_bytes(view, {})) == (operations, touched)


def test_recurrent() -> None:
    """All weights, for every row of the input."""
    view = only(
        lambda m: m.operation(
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            [image(m, 7, 2, 3), zeros(4, 3), zeros(4, 4), zeros(4), zeros(2, 4), 1, 1],
        )
    )
    assert flops(view, {}) == 2 * (7 * 2) * (12 + 16)


def test_unknown_dimensions() -> None:
    view = only(lambda m: m.operation("ADD", [image(m, None), image(m, None), FuseCode.NONE]))
    assert (flops(view, {}), moved_bytes(view, {})) == (None, None)
    shapes = {operand.index: (5,) for operand in (*view.inputs, *view.outputs)}
    assert (flops(view, shapes), moved_bytes(view, shapes)) == (5, 60)
