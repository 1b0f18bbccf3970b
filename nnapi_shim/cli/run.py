"""`nnapi-shim run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import Device, Force, ModelPath, names
from nnapi_shim.cli.output import AsJson, write, write_json, write_table

if TYPE_CHECKING:
    from nnapi_shim.tools.run import ArgumentInfo, RunResult


def run(
    model: ModelPath,
    input: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="FILE|NAME=FILE",
            help="An array (.npy, or .npz for several) or a picture; once for each input. Default: "
            "random inputs.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Names of classes, one per line."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="K", min=0, help="Number of classes to print.")
    ] = 0,
    device: Device = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.npz", help="Write the outputs to a file."),
    ] = None,
    force: Force = False,
    resize: Annotated[
        bool, typer.Option("--resize", help="Scale pictures to the size of the input.")
    ] = False,
    mean: Annotated[
        float | None, typer.Option("--mean", help="A pixel p becomes (p - mean) / std.")
    ] = None,
    std: Annotated[float | None, typer.Option("--std", help="See --mean.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random inputs.")] = 0,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Let LiteRT run what NNAPI cannot express."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a model once and print its outputs.

    A picture must have the size of the input, unless --resize. Without --mean and --std, an 8-bit
    input gets unchanged pixels, 0 to 255 (signed: -128 to 127), a float input gets pixel / 255.
    Float arrays for quantized inputs are quantized.

    Example: nnapi-shim run mobilenet.tflite --input cat.png --resize --labels imagenet.txt
    """
    from nnapi_shim.formats.output_file import require_free
    from nnapi_shim.tools.inputs import Picture
    from nnapi_shim.tools.run import read_labels
    from nnapi_shim.tools.run import run as compute

    if output is not None:
        if output.suffix != ".npz":
            raise typer.BadParameter(f"{output} does not end in .npz")
        require_free(output, force)
    result = compute(
        model,
        input or (),
        device=names(device),
        labels=None if labels is None else read_labels(labels),
        top=top,
        picture=Picture(resize, mean, std),
        seed=seed,
        partial=partial,
    )
    if output is not None:
        result.save(output, force)
    if as_json:
        write_json(result)
    else:
        _show(result)


def _show(result: "RunResult") -> None:
    devices = ", ".join(dict.fromkeys(result.devices))
    write(
        f"run on {devices}: compiled in {1e3 * result.compile_seconds:.3g} ms, "
        f"first run {1e3 * result.run_seconds:.3g} ms"
    )
    made_up = " (made up)" if result.made_up and result.inputs else ""
    for item in result.inputs:
        write(f"input  {item.name}: {_argument(item)}{made_up}")
    for output in result.outputs:
        write(f"output {output.name}: {_argument(output)}")
        if output.minimum is None:
            continue
        write(f"  from {output.minimum:.6g} to {output.maximum:.6g}, mean {output.mean:.6g}")
        if not output.top:
            values = output.values.reshape(-1)
            more = ", ..." if values.size > 8 else ""
            write(f"  {', '.join(f'{value:.6g}' for value in values[:8])}{more}")
    for output in result.outputs:
        if output.top:
            write()
            write_table(
                (">class", ">score", "label"),
                [(item.index, item.score, item.label) for item in output.top],
            )


def _argument(item: "ArgumentInfo") -> str:
    scale = f", scale {item.scale:g}, zero point {item.zero_point}" if item.scale else ""
    return f"{item.type}{list(item.dimensions)}{scale}"
