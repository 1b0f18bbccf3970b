"""Every loop over operations or steps looks at the clock while a model is compiled.

The clock counts calls of functions, of Python and of C: between two looks there are no more than
one operation, or one step, may take, however many of them a model has.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model, limits
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.runtime.compilation import Compilation

F32, U8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"
MANY = 1000
MOST_CALLS = 2000
"""Between two looks, beside a few for each operand: a table of bytes takes almost as many."""


class Calls:
    """A clock that tells how many calls there have been; most: between two looks at it."""

    def __init__(self) -> None:
        self.count = self.before = self.most = 0
        self.looks = 0

    def __call__(self) -> int:
        self.looks += 1
        self.most = max(self.most, self.count - self.before)
        self.before = self.count
        return 1 + self.count

    def counted(self, frame: Any, event: str, argument: Any) -> None:
        """What sys.setprofile is given."""
        self.count += event in ("call", "c_call")


def negated(model: Model, x: Any) -> Any:
    return model.neg(x)


def clamped(model: Model, x: Any) -> Any:
    return model.relu(model.add(x, np.float32([1])))


def transposed(model: Model, x: Any) -> Any:
    return model.transpose(x, [1, 0])


def requantized(model: Model, x: Any) -> Any:
    stored = model.quantize(x, output=U8, scale=0.25, zero_point=len(model.operations) % 200)
    return model.quantize(model.dequantize(stored, output=F32), output=U8, scale=0.5, zero_point=3)


def constant(model: Model, x: Any) -> Any:
    return model.add(x, model.neg(model.constant(np.float32([[2]]), F32)))


def split(model: Model, x: Any) -> Any:
    return model.concatenation(model.split(x, 1, 2), 1)


def built(step: Callable[[Model, Any], Any]) -> Model:
    """A model of many such operations."""
    model = Model()
    x = model.input(F32, [2, 2])
    for _ in range(MANY):
        y = step(model, x)
        x = model.dequantize(y, output=F32) if y.scale else y
    model.outputs(x)
    model.finish()
    return model


def compiled(model: Model, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What the clock sees while a model is compiled."""
    model.compile("nnapi-cpu")  # what it takes is imported now
    clock = Calls()
    monkeypatch.setattr(limits, "monotonic_ns", clock)
    compilation = Compilation(model.runtime, [CpuDevice()])
    compilation.set_timeout(1 << 60)
    sys.setprofile(clock.counted)
    try:
        clock()
        compilation.finish()
        clock()
    finally:
        sys.setprofile(None)
    return clock


STEPS: Sequence[Any] = (
    negated,
    clamped,
    transposed,
    pytest.param(requantized, marks=pytest.mark.slow),
    constant,
    split,
)


@pytest.mark.parametrize("step", STEPS)
def test_no_loop_goes_on_without_a_look(
    step: Callable[[Model, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = built(step)
    clock = compiled(model, monkeypatch)
    assert clock.looks > MANY
    most = MOST_CALLS + 4 * len(model.operands)
    assert clock.most < most, f"{clock.most} calls between two looks; allowed are {most}"
