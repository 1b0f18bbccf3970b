"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ModelPath = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A .tflite or .onnx file or a capture, optionally followed by `#NAME` (signature, or "
        "model of the capture) and `@INPUT=SIZE,SIZE...` (sizes of an input); or a Python file or "
        "`module:attribute` with a model.",
    ),
]
Devices = Annotated[
    str | None,
    typer.Option(
        "--devices", metavar="A,B", help="Devices that may run the model, separated by commas."
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Device that runs the model.")
]
Preference = Annotated[
    str,
    typer.Option(
        "--preference",
        metavar="P",
        help="FAST_SINGLE_ANSWER, SUSTAINED_SPEED or LOW_POWER.",
    ),
]
PictureFile = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE.png|.svg", help="Also draw a chart."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

FAST = "FAST_SINGLE_ANSWER"
"""The default of Preference."""


def names(option: str | None) -> list[str] | None:
    """The names in a comma-separated list; None if the option is missing."""
    return None if option is None else [name.strip() for name in option.split(",") if name.strip()]
