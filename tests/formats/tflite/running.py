"""The same file through nnapi_shim and through LiteRT."""

from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from nnapi_shim import Compilation, Model
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.importing.model import imported
from nnapi_shim.formats.tflite.model import chosen
from tests.formats.tflite.building import Array

DEVICES = ("nnapi-cpu", "nnapi-reference")

PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def model_of(data: bytes, signature: str | None = None) -> Model:
    file = read(data)
    return imported(file, *chosen(file, signature))


class Litert:
    """A file in LiteRT."""

    def __init__(self, data: bytes) -> None:
        self._interpreter = Interpreter(model_content=data, experimental_op_resolver_type=PLAIN)
        self._interpreter.allocate_tensors()

    def run(self, *inputs: Array) -> list[Array]:
        interpreter = self._interpreter
        for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
            if tuple(detail["shape"]) != value.shape:
                interpreter.resize_tensor_input(detail["index"], value.shape)
        interpreter.allocate_tensors()
        for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(d["index"]).copy() for d in interpreter.get_output_details()]

    def reset(self) -> None:
        self._interpreter.reset_all_variables()

    def random(self, seed: str) -> list[Array]:
        """Inputs for it."""
        generator = np.random.default_rng(list(seed.encode()))
        return [random(generator, d) for d in self._interpreter.get_input_details()]


def random(generator: np.random.Generator, detail: dict[str, Any]) -> Array:
    shape, dtype = tuple(detail["shape"]), np.dtype(detail["dtype"])
    if dtype.kind == "f":
        return generator.uniform(-2, 2, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return generator.integers(-5, 6, shape).astype(dtype)


def results(result: Any) -> list[Array]:
    return list(result) if isinstance(result, tuple) else [result]


def assert_same(
    result: Any, expected: list[Array], steps: int = 0, tolerance: float = 1e-5
) -> None:
    """Floats within a tolerance, bytes within steps, all else equal."""
    result = results(result)
    assert len(result) == len(expected)
    for ours, theirs in zip(result, expected, strict=True):
        assert ours.shape == (theirs.shape or (1,))
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, tolerance, tolerance)
        else:
            apart = np.abs(ours.reshape(theirs.shape).astype(np.int64) - theirs.astype(np.int64))
            assert apart.max(initial=0) <= (steps if theirs.dtype.itemsize == 1 else 0)


def compare(
    data: bytes, *inputs: Array, steps: int = 0, tolerance: float = 1e-5, seed: str = "x"
) -> Model:
    """Run a file on both devices and in LiteRT; the model."""
    theirs = Litert(data)
    arguments = list(inputs) or theirs.random(seed)
    expected = theirs.run(*arguments)
    model = model_of(data)
    ours = [np.atleast_1d(value) for value in arguments]
    for device in DEVICES:
        assert_same(Compilation(model, device).run(*ours), expected, steps, tolerance)
    return model
