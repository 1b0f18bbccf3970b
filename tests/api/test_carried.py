"""State that is carried from run to run."""

import threading

import numpy as np
import pytest

from nnapi_shim import Execution, Model, NnapiError


def counting(initial: object = None, **of_output: object) -> Model:
    """Adds its input to what it has added up so far; gives twice the sum."""
    with Model() as model:
        total = model.input("TENSOR_FLOAT32", [2], name="total")
        x = model.input("TENSOR_FLOAT32", [2], name="x")
        sum = model.operation("ADD", [total, x, 0], name="sum")
        model.outputs(sum, model.operation("ADD", [sum, sum, 0], name="twice"))
        model.carry(total, sum, initial)
    return model


def test_a_run_begins_where_the_one_before_ended(device: str) -> None:
    compilation = counting().compile(device)
    assert compilation.input_names == ("x",)
    assert compilation.output_names == ("twice",)
    assert compilation.run([1, 2]).tolist() == [2, 4]
    assert compilation.run(x=[1, 2]).tolist() == [4, 8]
    assert compilation.run_named({"x": [0, 0]})["twice"].tolist() == [4, 8]
    compilation.reset()
    assert compilation.run([1, 2]).tolist() == [2, 4]


def test_every_compilation_has_its_own_state(device: str) -> None:
    model = counting([10, 20])
    one, other = model.compile(device), model.compile(device)
    assert one.run([1, 1]).tolist() == [22, 42]
    assert other.run([1, 1]).tolist() == [22, 42]


def test_a_run_that_fails_leaves_the_state(device: str) -> None:
    compilation = counting().compile(device)
    compilation.run([1, 1])
    with pytest.raises(NnapiError):
        compilation.run([1, 1, 1])
    assert compilation.run([0, 0]).tolist() == [2, 2]


def test_threads_take_turns(device: str) -> None:
    compilation = counting().compile(device)
    threads = [
        threading.Thread(target=lambda: [compilation.run([1, 2]) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compilation.run([0, 0]).tolist() == [160, 320]


def test_call_by_call_nothing_is_carried(device: str) -> None:
    compilation = counting().compile(device)
    execution = Execution(compilation)
    outputs = np.empty((2, 2), np.float32)
    for index, value in enumerate(([5, 5], [1, 1])):
        execution.set_input(index, value)
        execution.set_output(index, outputs[index])
    execution.compute()
    assert outputs.tolist() == [[6, 6], [12, 12]]


def test_what_is_carried_can_be_seen() -> None:
    (state,) = counting([3, 4]).carried
    assert (state.input, state.output, state.initial.tolist()) == (0, 0, [3, 4])


def test_zero_of_a_quantized_state_is_its_zero_point() -> None:
    with Model() as model:
        state = model.input("TENSOR_QUANT8_ASYMM", [2], 0.5, 7)
        new = model.operation("RELU", [state])
        model.outputs(new)
        model.carry(state, new)
    assert model.carried[0].initial.tolist() == [7, 7]


def test_carried_after_finish() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        y = model.operation("ADD", [x, [1.0], 0])
        model.outputs(y)
    model.carry(x, y)
    compilation = model.compile()
    assert compilation.run() is not None or compilation.inputs == ()


@pytest.mark.parametrize(
    ("target", "source", "initial", "words"),
    [
        ("x", "x", None, "operand 1 'x' is no output of the model"),
        ("sum", "twice", None, "operand 4 'sum' is no input of the model"),
        ("other", "twice", None, r"cannot become operand 2 'other' TENSOR_FLOAT32\[3\]"),
        ("x", "twice", [1, 2, 3], r"the initial value has dimensions \[3\]"),
        ("open", "opened", None, "operand 3 'open' TENSOR_FLOAT32.* needs an initial value"),
    ],
)
def test_what_cannot_be_carried(target: str, source: str, initial: object, words: str) -> None:
    model = Model()
    names = {}

    def put(operand):
        names[operand.name] = operand
        return operand

    total = put(model.input("TENSOR_FLOAT32", [2], name="total"))
    x = put(model.input("TENSOR_FLOAT32", [2], name="x"))
    put(model.input("TENSOR_FLOAT32", [3], name="other"))
    unknown = put(model.input("TENSOR_FLOAT32", [None], name="open"))
    sum = put(model.operation("ADD", [total, x, np.int32(0)], name="sum"))
    names["sum"] = sum
    twice = put(model.operation("ADD", [sum, sum, np.int32(0)], name="twice"))
    opened = put(model.operation("RELU", [unknown], name="opened"))
    model.outputs(twice, opened)
    words = words.replace("operand 4 'sum'", f"operand {sum.index} 'sum'")
    with pytest.raises(NnapiError, match=words):
        model.carry(names[target], names[source], initial)


def test_an_input_is_carried_once() -> None:
    model = counting()
    with pytest.raises(NnapiError, match="operand 0 'total' is carried already"):
        model.carry(0, 2)
