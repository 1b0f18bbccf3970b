"""`nnapi-shim run`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import (
    AbsoluteTolerance,
    Devices,
    Force,
    Inputs,
    ModelPath,
    RelativeTolerance,
    Resize,
    Seed,
    StepTolerance,
    names,
)
from nnapi_shim.cli.output import AsJson, present, require_json, require_suffix, write, write_table
from nnapi_shim.units import count, duration, number

if TYPE_CHECKING:
    from nnapi_shim.tools.classes import Class
    from nnapi_shim.tools.run import ArgumentInfo, Expected, OutputValues, RunResult

DIFFERENT = 1
"""Exit code if outputs differ from --expect."""

_SHOWN = 8
"""Number of elements of an output that are printed."""


def run(
    model: ModelPath,
    input: Inputs = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Names of classes, one per line."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="K",
            min=0,
            help="Number of classes to print for each output that is a row of scores. Default: 5 "
            f"with --labels, or for more than {_SHOWN} scores in the only output; 0: values, no "
            "classes.",
        ),
    ] = None,
    device: Devices = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.npz", help="Write the outputs to a file."),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            "--expect",
            metavar="FILE",
            help="Compare the outputs with those in a .npz, .npy, .json, .csv or .bin file; exit "
            "code 1 if they differ by more than --atol, --rtol or --steps.",
        ),
    ] = None,
    absolute: AbsoluteTolerance = 1e-4,
    relative: RelativeTolerance = 1e-4,
    steps: StepTolerance = 0,
    force: Force = False,
    resize: Resize = False,
    mean: Annotated[
        float | None, typer.Option("--mean", help="A pixel p becomes (p - mean) / std.")
    ] = None,
    std: Annotated[float | None, typer.Option("--std", help="See --mean.")] = None,
    seed: Seed = 0,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Let LiteRT (.tflite) or ONNX Runtime (.onnx) run what NNAPI cannot express.",
        ),
    ] = False,
    as_json: AsJson = None,
) -> None:
    """Run a model once and print its outputs, as real numbers.

    A picture must have the size of the input, unless --resize. Without --mean and --std, an 8-bit
    input gets unchanged pixels, 0 to 255 (signed: -128 to 127), a float input gets pixel / 255.
    For a quantized input, floats are real numbers, which are quantized; integers are its stored
    values.

    Examples: nnapi-shim run mobilenet.tflite --input cat.png --resize --labels imagenet.txt

    nnapi-shim run model.tflite --input x.npy --expect outputs.npz
    """
    from nnapi_shim.formats.output_file import require_free
    from nnapi_shim.tools.array_difference import Tolerance
    from nnapi_shim.tools.inputs import Picture
    from nnapi_shim.tools.run import read_labels
    from nnapi_shim.tools.run import run as compute

    require_json(as_json, force)
    picture = Picture(resize, mean, std)
    require_suffix(output, ".npz")
    if output is not None:
        require_free(output, force)
    result = compute(
        model,
        input or (),
        device=names(device),
        labels=None if labels is None else read_labels(labels),
        top=top,
        picture=picture,
        seed=seed,
        partial=partial,
        expect=expect,
        tolerance=Tolerance(absolute, relative, steps),
    )
    if output is not None:
        result.save(output, force)
    present(result, as_json, force, lambda result: _show(result, picture.scaled))
    if not result.is_as_expected:
        raise typer.Exit(DIFFERENT)


def _show(result: "RunResult", scaled: Sequence[str]) -> None:
    devices = ", ".join(dict.fromkeys(result.devices))
    write(
        f"run on {devices}: compiled in {duration(result.compile_seconds)}, "
        f"first run {duration(result.run_seconds)}"
    )
    made_up = " (random)" if result.made_up and result.inputs else ""
    for item in result.inputs:
        write(f"input  {item.name}: {_argument(item)}{made_up}")
    for text in scaled:
        write(f"  {text}")
    for output in result.outputs:
        _show_output(output)
    if result.expected:
        write()
    for comparison in result.expected:
        write(_verdict(comparison))


def _show_output(output: "OutputValues") -> None:
    write(f"output {output.name}: {_argument(output)}")
    if output.minimum is None or output.maximum is None or output.mean is None:
        return
    low, high, mean = (number(x, 6) for x in (output.minimum, output.maximum, output.mean))
    write(f"  from {low} to {high}, mean {mean}")
    if output.top:
        _show_classes(output.top)
        return
    values = output.real.reshape(-1)
    more = ", ..." if values.size > _SHOWN else ""
    write(f"  {', '.join(number(float(value), 6) for value in values[:_SHOWN])}{more}")


def _show_classes(top: "Sequence[Class]") -> None:
    has_labels = any(item.label for item in top)
    write_table(
        (">class", ">score", *(["label"] if has_labels else [])),
        [(item.index, item.score, *([item.label] if has_labels else [])) for item in top],
    )


def _verdict(comparison: "Expected") -> str:
    """The comparison of an output with the expected values."""
    difference = comparison.difference
    if difference.problem:
        return f"{comparison.name} is not as expected: {difference.problem}"
    if difference.at is None:
        return f"{comparison.name} is as expected: all values are equal"
    verdict = (
        "is not as expected" if difference.is_beyond else "is as expected, within the tolerance"
    )
    of = f" of {count(difference.elements, 'value')}"
    steps = f" ({count(difference.steps, 'step')})" if difference.steps is not None else ""
    return (
        f"{comparison.name} {verdict}: {difference.differing}{of} differ, by at most "
        f"{number(difference.largest, 3)}{steps}; most at {list(difference.at)}: "
        f"{difference.a:.9g}, expected {difference.b:.9g}"
    )


def _argument(item: "ArgumentInfo") -> str:
    scale = f", scale {item.scale:g}, zero point {item.zero_point}" if item.scale else ""
    return f"{item.type}{list(item.dimensions)}{scale}"
