"""Code in the documentation: the fenced blocks of every page, by language."""

import re
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = {"operations.md", "rules.md", "commands.md", "c_reference.md"}
"""Pages that programs write; their code is that of other tests."""

_ELSEWHERE = re.compile(r"<!-- run by ([\w/.]+) -->")


class Block(NamedTuple):
    """A block of code.

    line: of its first line in the page. elsewhere: the test that runs it in place of
    test_blocks.py, or "". comment: the HTML comments directly before it.
    """

    page: Path
    line: int
    language: str
    text: str
    elsewhere: str
    comment: str


def pages() -> list[Path]:
    """Every page that users read."""
    result = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
    result += sorted((ROOT / "docs").rglob("*.md"))
    result += [ROOT / "c_examples" / "README.md", *sorted((ROOT / "examples").rglob("README.md"))]
    return [path for path in result if path.name not in WRITTEN and "_build" not in path.parts]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in their order; those of indented lines have the language ""."""
    result = []
    tokens = MarkdownIt().parse(page.read_text())
    comment = ""
    for token in tokens:
        if token.type == "html_block":
            comment += token.content
        elif token.type in ("fence", "code_block"):
            elsewhere = _ELSEWHERE.search(comment)
            result.append(
                Block(
                    page,
                    token.map[0] + 2 if token.map else 0,
                    token.info.strip() if token.type == "fence" else "",
                    token.content,
                    elsewhere[1] if elsewhere else "",
                    comment,
                )
            )
            comment = ""
        else:
            comment = ""
    return result
