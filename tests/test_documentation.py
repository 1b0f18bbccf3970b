"""What docs/ says of operations and rules is what the sources say."""

import importlib.util
import re
from pathlib import Path

import pytest

from nnapi_shim.operations import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def writer(name):
    """The program that writes a document."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_operations_are_documented_as_they_are_declared():
    text = "".join(writer("write_operations").document())
    assert (DOCS / "operations.md").read_text() == text, "`make docs` writes it anew"
    assert text.count("\n## ") == len(registry()) == 106
    assert "Runs on ." not in text
    assert "Runs on nnapi-cpu.\n" not in text


def test_rules_are_documented_as_they_are_written():
    text = "".join(writer("write_rules").document())
    assert (DOCS / "rules.md").read_text() == text, "`make docs` writes it anew"


def test_settings_are_documented_as_they_are():
    text = "".join(writer("write_settings").document())
    assert (DOCS / "settings.md").read_text() == text, "`make docs` writes it anew"


def test_exports_are_documented_as_their_tables_are():
    text = "".join(writer("write_export").document())
    assert (DOCS / "export.md").read_text() == text, "`make docs` writes it anew"


def test_imports_are_documented_as_their_tables_are():
    text = "".join(writer("write_import").document())
    assert (DOCS / "import.md").read_text() == text, "`make docs` writes it anew"


def test_rule_ids_are_those_of_the_list():
    rules = writer("write_rules")
    assert rules.problems() == []
    assert len({refusal.rule for refusal in rules.refusals()}) > 600


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("cache", "cache", []),
        ("softmax.beta\n", "", ["softmax.beta is new"]),
        ("softmax.beta\n", "softmax.beta\nsoftmax.gamma\n", ["softmax.gamma is gone"]),
        ("softmax.beta\n", "softmax.beta *\n", ["softmax.beta is worded in one way"]),
        ("operation.axis *\n", "operation.axis\n", ["operation.axis has several messages"]),
        ("softmax.beta\n", "softmax.beta\nsoftmax.beta\n", ["rule_ids.txt is not sorted"]),
    ],
)
def test_an_id_changes_only_with_the_list(tmp_path, before, after, told):
    rules = writer("write_rules")
    text = rules.LIST.read_text()
    rules.LIST = tmp_path / rules.LIST.name
    rules.LIST.write_text(text.replace(before, after))
    wrong = rules.problems()
    assert len(wrong) == len(told)
    assert all(words in line for words, line in zip(told, wrong, strict=True))


@pytest.mark.parametrize("rule", ["softmax", "softmax.Beta", "softmax.a_b", "softmax..beta", ""])
def test_an_id_is_words_between_dots(rule):
    assert not writer("write_rules").FORM.fullmatch(rule)


def test_every_promise_of_the_threat_model_has_a_test_that_is_there():
    text = (ROOT / "docs" / "threat-model.md").read_text()
    table = text.partition("## What is promised")[2].partition("\n## ")[0]
    rows = [
        line for line in table.splitlines() if line.startswith("| ") and "promise |" not in line
    ]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(
            r"`(tests/[\w/.]+|make [\w-]+|python -m [\w.]+)", row.rpartition(" | ")[2]
        )
        assert named, row
        for name in named:
            if name.startswith("tests/"):
                assert (ROOT / name).exists(), name
            elif name.startswith("make "):
                assert f"\n{name[5:]}:" in (ROOT / "Makefile").read_text(), name
            else:
                path = ROOT / name.removeprefix("python -m ").replace(".", "/")
                assert (path / "__main__.py").exists() or path.with_suffix(".py").exists(), name
