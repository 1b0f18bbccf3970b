"""Tensors of other libraries and buffers, in and out, and that nothing is copied."""

import array
import mmap

import numpy as np
import pytest

from nnapi_shim import Compilation, Execution, Model, NnapiError
from nnapi_shim.api import buffers
from nnapi_shim.hal.enums import OperandType as T


class Tensor:
    """A tensor of another library: it knows DLPack and nothing else of numpy."""

    def __init__(self, contents: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.contents, self.device = contents, device

    def __dlpack__(self, **options):
        return self.contents.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OlderTensor(Tensor):
    """One whose DLPack says nothing of whether it may be written to; numpy's own way tells."""

    def __dlpack__(self, **options):
        return self.contents.__dlpack__()

    def __array__(self, dtype=None, copy=None):
        return self.contents


def doubling(dimensions=(2, 3), type="TENSOR_FLOAT32") -> Model:
    with Model() as model:
        x = model.input(type, dimensions)
        model.outputs(model.add(x, x))
    return model


@pytest.fixture
def compilation(device: str) -> Compilation:
    return doubling().compile(device)


NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


def mapped(contents: bytes) -> mmap.mmap:
    actual = mmap.mmap(-1, len(contents))
    actual[:] = contents
    return actual


INPUTS = {
    "bytes": lambda: NUMBERS.tobytes(),
    "bytearray": lambda: bytearray(NUMBERS.tobytes()),
    "memoryview of bytes": lambda: memoryview(NUMBERS.tobytes()),
    "memoryview of numbers": lambda: memoryview(NUMBERS),
    "flat memoryview": lambda: memoryview(NUMBERS.tobytes()).cast("f"),
    "array.array": lambda: array.array("f", NUMBERS.ravel()),
    "mmap": lambda: mapped(NUMBERS.tobytes()),
    "tensor": lambda: Tensor(NUMBERS.copy()),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs(compilation: Compilation, kind: str) -> None:
    np.testing.assert_array_equal(compilation.run(INPUTS[kind]()), 2 * NUMBERS)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs_are_read_in_place(kind: str) -> None:
    inputs = INPUTS[kind]()
    actual = buffers.contents(inputs, T.TENSOR_FLOAT32, (2, 3))
    assert actual.shape == (2, 3)
    source = inputs.contents if kind == "tensor" else np.frombuffer(inputs, np.uint8)
    assert address(actual) == address(source)


def test_an_execution_reads_what_is_there_when_it_runs(device: str) -> None:
    inputs, taken = bytearray(NUMBERS.tobytes()), bytearray(NUMBERS.nbytes)
    execution = Execution(doubling().compile(device), reusable=True)
    execution.set_input(0, inputs)
    execution.set_output(0, taken)
    execution.compute()
    np.testing.assert_array_equal(np.frombuffer(taken, np.float32).reshape(2, 3), 2 * NUMBERS)
    inputs[:4] = np.float32(21).tobytes()
    execution.compute()
    assert np.frombuffer(taken, np.float32)[0] == 42


OUTPUTS = {
    "array": lambda: np.zeros((2, 3), np.float32),
    "bytearray": lambda: bytearray(24),
    "memoryview": lambda: memoryview(bytearray(24)),
    "array.array": lambda: array.array("f", [0] * 6),
    "mmap": lambda: mapped(bytes(24)),
    "tensor": lambda: Tensor(np.zeros((2, 3), np.float32)),
    "older tensor": lambda: OlderTensor(np.zeros((2, 3), np.float32)),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_are_written_in_place(compilation: Compilation, kind: str) -> None:
    target = OUTPUTS[kind]()
    result = compilation.run(NUMBERS, out=target)
    memory = target.contents if "tensor" in kind else np.frombuffer(target, np.float32)
    np.testing.assert_array_equal(memory.reshape(2, 3), 2 * NUMBERS)
    assert address(result) == address(memory)
    np.testing.assert_array_equal(compilation.run(NUMBERS + 1, out=[target]), 2 * NUMBERS + 2)


def test_results_are_tensors_for_others(compilation: Compilation) -> None:
    result = compilation.run(NUMBERS)
    assert result.__dlpack_device__() == (1, 0)
    assert address(np.from_dlpack(result)) == address(result)


def test_inputs_that_cannot_be_read_in_place_are_copied(compilation: Compilation) -> None:
    wide = np.zeros((2, 6), np.float32)
    wide[:, ::2] = NUMBERS
    expected = 2 * NUMBERS
    np.testing.assert_array_equal(compilation.run(wide[:, ::2]), expected)
    np.testing.assert_array_equal(compilation.run(np.asfortranarray(NUMBERS)), expected)
    np.testing.assert_array_equal(compilation.run(NUMBERS.astype(">f4")), expected)
    unaligned = np.frombuffer(b"\0" + NUMBERS.tobytes(), np.uint8)[1:].view(np.float32)
    np.testing.assert_array_equal(compilation.run(unaligned.reshape(2, 3)), expected)
    NUMBERS.flags.writeable = False
    try:
        np.testing.assert_array_equal(compilation.run(NUMBERS), expected)
    finally:
        NUMBERS.flags.writeable = True


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (b"\0" * 24, "it must be writable"),
        (memoryview(b"\0" * 24), "it must be writable"),
        (np.zeros((3, 2), np.float32).T, "in row-major order"),
        (np.zeros((2, 3)), "output 0 is given as float64; TENSOR_FLOAT32 needs float32"),
        (bytearray(20), r"5 elements are given; TENSOR_FLOAT32\[2, 3\] has 6"),
        (bytearray(23), "23 bytes are given; elements of TENSOR_FLOAT32 have 4"),
        ([np.zeros((2, 3), np.float32)] * 2, "2 places for outputs given; the model has 1"),
        (Tensor(NUMBERS, (2, 0)), "have to be copied first"),
    ],
)
def test_outputs_that_cannot_be_written(compilation: Compilation, target, words: str) -> None:
    with pytest.raises(NnapiError, match=f"BAD_DATA: .*{words}"):
        compilation.run(NUMBERS, out=target)


def test_what_is_no_output(compilation: Compilation) -> None:
    with pytest.raises(
        TypeError, match=r"output 0 is 'x' .*; it must be an array, a tensor or a b"
    ):
        compilation.run(NUMBERS, out="x")


def test_an_output_over_an_input(compilation: Compilation) -> None:
    """It is computed apart and copied in place."""
    numbers = NUMBERS.copy()
    compilation.run(numbers, out=numbers)
    np.testing.assert_array_equal(numbers, 2 * NUMBERS)


def test_unknown_dimensions(device: str) -> None:
    one = doubling((None, 3)).compile(device)
    np.testing.assert_array_equal(one.run(NUMBERS.tobytes()), 2 * NUMBERS)
    two = doubling((None, None)).compile(device)
    with pytest.raises(NnapiError, match="has unknown dimensions, which a buffer does not tell"):
        two.run(NUMBERS.tobytes())
    with pytest.raises(NnapiError, match=r"5 elements are given; TENSOR_FLOAT32\[0, 3\]"):
        one.run(np.arange(5, dtype=np.float32).tobytes())


def test_some_outputs_given(device: str) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [4])
        model.outputs(*model.split(x, 0, 2))
    second = np.zeros(2, np.float32)
    results = model.compile(device).run([1, 2, 3, 4], out=[None, second])
    assert [r.tolist() for r in results] == [[1, 2], [3, 4]]
    assert results[1] is second or address(results[1]) == address(second)


def test_other_element_types(device: str) -> None:
    compilation = doubling((3,), "TENSOR_INT32").compile(device)
    assert compilation.run(array.array("i", [1, 2, 3])).tolist() == [2, 4, 6]
    assert compilation.run([1, 2, 3]).tolist() == [2, 4, 6]
    with Model() as model:
        b = model.input("TENSOR_BOOL8", [2])
        model.outputs(model.logical_not(b))
    assert model.compile(device).run(b"\1\0").tolist() == [False, True]
