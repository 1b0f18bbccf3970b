"""load: reads a model from a file of any supported format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.tflite import file as tflite_file
from nnapi_shim.recording.container import is_capture

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialModel

Path = str | os.PathLike[str]
Shapes = Mapping[str, Sequence[int]]


def is_onnx(data: bytes, path: Path) -> bool:
    """Whether a file is read as .onnx: by its name, or by its first bytes."""
    if tflite_file.is_tflite(data):
        return False
    if os.fsdecode(path).lower().endswith(".onnx"):
        return True
    from nnapi_shim.formats.onnx.file import is_onnx

    return is_onnx(data)


@overload
def load(  # noqa: D418
    path: Path,
    *,
    signature: str | None = None,
    partial: Literal[False] = False,
    shapes: Shapes | None = None,
) -> Model:
    """A model."""


@overload
def load(  # noqa: D418
    path: Path,
    *,
    signature: str | None = None,
    partial: Literal[True],
    shapes: Shapes | None = None,
) -> PartialModel:
    """A model in parts."""


def load(
    path: Path,
    *,
    signature: str | None = None,
    partial: bool = False,
    shapes: Shapes | None = None,
) -> Model | PartialModel:
    """The finished model of a .tflite or .onnx file, or of a capture (docs/capture.md).

        model = nnapi_shim.load("model.tflite")
        nnapi_shim.Compilation(model).run(image)

    Inputs and outputs have the names of the signature or, without one, those of the tensors. States
    of recurrent networks are carried from run to run. A scalar of the file has dimensions [1].

    signature: the name of a signature; by default the first. Models of captures are called "model
        1" and so on.
    partial: True for a PartialModel, in which LiteRT, or ONNX Runtime for an .onnx file, runs the
        operators that NNAPI cannot express.
    shapes: sizes of inputs by name, which replace the fixed or open sizes of the file; all other
        dimensions are inferred. Open sizes of .onnx files must be given.

    Raises NnapiError: BAD_DATA for a file that is damaged or of another kind, and for operators
        that NNAPI cannot express, each with its reason; OSError for a file that cannot be read;
        ImportError for missing packages.
    """
    data = tflite_file.contents(path)
    if not data:
        raise bad_data(f"{os.fspath(path)} is empty", "file.empty")
    if is_capture(data[:64]):
        from nnapi_shim.formats.capture import load_capture

        if shapes:
            raise bad_data(
                "shapes are of .tflite and .onnx files; this is a capture", "import.shapes"
            ).at(os.fspath(path))
        return load_capture(path, signature)
    try:
        if is_onnx(data, path):
            from nnapi_shim.formats.onnx import model as onnx_model

            if signature is not None:
                raise bad_data("signatures are of .tflite files", "import.onnx.options")
            folder = os.fsdecode(os.path.dirname(os.path.abspath(path)))  # noqa: PTH100, PTH120
            if partial:
                return onnx_model.loaded_partially(data, folder, shapes)
            return onnx_model.loaded(data, folder, shapes)
        if not tflite_file.is_tflite(data):
            raise bad_data(
                "it is no file of a kind that is read: .tflite, .onnx, captures", "import.file-kind"
            )
        from nnapi_shim.formats.tflite import model

        return model.loaded(data, signature, partial, shapes)
    except NnapiError as error:
        raise error.at(os.fspath(path)) from None
