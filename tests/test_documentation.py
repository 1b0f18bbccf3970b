"""The generated pages of docs/ are what the sources say."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from nnapi_shim.operations import FAMILIES, registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = "`make docs` writes"
"""What a generated page says of itself."""


def writer(name):
    """The program that writes a document; they import each other."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return importlib.import_module(name)


WRITERS = sorted(path.stem for path in DOCS.glob("write_*.py") if path.stem != "write_pictures")


@pytest.mark.parametrize("name", WRITERS)
def test_generated_pages_are_fresh(name):
    page = DOCS / f"{name.removeprefix('write_')}.md"
    assert page.read_text() == "".join(writer(name).document()), "`make docs` writes it anew"


def test_every_generated_page_is_written_by_make_docs():
    written = {f"write_{page.stem}" for page in DOCS.glob("*.md") if WRITTEN in page.read_text()}
    assert written == {*WRITERS}
    recipe = (ROOT / "Makefile").read_text().partition("\ndocs:")[2].partition("\n\n")[0]
    assert set(re.findall(r"docs/(\w+)\.py", recipe)) == {*WRITERS}


def test_every_operation_is_documented_with_its_devices():
    text = (DOCS / "operations.md").read_text()
    assert text.count("\n### ") == len(registry())
    assert text.count("\n## ") == len(FAMILIES)
    assert "Runs on ." not in text
    assert "Runs on nnapi-cpu.\n" not in text


def test_rule_ids_are_those_of_the_list():
    rules = writer("write_rules")
    assert rules.problems() == []
    assert len({refusal.rule for refusal in rules.refusals()}) > 600


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("cache", "cache", []),
        ("softmax.beta\n", "", ["softmax.beta is new"]),
        ("softmax.beta\n", "softmax.beta\nsoftmax.gamma\n", ["softmax.gamma is gone"]),
        ("softmax.beta\n", "softmax.beta *\n", ["softmax.beta is worded in one way"]),
        ("operation.axis *\n", "operation.axis\n", ["operation.axis has several messages"]),
        ("softmax.beta\n", "softmax.beta\nsoftmax.beta\n", ["rule_ids.txt is not sorted"]),
    ],
)
def test_an_id_changes_only_with_the_list(tmp_path, monkeypatch, before, after, reported):
    rules = writer("write_rules")
    text = rules.LIST.read_text()
    monkeypatch.setattr(rules, "LIST", tmp_path / rules.LIST.name)
    rules.LIST.write_text(text.replace(before, after))
    wrong = rules.problems()
    assert len(wrong) == len(reported)
    assert all(words in line for words, line in zip(reported, wrong, strict=True))


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


def test_every_picture_is_shown_and_made_of_a_model_of_the_repository():
    shown = set(re.findall(r"\(pictures/([\w.-]+)\)", (DOCS / "pictures.md").read_text()))
    pictures = (DOCS / "write_pictures.py").read_text()
    assert shown == set(re.findall(r'"([\w-]+\.(?:svg|png))"', pictures))
    everywhere = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert not [path for path in (DOCS / "pictures").iterdir() if path.name not in everywhere]
    assert "shared" not in pictures
