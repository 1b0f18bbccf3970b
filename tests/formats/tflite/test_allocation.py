"""What the import makes is in proportion to the file."""

import ast
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

import nnapi_shim.formats.tflite
from nnapi_shim import NnapiError
from nnapi_shim.formats.importing.allocation import ALWAYS, TIMES, Room
from tests.formats.tflite.building import Building, Spec
from tests.formats.tflite.cases import F, f32, s8
from tests.formats.tflite.running import model_of

FOLDER = Path(nnapi_shim.formats.tflite.__file__).parent
MADE = {
    *("arange", "broadcast_arrays", "broadcast_to", "empty", "empty_like", "eye", "full"),
    *("full_like", "fromfunction", "geomspace", "identity", "indices", "kron", "linspace"),
    *("logspace", "meshgrid", "ones", "ones_like", "outer", "pad", "repeat", "resize", "tile"),
    *("tri", "vander", "zeros", "zeros_like"),
}
"""Functions of numpy whose results are as large as a number says."""


def sources() -> list[Path]:
    files = [*FOLDER.glob("*.py"), *FOLDER.glob("importing/*.py")]
    return [path for path in files if path.name != "allocation.py"]


def makers(tree: ast.AST) -> list[ast.Call]:
    """Calls of such functions, but for those with a literal size, such as np.zeros(1, ...)."""
    actual = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of_numpy = isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy")
        is_method = node.func.attr in ("repeat", "resize")
        is_literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
        if (of_numpy and node.func.attr in MADE and not is_literal) or is_method:
            actual.append(node)
    return actual


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_nothing_is_made_elsewhere(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert [f"{path.name}:{node.lineno}" for node in makers(tree)] == []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy"):
            assert not MADE & {alias.name for alias in node.names}


def test_what_it_finds() -> None:
    bad = "np.ones(n)\nnumpy.full(s, 1)\nx.repeat(3)\nnp.empty(0, t)\nnp.array([1])\nroom.filled(s)"
    assert [node.lineno for node in makers(ast.parse(bad))] == [1, 2, 3]


def dense_hashes() -> bytes:
    """LSH_PROJECTION of 2^29 rows that no byte of the file holds; its weights are left out."""
    made = Building()
    hashes, data = made.constant(f32(2, 2)), made.tensor(F(2**29))
    y = made.tensor(Spec("INT32", (4,)))
    made.operator("LSH_PROJECTION", [hashes, data], [y], "LSHProjectionOptions", type=2)
    made.ends([data], [y])
    return made.file()


def quantized_sequence() -> bytes:
    """A quantized LSTM of 100 steps of a batch of 2^20."""
    made = Building()
    data = made.tensor(Spec("INT8", (2**20, 100, 4), 1 / 64))
    weights = [made.tensor(s8(3, 4, scale=0.01)) for _ in range(4)]
    second = [made.tensor(s8(3, 3, scale=0.01)) for _ in range(4)]
    biases = [made.constant(np.arange(3, dtype=np.int32), 0.01 / 64) for _ in range(4)]
    first = made.tensor(Spec("INT8", (2**20, 3), 1 / 128, is_variable=True))
    cell = made.tensor(Spec("INT16", (2**20, 3), 1 / 2048, is_variable=True))
    y = made.tensor(Spec("INT8", (2**20, 100, 3), 1 / 128))
    inputs = [data, *weights, *second, -1, -1, -1, *biases, -1, -1, first, cell, *[-1] * 4]
    kind = "UnidirectionalSequenceLSTMOptions"
    made.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [y], kind, fusedActivationFunction=4)
    made.ends([data], [y])
    return made.file()


def state() -> bytes:
    """An RNN whose state is large."""
    made = Building()
    x, y = made.tensor(F(1, 2)), made.tensor(F(1, 3))
    large = made.tensor(Spec("FLOAT32", (2**15, 2**15), is_variable=True))
    weights = [made.constant(f32(3, 2)), made.constant(f32(3, 3)), made.constant(f32(3))]
    made.operator("RNN", [x, *weights, large], [y], "RNNOptions", fusedActivationFunction=4)
    made.ends([x], [y])
    return made.file()


def numbers(count: int = 2**30, times: int = 1) -> bytes:
    """RANGEs up to a number."""
    made = Building()
    limits = [made.constant(np.int32(value)) for value in (0, count, 1)]
    results = [made.tensor(Spec("INT32", (count,))) for _ in range(times)]
    for result in results:
        made.operator("RANGE", limits, [result], "RangeOptions")
    made.ends([], results)
    return made.file()


def many_numbers() -> bytes:
    """RANGEs each of which is small enough."""
    return numbers(2**20, 64)


def one_hot() -> bytes:
    made = Building()
    x, y = made.tensor(Spec("INT32", (1,))), made.tensor(F(1, 2**30))
    rest = [made.constant(np.int32(2**30)), made.constant(f32()), made.constant(f32())]
    made.operator("ONE_HOT", [x, *rest], [y], "OneHotOptions", axis=-1)
    made.ends([x], [y])
    return made.file()


def bias() -> bytes:
    """Weights that are an input, for 2^28 units; the bias is left out."""
    made = Building()
    x, y, weights = made.tensor(F(1, 1)), made.tensor(F(1, 2**28)), made.tensor(F(2**28, 1))
    made.operator("FULLY_CONNECTED", [x, weights, -1], [y], "FullyConnectedOptions")
    made.ends([x, weights], [y])
    return made.file()


FILES = (dense_hashes, quantized_sequence, state, numbers, many_numbers, one_hot, bias)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_small_file_that_asks_for_much(make: Callable[[], bytes]) -> None:
    data = make()
    assert len(data) < 20000
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(NnapiError, match=f"bytes; for a file of {len(data)} bytes"):
            model_of(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * ALWAYS + 64 * len(data)
    assert time.process_time() - began < 10


def test_room() -> None:
    room = Room(1000)
    assert room.filled([2, 3], 7, np.int16, "x").tolist() == [[7] * 3] * 2
    assert room.counted(3, np.int32, "x").tolist() == [0, 1, 2]
    assert room.repeated(np.array([1, 2], np.int8), [2, 2], "x").tolist() == [[1, 2]] * 2
    assert room.empty([0, 2**40], np.int8, "x").size == 0
    room.take(ALWAYS + TIMES * 1000 - 12 - 12 - 4, "the rest")
    with pytest.raises(NnapiError, match=r"^.*one more takes 1 bytes; for a file of 1000 bytes"):
        room.take(1, "one more")
    with pytest.raises(NnapiError, match="too large takes"):
        room.empty([0, 2**62, 2**62], np.int8, "too large")
