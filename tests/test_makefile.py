"""`make help` lists every target; an architecture is checked before anything is built."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split()
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert sorted(line.split()[1] for line in listed.splitlines()) == sorted(targets)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (["ARCH=arm64"], "the architecture arm64 is called aarch64"),
        (["ARCH=s390y", "library"], "there is no architecture s390y: choose ARCH from"),
        (["ARCH=loongarch64", "CC=cc", "companion"], "CC=cc compiles for"),
        (["ARCH=loongarch64", "CC=no-cc", "library"], "there is no compiler no-cc: name one for"),
    ],
)
def test_a_wrong_architecture_is_one_line(variables: list[str], said: str) -> None:
    command = ["make", "--no-print-directory", "--dry-run", *variables]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert said in line


def test_no_architecture_is_this_one() -> None:
    command = ["make", "--no-print-directory", "--dry-run", "ARCH=", "library"]
    printed = subprocess.check_output(command, cwd=ROOT, text=True)
    assert f"ARCH={os.uname().machine} " in printed
    assert "--out build/lib\n" in printed
