"""Arguments and options that several commands have, and what they mean."""

from pathlib import Path
from typing import Annotated

import typer

ModelPath = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A .tflite file or a capture, with `#NAME` behind it to choose a signature or one of "
        "its models, and `@INPUT=SIZE,SIZE...` for other sizes of an input; or a Python file or "
        "`module:attribute` with a model.",
    ),
]
Devices = Annotated[
    str | None,
    typer.Option(
        "--devices", metavar="A,B", help="Names of the devices that may run it, with commas."
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="The device that is to run it.")
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
    typer.Option("--picture", metavar="FILE.png|.svg", help="Draw it, too."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]

FAST = "FAST_SINGLE_ANSWER"
"""The default of Preference."""


def names(option: str | None) -> list[str] | None:
    """The names in a list with commas; None for none given."""
    return None if option is None else [name.strip() for name in option.split(",") if name.strip()]
