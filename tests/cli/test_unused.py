"""Options without effect are refused."""

from pathlib import Path

import pytest
import typer

from nnapi_shim.cli.app import app
from nnapi_shim.cli.unused import RULES
from tests.cli.command import Command

CONV = "tests.tools.models:conv_log_softmax"
REFUSED = [
    ("run m -i a.npy --mean 1", "--mean has no effect without a picture as input"),
    ("run m --std 1", "--std has no effect without a picture as input"),
    ("run m -i x=a.NPZ -i b.csv --resize", "--resize has no effect without a picture as input"),
    ("run m -i a.png --seed 1", "--seed has no effect with --input"),
    ("run m --atol 1", "--atol has no effect without --expect"),
    ("run m --labels a.txt --top 0", "--labels has no effect with --top 0"),
    ("run a.zip --partial", "--partial has no effect on a model that is no .tflite or .onnx file"),
    ("bench m --runs 2 --seconds 1", "--seconds has no effect with --runs"),
    ("bench m --samples", "--samples has no effect without --json"),
    ("bench a.json --against b.json --warm-up 1", "--warm-up has no effect on two saved runs"),
    ("bench m -i a.npy --seed 1", "--seed has no effect with --input"),
    ("profile m --json --top 2", "--top has no effect on --json, which has all"),
    ("profile m --kernel-threads 2", "--kernel-threads has no effect without --scaling"),
    ("profile m --scaling --steps", "--steps has no effect with --scaling"),
    ("profile m --resize", "--resize has no effect without a picture as input"),
    ("diff m --float f --isolated", "--isolated has no effect with --float"),
    ("diff m --float f --picture a.svg", "--picture has no effect with --float"),
    ("calibrate --show --seconds 2", "--seconds has no effect with --show or --forget"),
    ("calibrate --forget --show", "--show has no effect with --forget"),
    ("explain ADD --preference LOW_POWER", "--preference has no effect on an operation"),
    ("graph m --json --color none", "--colour has no effect on --json alone, which has no colours"),
    ("graph m -o a.svg --isolated", "--isolated has no effect without --diff"),
    ("graph m -o a.svg -i a.npy", "--input has no effect without --diff or --profile"),
    ("graph m -o a.svg --no-open", "--no-open has no effect without --explorer"),
    ("replay c --to-c a.c --last", "--last has no effect with --to-c or --to-python"),
    ("exec --junit a.xml -- p", "--junit has no effect without --sweep"),
    ("profiles show p -o a.json", "--output has no effect without new"),
    ("profiles new p --json", "--json has no effect on new"),
    ("config --json --libs", "--libs has no effect with --json, which has all"),
]


@pytest.mark.parametrize(("words", "text"), REFUSED, ids=[words for words, _ in REFUSED])
def test_options_without_effect(command: Command, words: str, text: str) -> None:
    name = words.split()[0]
    assert command.refuses(*words.split()) == f"{text}; see `nnapi-shim {name} --help`"


def test_each_rule_is_tried_and_names_options() -> None:
    commands = typer.main.get_command(app).commands
    for rule in RULES:
        for name in rule.commands.split():
            known = {opt for parameter in commands[name].params for opt in parameter.opts}
            named = set(rule.used.split() or rule.options.split())
            assert named & known and (len(rule.commands.split()) > 1 or named <= known), rule
        assert any(
            words.split()[0] in rule.commands.split() and f" has no effect {rule.why}" in text
            for words, text in REFUSED
        ), rule


def test_options_with_effect(command: Command, tmp_path: Path) -> None:
    """Near the refused ones; defaults do not count as given."""
    for words in (
        "run {m} -i - --mean 1",
        "run {m} -i a.png -i b.npy --resize",
        "run {m}.onnx#s@x=1 --partial",
        "bench {m} --runs 0 --seconds 1",
        "bench {m}.json --seed 1",
        "graph {m} -o {m}.svg --colour error --atol 1",
        "explain {m}.tflite --device nnapi-cpu",
    ):
        line = command.refuses(*words.format(m=tmp_path / "none").split())
        assert "has no effect" not in line
    command.succeeds("profile", CONV, "--runs", 1, "--no-peaks", "--json", "--force")
