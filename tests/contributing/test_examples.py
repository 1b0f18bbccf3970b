"""The worked examples of CONTRIBUTING.md pass their checks in a copy; no step can be left out."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import Block, blocks
from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
COPIED = ("nnapi_shim", "include", "docs", "tests/rule_ids.txt", "build_methods.py")
ACTION = re.compile(r"<!-- (append to|create|replace in|check)(?: ([\w/.-]+))?(?:: (.*))? -->")


class Step(NamedTuple):
    """A block of an example: its action, the file, the text to replace, and the new text."""

    action: str
    path: str
    old: str
    text: str


class Example(NamedTuple):
    """An addition: its steps, and the shell commands that show that it works."""

    title: str
    steps: list[Step]
    check: str


def examples() -> Iterator[Example]:
    """The sections of the page that have steps."""
    titles = {
        number: line.removeprefix("### ")
        for number, line in enumerate(PAGE.read_text().splitlines(), 1)
        if line.startswith("### ")
    }
    result: dict[str, list[tuple[Block, re.Match[str]]]] = {}
    for block in blocks(PAGE):
        action = ACTION.search(block.comment)
        if action:
            title = titles[max(number for number in titles if number < block.line)]
            result.setdefault(title, []).append((block, action))
    for title, items in result.items():
        steps = [Step(a[1], a[2] or "", a[3] or "", b.text) for b, a in items]
        (check,) = [step.text for step in steps if step.action == "check"]
        yield Example(title, [step for step in steps if step.action != "check"], check)


EXAMPLES = list(examples())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the examples change, with the libraries that are built."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    (folder / "build").symlink_to(ROOT / "build")
    return folder


def apply(step: Step, folder: Path) -> None:
    path = folder / step.path
    if step.action == "create":
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(step.text)
    elif step.action == "append to":
        path.write_text(f"{path.read_text()}\n\n{step.text}")
    else:
        text = path.read_text()
        assert text.count(step.old) == 1, f"{step.path} has no line, or several: {step.old}"
        path.write_text(text.replace(step.old, step.text.rstrip("\n")))


def checked(example: Example, steps: list[Step], original: Path, folder: Path) -> tuple[bool, str]:
    """Whether the check of an example passes in a copy with these steps, and what it prints."""
    shutil.copytree(original, folder, symlinks=True)
    for step in steps:
        apply(step, folder)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", example.check],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    shutil.rmtree(folder)
    return done.returncode == 0, done.stdout


def test_the_page_has_the_examples() -> None:
    assert [example.title for example in EXAMPLES] == [
        "An operation",
        "A faster kernel",
        "A pass",
        "A command",
        "A device",
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_steps_are_enough(example: Example, original: Path, tmp_path: Path) -> None:
    passes, output = checked(example, example.steps, original, tmp_path / "copy")
    assert passes, output


@pytest.mark.parametrize(
    ("example", "left_out"),
    [(example, at) for example in EXAMPLES for at in range(len(example.steps))],
    ids=lambda value: value.title if isinstance(value, Example) else str(value),
)
def test_no_step_can_be_left_out(
    example: Example, left_out: int, original: Path, tmp_path: Path
) -> None:
    steps = [step for at, step in enumerate(example.steps) if at != left_out]
    passes, output = checked(example, steps, original, tmp_path / "copy")
    assert not passes, f"it works without {example.steps[left_out].path}: {output}"
