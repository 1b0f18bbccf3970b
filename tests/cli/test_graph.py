"""`nnapi-shim graph` where it writes files, and --picture of the other commands."""

import json
from xml.etree import ElementTree

import pytest

from nnapi_shim.pictures.shades import WITHIN


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "some.py"
    path.write_text("from tests.pictures.models import chain as model\n")
    return path


def test_files(command, model, tmp_path) -> None:
    paths = [tmp_path / name for name in ("a.svg", "a.json", "data.json")]
    svg, graph, data = paths
    words = ("graph", model, "-o", svg, "--json", graph, "--node-data", data)
    outcome = command.succeeds(*words)
    assert [line.partition(":")[0] for line in outcome.out.splitlines()] == list(map(str, paths))
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert len(json.loads(graph.read_text())["graphs"][0]["nodes"]) == 7
    results = json.loads(data.read_text())["some.py"]["results"]
    assert {item["value"] for item in results.values()} == {"nnapi-cpu"}


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (["--profile"], "coloured by time in a run"),
        (["--diff", "nnapi-cpu,nnapi-reference"], "coloured by largest error, nnapi-cpu to"),
        (["--colour", "error", "--isolated"], "coloured by largest error of the operation alone"),
        (["--color", "partition", "--device", "nnapi-reference"], "coloured by partition"),
        (["--colour", "none"], "5 operations<"),
    ],
)
def test_what_colours_operations(command, model, tmp_path, options, messages) -> None:
    svg = tmp_path / "a.svg"
    command.succeeds("graph", model, "-o", svg, *options)
    assert messages in svg.read_text()


def test_what_is_refused(command, model, tmp_path) -> None:
    svg = tmp_path / "a.svg"
    svg.write_text("mine")
    assert "is there already" in command.refuses("graph", model, "-o", svg)
    assert svg.read_text() == "mine"
    command.succeeds("graph", model, "-o", svg, "--force")
    other = tmp_path / "b.svg"
    for options, messages in (
        (["--colour", "size"], "--colour is 'size'; allowed are device, "),
        (["--diff", "nnapi-cpu"], "1 device given to be compared; there must be two"),
        (["--device", "none"], "none"),
        (["--colour", "none", "--node-data", tmp_path / "c.json"], "--node-data needs"),
        (["--json", tmp_path / "nowhere" / "a.json"], "there is no folder"),
        (["-o", tmp_path / "b.txt"], "b.txt has the suffix '.txt'; allowed are .html, .svg"),
    ):
        assert messages in command.refuses("graph", model, "-o", other, *options)
    assert command.refuses("graph", tmp_path / "none.tflite", "-o", other).endswith(
        "No such file or directory"
    )
    assert not other.exists()


def test_without_a_file(command, model) -> None:
    assert "-o FILE is missing; its suffix is .html, .svg" in command.refuses("graph", model)
    result = command.succeeds("graph", model, "--json").json
    assert len(result["graphs"][0]["nodes"]) == 7


def test_formats(command, model, tmp_path) -> None:
    """The suffix is the format."""
    begins = {"html": b"<!DOCTYPE html>", "png": b"\x89PNG", "dot": b"digraph {", "svg": b"<svg"}
    for suffix, start in begins.items():
        path = tmp_path / f"a.{suffix}"
        command.succeeds("graph", model, "-o", path)
        assert path.read_bytes().startswith(start)


def test_a_tolerance(command, model, tmp_path) -> None:
    """Operations within it have one colour, others are darker."""
    path = tmp_path / "a.svg"
    words = ("graph", model, "-o", path, "--diff", "nnapi-cpu,nnapi-reference", "--force")
    command.succeeds(*words)
    assert path.read_text().count(WITHIN) == 6  # five operations and the legend
    command.succeeds(*words, "--atol", 0, "--rtol", 0)
    assert path.read_text().count(WITHIN) < 6


def test_pictures_of_measurements(command, model, tmp_path) -> None:
    for name, options in (
        ("profile", ["--runs", "2", "--no-peaks"]),
        ("bench", ["--runs", "5"]),
        ("diff", []),
    ):
        path = tmp_path / f"{name}.png"
        command.succeeds(name, model, "--picture", path, *options)
        assert path.read_bytes().startswith(b"\x89PNG")
        assert "is there already" in command.refuses(name, model, "--picture", path, *options)
        bad = command.refuses(name, model, "--picture", tmp_path / "a.jpeg", *options)
        assert "no .png or .svg file" in bad
