"""`nnapi-shim convert`."""

from pathlib import Path
from typing import Annotated

import typer

from nnapi_shim.cli.arguments import Force, ModelPath
from nnapi_shim.cli.output import AsJson, require_json, write, write_json
from nnapi_shim.units import count, size


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
    converted = make(model, output, force)
    if as_json:
        write_json(converted, as_json, force)
    else:
        operations = count(converted.operations, "operation")
        write(f"{converted.path}: {operations}, {size(converted.bytes)}")
