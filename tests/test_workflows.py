"""The workflows of a public forge call the Makefile, on the Pythons that the project supports."""

import re
from pathlib import Path

import pytest

from tests.test_pins import PYTHONS

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_targets_exist(path: Path) -> None:
    called = {
        target
        for line in re.findall(r"run: make (.*?)(?:\s+#.*)?$", path.read_text(), re.MULTILINE)
        for target in line.split()
        if "=" not in target
    }
    assert called and called <= TARGETS, called - TARGETS


def test_every_supported_python_is_tested() -> None:
    (versions,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())
    assert tuple(re.findall(r'"([\d.]+)"', versions)) == PYTHONS


def test_both_architectures_are_tested() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text, re.MULTILINE))
    for job, machine in (("test", "ubuntu-24.04"), ("arm64", "ubuntu-24.04-arm")):
        assert f"runs-on: {machine}\n" in jobs[job]
        assert "run: make test\n" in jobs[job]
        assert "run: make test-slow\n" in jobs[job]
    assert 'make test-arm ARM="--quick ' in jobs["emulated"]


def test_hooks_run_what_make_lint_runs() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert lint is not None
    tools = re.findall(r"\$\(VENV\)/bin/(\w+(?: format| check)?)", lint[1])
    assert len(tools) == 3
    assert all(f"entry: .venv/bin/{tool}" in hooks for tool in tools)
