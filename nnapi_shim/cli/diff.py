"""`nnapi-shim diff`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import (
    BUILT_IN,
    AbsoluteTolerance,
    Force,
    Inputs,
    ModelPath,
    PictureFile,
    RelativeTolerance,
    Resize,
    Seed,
    StepTolerance,
    names,
    two_devices,
)
from nnapi_shim.cli.chart import draw, require_drawable
from nnapi_shim.cli.output import (
    AsJson,
    present,
    progress,
    require_json,
    shortened,
    write,
    write_table,
)
from nnapi_shim.units import percent, rounded

if TYPE_CHECKING:
    from nnapi_shim.tools.diff import Diff, OperandDiff
    from nnapi_shim.tools.quantization_error import QuantizationErrors

DIFFERENT = 1
"""Exit code if results differ."""

_RANDOM = "; the inputs are random"


def diff(
    model: ModelPath,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            metavar="NAME",
            autocompletion=completion.devices,
            help="The two devices, in two options or as A,B; errors are of A relative to B. "
            "PROFILE:NAME is a device of a phone profile. "
            f"Default: {','.join(BUILT_IN)}.",
        ),
    ] = None,
    inputs: Inputs = None,
    float_model: Annotated[
        str | None,
        typer.Option(
            "--float",
            metavar="MODEL",
            help="The float model of a quantized MODEL: show the quantization error of each "
            "operation, on one device.",
        ),
    ] = None,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            help="Give each operation the same inputs on both devices, to locate the operation "
            "that causes an error.",
        ),
    ] = False,
    absolute: AbsoluteTolerance = 1e-4,
    relative: RelativeTolerance = 1e-4,
    steps: StepTolerance = 0,
    resize: Resize = False,
    seed: Seed = 0,
    picture: PictureFile = None,
    force: Force = False,
    as_json: AsJson = None,
) -> None:
    """Compare the results of two devices, operation by operation; exit code 1 if they differ.

    Examples: nnapi-shim diff model.tflite --device npu,nnapi-reference --isolated

    nnapi-shim diff int8.tflite --float float.tflite
    """
    from nnapi_shim.tools.array_difference import Tolerance
    from nnapi_shim.tools.diff import diff as find
    from nnapi_shim.tools.inputs import Picture
    from nnapi_shim.tools.quantization_error import quantization_error

    require_json(as_json, force)
    if float_model is not None:
        devices = names(device) or [BUILT_IN[0]]
        if len(devices) != 1:
            raise typer.BadParameter("--float compares on one device; --device names several")
        errors = quantization_error(
            model,
            float_model,
            inputs or (),
            device=devices[0],
            picture=Picture(resize),
            seed=seed,
        )
        present(errors, as_json, force, _show_quantization)
        return
    a, b = two_devices(device)
    require_drawable(picture, force)
    with progress() as tell:
        report = find(
            model,
            a,
            b,
            inputs or (),
            isolated=isolated,
            tolerance=Tolerance(absolute, relative, steps),
            picture=Picture(resize),
            seed=seed,
            progress=tell,
        )
    draw(report, picture, force)
    present(report, as_json, force, _show)
    if not report.is_same:
        raise typer.Exit(DIFFERENT)


def _show_quantization(report: "QuantizationErrors") -> None:
    """The quantization error of each operation."""
    write(f"each model with its own values{_RANDOM if report.made_up else ''}")
    write_table(
        (">#", ">float #", "operation", "output", ">largest", ">mean")
        + (">steps", ">SQNR", ">clipped"),
        [
            (
                item.number,
                item.float_number,
                item.name,
                shortened(item.output),
                item.largest,
                item.mean,
                None if item.steps is None else rounded(item.steps),
                f"{item.sqnr_db:.1f} dB",
                percent(item.clipped),
            )
            for item in report.operations
        ],
    )
    for title, names_of in (
        (report.model, report.unmatched),
        (report.float_model, report.float_unmatched),
    ):
        if names_of:
            write(f"only in {title or 'the other model'}: {', '.join(names_of)}")
    for text in report.left_out:
        write(f"not compared: {text}")


def _show(report: "Diff") -> None:
    how = (
        "each operation with the inputs that A has"
        if report.is_isolated
        else "each device with its own values"
    )
    inputs = _RANDOM if report.made_up else ""
    write(f"A is {report.a}, B is {report.b}; {how}{inputs}")
    write_table(
        (">#", "operation", "output", ">A-B", ">relative", ">ulps", ">steps", ">unequal", ""),
        [_row(item) for item in report.operands],
    )
    for text in report.left_out:
        write(f"not compared: {text}")
    write()
    write(_verdict(report))


def _row(item: "OperandDiff") -> tuple[object, ...]:
    output = f"{shortened(item.operand.name or item.role)} {item.operand.type}"
    if item.difference is None or item.difference.problem:
        problem = item.problem or (item.difference.problem if item.difference else "")
        return (item.number, item.operation, output, "", "", "", "", "", problem)
    difference = item.difference
    return (
        item.number,
        item.operation,
        output,
        difference.largest,
        difference.relative,
        difference.ulps,
        difference.steps,
        f"{difference.differing}/{difference.elements}",
        "beyond" if difference.is_beyond else "",
    )


def _verdict(report: "Diff") -> str:
    if report.first is not None:
        item = report.operands[report.first]
        output = f"{item.operation} (operation {item.number}), {item.role}"
        difference = item.difference
        if difference is None or difference.at is None:
            return f"the first that differs: {output}"
        return (
            f"the first that differs: {output}; most at {list(difference.at)}: "
            f"{difference.a:.9g} and {difference.b:.9g}"
        )
    if report.first_unequal is None:
        return "all values are equal"
    item = report.operands[report.first_unequal]
    return (
        f"all values are within the tolerance; the first unequal ones: {item.operation} "
        f"(operation {item.number}), {item.role}"
    )
