"""Writes models as files; the suffix of the path names the format."""

import os
from importlib import import_module
from pathlib import Path

from nnapi_shim import savers
from nnapi_shim.api.argument_types import wrong_type
from nnapi_shim.api.base_model import require_model
from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.formats import output_file

FORMATS = {
    ".tflite": ("tflite.exporting", "TensorFlow Lite"),
    ".onnx": ("onnx.exporting", "ONNX"),
    ".c": ("source.c", "C source"),
    ".py": ("source.python", "Python source"),
}
"""Suffix -> the module whose `export` creates the files, and the name of the format."""


def save(model: Model, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a finished model as .tflite, .onnx, .c or .py.

    overwrite: whether existing files are replaced.
    Raises BAD_STATE for an unfinished model; BAD_DATA for another suffix, a file that cannot be
    written, a missing package, and operations that the format cannot express: one message lists all
    of them, and nothing is written.
    """
    require_model(model)
    if not isinstance(path, str | bytes | os.PathLike):
        raise wrong_type("path", path, "the path of a file")
    target = Path(os.fsdecode(path))
    if target.suffix.lower() not in FORMATS:
        raise bad_data(
            f"{target} has the suffix {target.suffix!r}; allowed are {list(FORMATS)}",
            "export.suffix",
        )
    model.runtime.require_finished()
    output_file.require_free(target, overwrite)
    name, _ = FORMATS[target.suffix.lower()]
    exporter = import_module(f"nnapi_shim.formats.{name}")
    files: dict[output_file.Target, bytes] = exporter.export(model, target)
    output_file.write_all(files, overwrite)


savers.register(save)
