"""`nnapi-shim diff`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import Force, ModelPath, PictureFile, names
from nnapi_shim.cli.chart import draw, require_drawable
from nnapi_shim.cli.output import AsJson, progress, shortened, write, write_json, write_table

if TYPE_CHECKING:
    from nnapi_shim.tools.diff import Diff, OperandDiff

DIFFERENT = 1
"""Exit code if results differ."""


def diff(
    model: ModelPath,
    devices: Annotated[
        str,
        typer.Option(
            "--devices", metavar="A,B", help="The two devices; errors are of A relative to B."
        ),
    ] = "nnapi-cpu,nnapi-reference",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--inputs", "-i", metavar="FILE|NAME=FILE", help="As --input of `run`."),
    ] = None,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            help="Give each operation the same inputs on both devices, to locate the operation "
            "that causes an error.",
        ),
    ] = False,
    absolute: Annotated[
        float, typer.Option("--atol", min=0, help="Absolute tolerance of floats.")
    ] = 1e-4,
    relative: Annotated[
        float, typer.Option("--rtol", min=0, help="Relative tolerance of floats.")
    ] = 1e-4,
    steps: Annotated[
        int, typer.Option("--steps", min=0, help="Tolerance of quantized values, in steps.")
    ] = 0,
    resize: Annotated[bool, typer.Option("--resize", help="Scale pictures.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random inputs.")] = 0,
    picture: PictureFile = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare the results of two devices, operation by operation; exit code 1 if they differ.

    Example: nnapi-shim diff model.tflite --devices npu,nnapi-reference --isolated
    """
    from nnapi_shim.errors import bad_data
    from nnapi_shim.tools.array_difference import Tolerance
    from nnapi_shim.tools.diff import diff as find
    from nnapi_shim.tools.inputs import Picture

    chosen = names(devices) or []
    if len(chosen) != 2:
        raise bad_data(
            f"--devices names {len(chosen)} devices; there must be two, such as a,b",
            "tool.diff.devices-option",
        )
    require_drawable(picture, force)
    with progress() as tell:
        report = find(
            model,
            chosen[0],
            chosen[1],
            inputs or (),
            isolated=isolated,
            tolerance=Tolerance(absolute, relative, steps),
            picture=Picture(resize),
            seed=seed,
            progress=tell,
        )
    draw(report, picture, force)
    if as_json:
        write_json(report)
    else:
        _show(report)
    if not report.is_same:
        raise typer.Exit(DIFFERENT)


def _show(report: "Diff") -> None:
    how = "each operation with the inputs that A has" if report.is_isolated else "each with its own"
    write(f"A is {report.a}, B is {report.b}; {how}")
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
