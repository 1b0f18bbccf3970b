"""Files that lie: each is refused with one line that names the place, and nothing larger than the
file is made for it.
"""

import itertools
import math
import os
import re
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import NnapiError, ResultCode, load
from nnapi_shim.formats.tflite.file import read
from tests.formats.tflite.building import Building, Spec, one_operator
from tests.formats.tflite.cases import F, I, Q, f32
from tests.formats.tflite.fuzzing import outcome, rounds
from tests.formats.tflite.running import model_of
from tests.formats.tflite.test_whole import CELLS, branches, free_batch

ROUNDS = 400
FOLDER = Path(__file__).resolve().parents[4] / "shared" / "models"


def refusal(data: bytes) -> str:
    with pytest.raises(NnapiError) as caught:
        read(data)
    assert caught.value.code is ResultCode.BAD_DATA
    assert "\n" not in caught.value.message
    return caught.value.message


def good() -> Building:
    """X -> CONV_2D -> y, with constants 1 and 2."""
    made = Building()
    x, y = made.tensor(F(1, 4, 4, 2)), made.tensor(F(1, 3, 3, 3))
    filter, bias = made.constant(f32(3, 2, 2, 2)), made.constant(f32(3))
    fields = {"padding": 1, "strideW": 1, "strideH": 1}
    made.operator("CONV_2D", [x, filter, bias], [y], "Conv2DOptions", **fields)
    made.ends([x], [y])
    return made


def tensor(made: Building, number: int = 2) -> Any:
    return made.model.subgraphs[0].tensors[number]


def operator(made: Building) -> Any:
    return made.model.subgraphs[0].operators[0]


def scaled(made: Building, **fields: Any) -> None:
    """Make tensor 0 a quantized one."""
    changed = made.model.subgraphs[0].tensors[0]
    other = Building()
    other.tensor(Spec("INT8", (1, 4, 4, 2), 0.5))
    changed.type, changed.quantization = 9, other.current.tensors[0].quantization
    for name, value in fields.items():
        setattr(changed.quantization, name, value)


def set_(target: Callable[[Building], Any], name: str, value: Any) -> Callable[[Building], None]:
    return lambda made: setattr(target(made), name, value)


def beyond(made: Building) -> None:
    buffer = made.model.buffers[1]
    buffer.offset, buffer.size = 10**6, 96


LIES: dict[str, tuple[Callable[[Building], None], str]] = {
    "input": (
        set_(operator, "inputs", [99, 2, 3]),
        "operator 0 CONV_2D: input 0 is tensor 99; the graph has 4",
    ),
    "negative input": (
        set_(operator, "inputs", [-7, 2, 3]),
        "operator 0 CONV_2D: input 0 is tensor -7; the graph has 4",
    ),
    "output": (
        set_(operator, "outputs", [4]),
        "operator 0 CONV_2D: output 0 is tensor 4; the graph has 4",
    ),
    "omitted output": (
        set_(operator, "outputs", [-1]),
        "operator 0 CONV_2D: an input or output is tensor -1",
    ),
    "constant output": (
        set_(operator, "outputs", [2]),
        "operator 0 CONV_2D: its output, tensor 2 't2', is a constant",
    ),
    "its own input": (
        set_(operator, "inputs", [1, 2, 3]),
        "operator 0 CONV_2D: input 0 is tensor 1, which operator 0 CONV_2D writes later",
    ),
    "code": (set_(operator, "opcodeIndex", 3), "operator 0: code 3 does not exist; the file has 1"),
    "options": (
        set_(operator, "builtinOptionsType", 250),
        "operator 0 CONV_2D: options 250 belong to no operator",
    ),
    "graph input": (
        lambda made: setattr(made.current, "inputs", [50]),
        "graph 0: input 0 is tensor 50; the graph has 4",
    ),
    "twice": (
        lambda made: setattr(made.current, "inputs", [0, 0]),
        "a tensor is an input of the graph twice",
    ),
    "buffer": (set_(tensor, "buffer", 77), "tensor 2: buffer 77; the file has 3"),
    "type": (
        set_(tensor, "type", 101),
        "tensor 2: element type 101; known are those up to 22",
    ),
    "size": (
        set_(tensor, "shape", [3, 2, 2, 3]),
        "tensor 2: 96 bytes of data; FLOAT32[3, 2, 2, 3] has 144",
    ),
    "huge": (
        set_(tensor, "shape", [2**30, 2**30, 2**30]),
        "tensor 2: 96 bytes of data; FLOAT32[1073741824, 1073741824, 1073741824] has",
    ),
    "negative shape": (set_(tensor, "shape", [3, -2, 2, 2]), "tensor 2: shape [3, -2, 2, 2]"),
    "signature": (
        set_(tensor, "shapeSignature", [-1]),
        "tensor 2: shape [3, 2, 2, 2], and in its signature [-1]",
    ),
    "rank": (set_(tensor, "shape", [1] * 65), "tensor 2: it has 65 dimensions"),
    "version": (
        lambda made: setattr(made.model, "version", 4),
        "it has schema version 4; supported is version 3",
    ),
    "scale": (lambda made: scaled(made, scale=[float("nan")]), "tensor 0: a scale is nan"),
    "no scale": (lambda made: scaled(made, scale=[0.0]), "tensor 0: a scale is 0"),
    "zero point": (
        lambda made: scaled(made, zeroPoint=[128]),
        "tensor 0: zero point 128; INT8 has -128 to 127",
    ),
    "zero points": (
        lambda made: scaled(made, zeroPoint=[1, 2]),
        "tensor 0: 2 zero points for 1 scales",
    ),
    "channels": (
        lambda made: scaled(made, scale=[1.0, 2.0], zeroPoint=[0, 0], quantizedDimension=1),
        "tensor 0: 2 scales along dimension 1 of [1, 4, 4, 2]",
    ),
    "channel dimension": (
        lambda made: scaled(made, scale=[1.0, 2.0], zeroPoint=[0, 0], quantizedDimension=-9),
        "tensor 0: 2 scales along dimension -9 of [1, 4, 4, 2]",
    ),
    "beyond": (
        beyond,
        "tensor 2: bytes 1000000 to 1000096; the file has ",
    ),
    "signature of no graph": (
        lambda made: made.signature("s", {"x": 0}, {"y": 1}, 5),
        "signature 0 's': graph 5; the file has 1",
    ),
    "signature of no input": (
        lambda made: made.signature("s", {"x": 3}, {"y": 1}),
        "signature 0 's': Inputs has tensor 3, which is none of them",
    ),
    "no graph": (lambda made: setattr(made.model, "subgraphs", []), "the file has no graph"),
}


def test_the_file_is_good() -> None:
    assert len(read(good().file()).graphs[0].operators) == 1


@pytest.mark.parametrize("name", LIES)
def test_lie(name: str) -> None:
    lie, message = LIES[name]
    made = good()
    lie(made)
    assert message in refusal(made.file())


def test_every_length() -> None:
    """Cut anywhere, a file is refused or, in the padding of its end, still whole."""
    data = free_batch()
    for length in range(len(data)):
        try:
            read(data[:length])
        except NnapiError as error:
            assert "\n" not in error.message
        else:
            assert length > len(data) - 16


def test_vector_that_is_longer_than_the_file() -> None:
    data = bytearray(good().file())
    inputs = data.find(struct.pack("<4i", 3, 0, 2, 3))  # its length, and the indices
    data[inputs : inputs + 4] = struct.pack("<I", 2**32 - 1)
    tracemalloc.start()
    assert re.search(
        "operator 0 CONV_2D: Inputs has 4294967295 elements, and the file", refusal(bytes(data))
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_shared_parts_do_not_multiply() -> None:
    """Vectors may be shared; reading one for each of many operators is more than the file has."""
    made = good()
    operator(made).inputs = [0, 2, 3] * 1000
    made.current.operators.extend([operator(good())] * 999)
    data = bytearray(made.file())
    entries = data.find(struct.pack("<I", 1000)) + 4
    tables = [
        entry + struct.unpack_from("<I", data, entry)[0]
        for entry in range(entries, entries + 4000, 4)
    ]
    longest = tables[0]
    for at in range(1000):
        struct.pack_into("<I", data, entries + 4 * at, longest - entries - 4 * at)
    tracemalloc.start()
    assert "its tables and vectors exceed the file size" in refusal(bytes(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * len(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (
            b"PK\3\4 and so on, and more",
            "it is not a model; a .tflite or .onnx file or a capture is needed",
        ),
        (b"\x18\0\0\0TFL3", "it has 8 bytes, which is no whole .tflite file"),
        (b"\xff\xff\xff\xffTFL3" + bytes(40), "the model: an offset points outside the file"),
        (b"\x08\0\0\0TFL3" + b"\xff" * 40, "an offset points outside the file"),
    ],
)
def test_other_files(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    with pytest.raises(NnapiError, match=re.escape(message)) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NnapiError, match="is no regular file"):
        load("/dev/zero")
    with pytest.raises(NnapiError, match=f"{re.escape(str(tmp_path))} is no regular file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.tflite")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(NnapiError, match="is no regular file"):
        load(pipe)


def test_newer_operator() -> None:
    made = good()
    made.model.operatorCodes[0].builtinCode = 9999
    with pytest.raises(
        NnapiError, match="operator 0 BUILTIN_9999: this version does not know the operator"
    ):
        model_of(made.file())


def test_data_behind_the_flatbuffer() -> None:
    """Large files have their constants there."""
    made = good()
    value = f32(3, 2, 2, 2)
    made.model.buffers[1].data = None
    made.model.buffers[1].offset, made.model.buffers[1].size = 2**20, value.nbytes
    data = made.file().ljust(2**20, b"\0") + value.tobytes()
    result = read(data).graphs[0].tensors[2].value
    assert result is not None
    np.testing.assert_array_equal(result, value)


def test_shape_of_real_numbers() -> None:
    made = Building()
    x, y = made.tensor(F(2, 3)), made.tensor(F(3, 2))
    made.operator("RESHAPE", [x, made.constant(f32(2))], [y])
    made.ends([x], [y])
    with pytest.raises(NnapiError, match="operator 0 RESHAPE: its shape is of float32"):
        model_of(made.file())


@pytest.mark.parametrize("alpha", [math.nan, math.inf, -math.inf, 1e30])
def test_slope_that_is_no_number_of_its_type(alpha: float) -> None:
    def came(spec: Spec) -> str:
        return outcome(one_operator("LEAKY_RELU", [spec], [spec], "LeakyReluOptions", alpha=alpha))

    assert came(Q(2, 5)) == ("read" if math.isnan(alpha) else "model")
    assert came(F(2, 5)) == "model"
    assert came(I(2, 5)) == "read"


def test_changed_files() -> None:
    files = [free_batch(), good().file(), branches(), CELLS["SEQUENCE_LSTM"]()]
    files += [
        path.read_bytes() for path in sorted(FOLDER.glob("*.tflite")) if path.stat().st_size < 20000
    ]
    came = {what for _, what in itertools.islice(rounds(files, 13), ROUNDS)}
    assert {"read", "model"} < came
    assert len(came) > 20


def test_numbers_of_64_bits_that_are_too_large() -> None:
    made = Building()
    x, y = made.tensor(F(2, 3)), made.tensor(F(3, 2))
    shape = made.constant(np.array([3, 2**40], np.int64))
    made.operator("RESHAPE", [x, shape], [y])
    made.ends([x], [y])
    with pytest.raises(NnapiError, match="operator 0 RESHAPE: "):
        model_of(made.file())
