"""The generated pages of docs/ are what the sources say."""

import importlib.util
import re
from collections import defaultdict
from pathlib import Path

import pytest

from nnapi_shim.operations import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = "Written by `make docs`"
"""What a generated page says of itself."""


def writer(name):
    """The program that writes a document."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert text.count("\n## ") == len(registry())
    assert "Runs on ." not in text
    assert "Runs on nnapi-cpu.\n" not in text


def test_every_rule_has_an_id_of_its_own():
    found = defaultdict(list)
    for refusal in writer("write_rules").refusals():
        found[refusal.rule].append(refusal.where)
    assert len(found) > 400
    assert {rule: places for rule, places in found.items() if len(places) > 1} == {}


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
