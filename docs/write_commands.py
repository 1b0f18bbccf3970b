"""Writes commands.md, the reference of the command line, from the parsers of the commands."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from nnapi_shim.cli.app import app

HEAD = """# Command line

This page lists the commands of `nnapi-shim` with their arguments and options. `make docs` writes it
from the parsers in `nnapi_shim/cli/`, which also print it (`nnapi-shim COMMAND --help`); do not
edit it. [Tools](tools.md) describes what the commands are for, and has examples.

```text
nnapi-shim [--version] [--help] COMMAND [ARGUMENTS]
```

| command | what it does |
|---|---|
"""

EXIT_CODES = """
## Exit codes

| code | meaning |
|---|---|
| 0 | success |
| 1 | differences or defects: `diff`, `lint`, `replay`, `run --expect` |
| 2 | an error: one line on stderr gives the reason |
| 126, 127 | `exec`: the program cannot be run, or does not exist; otherwise its own exit code |
| 130 | Ctrl-C |
"""


def main() -> None:
    """Write commands.md."""
    Path(__file__).with_name("commands.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    group: Any = typer.main.get_command(app)
    yield HEAD
    for name, command in group.commands.items():
        yield f"| [{name}](#{name}) | {_prose(_paragraphs(command)[0])} |\n"
    for name, command in group.commands.items():
        yield from _command(name, command)
    yield EXIT_CODES


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p not in arguments]
    usage = " ".join(["nnapi-shim", name, "[OPTIONS]", *(p.metavar for p in arguments)])
    prose = [text for text in _paragraphs(command) if not _is_example(text)]
    yield f"\n## {name}\n\n```text\n{usage}\n```\n\n"
    yield from (f"{_prose(text)}\n\n" for text in prose)
    yield "| argument or option | default | meaning |\n|---|---|---|\n"
    for p in arguments:
        yield _row(f"`{p.metavar}`", "", p.help)
    for p in options:
        names = ", ".join(f"`{option}`" for option in (*p.opts, *p.secondary_opts))
        value = f" `{p.metavar}`" if p.metavar else "" if p.is_flag else f" `{_kind(p)}`"
        default = "" if p.is_flag or p.default in (None, (), []) else f"`{p.default}`"
        yield _row(names + value, default, p.help)
    examples = [_command_line(text) for text in _paragraphs(command) if _is_example(text)]
    if examples:
        yield "\n```text\n" + "\n".join(examples) + "\n```\n"


def _paragraphs(command: Any) -> list[str]:
    """The paragraphs of a help text, each in one line."""
    return [" ".join(text.split()) for text in command.help.split("\n\n")]


def _is_example(text: str) -> bool:
    return text.startswith(("Example: ", "Examples: ", "nnapi-shim ", "gcc "))


def _command_line(text: str) -> str:
    return re.sub(r"^Examples?: ", "", text)


def _kind(parameter: Any) -> str:
    """What an option takes, if it does not say so itself."""
    return "N" if type(parameter.default) is int else "X"


def _row(names: str, default: str, words: str | None) -> str:
    return f"| {_cell(names)} | {default} | {_cell(_prose(words or ''))} |\n"


def _prose(text: str) -> str:
    """Options as code, and signs of Markdown as they are."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", part) for part in parts[::2]]
    parts[::2] = [re.sub(r"\b(docs/\w+\.md)\b", _link, part) for part in parts[::2]]
    parts[::2] = [part.replace("*", "\\*").replace("<", "\\<") for part in parts[::2]]
    return "`".join(parts)


def _link(page: re.Match[str]) -> str:
    name = page[1].removeprefix("docs/")
    return f"[{name.removesuffix('.md')}]({name})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
