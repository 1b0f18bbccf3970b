"""`nnapi-shim explain`."""

from nnapi_shim.operations import registry
from tests.cli.command import Command

MODEL = "tests.tools.models:conv_log_softmax"


def test_a_model(command: Command) -> None:
    text = command.succeeds("explain", MODEL).out
    assert "3 operations, 1 step: " in text
    assert "not on nnapi-reference:\n  0-2 (CONV_2D, LOG, SOFTMAX): exec_time" in text
    assert "1 LOG: LOG itself (level 3)" in text


def test_json(command: Command) -> None:
    result = command.succeeds("explain", MODEL, "--device", "nnapi-reference", "--json").json
    assert [item["device"] for item in result["operations"]] == ["nnapi-reference"] * 3
    assert result["preference"] == "FAST_SINGLE_ANSWER"


def test_every_operation(command: Command) -> None:
    for declaration in registry():
        text = command.succeeds("explain", declaration.type.name.lower()).out
        assert text.startswith(f"{declaration.type.name} (code {int(declaration.type)}, ")


def test_an_operation(command: Command) -> None:
    result = command.succeeds("explain", "CONV_2D", "--json").json
    assert result["types"][0] == {
        "level": 1,
        "types": dict.fromkeys(("input", "filter", "bias", "output"), "TENSOR_FLOAT32"),
    }
    assert {form["level"] for form in result["forms"]} == {1, 3}
    assert any("scale input x filter" in check for check in result["checks"])


def test_bad_input(command: Command) -> None:
    assert "nnapi-cpu" in command.refuses("explain", MODEL, "--device", "nnapi-cpx")
    assert "PREF" in command.refuses("explain", MODEL, "--preference", "PREF")
    assert "no_such" in command.refuses("explain", "no_such.py")
    assert "MODEL" in command.refuses("explain")
