"""Peak performance of this machine, to which profiles relate the times of operations.

The arithmetic peak is that of a large matrix product on nnapi-cpu, on as many threads as other
operations; the memory bandwidth that of a copy that exceeds all caches, on one thread.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.tools.report import Report

ROWS, DEPTH = 384, 1024
COPIED_BYTES = 1 << 26
TIMES = 5


@dataclass(frozen=True)
class Peaks(Report):
    """Arithmetic operations and bytes per second. None if nnapi-cpu is not available.

    bytes: bytes read plus bytes written by a copy. load: the load average when they were measured.
    """

    float32: float | None
    int8: float | None
    bytes: float
    load: float | None = None


@cache
def peaks() -> Peaks:
    """The peaks of this machine; the first call measures them in about half a second."""
    load = load_average()
    return Peaks(_product(_float_model), _product(_int8_model), _copy(), load)


def load_average() -> float | None:
    """The load average of the last minute; None if it is unknown."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _best(call: Callable[[], object]) -> float:
    """The shortest time of a few calls, in seconds."""
    times = []
    for _ in range(TIMES):
        began = perf_counter()
        call()
        times.append(perf_counter() - began)
    return min(times)


def _product(make: Callable[[], tuple[Model, Array]]) -> float | None:
    try:
        model, x = make()
        compilation = Compilation(model, "nnapi-cpu")
    except NnapiError:
        return None
    compilation.run(x)
    return 2 * ROWS * DEPTH * DEPTH / _best(lambda: compilation.run(x))


def _float_model() -> tuple[Model, Array]:
    rng = np.random.default_rng(0)
    weights = rng.random((DEPTH, DEPTH), np.float32)
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [ROWS, DEPTH])
        bias = np.zeros(DEPTH, np.float32)
        model.outputs(model.operation("FULLY_CONNECTED", [x, weights, bias, FuseCode.NONE]))
    return model, rng.random((ROWS, DEPTH), np.float32)


def _int8_model() -> tuple[Model, Array]:
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 127, (DEPTH, DEPTH)).astype(np.int8)
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM_SIGNED", [ROWS, DEPTH], 0.5)
        w = model.constant(weights, "TENSOR_QUANT8_ASYMM_SIGNED", 0.5)
        bias = model.constant(np.zeros(DEPTH, np.int32), "TENSOR_INT32", 0.25)
        y = model.operation("FULLY_CONNECTED", [x, w, bias, FuseCode.NONE], scale=64.0)
        model.outputs(y)
    return model, rng.integers(-127, 127, (ROWS, DEPTH)).astype(np.int8)


def _copy() -> float:
    source, target = np.ones(COPIED_BYTES, np.uint8), np.zeros(COPIED_BYTES, np.uint8)
    return 2 * COPIED_BYTES / _best(lambda: np.copyto(target, source))
