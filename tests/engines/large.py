"""Models with constants above the limit of a file, which most tests lower."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim.formats.graph import reading
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import DataLocation, Model, Pool
from tests.engines import vectors
from tests.runtime.hal_models import Bound, Builder

LIMIT = 1000
NEEDED_KB = 14 << 20
"""Free memory for a model with constants of more than 2 GB, which an engine copies."""


def dense(size: int) -> Model:
    """Two FULLY_CONNECTED operations that read the same weights, all of them 1 / size; and a
    CONV_2D of 1 x 1, whose weights formats have in another order. Equal inputs are the results.
    """
    b = Builder()
    weights = b.constant(np.full((size, size), 1 / size), T.TENSOR_FLOAT32)
    bias = b.constant(np.zeros(size), T.TENSOR_FLOAT32)
    none, one = b.constant(0, T.INT32), b.constant(1, T.INT32)
    x = value = b.input((1, size))
    for _ in range(2):
        made = b.temporary((1, size))
        b.operation(O.FULLY_CONNECTED, [value, weights, bias, none], [made])
        value = made
    image, result = b.temporary((1, 1, 1, size)), b.temporary((1, 1, 1, size))
    b.operation(O.RESHAPE, [value, b.constant([1, 1, 1, size], T.TENSOR_INT32)], [image])
    kernel = b.constant(np.eye(size).reshape(size, 1, 1, size), T.TENSOR_FLOAT32)
    b.operation(O.CONV_2D, [image, kernel, bias, one, one, one, none], [result])
    return b.model([x], [result])


class Constants(Pool):
    """A pool with an array."""

    def __init__(self, array: Any) -> None:
        self.array, self.size = array, array.nbytes

    def map(self) -> int:
        return int(self.array.ctypes.data)


def of_real_size() -> Model:
    """One FULLY_CONNECTED with weights of more than 2 GB, all of them 1 / 32768."""
    rows, size = 1 << 14, (1 << 15) + 512
    weights = np.full((rows, size), 1 / size, np.float32)
    assert weights.nbytes > reading.LARGEST
    b = Builder()
    place = DataLocation(0, 0, weights.nbytes)
    filter = b.operand(
        T.TENSOR_FLOAT32, weights.shape, lifetime=L.CONSTANT_REFERENCE, location=place
    )
    bias = b.constant(np.zeros(rows), T.TENSOR_FLOAT32)
    x, result = b.input((1, size)), b.temporary((1, rows))
    b.operation(O.FULLY_CONNECTED, [x, filter, bias, b.constant(0, T.INT32)], [result])
    return b.model([x], [result], pools=(Constants(weights),))


def check(device: str, model: Model) -> None:
    """A device takes the model, and computes it right."""
    of = vectors.device(device)
    assert not any(of.getReasons(model))
    made = of.prepareModel(
        model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )
    main = model.main
    size = main.operands[main.input_indexes[0]].dimensions[1]
    for value in (1, 3):
        x = np.full((1, size), value, np.float32)
        (result,) = Bound(made, model, [x], room=x.nbytes).outputs()
        assert result.size and np.allclose(result, value, rtol=1e-3)


def check_with_a_lower_limit(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a small model."""
    monkeypatch.setattr(reading, "LARGEST", LIMIT)
    check(device, dense(64))


def check_with_the_real_size(device: str) -> None:
    """The same for constants of more than 2 GB, where there is memory for them."""
    free = next(
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable")
    )
    if free < NEEDED_KB:
        pytest.skip(f"it takes {NEEDED_KB >> 20} GB of free memory")
    check(device, of_real_size())
