"""Docstrings as reStructuredText: the names that they explain become lists, and code is code."""

import re

_NAMES = re.compile(r"(\w+(?:, \w+)*): (.*)")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring as Sphinx wants them.

    "name: what it is", with what follows indented, is an item of a list; other indented lines
    behind an empty one are code, and behind a line of text they go on with it.
    """
    result: list[str] = []
    is_item = is_code = False
    before = ""
    for line in lines:
        indented = line.startswith("    ")
        named = None if indented else _NAMES.fullmatch(line)
        if not line.strip():
            is_item = False
        elif is_code and not indented:
            is_code = False
        if named and (not before.strip() or is_item):
            if before.strip() and not is_item:
                result.append("")
            names = ", ".join(f"``{name}``" for name in named[1].split(", "))
            result.append(f"* {names}: {_plain(named[2])}")
            is_item = True
        elif is_item and indented:
            result.append(f"  {_plain(line.strip())}")
        elif indented and not is_code and not before.strip():
            is_code = True
            result += ["::", "", line]
        else:
            if is_item:
                result.append("")
                is_item = False
            result.append(line if is_code else _plain(line.strip() if indented else line))
        before = line
    return result


def _plain(line: str) -> str:
    """A line with `names` as literals, and without signs that mean something else here."""
    line = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", line)
    parts = line.split("``")
    parts[::2] = [re.sub(r"([*|]|\b_|_\b)", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)
