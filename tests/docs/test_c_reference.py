"""The C reference: every function with its parameters, examples that run, rules that refuse."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RULES = ROOT / "tests" / "abi" / "rules"
SPECIFICATION = ROOT.parent / "shared" / "spec" / "c-api.json"
LEVELS = {"27": "1", "28": "2", "29": "3", "30": "4", "31": "5", None: "not specified"}
GROUPS = ("models", "memory_descs", "memories", "executions", "events")
"""Files of tests whose calls are refused for many rules."""
BELOW = ("/operations/", "/drivers/", "/hal/")
"""Sources whose rules the page names as a group."""

sys.path.append(str(DOCS))
import write_c_reference as reference  # noqa: E402
from refusals_of import CallGraph  # noqa: E402
from write_rules import refusals  # noqa: E402

FUNCTIONS = {
    name: (prototype, comment)
    for header in reference.HEADERS
    for prototype, name, comment in reference.functions(header)
}
OBJECTS = dict(reference.objects())


def test_every_function_has_a_section():
    page = (DOCS / "c_reference.md").read_text()
    assert sorted(re.findall(r"^### (\w+)$", page, re.M)) == sorted(FUNCTIONS)
    assert len([name for name in FUNCTIONS if name.startswith("ANeural")]) == 75
    assert len(OBJECTS) == 8


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name):
    prototype, comment = FUNCTIONS[name]
    inside = prototype[prototype.index("(") + 1 : prototype.rindex(")")]
    names = [re.search(r"(\w+)$", part.strip())[1] for part in inside.split(",")]
    assert [*comment.parameters] == ([] if names == ["void"] else names)
    assert all(text.endswith(".") for text in comment.parameters.values())


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_says_its_states_lifetime_and_threads(name):
    assert {*OBJECTS[name].tags} == {*reference.TAGS}


def test_levels_are_those_of_the_specification():
    if not SPECIFICATION.exists():
        pytest.skip("needs the specification, ../shared/spec")
    for function in json.loads(SPECIFICATION.read_text())["functions"]:
        _, comment = FUNCTIONS[function["name"]]
        assert comment.level == LEVELS[function["api_level"]], function["name"]


def test_links_lead_to_functions():
    text = "".join((DOCS / "c_reference.md").read_text())
    text += "".join(page.read_text() for page in (DOCS / "c").glob("*.md"))
    named = re.findall(r"\]\((?:\.\./c_reference\.md)?#(aneural\w+|nnapi_shim_\w+)\)", text)
    assert len(named) > 40
    assert {*named} <= {name.lower() for name in FUNCTIONS}


def test_examples_run(tmp_path):
    program = tmp_path / "examples"
    sources = sorted(reference.EXAMPLES.glob("*.c"))
    assert {path.stem for path in sources} == {
        "main",
        *(kind.lower() or "library" for kind in reference.SECTIONS),
    }
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    linked = ["-Lbuild/lib", "-lneuralnetworks", f"-Wl,-rpath,{ROOT / 'build' / 'lib'}"]
    command = ["cc", *warnings, "-Iinclude", *sources, *linked, "-o", program]
    subprocess.run(command, cwd=ROOT, check=True, timeout=HANGS_S)
    done = subprocess.run([program], capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"nnapi-reference .*, level \d+\n", done.stdout)


def test_rules_of_refused_calls_are_those_of_the_page(tmp_path):
    """What tests of the API are refused for is what the page says of the function."""
    record = tmp_path / "refused"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.docs.refusal_recorder"]
    command += [str(RULES / f"{group}.py") for group in GROUPS]
    environment = os.environ | {"RECORD": str(record)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    refused = {tuple(line.split()[:2]) for line in record.read_text().splitlines()}
    assert len(refused) > 80
    graph = CallGraph()
    below = {it.rule for it in refusals() if any(folder in it.where for folder in BELOW)}
    reached = {name: graph.rules(name) for name in {name for name, _ in refused}}
    for name, rule in refused:
        result, groups = reached[name]
        assert rule in {it.rule for it in result} or (groups and rule in below), (name, rule)
