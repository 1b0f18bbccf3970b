"""`nnapi-shim graph`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import Devices, Force, Inputs, ModelPath, names, two_devices
from nnapi_shim.cli.completion import COLOURS
from nnapi_shim.cli.output import progress, write

if TYPE_CHECKING:
    from nnapi_shim.api.model import Model
    from nnapi_shim.formats.output_file import Target
    from nnapi_shim.pictures.shades import Shades


def graph(
    model: ModelPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE.svg", help="Write a picture instead of serving."
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write a Model Explorer graph instead of serving."
        ),
    ] = None,
    node_data: Annotated[
        Path | None,
        typer.Option(
            "--node-data",
            metavar="FILE",
            help='Write a file for its "Add per-node data" instead of serving.',
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
        typer.Option("--diff", metavar="A,B", help="Compare the results of two devices."),
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Compare each operation alone, as in `diff`.")
    ] = False,
    inputs: Inputs = None,
    device: Devices = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=1, max=65535, help="Port of the server; default: a free one."
        ),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address and do not open the browser.")
    ] = False,
    force: Force = False,
) -> None:
    """Show a model in Google's Model Explorer, or write it as a picture.

    The colour of an operation shows its device, time, error or partition.

    Examples: nnapi-shim graph model.tflite --profile --diff nnapi-cpu,nnapi-reference

    nnapi-shim graph model.tflite --profile -o model.svg
    """
    from nnapi_shim.errors import bad_data
    from nnapi_shim.formats.output_file import require_free, write_all
    from nnapi_shim.tools.model_source import model_of, name_of

    if json is not None or node_data is not None or output is None:
        import model_explorer  # noqa: F401  # fails before the measurement if it is missing

    by = _colour(colour, profile, diff)
    files = [path for path in (output, json, node_data) if path is not None]
    if output is not None and output.suffix.lower() != ".svg":
        raise bad_data(f"{output} is no .svg file", "tool.graph.suffix")
    for path in files:
        require_free(path, force)
    loaded = model_of(model)
    name = name_of(model)
    all_shades = _shades(loaded, by, profile, diff, isolated, inputs or [], names(device))
    first = next((shades for shades in all_shades if shades.name == by), None)
    if files:
        contents = _contents(loaded, name, first, output, json, node_data)
        write_all(contents, force)
        for path in files:
            write(f"{path}: {len(contents[path])} bytes")
        return
    from nnapi_shim.pictures.explorer.server import serve

    all_shades.sort(key=lambda shades: shades.name != by)
    serve(loaded, name, all_shades, port=port, opens=not no_open, tell=_tell)


def _contents(
    model: "Model",
    name: str,
    shades: "Shades | None",
    output: Path | None,
    json: Path | None,
    node_data: Path | None,
) -> "dict[Target, bytes]":
    """The requested files; shades: colours of nodes, or None."""
    from nnapi_shim.errors import bad_data

    contents: dict[Target, bytes] = {}
    if output is not None:
        from nnapi_shim.pictures.svg import svg

        contents[output] = svg(model, shades, name).encode()
    if json is not None:
        from nnapi_shim.pictures.explorer.files import graph_json

        contents[json] = graph_json(model, name)
    if node_data is not None:
        if shades is None:
            raise bad_data(
                "--node-data needs what --colour none leaves out", "tool.graph.node-data-option"
            )
        from nnapi_shim.pictures.explorer.files import node_data_json

        contents[node_data] = node_data_json(name, shades)
    return contents


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
    inputs: list[str],
    devices: list[str] | None,
) -> "list[Shades]":
    """The colours by device, partition and the requested measurements."""
    from nnapi_shim.pictures import measured
    from nnapi_shim.tools.explain import explain

    compared = two_devices(diff)
    explained = explain(model, devices)
    all_shades = [measured.devices(explained), measured.partitions(explained)]
    with progress() as tell:
        if profile or by == "time":
            from nnapi_shim.tools.profile import profile as time

            timed = time(model, devices, inputs=inputs, against_peaks=False, progress=tell)
            all_shades.append(measured.times(timed))
        if diff is not None or by == "error":
            from nnapi_shim.tools.diff import diff as compare

            all_shades.append(
                measured.errors(
                    compare(
                        model, compared[0], compared[1], inputs, isolated=isolated, progress=tell
                    )
                )
            )
    return all_shades
