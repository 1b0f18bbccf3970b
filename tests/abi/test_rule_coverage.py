"""Every rule that public compatibility tests look at has a test that names it.

The rules are the sentences before each mark `[T]` in the specification's notes on the C API. The
docstring of a test names one by its section and a few words of it:

    api-semantics 4: "Inputs must be fully specified"

The entries of sections 15 and 16 have numbers, such as api-semantics 15.3, 16.8. Where an entry
says that the reference need not be followed, (D), it is in docs/deviations.md, too, under a name.
The docstring of a test has the name and the number:

    deviation: `identify-half-way` (api-semantics 15.5)
"""

import ast
import re
from pathlib import Path

import pytest

ABI = Path(__file__).resolve().parent
RULES = ABI.parents[2] / "shared" / "spec" / "api-semantics.md"
MARK = re.compile(r"\[T[^\]]*\]")
CITATION = re.compile(r'api-semantics (\d+): "([^"]*)"')
NUMBERS = re.compile(r"api-semantics ((?:1[56]\.\d+(?:, )?)+)")
UNFOLLOWED = re.compile(r"\(D|: D\)|A or D|\(either|\(A for|\(A where harmless")
DEVIATION = re.compile(r"deviation: `([^`]*)`")
DOCUMENT = ABI.parents[1] / "docs" / "deviations.md"
PARTS = ("Call", "Reference", "Here", "Reason")


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
    result = []
    for section, words in bullets(RULES.read_text()):
        *marked, _ = MARK.split(words)
        result += [(section, part.strip(" .;")) for part in marked]
    assert len(result) > 80
    return result


@pytest.fixture(scope="module")
def docstrings():
    """(docstring, test) of each test."""
    return [
        (plain_docstring(node), f"{path.name}::{node.name}")
        for path in sorted(ABI.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


@pytest.fixture(scope="module")
def citations(docstrings):
    """(section, words, test) of each citation in the docstring of a test."""
    return [
        (number, plain(words), location)
        for text, location in docstrings
        for number, words in CITATION.findall(text)
    ]


@pytest.fixture(scope="module")
def entries():
    """Number, such as 15.3, -> words of each entry of sections 15 and 16."""
    if not RULES.exists():
        pytest.skip(f"{RULES} is not there: nothing says which entries there are")
    _, first, second = re.split(r"^## 1[56]\.", RULES.read_text(), flags=re.M)
    result = {
        f"{section}.{number}": plain(words)
        for section, text in ((15, first), (16, second))
        for number, words in re.findall(r"^(\d+)\. (.*(?:\n   .*)*)", text, re.M)
    }
    assert len(result) >= 24 + 17
    return result


@pytest.fixture(scope="module")
def deviations():
    """Name -> what docs/deviations.md says, for each entry of its part `Answers`."""
    answers = DOCUMENT.read_text().partition("\n## Answers\n")[2].partition("\n## ")[0]
    _, *result = re.split(r"^### ", answers, flags=re.M)
    names = [re.match(r"`([^`]*)`\n", text)[1] for text in result]
    assert len(names) == len({*names})
    return dict(zip(names, result, strict=True))


def numbers(text):
    """The numbers of the entries that a text names, each as often as it does."""
    return [number for result in NUMBERS.findall(text) for number in result.strip(", ").split(", ")]


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
    for section, words, location in citations:
        count = sum(names(section, words, rule) for rule in rules)
        if count != 1:
            wrong[f'{location}: {section}: "{words}"'] = count
    assert not wrong, "\n".join(
        f"{count} rules match: {location}" for location, count in wrong.items()
    )


def test_every_entry_has_a_test(entries, docstrings):
    assert {number for text, _ in docstrings for number in numbers(text)} == {*entries}


@pytest.fixture(scope="module")
def shown(docstrings):
    """Name of a deviation -> the numbers of its entries, from the docstrings of its tests."""
    result = {}
    for text, _ in docstrings:
        for name in DEVIATION.findall(text):
            result.setdefault(name, set()).update(numbers(text))
    return result


def test_what_need_not_be_followed_is_documented(entries, shown):
    """Every entry with a (D), or a choice, or whose (A) is for a part of it; no other one."""
    documented = {number for result in shown.values() for number in result}
    assert documented == {n for n, words in entries.items() if UNFOLLOWED.search(words)}


def test_every_deviation_has_a_test(deviations, shown):
    """And the document has every deviation that a test shows."""
    assert {*shown} == {*deviations}
    assert {len(result) for result in shown.values()} == {1}


def test_every_deviation_says_all(deviations):
    """The call, what the reference answers, what the library answers, and why."""
    for name, text in deviations.items():
        inputs = re.findall(r"^- \*\*(\w+):\*\* \S", text, re.M)
        assert tuple(inputs) == PARTS, name
