"""Pictures as inputs of a model."""

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.tools.input_files import quantized, short, shown

PICTURE_BYTES = 1 << 28
"""Size limit of a decoded picture, in bytes."""

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Channels -> Pillow's image mode."""
_BYTES = {OperandType.TENSOR_QUANT8_ASYMM: 0, OperandType.TENSOR_QUANT8_ASYMM_SIGNED: -128}
"""Type of one byte -> the value of a black pixel."""


@dataclass(frozen=True)
class Picture:
    """The conversion of pictures to inputs.

    resize: whether to scale a picture of another size, with a bilinear filter; otherwise it is an
        error. scaled: receives a description of each scaled picture.
    mean, std: the value of a pixel is (0..255 - mean) / std. Without both, a quantized input of 8
        bits gets the pixel itself, 0..255 or -128..127, for which its scale and zero point are
        usually chosen; a float input gets pixel / 255.
    """

    resize: bool = False
    mean: float | None = None
    std: float | None = None
    scaled: list[str] = field(default_factory=list, repr=False, compare=False)

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


def read_picture(path: str, content: bytes, argument: Argument, how: Picture) -> Array:
    """An input from the content of a picture file; path: for messages."""
    size = _image_size(argument)
    if size is None:
        raise bad_data(
            f"{path} is taken for a picture, and the input, {argument.type.name}"
            f"{shown(argument.dimensions)}, takes none; .npy, .json, .csv and "
            ".bin files hold any array",
            "tool.inputs.no-picture-input",
        )
    height, width, channels, is_first = size
    pixels = _pixels(path, content, height, width, _MODES[channels], how)
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


def _pixels(path: str, content: bytes, height: int, width: int, mode: str, how: Picture) -> Array:
    """A picture as bytes [height, width(, channels)]."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as opened:
            if opened.width * opened.height * 4 > PICTURE_BYTES:
                raise bad_data(
                    f"{path} is {opened.width} x {opened.height}, too large for an input",
                    "tool.inputs.picture-too-large",
                )
            image: Any = _of_bytes(ImageOps.exif_transpose(opened)).convert(mode)
    except UnidentifiedImageError:
        raise bad_data(
            f"{path} is no picture that can be read; names of other files end in "
            ".npy, .npz, .json, .csv or .bin",
            "tool.inputs.not-a-picture",
        ) from None
    except NnapiError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise bad_data(
            f"{path} is a damaged picture: {short(error)}", "tool.inputs.picture-damaged"
        ) from None
    target = (width or image.width, height or image.height)
    if image.size != target:
        if not how.resize:
            raise bad_data(
                f"{path} is {image.width} x {image.height}; the input is {target[0]} x "
                f"{target[1]} (width x height), and --resize scales pictures",
                "tool.inputs.picture-size",
            )
        how.scaled.append(
            f"{path} scaled from {image.width} x {image.height} to {target[0]} x {target[1]} "
            "(width x height) with a bilinear filter"
        )
        image = image.resize(target, Image.Resampling.BILINEAR)
    return np.asarray(image)


def _of_bytes(image: Any) -> Any:
    """A 16-bit picture reduced to its upper 8 bits; Pillow would clamp it to 255."""
    from PIL import Image

    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image, np.int64) >> 8).clip(0, 255).astype(np.uint8))
