"""Models with unknown dimensions, which an engine compiles again for dimensions that come twice."""

import threading
from time import monotonic_ns

import numpy as np
import pytest

from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperationType as O
from tests.engines.fake import Engine, Network
from tests.runtime.hal_models import Bound, Builder

pytest.importorskip("onnx")


class Open(Network):
    """As engine.OpenNetwork."""

    def settled(self, inputs):
        self.engine.asked.append([*inputs])
        if self.engine.fails is not None:
            raise self.engine.fails
        return Settled(self.engine)


class Settled(Network):
    pass


class OpenEngine(Engine):
    """Its networks are open. asked: the dimensions for which they were compiled again."""

    def __init__(self):
        super().__init__(lambda x: [x + x])
        self.asked, self.bound = [], []
        self.fails = None

    def compiled(self, *arguments):
        super().compiled(*arguments)
        engine = self

        class Remembered(Open):
            def bound(self, inputs, outputs):
                engine.bound.append("open")
                return super().bound(inputs, outputs)

        return Remembered(engine)


def model():
    """An input with an unknown first dimension; the engine doubles it."""
    b = Builder()
    x, out = b.input((0, 2)), b.temporary((0, 2))
    b.operation(O.RELU, [x], [out])
    return b.model([x], [out])


@pytest.fixture
def engine():
    return OpenEngine()


@pytest.fixture
def prepared(engine):
    return engine.device().prepareModel(
        model(), ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )


def bound_to(prepared, rows):
    x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    return Bound(prepared, model(), [x], room=x.nbytes), x


def check(bound, x):
    assert np.array_equal(bound.outputs()[0].reshape(x.shape), x + x)


def test_from_the_second_run_on(engine, prepared):
    bound, x = bound_to(prepared, 3)
    for _ in range(4):
        check(bound, x)
    assert engine.bound == ["open"]
    assert engine.asked == [[(3, 2)]]
    assert len(engine.runs) == 2, "the third and fourth run bind nothing again"


def test_dimensions_that_change_with_each_run(engine, prepared):
    for rows in range(1, 9):
        check(*bound_to(prepared, rows))
    assert not engine.asked
    for rows in range(1, 9):  # the first four have come before
        check(*bound_to(prepared, rows))
    assert engine.asked == [[(rows, 2)] for rows in range(1, 5)]
    check(*bound_to(prepared, 8))
    assert len(engine.asked) == 4
    assert engine.bound == ["open"] * 13


def test_runs_with_a_deadline_take_what_there_is(engine, prepared):
    bound, x = bound_to(prepared, 3)
    for _ in range(3):
        assert bound.compute(monotonic_ns() + 60_000_000_000).status is ErrorStatus.NONE
    assert not engine.asked
    for _ in range(2):
        check(bound, x)
    count = len(engine.bound)
    assert bound.compute(monotonic_ns() + 60_000_000_000).status is ErrorStatus.NONE
    assert engine.asked == [[(3, 2)]] and len(engine.bound) == count


def test_an_engine_that_fails_to_compile_again(engine, prepared):
    engine.fails = RuntimeError("not for these")
    bound, x = bound_to(prepared, 3)
    for _ in range(4):
        check(bound, x)
    assert engine.asked == [[(3, 2)]]


def test_runs_do_not_wait_for_the_other_network(engine, prepared, monkeypatch):
    """A run on another thread, and one with a deadline, while one compiles."""
    begun, goes_on = threading.Event(), threading.Event()
    settled = Open.settled

    def slow(own, inputs):
        begun.set()
        assert goes_on.wait(60)
        return settled(own, inputs)

    monkeypatch.setattr(Open, "settled", slow)
    (one, x), (other, y), (third, z) = (bound_to(prepared, 3) for _ in range(3))
    check(one, x)
    thread = threading.Thread(target=check, args=(one, x))
    thread.start()
    assert begun.wait(60)
    for _ in range(2):
        check(other, y)
    assert third.compute(monotonic_ns() + 60_000_000_000).status is ErrorStatus.NONE
    count = len(engine.bound)
    goes_on.set()
    thread.join()
    for each in ((other, y), (third, z), (one, x)):
        check(*each)
    assert engine.asked == [[(3, 2)]] and len(engine.bound) == count
