"""Every block of code in the documentation runs.

Python, shell and C of a page run in order in a folder that looks like a checkout, in which
`program.c` is a program of the reader's. A block that only another test can run says which:
`<!-- run by tests/install/test_prefix.py -->` before it. Blocks of text show what something prints,
and are no code; those of `console` have commands after "$ " and what they print.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages
from tests.waiting import HANGS_S

RUN = {"python", "sh", "console"}
COMPILED = {"c": "cc", "cpp": "c++"}
LANGUAGES = {*RUN, *COMPILED, "json", "toml", "cmake", "text"}
PAGES = {path.relative_to(ROOT).as_posix(): blocks(path) for path in pages()}


def of(page: str, *languages: str) -> list[Block]:
    return [it for it in PAGES[page] if it.language in languages and not it.elsewhere]


def where(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    for block in PAGES[page]:
        assert block.language in LANGUAGES or block.language.startswith("{"), (
            f"{where(block)}: a block of {block.language!r}"
        )
        if block.elsewhere:
            assert (ROOT / block.elsewhere).exists(), f"{where(block)}: {block.elsewhere}"
        elif block.language == "cmake":
            raise AssertionError(f"{where(block)} has to say which test runs it")


def test_there_is_code() -> None:
    result = [block for page in PAGES for block in of(page, *RUN)]
    assert len(result) >= 40


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout in which everything is built, and may be written to."""
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "build"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "build").mkdir()
    for entry in (ROOT / "build").iterdir():
        if entry.is_file():
            continue  # what the commands of the pages have written there
        (tmp_path / "build" / entry.name).symlink_to(entry)
    shutil.copy(ROOT / "c_examples" / "simple_add.c", tmp_path / "program.c")
    shutil.copy(ROOT / "c_examples" / "basic.cpp", tmp_path / "program.cpp")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """That of a reader who has activated the environment that `make` made."""
    kept = {name: os.environ[name] for name in ("HOME", "XDG_STATE_HOME") if name in os.environ}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return kept | {"PATH": path, "PWD": str(folder), "LC_ALL": "C.UTF-8", "COLUMNS": "110"}


def script(result: list[Block]) -> str:
    """Shell that runs the blocks of a page in order, and says which one it is at."""
    lines = ["set -eu"]
    for block in result:
        lines.append(f"echo '@ {block.line}'")
        if block.language == "sh":
            lines.append(block.text)
        else:
            lines += re.findall(r"^\$ (.*)$", block.text, re.M)
    return "\n".join(lines)


NEEDS_MODEL_EXPLORER = "docs/pictures.md"


def with_marks(page: str) -> Any:
    """A page as a parameter; the page that needs Model Explorer is for `make test-integrations`."""
    marks = {NEEDS_MODEL_EXPLORER: pytest.mark.integration, "docs/tools.md": pytest.mark.slow}
    return pytest.param(page, marks=marks.get(page, ()))


@pytest.mark.parametrize("page", [with_marks(page) for page in PAGES if of(page, "sh", "console")])
def test_commands(page: str, checkout: Path) -> None:
    result = of(page, "sh", "console")
    done = subprocess.run(
        ["bash", "-c", script(result)],
        cwd=checkout,
        env=environment(checkout),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    at = re.findall(r"^@ (\d+)$", done.stdout, re.M)[-1]
    assert done.returncode == 0, f"{page}:{at}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    outputs = re.split(r"^@ \d+\n", done.stdout, flags=re.M)[1:]
    for block, printed in zip(result, outputs, strict=True):
        if block.language == "console":
            shown = re.sub(r"^\$ .*\n?", "", block.text, flags=re.M).strip()
            pattern = re.escape(shown).replace(re.escape("..."), "[\\s\\S]*?")
            pattern = re.sub(r"(\\ )+", r"\\s+", pattern)
            assert re.fullmatch(pattern, printed.strip()), f"{where(block)}:\n{printed}"


@pytest.mark.parametrize("page", [page for page in PAGES if of(page, "python")])
def test_python(page: str, checkout: Path) -> None:
    result = of(page, "python")
    program = checkout / "page.py"
    lines: list[str] = []
    for block in result:  # at the lines that they have in the page
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.text.splitlines()
    program.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=checkout,
        env=environment(checkout),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 0, f"{page}: {done.stdout[-2000:]}{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", [page for page in PAGES if of(page, *COMPILED)])
def test_c(page: str, checkout: Path) -> None:
    for block in of(page, *COMPILED):
        suffix = block.language
        program = checkout / f"at_{block.line}"
        source = program.with_suffix(f".{suffix}")
        source.write_text(block.text)
        command = [COMPILED[suffix], "-Wall", "-Werror", "-Iinclude", "-Iinclude/companion", source]
        if "int main" in block.text:
            command += ["-Lbuild/lib", "-landroid", "-llog", "-lneuralnetworks", "-lm"]
            command += ["-Wl,-rpath,build/lib", "-o", program]
        else:
            command += ["-fsyntax-only", "-Wno-unused"]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{where(block)}: {done.stderr}"
        if "int main" in block.text:
            run = subprocess.run(
                [program],
                cwd=checkout,
                capture_output=True,
                text=True,
                timeout=HANGS_S,
                check=False,
            )
            assert run.returncode == 0, f"{where(block)}: {run.stdout}{run.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if of(page, "json", "toml")])
def test_data(page: str) -> None:
    for block in of(page, "json"):
        json.loads(block.text)
    for block in of(page, "toml"):
        if sys.version_info >= (3, 11):
            import tomllib

            tomllib.loads(block.text)
