"""Damaged and hostile .onnx files: one refusal, little memory."""

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import nnapi_shim
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.onnx.model import loaded

FLOAT = TensorProto.FLOAT
MOST = 400 * 2**20


def file(nodes: list[Any], initializers: tuple[Any, ...] = (), opset: int = 17) -> bytes:
    """A file with input x [2, 3] and output y."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        initializer=list(initializers),
    )
    opsets = [helper.make_opsetid("", opset)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())


def longs(name: str, *values: int) -> Any:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


WHOLE = file(
    [
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["product"]),
        helper.make_node("Relu", ["product"], ["y"]),
    ],
    (
        longs("shape", 1, -1),
        helper.make_tensor("w", FLOAT, [6, 4], np.arange(24, dtype=np.float32).tobytes(), raw=True),
    ),
)


def refused(data: bytes) -> str:
    """The message of a refusal, for which little memory was allocated."""
    tracemalloc.start()
    try:
        with pytest.raises(NnapiError) as error:
            loaded(data, None)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    message = error.value.message
    assert "\n" not in message
    assert len(message) < 4000
    return message


def test_the_whole_file_is_taken() -> None:
    x = np.ones((2, 3), np.float32)
    result = nnapi_shim.Compilation(loaded(WHOLE, None)).run(x)
    assert result.tolist() == [[60, 66, 72, 78]]


@pytest.mark.parametrize("size", range(0, len(WHOLE), 23))
def test_a_file_that_ends_early(size: int) -> None:
    try:
        loaded(WHOLE[:size], None)
    except NnapiError as error:
        assert error.rule.startswith("import.onnx.")


def test_changed_bytes() -> None:
    rng = random.Random(3)
    refusals = 0
    for _ in range(400):
        data = bytearray(WHOLE)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            loaded(bytes(data), None)
        except NnapiError:
            refusals += 1
    assert refusals > 60


FILL = helper.make_node("ConstantOfShape", ["size"], ["c"])
HUGE = {
    "fill": file(
        [FILL, helper.make_node("Add", ["x", "c"], ["y"])], (longs("size", 2**31, 2**31),)
    ),
    "filled": file(
        [FILL, helper.make_node("Cumsum", ["c"], ["y"])], (longs("size", 2**20, 2**19),)
    ),
    "cast": file(
        [
            FILL,
            helper.make_node("Cast", ["c"], ["d"], to=TensorProto.INT64),
            helper.make_node("Add", ["d", "d"], ["y"]),
        ],
        (longs("size", 2**30),),
    ),
    "range": file(
        [helper.make_node("Range", ["a", "b", "c"], ["y"])],
        tuple(
            helper.make_tensor(name, TensorProto.INT64, [], [value])
            for name, value in (("a", 0), ("b", 2**40), ("c", 1))
        ),
    ),
    "tile": file(
        [helper.make_node("Tile", ["one", "n"], ["y"])], (longs("one", 1), longs("n", 2**36))
    ),
    "pads": file(
        [helper.make_node("Pad", ["x", "p"], ["y"], mode="edge")], (longs("p", 0, 2**33, 0, 0),)
    ),
    "dims": file(
        [helper.make_node("Relu", ["w"], ["y"])],
        (TensorProto(name="w", data_type=FLOAT, dims=[2**40, 2**20], raw_data=b"1234"),),
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_small_file_that_claims_much(name: str) -> None:
    assert refused(HUGE[name])


def test_many_empty_messages() -> None:
    nodes = b"\x0a\x00" * 400_000
    graph = b"\x3a" + _varint(len(nodes)) + nodes
    assert "too many messages" in refused(b"\x08\x09" + graph)


def test_deep_nesting() -> None:
    data = b""
    for _ in range(300):  # a graph in an attribute of a node of a graph
        attribute = b"\x32" + _varint(len(data)) + data
        node = b"\x2a" + _varint(len(attribute)) + attribute
        data = b"\x0a" + _varint(len(node)) + node
    graph = b"\x3a" + _varint(len(data)) + data
    assert "nested more than" in refused(b"\x08\x09" + graph)


def test_a_function_that_calls_itself() -> None:
    call = helper.make_node("Again", ["a"], ["b"], domain="own")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    second = helper.make_function("own", "Again", ["a"], ["b"], [call], opsets)
    graph = helper.make_graph(
        [helper.make_node("Again", ["x"], ["y"], domain="own")],
        "graph",
        [helper.make_tensor_value_info("x", FLOAT, [2])],
        [helper.make_tensor_value_info("y", FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=[second], ir_version=9)
    assert "nested" in refused(model.SerializeToString())


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "a/../../b", ""])
def test_constants_in_other_places(tmp_path: Any, location: str) -> None:
    (tmp_path / "secret").write_bytes(b"1234")
    folder = tmp_path / "models"
    folder.mkdir()
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1], data_location=1)
    for key, value in (("location", location), ("offset", "0"), ("length", "4")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    path = folder / "model.onnx"
    path.write_bytes(file([helper.make_node("Add", ["x", "w"], ["y"])], (tensor,)))
    with pytest.raises(NnapiError) as error:
        nnapi_shim.load(path)
    assert error.value.rule == "import.onnx.external.location"


def test_constants_beside_the_model(tmp_path: Any) -> None:
    (tmp_path / "model.data").write_bytes(np.array([7, 1, 2, 3], np.float32).tobytes())
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[3], data_location=1)
    for key, value in (("location", "model.data"), ("offset", "4"), ("length", "12")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    path = tmp_path / "model.onnx"
    path.write_bytes(file([helper.make_node("Add", ["x", "w"], ["y"])], (tensor,)))
    result = nnapi_shim.Compilation(nnapi_shim.load(path)).run(np.zeros((2, 3), np.float32))
    assert result.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_a_file_of_another_kind(tmp_path: Any) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"PK\x03\x04" * 50)
    with pytest.raises(NnapiError, match=r"it is no \.onnx file"):
        nnapi_shim.load(path)


def test_reasons_are_grouped() -> None:
    nodes = [helper.make_node("Det", ["x"], [f"d{at}"]) for at in range(5)]
    message = refused(file([*nodes, helper.make_node("Relu", ["x"], ["y"])]))
    assert "5 of 6 operators have no place" in message
    assert "5 operators Det (0, 1, 2, ...): no combination" in message


def _varint(value: int) -> bytes:
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])
