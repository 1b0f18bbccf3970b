"""Sizes of inputs that the caller says, and tensors of rank above 4."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import Compilation, Model, NnapiError, load
from nnapi_shim.tools.model_source import model_of
from tests.formats.tflite.building import Array, Building, Spec
from tests.formats.tflite.cases import F, f32, i32
from tests.formats.tflite.running import DEVICES, Litert, assert_same, compare
from tests.formats.tflite.running import model_of as imported
from tests.formats.tflite.test_whole import flattened, free_batch


def fixed() -> bytes:
    """A convolution of a batch of 1, framed by what is computed of its shape."""
    made = Building()
    x = made.tensor(Spec("FLOAT32", (1, 6, 4), name="x"))
    shape, batch = made.tensor(Spec("INT32", (3,))), made.tensor(Spec("INT32", (2,)))
    sizes = made.tensor(Spec("INT32", (4,)))
    image, actual = made.tensor(F(1, 6, 2, 2)), made.tensor(F(1, 6, 2, 3))
    result = made.tensor(Spec("FLOAT32", (1, 6, 3), name="y"))
    made.operator("SHAPE", [x], [shape], "ShapeOptions", outType=2)
    made.operator("SLICE", [shape, made.constant(i32([0])), made.constant(i32([2]))], [batch])
    tail = made.constant(i32(2, 2))
    made.operator("CONCATENATION", [batch, tail], [sizes], "ConcatenationOptions", axis=0)
    made.operator("RESHAPE", [x, sizes], [image])
    weights = [made.constant(f32(3, 1, 1, 2)), made.constant(f32(3))]
    fields = {"padding": 0, "strideW": 1, "strideH": 1}
    made.operator("CONV_2D", [image, *weights], [actual], "Conv2DOptions", **fields)
    made.operator("MEAN", [actual, made.constant(i32([2]))], [result], "ReducerOptions")
    made.ends([x], [result])
    return made.file()


def saved(folder: Path, data: bytes) -> Path:
    path = folder / "model.tflite"
    path.write_bytes(data)
    return path


def assert_as_litert(model: Model, data: bytes, x: Array) -> None:
    expected = Litert(data).run(x)
    for device in DEVICES:
        assert_same(Compilation(model, device).run(x), expected)


@pytest.mark.parametrize("sizes", [(1, 6, 4), (3, 6, 4), (2, 9, 4)])
def test_sizes_that_the_file_fixes(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path = saved(tmp_path, fixed())
    model = load(path, shapes={"x": sizes})
    assert [operand.dimensions for operand in model.input_operands] == [sizes]
    assert [operand.dimensions for operand in model.output_operands] == [(*sizes[:2], 3)]
    assert_as_litert(model, fixed(), f32(*sizes))
    parts = load(path, partial=True, shapes={"x": list(sizes)})
    assert_same(parts.compile("nnapi-cpu").run(f32(*sizes)), Litert(fixed()).run(f32(*sizes)))


def test_sizes_that_the_file_leaves_open(tmp_path: Path) -> None:
    model = load(saved(tmp_path, free_batch()), shapes={"x": (5, 4)})
    assert model.input_operands[0].dimensions == (5, 4)
    assert model.output_operands[0].dimensions == (5, 3)
    assert_as_litert(model, free_batch(), f32(5, 4))
    made = load(saved(tmp_path, flattened()), shapes={"t0": (4, 2, 3)})
    assert made.output_operands[0].dimensions == (4, 6)


def test_sizes_on_the_command_line(tmp_path: Path) -> None:
    path = saved(tmp_path, free_batch())
    assert model_of(f"{path}@x=5,4").input_operands[0].dimensions == (5, 4)
    assert model_of(path).input_operands[0].dimensions == (0, 4)
    strange = tmp_path / "a@b.tflite"
    path.rename(strange)
    assert model_of(f"{strange}@x=5,4").input_operands[0].dimensions == (5, 4)
    with pytest.raises(NnapiError, match=r"@x=5,many is not NAME=SIZE,SIZE\.\.\., with integers"):
        model_of(f"{strange}@x=5,many")


@pytest.mark.parametrize(
    ("shapes", "messages"),
    [
        ({"y": (1, 6, 4)}, "shapes: input 'y' does not exist; the model has 'x'"),
        ({"x": (6, 4)}, r"shapes: input 'x' is given \[6, 4\]; in the file it has 3 dimensions"),
        ({"x": (0, 6, 4)}, r"sizes are integers from 1"),
        ({"x": (1.5, 6, 4)}, r"sizes are integers from 1"),
        ({"x": (1, 6, 5)}, "operator 3 RESHAPE"),
    ],
)
def test_sizes_that_do_not_fit(
    tmp_path: Path, shapes: dict[str, tuple[int]], messages: str
) -> None:
    with pytest.raises(NnapiError, match=f"^BAD_DATA: .*{messages}"):
        load(saved(tmp_path, fixed()), shapes=shapes)


def shuffled() -> bytes:
    """Pixels to depth by way of rank 6, as exporters write it."""
    made = Building()
    x = made.tensor(Spec("FLOAT32", (2, 4, 6, 3), name="x"))
    wide, turned = made.tensor(F(2, 2, 2, 3, 2, 3)), made.tensor(F(2, 2, 3, 2, 2, 3))
    large, result = made.tensor(F(2, 2, 3, 2, 2, 3)), made.tensor(F(2, 2, 3, 12))
    made.operator("RESHAPE", [x, made.constant(i32(2, 2, 2, 3, 2, 3))], [wide])
    made.operator("TRANSPOSE", [wide, made.constant(i32(0, 1, 3, 2, 4, 5))], [turned])
    made.operator("NEG", [turned], [large])
    made.operator("RESHAPE", [large, made.constant(i32(2, 2, 3, -1))], [result])
    made.ends([x], [result])
    return made.file()


def test_rank_above_4(tmp_path: Path) -> None:
    data = shuffled()
    model = load(saved(tmp_path, data))
    assert [operation.name for operation in model.operations] == [
        "RESHAPE",
        "TRANSPOSE",
        "RESHAPE",
        "NEG",
        "RESHAPE",
    ]
    assert_as_litert(model, data, f32(2, 4, 6, 3))


def test_inputs_of_rank_above_4_stay() -> None:
    made = Building()
    x, y = made.tensor(F(2, 1, 2, 1, 3)), made.tensor(F(4, 3))
    made.operator("RESHAPE", [x, made.constant(i32(4, 3))], [y])
    made.ends([x], [y])
    with pytest.raises(NnapiError, match=r"RESHAPE: input .*rank 5"):
        imported(made.file())


def test_dimensions_that_cannot_be_merged() -> None:
    made = Building()
    x, wide = made.tensor(F(12, 6)), made.tensor(F(2, 3, 2, 3, 2))
    y = made.tensor(F(2, 3, 2, 3, 2))
    made.operator("RESHAPE", [x, made.constant(i32(2, 3, 2, 3, 2))], [wide])
    made.operator("TRANSPOSE", [wide, made.constant(i32(4, 3, 2, 1, 0))], [y])
    made.ends([x], [y])
    with pytest.raises(NnapiError, match="5 of its dimensions cannot be merged"):
        imported(made.file())


def test_values_are_kept() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 12)
    made = Building()
    a, b, c = made.tensor(F(2, 12)), made.tensor(F(2, 1, 3, 1, 4)), made.tensor(F(4, 1, 3, 1, 2))
    made.operator("RESHAPE", [a, made.constant(i32(2, 1, 3, 1, 4))], [b])
    made.operator("TRANSPOSE", [b, made.constant(i32(4, 1, 2, 3, 0))], [c])
    made.ends([a], [c])
    compare(made.file(), x)
