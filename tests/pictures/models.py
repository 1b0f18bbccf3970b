"""Small models for tests of pictures."""

import numpy as np

from nnapi_shim import Model

HOSTILE = '<script>alert("&")</script>\u0001 \u202e'


def chain(count: int = 5) -> Model:
    """So many operations in a row, with a shortcut around those in the middle."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 4, 4, 8], name="image")
        w = np.linspace(-1, 1, 8 * 8, dtype=np.float32).reshape(8, 1, 1, 8)
        y = first = model.operation("CONV_2D", [x, w, np.zeros(8, np.float32), 1, 1, 1, 3])
        for _ in range(count - 3):
            y = model.operation("TANH", [y])
        y = model.operation("ADD", [y, first, 1])
        model.outputs(model.operation("SOFTMAX", [y, 1.0]))
        model.name_operand(model.output_operands[0].index, "scores")
    return model


def quantized() -> Model:
    """ADD of TENSOR_QUANT8_ASYMM [2, 3] and a constant, with a hostile name."""
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [2, 3], 0.5, 128, name=HOSTILE)
        y = model.constant(np.full((2, 3), 130, np.uint8), "TENSOR_QUANT8_ASYMM", 0.25, 120)
        model.outputs(model.operation("ADD", [x, y, 0], scale=0.5, zero_point=128))
    return model


def branches(depth: int = 2) -> Model:
    """An IF whose branches are IFs, so many within each other, and behind it a WHILE."""
    with Model() as inner:
        inner.outputs(inner.operation("LOG", [inner.input("TENSOR_FLOAT32", [2])]))
    for _ in range(depth - 1):
        with Model() as outer:
            x = outer.input("TENSOR_FLOAT32", [2])
            outer.outputs(outer.operation("IF", [np.array([True]), inner, inner, x]))
        inner = outer
    with Model() as condition:
        x = condition.input("TENSOR_FLOAT32", [2])
        largest = condition.operation("REDUCE_MAX", [x, np.array([0], np.int32), True])
        condition.outputs(condition.operation("LESS", [largest, np.array([10], np.float32)]))
    with Model() as model:
        chosen = model.input("TENSOR_BOOL8", [1])
        y = model.operation("IF", [chosen, inner, inner, model.input("TENSOR_FLOAT32", [2])])
        model.outputs(model.operation("WHILE", [condition, inner, y]))
    return model
