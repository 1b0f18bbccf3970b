"""Arguments and options that several commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from nnapi_shim.cli import completion

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
    list[str] | None,
    typer.Option(
        "--device",
        metavar="NAME",
        autocompletion=completion.devices,
        help="Device that may run the model; repeat it, or separate names by commas, for several. "
        "Default: all.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE|NAME=FILE",
        help="An input: .npy, .npz (several inputs), .json, .csv, .bin (raw bytes), a picture, or "
        "`-` for stdin; once for each input. Default: random inputs.",
    ),
]
Resize = Annotated[
    bool,
    typer.Option(
        "--resize", help="Scale pictures to the size of the input, with a bilinear filter."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random inputs.")]
Preference = Annotated[
    str,
    typer.Option(
        "--preference",
        metavar="P",
        autocompletion=completion.among(completion.PREFERENCES),
        help=f"{', '.join(completion.PREFERENCES[:-1])} or {completion.PREFERENCES[-1]}.",
    ),
]
AbsoluteTolerance = Annotated[
    float, typer.Option("--atol", min=0, help="Absolute tolerance of floats.")
]
RelativeTolerance = Annotated[
    float, typer.Option("--rtol", min=0, help="Relative tolerance of floats.")
]
StepTolerance = Annotated[
    int, typer.Option("--steps", min=0, help="Tolerance of quantized values, in steps.")
]
PictureFile = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE.png|.svg", help="Also draw a chart."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

FAST = completion.PREFERENCES[0]
"""The default of Preference."""

BUILT_IN = ("nnapi-cpu", "nnapi-reference")
"""The devices that are compared by default."""


def names(option: Iterable[str] | str | None) -> list[str] | None:
    """The names of a repeated option, each with commas between several; None without any."""
    if not option:
        return None
    parts = [option] if isinstance(option, str) else option
    return [name.strip() for part in parts for name in part.split(",") if name.strip()]


def numbers(option: str, text: str) -> list[int]:
    """The numbers of an option, with commas between them."""
    from nnapi_shim.errors import bad_data

    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise bad_data(
            f"{option} is {text!r}; it must be numbers with commas, such as 1,2",
            "tool.bench.threads-option",
        ) from None


def two_devices(option: Iterable[str] | str | None) -> tuple[str, str]:
    """The names of the two devices to compare; by default both built-in ones."""
    from nnapi_shim.errors import bad_data
    from nnapi_shim.units import count

    chosen = names(option) or list(BUILT_IN)
    if len(chosen) != 2:
        raise bad_data(
            f"{count(len(chosen), 'device')} given to be compared; there must be two, such as a,b",
            "tool.diff.devices-option",
        )
    return chosen[0], chosen[1]
