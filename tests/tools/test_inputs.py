"""Inputs from arrays and pictures."""

import numpy as np
import pytest
from PIL import Image

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.tools.inputs import Picture, made_up, quantized, read_inputs, real
from tests.tools.models import quantized as quantized_model


def taking(kind, dimensions, scale=0.0, zero_point=0):
    """A compilation with one input."""
    with Model() as model:
        x = model.input(kind, dimensions, scale, zero_point, name="image")
        operation = "RELU" if "QUANT" in kind or "FLOAT" in kind else "ABS"
        model.outputs(model.operation(operation, [x]))
    return Compilation(model, "nnapi-reference")


@pytest.fixture
def picture(tmp_path):
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 10
    path = tmp_path / "picture.png"
    Image.fromarray(pixels).save(path)
    return path, pixels


def only(arrays):
    (array,) = arrays
    return array


def test_bytes_are_the_pixels(picture) -> None:
    path, pixels = picture
    unsigned = taking("TENSOR_QUANT8_ASYMM", [1, 2, 3, 3], 0.0078125, 128)
    np.testing.assert_array_equal(only(read_inputs(unsigned, [path])), pixels[np.newaxis])
    signed = taking("TENSOR_QUANT8_ASYMM_SIGNED", [1, 2, 3, 3], 1 / 255, -128)
    result = only(read_inputs(signed, [path]))
    assert result.dtype == np.int8
    np.testing.assert_array_equal(result, pixels[np.newaxis].astype(int) - 128)


def test_of_sixteen_bits_the_upper_ones_count(tmp_path) -> None:
    grey = np.linspace(0, 65535, 6).reshape(2, 3).astype(np.uint16)
    path = tmp_path / "grey.png"
    Image.fromarray(grey).save(path)
    compilation = taking("TENSOR_QUANT8_ASYMM", [1, 2, 3, 3], 0.0078125, 128)
    result = only(read_inputs(compilation, [path]))
    np.testing.assert_array_equal(result, np.repeat(grey[np.newaxis, ..., np.newaxis] >> 8, 3, 3))


def test_floats(picture) -> None:
    path, pixels = picture
    compilation = taking("TENSOR_FLOAT32", [1, 2, 3, 3])
    result = only(read_inputs(compilation, [path]))
    np.testing.assert_allclose(result, pixels[np.newaxis] / 255, rtol=1e-6)
    result = only(read_inputs(compilation, [path], Picture(mean=127.5, std=127.5)))
    np.testing.assert_allclose(result, (pixels[np.newaxis] - 127.5) / 127.5, rtol=1e-6)


def test_mean_and_std_count_for_quantized_inputs(picture) -> None:
    path, pixels = picture
    compilation = taking("TENSOR_QUANT8_ASYMM", [1, 2, 3, 3], 1 / 255, 0)
    result = only(read_inputs(compilation, [path], Picture(mean=0, std=510)))
    np.testing.assert_array_equal(result, np.rint(pixels[np.newaxis] / 2))


def test_channels_in_front_and_grey(picture) -> None:
    path, _ = picture
    first = taking("TENSOR_FLOAT32", [1, 3, 4, 5])
    result = only(read_inputs(first, [path], Picture(resize=True)))
    last = taking("TENSOR_FLOAT32", [1, 4, 5, 3])
    expected = only(read_inputs(last, [path], Picture(resize=True)))
    np.testing.assert_array_equal(result, expected.transpose(0, 3, 1, 2))
    grey = only(read_inputs(taking("TENSOR_FLOAT32", [1, 2, 3, 1]), [path]))
    expected = np.asarray(Image.open(path).convert("L"))
    np.testing.assert_allclose(grey[0, :, :, 0], expected / 255, rtol=1e-6)


def test_sizes(picture) -> None:
    path, _ = picture
    compilation = taking("TENSOR_FLOAT32", [1, 4, 5, 3])
    with pytest.raises(NnapiError, match=r"is 3 x 2; the input is 5 x 4 \(width x height\)"):
        read_inputs(compilation, [path])
    assert only(read_inputs(compilation, [path], Picture(resize=True))).shape == (1, 4, 5, 3)
    free = taking("TENSOR_FLOAT32", [1, None, None, 3])
    assert only(read_inputs(free, [path])).shape == (1, 2, 3, 3)


def test_no_picture(tmp_path, picture) -> None:
    path, _ = picture
    with pytest.raises(NnapiError, match="takes none"):
        read_inputs(taking("TENSOR_FLOAT32", [7]), [path])
    compilation = taking("TENSOR_FLOAT32", [1, 2, 3, 3])
    text = tmp_path / "text.png"
    text.write_text("no picture")
    with pytest.raises(NnapiError, match="no picture"):
        read_inputs(compilation, [text])
    cut = tmp_path / "cut.png"
    cut.write_bytes(path.read_bytes()[:45])
    with pytest.raises(NnapiError, match="damaged"):
        read_inputs(compilation, [cut])
    with pytest.raises(FileNotFoundError):
        read_inputs(compilation, [tmp_path / "none.png"])


def test_arrays(tmp_path) -> None:
    compilation = Compilation(quantized_model(), "nnapi-reference")
    first, second = (np.full((2, 3), n, np.uint8) for n in (1, 2))
    np.save(tmp_path / "a.npy", first)
    np.save(tmp_path / "b.npy", second)
    a, b = str(tmp_path / "a.npy"), str(tmp_path / "b.npy")
    np.testing.assert_array_equal(read_inputs(compilation, [a, b]), [first, second])
    named = read_inputs(compilation, [f"input_1={a}", b])
    np.testing.assert_array_equal(named, [second, first])
    np.savez(tmp_path / "both.npz", input_0=first, input_1=second)
    both = read_inputs(compilation, [tmp_path / "both.npz"])
    np.testing.assert_array_equal(both, [first, second])
    np.savez(tmp_path / "unnamed.npz", first, second)
    both = read_inputs(compilation, [tmp_path / "unnamed.npz"])
    np.testing.assert_array_equal(both, [first, second])
    with pytest.raises(NnapiError, match="nothing is given for input_1"):
        read_inputs(compilation, [a])
    with pytest.raises(NnapiError, match="one input too many"):
        read_inputs(compilation, [a, b, a])
    with pytest.raises(NnapiError, match="given twice"):
        read_inputs(compilation, [f"input_0={a}", f"input_0={b}"])
    with pytest.raises(NnapiError, match="no input 'input_9'"):
        read_inputs(compilation, [f"input_9={a}", b])
    np.savez(tmp_path / "other.npz", input_0=first)
    with pytest.raises(NnapiError, match="the inputs are input_0, input_1"):
        read_inputs(compilation, [tmp_path / "other.npz"])


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY\x01\x00", b"PK\x03\x04"])
def test_damaged_arrays(tmp_path, suffix, content) -> None:
    path = tmp_path / f"damaged.{suffix}"
    path.write_bytes(content)
    with pytest.raises(NnapiError, match="is no file of numpy" if content else "is empty"):
        read_inputs(taking("TENSOR_FLOAT32", [2]), [path])


def test_objects_are_not_unpickled(tmp_path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(NnapiError, match="no file of numpy"):
        read_inputs(taking("TENSOR_FLOAT32", [1]), [tmp_path / "objects.npy"])


def test_other_dimensions(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.float32))
    with pytest.raises(NnapiError, match=r"dimensions \[2, 2\]; the input has \[3, \?\]"):
        read_inputs(taking("TENSOR_FLOAT32", [3, None]), [tmp_path / "a.npy"])


def test_real_numbers_are_quantized(tmp_path) -> None:
    compilation = taking("TENSOR_QUANT8_ASYMM", [4], 0.5, 10)
    np.save(tmp_path / "a.npy", np.array([0, 0.25, 1, 1000]))
    result = only(read_inputs(compilation, [tmp_path / "a.npy"]))
    np.testing.assert_array_equal(result, [10, 11, 12, 255])  # 0.25 as QUANTIZE rounds it
    np.testing.assert_array_equal(real(result, compilation.inputs[0]), [0, 0.5, 1, 122.5])
    with pytest.raises(NnapiError, match="not a number"):
        quantized(np.array([np.nan] * 4), compilation.inputs[0])


def test_made_up_inputs_are_the_same_again() -> None:
    arguments = Compilation(quantized_model(), "nnapi-reference").inputs
    first, second = made_up(arguments, 3), made_up(arguments, 3)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, made_up(arguments, 4))
    assert not np.array_equal(*first)
    assert [array.dtype for array in first] == [np.uint8] * 2
    indexes = only(made_up([arguments[0]._replace(type=T.TENSOR_INT32, dimensions=(50, 0))]))
    assert indexes.shape == (50, 1)
    assert set(indexes.ravel()) == {0, 1}
    with pytest.raises(NnapiError, match="give one"):
        made_up([arguments[0]._replace(dimensions=())])
