"""Conversion of a model to another format."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from nnapi_shim.errors import bad_data
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.report import Report
from nnapi_shim.tools.summary import summary

SUMMARY = ".json"
"""Suffix of a summary file."""


@dataclass(frozen=True)
class Converted(Report):
    """The written file, its size in bytes, and the number of the model's operations."""

    model: str
    path: str
    bytes: int
    operations: int


def convert(source: Source, path: str | os.PathLike[str], overwrite: bool = False) -> Converted:
    """Write a model as .tflite, .onnx, .c or .py, or its summary as .json.

    overwrite: whether to replace an existing file. Raises NnapiError for a model that cannot be
    loaded or expressed and for a file that cannot be written; nothing is written then.
    """
    from nnapi_shim.formats import output_file
    from nnapi_shim.formats.save import FORMATS, save

    suffix = Path(path).suffix.lower()
    if suffix not in (*FORMATS, SUMMARY):
        allowed = ", ".join((*FORMATS, SUMMARY))
        raise bad_data(
            f"{os.fspath(path)} has the suffix {suffix!r}; allowed are {allowed}", "export.suffix"
        )
    output_file.require_free(path, overwrite)
    model = model_of(source)
    if suffix == SUMMARY:
        content = {**summary(model).to_json(), "model": name_of(source)}
        output_file.write(path, f"{json.dumps(content, indent=1)}\n".encode(), overwrite)
    else:
        save(model, path, overwrite)
    return Converted(
        name_of(source), os.fspath(path), Path(path).stat().st_size, len(model.operations)
    )
