"""Small models for tests of the tools."""

import numpy as np

from nnapi_shim import FuseCode, Model


def conv_log_softmax() -> Model:
    """CONV_2D (level 1), LOG (level 3), SOFTMAX (level 1) of float32 [1, 8, 8, 4]."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 8, 8, 3])
        rng = np.random.default_rng(0)
        w = rng.uniform(0.1, 1, (4, 3, 3, 3)).astype(np.float32)
        y = model.operation("CONV_2D", [x, w, np.zeros(4, np.float32), 1, 1, 1, FuseCode.NONE])
        y = model.operation("LOG", [y])
        model.outputs(model.operation("SOFTMAX", [y, 1.0]))
    return model


def quantized() -> Model:
    """ADD and LOGISTIC of TENSOR_QUANT8_ASYMM [2, 3]."""
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [2, 3], 0.5, 128)
        y = model.input("TENSOR_QUANT8_ASYMM", [2, 3], 0.25, 120)
        z = model.operation("ADD", [x, y, FuseCode.NONE], scale=0.5, zero_point=128)
        model.outputs(model.operation("LOGISTIC", [z], scale=1 / 256))
    return model


def of_unknown_size() -> Model:
    """RELU, then LOG, of float32 [unknown]."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None])
        model.outputs(model.operation("LOG", [model.operation("RELU", [x])]))
    return model
