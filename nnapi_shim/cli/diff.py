"""`nnapi-shim diff`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import Force, ModelPath, PictureFile, names
from nnapi_shim.cli.chart import draw, require_drawable
from nnapi_shim.cli.output import AsJson, progress, shortened, write, write_json, write_table

if TYPE_CHECKING:
    from nnapi_shim.tools.diff import Diff, OperandDiff

DIFFERENT = 1
"""Exit code where something differs."""


def diff(
    model: ModelPath,
    devices: Annotated[
        str,
        typer.Option("--devices", metavar="A,B", help="The two devices; errors are those of A."),
    ] = "nnapi-cpu,nnapi-reference",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--inputs", "-i", metavar="FILE|NAME=FILE", help="As --input of `run`."),
    ] = None,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            help="Give each operation the same inputs on both, so that an error is seen where it "
            "is made.",
        ),
    ] = False,
    absolute: Annotated[
        float, typer.Option("--atol", min=0, help="Tolerated error of floats.")
    ] = 1e-4,
    relative: Annotated[
        float, typer.Option("--rtol", min=0, help="The same, in relation to the value.")
    ] = 1e-4,
    steps: Annotated[
        int, typer.Option("--steps", min=0, help="Tolerated steps of quantized values.")
    ] = 0,
    resize: Annotated[bool, typer.Option("--resize", help="Scale pictures.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of inputs that are made up.")] = 0,
    picture: PictureFile = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare what two devices compute, operation by operation; exit code 1 if they differ.

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
        found = find(
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
    draw(found, picture, force)
    if as_json:
        write_json(found)
    else:
        _show(found)
    if not found.is_same:
        raise typer.Exit(DIFFERENT)


def _show(found: "Diff") -> None:
    how = "each operation with the inputs that A has" if found.is_isolated else "each with its own"
    write(f"A is {found.a}, B is {found.b}; {how}")
    write_table(
        (">#", "operation", "output", ">A-B", ">relative", ">ulps", ">steps", ">unequal", ""),
        [_row(item) for item in found.operands],
    )
    for text in found.left_out:
        write(f"not compared: {text}")
    write()
    write(_verdict(found))


def _row(item: "OperandDiff") -> tuple[object, ...]:
    output = f"{shortened(item.operand.name or item.role)} {item.operand.type}"
    if item.difference is None or item.difference.problem:
        problem = item.problem or (item.difference.problem if item.difference else "")
        return (item.number, item.operation, output, "", "", "", "", "", problem)
    found = item.difference
    return (
        item.number,
        item.operation,
        output,
        found.largest,
        found.relative,
        found.ulps,
        found.steps,
        f"{found.differing}/{found.elements}",
        "beyond" if found.is_beyond else "",
    )


def _verdict(found: "Diff") -> str:
    if found.first is not None:
        item = found.operands[found.first]
        told = f"{item.operation} (operation {item.number}), {item.role}"
        place = item.difference
        if place is None or place.at is None:
            return f"the first that differs: {told}"
        return (
            f"the first that differs: {told}; most at {list(place.at)}: "
            f"{place.a:.9g} and {place.b:.9g}"
        )
    if found.first_unequal is None:
        return "all values are equal"
    item = found.operands[found.first_unequal]
    return (
        f"all values are as near as is tolerated; the first that are not equal: {item.operation} "
        f"(operation {item.number}), {item.role}"
    )
