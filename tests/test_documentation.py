"""What docs/ says of operations and rules is what the sources say."""

import importlib.util
from collections import defaultdict
from pathlib import Path

from nnapi_shim.operations import registry

DOCS = Path(__file__).parents[1] / "docs"


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


def test_every_rule_has_an_id_of_its_own():
    found = defaultdict(list)
    for refusal in writer("write_rules").refusals():
        found[refusal.rule].append(refusal.where)
    assert len(found) > 400
    assert {rule: places for rule, places in found.items() if len(places) > 1} == {}
