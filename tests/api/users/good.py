"""A user's program without mistakes: type checkers find none. Runs, too."""

import array
import asyncio
import pickle
from concurrent.futures import Future
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import nnapi_shim
from nnapi_shim import Compilation, Device, Execution, FuseCode, Model, NnapiError, Operand


def add_one() -> Model:
    """A model for a branch."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 4, 4, 3])
        model.outputs(model.add(x, [1.0]))
    return model


def build() -> Model:
    """A network."""
    scale, zero_point = nnapi_shim.quantization_of(-1.0, 1.0)
    scales, _ = nnapi_shim.quantization_of([-1.0] * 3, [1.0] * 3)
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 8, 8, 2], name="x")
        flag = model.input(nnapi_shim.OperandType.TENSOR_BOOL8, [1], name="flag")
        w = np.zeros((3, 3, 3, 2), np.float32)
        y = model.conv_2d(x, w, [0.0, 0.0, 0.0], padding="SAME", stride=(2, 2), activation="RELU6")
        assert_type(y, Operand)
        pooled = model.max_pool_2d(y, padding=(0, 0, 0, 0), filter=2, activation=FuseCode.NONE)
        (branched,) = model.if_(flag, add_one(), add_one(), [y])
        values, indices = model.topk_v2(model.reshape(branched, [-1]), 3)
        assert_type(indices, Operand)
        parts = model.split(y, 3, 3, name=["a", "b", "c"])
        assert_type(parts, tuple[Operand, ...])
        q = model.quantize(y, scale=scale, zero_point=zero_point, output="TENSOR_QUANT8_ASYMM")
        model.dequantize(q, output="TENSOR_FLOAT32")
        model.constant(nnapi_shim.quantize(np.ones((3, 4)), scales), scales=scales)
        model.outputs(y, pooled, values)
    return model


def run(model: Model, devices: list[Device]) -> None:
    """Every way to run it."""
    compilation = model.compile(devices[0], preference="LOW_POWER")
    assert_type(compilation, Compilation)
    x: NDArray[np.float32] = np.zeros((1, 8, 8, 2), np.float32)
    first, _, _ = compilation.run(x, [True])
    first, _, _ = compilation.run(x=x, flag=[False], out=[None, None, np.zeros(3, np.float32)])
    assert_type(compilation.run(x, [True]), NDArray[Any] | Any)
    named = compilation.run_named({"x": array.array("f", [0.0] * 128), "flag": b"\1"})
    assert_type(named, dict[str, NDArray[Any]])
    values = compilation.run(x, [True], intermediates=True)
    assert_type(values["x"], NDArray[Any])
    for operand in values:
        print(operand.index, operand.name, operand.dimensions)
    future = compilation.submit(x, [True])
    assert_type(future, Future[NDArray[Any] | Any])
    asyncio.run(compilation.run_async(x, [True]))
    with Execution(compilation) as execution:
        execution.set_input(0, x)
    compilation.reset()
    pickle.dumps(compilation)
    for item in model.operations:
        print(item.name, [operand.name for operand in item.inputs])
    print(first, future.result())


if __name__ == "__main__":
    try:
        run(build(), nnapi_shim.devices())
    except NnapiError as error:
        print(error.code.name, error.message, [location.kind for location in error.places])
        raise
