"""Futures and asyncio."""

import asyncio
import threading
from concurrent.futures import CancelledError, Future

import numpy as np
import pytest

from nnapi_shim import Compilation, Execution, Model, NnapiError
from nnapi_shim.runtime import execution as runtime_execution


def doubling(carries: bool = False) -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2], name="x")
        y = model.add(x, x, name="y")
        if carries:
            total = model.input("TENSOR_FLOAT32", [2])
            sum = model.add(total, x)
            model.outputs(y, sum, model.abs(sum))
            model.carry(total, sum)
        else:
            model.outputs(y)
    return model


@pytest.fixture
def compilation(device: str) -> Compilation:
    return doubling().compile(device)


def test_a_future(compilation: Compilation) -> None:
    futures = [compilation.submit([i, 1]) for i in range(20)]
    assert [future.result().tolist() for future in futures] == [[2 * i, 2] for i in range(20)]
    out = np.zeros(2, np.float32)
    assert compilation.submit(x=[1, 2], out=out).result() is not None
    assert out.tolist() == [2, 4]


def test_errors_come_through(compilation: Compilation) -> None:
    future = compilation.submit([1, 2, 3])
    assert isinstance(future, Future)
    with pytest.raises(NnapiError, match="BAD_DATA: input 0 'x'"):
        future.result()
    with pytest.raises(NnapiError, match="there is no input 'z'"):
        compilation.submit(z=[1, 2]).result()
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE: the compilation is closed"):
        compilation.submit([1, 2])


def test_asyncio(compilation: Compilation) -> None:
    async def several() -> list[list[float]]:
        runs = [compilation.run_async([i, 1]) for i in range(10)]
        return [result.tolist() for result in await asyncio.gather(*runs)]

    async def wrong() -> None:
        await compilation.run_async([1, 2, 3])

    assert asyncio.run(several()) == [[2 * i, 2] for i in range(10)]
    with pytest.raises(NnapiError, match="BAD_DATA"):
        asyncio.run(wrong())


def test_states_in_the_order_of_the_calls(device: str) -> None:
    compilation = doubling(carries=True).compile(device)
    futures = [compilation.submit([1, i]) for i in range(30)]
    sums = [future.result()[1].tolist() for future in futures]
    assert sums == [[i + 1, i * (i + 1) / 2] for i in range(30)]


def test_cancelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has begun comes to its end; one that has not never does."""
    compilation = doubling(carries=True).compile("nnapi-cpu")
    begun, go_on = threading.Event(), threading.Event()
    run = runtime_execution.Execution._run

    def slow(self: runtime_execution.Execution) -> None:
        begun.set()
        assert go_on.wait(10)
        run(self)

    monkeypatch.setattr(runtime_execution.Execution, "_run", slow)
    first, second = compilation.submit([1, 1]), compilation.submit([10, 10])
    assert begun.wait(10)
    assert not first.cancel()
    assert second.cancel()

    async def impatient() -> None:
        await asyncio.wait_for(compilation.run_async([100, 100]), 0.01)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(impatient())
    go_on.set()
    assert first.result()[1].tolist() == [1, 1]
    with pytest.raises(CancelledError):
        second.result()
    assert compilation.run([0, 0])[1].tolist() == [1, 1]


def test_events_can_be_awaited(compilation: Compilation) -> None:
    out = np.zeros(2, np.float32)

    async def awaited() -> None:
        execution = Execution(compilation)
        execution.set_input(0, [1, 2])
        execution.set_output(0, out)
        await execution.start_compute()

    asyncio.run(awaited())
    assert out.tolist() == [2, 4]
