"""What a canonical device of other people answers is looked at before it is believed."""

import numpy as np
import pytest

from nnapi_shim.drivers.guarded import GuardedDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ResultCode
from nnapi_shim.hal.types import CacheHandles, ExecutionResult, OutputShape, Timing
from tests.drivers.cpu.test_programs import Graph, O
from tests.runtime.partial_devices import PartialDevice


def graph(output=(4,)):
    made = Graph()
    made.operation(O.RELU, [made.input([4])], list(output), output=True)
    return made


def run(device, output=(4,)):
    made = graph(output)
    values, buffer = np.ones(4, np.float32), np.zeros(4, np.float32)
    model = made.prepare(GuardedDevice(device))
    return model.execute(made.request([values], [buffer]), False, None, 0)


class Answers:
    """A prepared model that answers every run alike."""

    def __init__(self, answer):
        self._answer = answer

    def createReusableExecution(self, request, measure, loop_timeout_ns):
        return self

    def compute(self, deadline_ns):
        return self._answer

    def execute(self, request, measure, deadline_ns, loop_timeout_ns):
        return self._answer


def refused(words, action, *arguments):
    with pytest.raises(NnapiError, match=words) as error:
        action(*arguments)
    assert error.value.code is ResultCode.OP_FAILED


GOOD = ExecutionResult(ErrorStatus.NONE, (OutputShape((4,)),))
SHORT = ErrorStatus.OUTPUT_INSUFFICIENT_SIZE


def test_a_good_answer_passes():
    device = PartialDevice("good")
    assert run(device).status is ErrorStatus.NONE
    device.prepare = lambda *_: Answers(GOOD)
    assert run(device) == GOOD
    assert run(device, (0,)) == GOOD
    assert run(device, ()) == GOOD


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "must be an ExecutionResult"),
        (GOOD._replace(status=ErrorStatus.GENERAL_FAILURE), "GENERAL_FAILURE"),
        (GOOD._replace(status=SHORT), "the outputs deny it"),
        (GOOD._replace(output_shapes=(OutputShape((4,), False),)), "the outputs deny it"),
        (GOOD._replace(output_shapes=()), r"outputs \[\]"),
        (GOOD._replace(output_shapes=(OutputShape((100, 100)),)), r"declared are \[\[4\]\]"),
        (GOOD._replace(output_shapes=(OutputShape((1,)),)), r"declared are \[\[4\]\]"),
        (GOOD._replace(output_shapes=("four",)), "four"),
        (GOOD._replace(output_shapes=(OutputShape(("4",)),)), "declared"),
        (GOOD._replace(timing=Timing("long", None)), "numbers of ns"),
    ],
)
def test_a_wrong_answer_is_a_failure(answer, words):
    device = PartialDevice("wrong")
    device.prepare = lambda *_: Answers(answer)
    refused(words, run, device)


def test_several_models_at_once():
    """Of a device that can; another one, or one that fails, is told of."""
    device = PartialDevice("together")
    assert GuardedDevice(device).compileTogether([], CacheHandles("/", bytes(32)), 1) is False
    given = []
    device.compileTogether = lambda *arguments: given.append(arguments) or 1 / len(arguments[0])
    ask = GuardedDevice(device).compileTogether
    assert ask(["model"], CacheHandles("/", bytes(32)), 1) is True
    assert given == [(["model"], CacheHandles("/", bytes(32)), 1)]
    refused(r"together\.compileTogether", ask, [], CacheHandles("/", bytes(32)), 1)


def test_no_prepared_model():
    device = PartialDevice("none")
    device.prepare = lambda *_: None
    refused("must be an IPreparedModel", run, device)


@pytest.mark.parametrize("answer", [None, "fast", (1, 2)])
def test_no_capabilities(answer):
    device = PartialDevice("none")
    device.getCapabilities = lambda: answer
    refused("must be Capabilities", GuardedDevice(device).getCapabilities)


def test_figures_that_are_no_numbers():
    device = PartialDevice("text", figures=("fast", "little"))
    refused("must be Capabilities", GuardedDevice(device).getCapabilities)


def test_answers_of_support_become_true_or_false():
    device = PartialDevice("words")
    device.getSupportedOperations = lambda model: ["yes"]
    assert GuardedDevice(device).getSupportedOperations(graph().model()) == [True]


def element(dimensions, is_sufficient=True):
    return (OutputShape(dimensions, is_sufficient),)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (GOOD._replace(output_shapes=element((1000,))), "16 bytes are said to be enough"),
        (ExecutionResult(SHORT, element((4,), False)), "16 bytes are said to be too few"),
        (GOOD._replace(output_shapes=None), "TypeError"),
        (GOOD._replace(timing=None), "TypeError"),
        (GOOD._replace(timing=(1, 2, 3)), "times are numbers"),
        (GOOD._replace(timing=Timing(-1, None)), "times are numbers"),
        (GOOD._replace(timing=Timing(1 << 64, None)), "times are numbers"),
    ],
)
def test_nonsense_about_outputs_of_unknown_size(answer, words):
    device = PartialDevice("wrong")
    device.prepare = lambda *_: Answers(answer)
    refused(words, run, device, ())


def test_what_cannot_be_shown():
    class Unshowable:
        def __repr__(self):
            raise GeneratorExit

    def fail(*_):
        raise Unspeakable

    class Unspeakable(BaseException):
        def __str__(self):
            raise KeyError

    device = PartialDevice("wrong")
    device.prepare = lambda *_: Answers(Unshowable())
    refused("the answer is <Unshowable>; it must be an ExecutionResult", run, device)
    device.prepare = fail
    refused("raised Unspeakable: it cannot be shown", run, device)
