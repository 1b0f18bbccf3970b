"""Inputs of a model: arrays from files, pictures, or random numbers."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.quantization import quantize
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS

if TYPE_CHECKING:
    from nnapi_shim.formats.tflite.partial import PartialCompilation

ARRAYS = (".npy", ".npz")
PICTURE_BYTES = 1 << 28
"""Size limit of a decoded picture, in bytes."""

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Channels -> Pillow's image mode."""
_BYTES = {OperandType.TENSOR_QUANT8_ASYMM: 0, OperandType.TENSOR_QUANT8_ASYMM_SIGNED: -128}
"""Type of one byte -> the value of a black pixel."""


@dataclass(frozen=True)
class Picture:
    """The conversion of pictures to inputs.

    resize: whether to scale a picture of another size; otherwise it is an error.
    mean, std: the value of a pixel is (0..255 - mean) / std. Without both, a quantized input of 8
        bits gets the pixel itself, 0..255 or -128..127, for which its scale and zero point are
        usually chosen; a float input gets pixel / 255.
    """

    resize: bool = False
    mean: float | None = None
    std: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether neither mean nor std is set."""
        return self.mean is None and self.std is None

    def real(self, pixels: Array) -> Array:
        """Pixels as real numbers."""
        mean = 0.0 if self.mean is None else self.mean
        std = 255.0 if self.std is None else self.std
        if not std:
            raise bad_data("std is 0; pixels cannot be divided by it", "tool.inputs.std-zero")
        result: Array = (pixels.astype(np.float32) - np.float32(mean)) / np.float32(std)
        return result


def read_inputs(
    compilation: "Compilation | PartialCompilation",
    files: Sequence[str | os.PathLike[str]],
    how: Picture | None = None,
) -> list[Array]:
    """One array for each input of a compilation.

    files: in the order of the inputs, or each as `name=file`: .npy; one .npz, with arrays by the
    names of the inputs or in their order; any other file is a picture.

    Float arrays for a quantized input are quantized with its scale and zero point. Raises BAD_DATA
    for arrays that do not match an input, OSError for files that cannot be read.
    """
    names, arguments = compilation.input_names, compilation.inputs
    arrays: dict[int, Array] = {}
    free = range(len(arguments))
    for item in files:
        text = os.fspath(item)
        name, separator, path = text.partition("=")
        if separator and name in names:
            positions = [names.index(name)]
        elif separator and not Path(text).exists():
            raise bad_data(
                f"there is no input {name!r}; there are {', '.join(names)}", "tool.inputs.name"
            )
        else:
            path, positions = text, []
        if path.endswith(".npz"):
            for position, array in _of_archive(path, compilation).items():
                arrays[position] = fitted(array, arguments[position], f"{path}, {names[position]}")
            continue
        if not positions:
            positions = [position for position in free if position not in arrays][:1]
            if not positions:
                raise bad_data(
                    f"{path} is one input too many; the model has {len(arguments)}",
                    "tool.inputs.too-many",
                )
        (position,) = positions
        if position in arrays:
            raise bad_data(f"input {names[position]!r} is given twice", "tool.inputs.twice")
        arrays[position] = read_input(path, arguments[position], how or Picture())
    missing = [names[position] for position in range(len(arguments)) if position not in arrays]
    if missing:
        raise bad_data(f"nothing is given for {', '.join(missing)}", "tool.inputs.missing")
    return [arrays[position] for position in range(len(arguments))]


def read_input(path: str, argument: Argument, how: Picture) -> Array:
    """An array for an input from a .npy file or a picture."""
    if path.endswith(".npy"):
        return fitted(_array(path), argument, path)
    return _picture(path, argument, how)


def fitted(array: Array, argument: Argument, what: str) -> Array:
    """An array converted to an input's type and dimensions. Raises BAD_DATA if it cannot be."""
    declared = argument.dimensions
    scalar = argument.type in SCALARS and array.size == 1
    if scalar:
        array = array.reshape(())
    elif declared and not (
        len(array.shape) == len(declared)
        and all(size in (0, actual) for size, actual in zip(declared, array.shape, strict=True))
    ):
        raise bad_data(
            f"{what} has dimensions {list(array.shape)}; the input has {shown(declared)}",
            "tool.inputs.dimensions",
        )
    if array.dtype.kind == "f" and argument.type in QUANTIZED_RANGE:
        return quantized(array, argument)
    return array


def quantized(array: Array, argument: Argument) -> Array:
    """The numbers of a quantized input for real numbers, as nnapi_shim.quantize makes them."""
    if np.isnan(array).any():
        raise bad_data("not a number cannot be quantized", "tool.inputs.nan")
    return quantize(array, argument.scale, argument.zero_point, argument.type)


def real(array: Array, argument: Argument) -> Array:
    """The real (dequantized) numbers of an array of an input or output."""
    if argument.type in QUANTIZED_RANGE and argument.scale:
        steps = array.astype(np.float64) - argument.zero_point
        result: Array = steps * argument.scale
        return result
    return array


def made_up(arguments: Sequence[Argument], seed: int = 0) -> list[Array]:
    """A random array for each input; the seed determines the values.

    Floats are from 0 to 1; quantized values cover the range; integers are 0 and 1, which are valid
    indexes in almost all models. Unknown dimensions become 1. Raises BAD_DATA for an unknown rank
    and for types of extensions.
    """
    return [
        _random(argument, np.random.default_rng((seed, position)), position)
        for position, argument in enumerate(arguments)
    ]


def _random(argument: Argument, rng: np.random.Generator, position: int) -> Array:
    kind = argument.type
    dtype = DTYPES.get(kind)
    if dtype is None or (kind not in SCALARS and not argument.dimensions):
        raise bad_data(
            f"nothing can be made up for input {argument.name or position}, "
            f"{getattr(kind, 'name', 'of an extension')}{shown(argument.dimensions)}; give one",
            "tool.inputs.no-random-values",
        )
    shape = tuple(size or 1 for size in argument.dimensions)
    if dtype.kind == "f":
        return np.asarray(rng.random(shape), dtype)
    if kind in QUANTIZED_RANGE:
        low, high = QUANTIZED_RANGE[kind]
        return np.asarray(rng.integers(low, high, shape, endpoint=True), dtype)
    return np.asarray(rng.integers(0, 1, shape, endpoint=True), dtype)


def shown(dimensions: Sequence[int]) -> str:
    """Dimensions in a message, `?` for an unknown one."""
    return f"[{', '.join(str(size) if size else '?' for size in dimensions)}]"


# Files


def _array(path: str) -> Array:
    loaded = _loaded(path)
    if not isinstance(loaded, np.ndarray):
        raise bad_data(
            f"{path} is no single array of numpy; such files end in .npz", "tool.inputs.not-npy"
        )
    return loaded


def _loaded(path: str) -> Array | dict[str, Array]:
    """The content of a numpy file: an array, or arrays by name."""
    from zipfile import BadZipFile

    # Opened here, because numpy does not close a file that it cannot read.
    with Path(path).open("rb") as file:
        try:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            return {name: loaded[name] for name in loaded.files}
        except (ValueError, EOFError, BadZipFile, KeyError, AttributeError, TypeError) as error:
            raise bad_data(
                f"{path} is no file of numpy: {_short(error)}", "tool.inputs.not-numpy"
            ) from None


def _of_archive(path: str, compilation: "Compilation | PartialCompilation") -> dict[int, Array]:
    """Arrays of a .npz file by the positions of inputs."""
    names, arrays = compilation.input_names, _loaded(path)
    if isinstance(arrays, np.ndarray):
        raise bad_data(
            f"{path} is a single array of numpy; such files end in .npy", "tool.inputs.not-npz"
        )
    if set(names) <= arrays.keys():
        return {position: arrays[name] for position, name in enumerate(names)}
    if len(arrays) == len(names) and not arrays.keys() & set(names):
        return dict(enumerate(arrays.values()))
    raise bad_data(
        f"{path} has {', '.join(arrays) or 'no arrays'}; the inputs are {', '.join(names)}",
        "tool.inputs.npz-names",
    )


def _picture(path: str, argument: Argument, how: Picture) -> Array:
    size = _image_size(argument)
    if size is None:
        raise bad_data(
            f"{path} is taken for a picture, and the input, {argument.type.name}"
            f"{shown(argument.dimensions)}, takes none; a .npy file holds any array",
            "tool.inputs.no-picture-input",
        )
    height, width, channels, is_first = size
    pixels = _pixels(path, height, width, _MODES[channels], how.resize)
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    if is_first:
        pixels = pixels.transpose(2, 0, 1)
    if len(argument.dimensions) == 4:
        pixels = pixels[np.newaxis]
    dark = _BYTES.get(argument.type)
    if dark is not None and how.is_plain:
        return np.ascontiguousarray((pixels.astype(np.int16) + dark).astype(DTYPES[argument.type]))
    values = np.ascontiguousarray(how.real(pixels))
    if argument.type in QUANTIZED_RANGE:
        return quantized(values, argument)
    if DTYPES[argument.type].kind != "f":
        return np.ascontiguousarray(pixels.astype(DTYPES[argument.type]))
    return values


def _image_size(argument: Argument) -> tuple[int, int, int, bool] | None:
    """Height, width (0: any), channels of the pictures that an input takes, and whether the layout
    is channels-first; None for an input that takes no pictures.
    """
    dimensions = argument.dimensions
    if argument.type not in DTYPES or len(dimensions) not in (3, 4):
        return None
    if len(dimensions) == 4:
        if dimensions[0] not in (0, 1):
            return None
        dimensions = dimensions[1:]
    if dimensions[2] in _MODES:
        return dimensions[0], dimensions[1], dimensions[2], False
    if dimensions[0] in _MODES:
        return dimensions[1], dimensions[2], dimensions[0], True
    return None


def _pixels(path: str, height: int, width: int, mode: str, resize: bool) -> Array:
    """A picture as bytes [height, width(, channels)]."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            if opened.width * opened.height * 4 > PICTURE_BYTES:
                raise bad_data(
                    f"{path} is {opened.width} x {opened.height}, too large for an input",
                    "tool.inputs.picture-too-large",
                )
            image: Any = _of_bytes(ImageOps.exif_transpose(opened)).convert(mode)
    except UnidentifiedImageError:
        raise bad_data(
            f"{path} is no picture that can be read, and no .npy file", "tool.inputs.not-a-picture"
        ) from None
    except NnapiError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise bad_data(
            f"{path} is a damaged picture: {_short(error)}", "tool.inputs.picture-damaged"
        ) from None
    target = (width or image.width, height or image.height)
    if image.size != target:
        if not resize:
            raise bad_data(
                f"{path} is {image.width} x {image.height}; the input is {target[0]} x "
                f"{target[1]} (width x height), and --resize scales pictures",
                "tool.inputs.picture-size",
            )
        image = image.resize(target, Image.Resampling.BILINEAR)
    return np.asarray(image)


def _of_bytes(image: Any) -> Any:
    """A 16-bit picture reduced to its upper 8 bits; Pillow would clamp it to 255."""
    from PIL import Image

    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image, np.int64) >> 8).clip(0, 255).astype(np.uint8))


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
