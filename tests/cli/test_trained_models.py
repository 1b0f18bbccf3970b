"""The commands on trained models, from their files."""

import json
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.trained_models.manifest import FOLDER, WHY_SKIPPED, entries

pytestmark = pytest.mark.skipif(not entries(), reason=WHY_SKIPPED)

MOBILENET = FOLDER / "mobilenet_v2_224_quant.tflite"
LSTM = FOLDER / "mnist_lstm_float.tflite"
BOTH = pytest.mark.parametrize("model", [MOBILENET, LSTM], ids=["mobilenet", "lstm"])


@pytest.mark.parametrize(
    ("picture", "label"),
    [("cat", "Egyptian cat"), ("bird", "chickadee"), ("sunflower", "daisy")],
)
def test_what_is_in_a_picture(command: Command, picture: str, label: str) -> None:
    labels = FOLDER / "imagenet_labels.txt"
    words = ("--resize", "--labels", labels, "--top", 1, "--json")
    image = FOLDER / "images" / f"{picture}.bmp"
    (output,) = command.succeeds("run", MOBILENET, "-i", image, *words).json["outputs"]
    assert [result["label"] for result in output["top"]] == [label]


@BOTH
def test_explain(command: Command, model: Path) -> None:
    result = command.succeeds("explain", model, "--json").json
    assert {item["device"] for item in result["operations"]} == {"nnapi-cpu"}
    assert result["handed_over_bytes"] == 0


@BOTH
@pytest.mark.parametrize("more", [(), ("--isolated",)], ids=["along", "isolated"])
def test_diff(command: Command, model: Path, more: tuple[str, ...]) -> None:
    words = ("--rtol", 1e-4, "--atol", 1e-4, "--json")
    result = command.succeeds("diff", model, *more, *words).json
    assert result["first"] is None
    if model == MOBILENET:
        assert result["first_unequal"] is None


@BOTH
def test_profile(command: Command, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    words = ("--runs", 2, "--warm-up", 1, "--no-peaks", "--trace", path, "--json")
    result = command.succeeds("profile", model, *words).json
    assert sum(item["share"] for item in result["operations"]) == pytest.approx(1)
    assert result["flops"] > 30_000
    if model == MOBILENET:
        assert result["flops"] == pytest.approx(0.6e9, rel=0.05)  # 300 million multiply-adds
    assert json.loads(path.read_text())["traceEvents"]


@pytest.mark.parametrize("peer", ["litert"])
def test_bench(command: Command, peer: str) -> None:
    pytest.importorskip("ai_edge_litert")
    outcome = command("bench", MOBILENET, "--runs", 2, "--peer", peer, "--json")
    assert outcome.code == 0
    (result,) = outcome.json["results"][0]["peers"]
    assert result["largest_difference"] is not None


def test_a_file_that_is_cut(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "cut.tflite"
    path.write_bytes(MOBILENET.read_bytes()[:100_000])
    for name in ("run", "explain", "profile"):
        assert str(path) in command.refuses(name, path)
