"""`nnapi-shim graph`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import (
    AbsoluteTolerance,
    Devices,
    Force,
    Inputs,
    ModelPath,
    RelativeTolerance,
    StepTolerance,
    names,
    two_devices,
)
from nnapi_shim.cli.completion import COLOURS
from nnapi_shim.cli.output import progress, write

if TYPE_CHECKING:
    from nnapi_shim.api.model import Model
    from nnapi_shim.formats.output_file import Target
    from nnapi_shim.pictures.shades import Shades
    from nnapi_shim.tools.array_difference import Tolerance

SUFFIXES = (".html", ".svg", ".png", ".dot")


def graph(
    model: ModelPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Picture to write; its suffix is the format: .html (a page with zoom, search and "
            "all operands), .svg, .png, or .dot for Graphviz.",
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="[FILE.json]",
            help="Print the graph as JSON that Model Explorer reads, or write it to a file.",
        ),
    ] = None,
    node_data: Annotated[
        Path | None,
        typer.Option(
            "--node-data",
            metavar="FILE",
            help='Write the colours for "Add per-node data" of Model Explorer.',
        ),
    ] = None,
    colour: Annotated[
        str | None,
        typer.Option(
            "--colour",
            "--color",
            metavar="BY",
            autocompletion=completion.among(COLOURS),
            help=f"Property that colours nodes: {', '.join(COLOURS)}.",
        ),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Measure the time of each operation.")
    ] = False,
    diff: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="A,B",
            autocompletion=completion.devices,
            help="Compare the results of two devices; operations within --atol, --rtol and "
            "--steps are green.",
        ),
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Compare each operation alone, as in `diff`.")
    ] = False,
    absolute: AbsoluteTolerance = 1e-4,
    relative: RelativeTolerance = 1e-4,
    steps: StepTolerance = 0,
    inputs: Inputs = None,
    device: Devices = None,
    explorer: Annotated[
        bool,
        typer.Option("--explorer", help="Show it in Google's Model Explorer, in the browser."),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=1,
            max=65535,
            help="Port of Model Explorer; default: a free one.",
        ),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address and do not open the browser.")
    ] = False,
    force: Force = False,
) -> None:
    """Write a model as a picture, or show it in Google's Model Explorer.

    The colour of an operation shows its device, time, error or partition. A page has all that are
    measured.

    Examples: nnapi-shim graph model.tflite -o model.html --profile

    nnapi-shim graph model.tflite -o model.svg --diff nnapi-cpu,nnapi-reference
    """
    from nnapi_shim.cli.output import STDOUT, require_json
    from nnapi_shim.formats.output_file import require_free, write_all
    from nnapi_shim.tools.array_difference import Tolerance
    from nnapi_shim.tools.model_source import model_of, name_of

    if explorer:
        import model_explorer  # noqa: F401  # fails before the measurement if it is missing
    elif output is None and json is None and node_data is None:
        raise typer.BadParameter(
            f"-o FILE is missing; its suffix is {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    by = _colour(colour, profile, diff)
    require_json(json, force)
    json_file = None if json in (None, STDOUT) else Path(str(json))
    files = [path for path in (output, json_file, node_data) if path is not None]
    _require_picture(output)
    for path in files:
        require_free(path, force)
    loaded = model_of(model)
    name = name_of(model)
    tolerance = Tolerance(absolute, relative, steps)
    all_shades = _shades(
        loaded, by, profile, diff, isolated, tolerance, inputs or [], names(device)
    )
    all_shades.sort(key=lambda shades: shades.name != by)
    first = next((shades for shades in all_shades if shades.name == by), None)
    if json == STDOUT:
        from nnapi_shim.pictures.explorer.files import graph_json

        write(graph_json(loaded, name).decode())
    contents = _contents(loaded, name, all_shades, first, output, json_file, node_data)
    write_all(contents, force)
    for path in files:
        write(f"{path}: {len(contents[path])} bytes")
    if explorer:
        from nnapi_shim.pictures.explorer.server import serve

        serve(loaded, name, all_shades, port=port, opens=not no_open, tell=_tell)


def _require_picture(output: Path | None) -> None:
    """Check, before the measurement, that a picture of this suffix can be written."""
    from nnapi_shim.errors import bad_data

    if output is None:
        return
    if output.suffix.lower() not in SUFFIXES:
        raise bad_data(
            f"{output} has the suffix {output.suffix!r}; allowed are {', '.join(SUFFIXES)}",
            "tool.graph.suffix",
        )
    if output.suffix.lower() == ".png":
        import PIL  # noqa: F401


def _contents(
    model: "Model",
    name: str,
    all_shades: "list[Shades]",
    first: "Shades | None",
    output: Path | None,
    json: Path | None,
    node_data: Path | None,
) -> "dict[Target, bytes]":
    """The requested files; first: the colours of nodes, or None."""
    from nnapi_shim.errors import bad_data

    contents: dict[Target, bytes] = {}
    if output is not None:
        contents[output] = _picture(model, name, all_shades, first, output.suffix.lower())
    if json is not None:
        from nnapi_shim.pictures.explorer.files import graph_json

        contents[json] = graph_json(model, name)
    if node_data is not None:
        if first is None:
            raise bad_data(
                "--node-data needs what --colour none leaves out", "tool.graph.node-data-option"
            )
        from nnapi_shim.pictures.explorer.files import node_data_json

        contents[node_data] = node_data_json(name, first)
    return contents


def _picture(
    model: "Model", name: str, all_shades: "list[Shades]", first: "Shades | None", suffix: str
) -> bytes:
    """The content of a picture in the format of a suffix."""
    if suffix == ".html":
        from nnapi_shim.pictures.page import page

        return page(model, all_shades, name, first.name if first else "").encode()
    if suffix == ".dot":
        from nnapi_shim.pictures.dot import dot

        return dot(model, first, name).encode()
    from nnapi_shim.pictures.svg import svg

    text = svg(model, first, name)
    if suffix == ".svg":
        return text.encode()
    from nnapi_shim.pictures.png import png

    return png(text)


def _tell(address: str) -> None:
    write(f"{address}\nCtrl-C ends it.")
    sys.stdout.flush()  # a program may wait for the address


def _colour(option: str | None, profile: bool, diff: str | None) -> str:
    """The property that colours nodes; by default the requested measurement."""
    from nnapi_shim.errors import bad_data

    if option is None:
        return "error" if diff is not None else "time" if profile else "device"
    if option not in COLOURS:
        raise bad_data(
            f"--colour is {option!r}; allowed are {', '.join(COLOURS)}", "tool.graph.colour-option"
        )
    return option


def _shades(
    model: "Model",
    by: str,
    profile: bool,
    diff: str | None,
    isolated: bool,
    tolerance: "Tolerance",
    inputs: list[str],
    devices: list[str] | None,
) -> "list[Shades]":
    """The colours by device, partition and the requested measurements."""
    from nnapi_shim.pictures import measured
    from nnapi_shim.tools.explain import explain

    two_devices(diff)  # refuses before the work
    explained = explain(model, devices)
    all_shades = [measured.devices(explained), measured.partitions(explained)]
    with progress() as tell:
        if profile or by == "time":
            from nnapi_shim.tools.profile import profile as time

            timed = time(model, devices, inputs=inputs, against_peaks=False, progress=tell)
            all_shades.append(measured.times(timed))
        if diff is not None or by == "error":
            from nnapi_shim.tools.diff import diff as compare

            compared = two_devices(diff)
            comparison = compare(
                model,
                *compared,
                inputs,
                isolated=isolated,
                tolerance=tolerance,
                progress=tell,
            )
            all_shades.append(measured.errors(comparison))
    return all_shades
