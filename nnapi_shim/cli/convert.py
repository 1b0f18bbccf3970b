"""`nnapi-shim convert`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import Force, ModelPath
from nnapi_shim.cli.output import AsJson, present, require_json, write
from nnapi_shim.units import count, size

if TYPE_CHECKING:
    from nnapi_shim.tools.convert import Converted


def convert(
    model: ModelPath,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file; its suffix is the format: .tflite, .onnx, .c, .py, or .json for a "
            "summary.",
        ),
    ],
    force: Force = False,
    as_json: AsJson = None,
) -> None:
    """Write a model in another format. An existing file is kept, unless --force.

    Example: nnapi-shim convert capture.zip -o model.tflite
    """
    from nnapi_shim.tools.convert import convert as make

    require_json(as_json, force)
    present(make(model, output, force), as_json, force, _show)


def _show(converted: "Converted") -> None:
    operations = count(converted.operations, "operation")
    write(f"{converted.path}: {operations}, {size(converted.bytes)}")
