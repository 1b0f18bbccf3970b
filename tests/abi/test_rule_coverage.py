"""Every rule that public compatibility tests look at has a test that names it.

The rules are the sentences before each mark `[T]` in the specification's notes on the C API. The
docstring of a test names one by its section and a few words of it:

    api-semantics 4: "Inputs must be fully specified"
"""

import ast
import re
from pathlib import Path

import pytest

ABI = Path(__file__).resolve().parent
RULES = ABI.parents[2] / "shared" / "spec" / "api-semantics.md"
MARK = re.compile(r"\[T[^\]]*\]")
CITATION = re.compile(r'api-semantics (\d+): "([^"]*)"')


def plain(text):
    """Words, without the marks of emphasis and of code, and however lines are broken."""
    return " ".join(re.sub(r"[*`\\]", "", text).replace('"', "'").split())


def bullets(text):
    """(section, words) of each bullet; its lines are joined."""
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        number = section.partition(".")[0]
        for bullet in re.split(r"^- ", section, flags=re.M)[1:]:
            lines = bullet.split("\n")
            more = [line for line in lines[1:] if line.startswith("  ")]
            yield number, plain(" ".join([lines[0], *more]))


@pytest.fixture(scope="module")
def rules():
    """(section, words) of each rule with a mark."""
    if not RULES.exists():
        pytest.skip(f"{RULES} is not there: nothing says which rules there are")
    found = []
    for section, words in bullets(RULES.read_text()):
        *marked, _ = MARK.split(words)
        found += [(section, part.strip(" .;")) for part in marked]
    assert len(found) > 80
    return found


@pytest.fixture(scope="module")
def citations():
    """(section, words, test) of each citation in the docstring of a test."""
    found = []
    for path in sorted(ABI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                text = plain_docstring(node)
                place = f"{path.name}::{node.name}"
                found += [(number, plain(words), place) for number, words in CITATION.findall(text)]
    return found


def plain_docstring(node):
    """A docstring however its lines are broken."""
    return " ".join((ast.get_docstring(node) or "").split())


def names(section, words, rule):
    return rule[0] == section and words in rule[1]


def test_every_rule_has_a_test(rules, citations):
    missing = [
        f"{rule[0]}: {rule[1]}"
        for rule in rules
        if not any(names(section, words, rule) for section, words, _ in citations)
    ]
    assert not missing, f"{len(missing)} rules without a test:\n" + "\n".join(missing)


def test_every_citation_names_one_rule(rules, citations):
    wrong = {}
    for section, words, place in citations:
        count = sum(names(section, words, rule) for rule in rules)
        if count != 1:
            wrong[f'{place}: {section}: "{words}"'] = count
    assert not wrong, "\n".join(f"{count} rules match: {place}" for place, count in wrong.items())
