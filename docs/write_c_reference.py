"""Writes c_reference.md from the comments of the headers and the refusals in the sources."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from refusals_of import DRIVERS, OPERATIONS, CallGraph
from write_rules import ROOT

INCLUDE = ROOT / "include"
EXAMPLES = Path(__file__).with_name("c_snippets")
TYPES = "android/NeuralNetworksTypes.h"
HEADERS = ("android/NeuralNetworks.h", "android/NeuralNetworksExtensions.h", "nnapi_shim.h")

HEAD = """# C reference

This page describes the 75 functions of NNAPI feature level 8 and the functions of `nnapi_shim.h`.
`make docs` writes it from the comments of the headers in `include/`, and the rules of each function
from the refusals in `nnapi_shim/`; do not edit it. [C programs](start/c.md) is an introduction, and
the [guides](c/fences.md) have whole programs.

| header | functions |
|---|---|
| `android/NeuralNetworks.h` | the 69 functions of the NDK |
| `android/NeuralNetworksExtensions.h` | 6 functions for extensions of vendors |
| `nnapi_shim.h` | the functions of this library: messages, versions, names of operands |

## What holds for all functions

Functions that return `int` return a result code. They check in this order: pointers that are NULL
(`UNEXPECTED_NULL`), the state of the object (`BAD_STATE`), values and handles (`BAD_DATA`). A call
that fails changes nothing, with two exceptions: a model or compilation whose finish failed can only
be freed, and a failed run counts as a run: an execution that is not reusable cannot run again.

Constructors store the new object through their last parameter, or NULL when they fail. Free
functions accept NULL, and objects in any state.

Calls with different objects may run at the same time. The entry *Threads* of an object says which
calls with the same object may; a function to which another rule applies has its own entry.

Each function lists the rules by which it can refuse a call, with a link to their
[messages](rules.md). All functions can also return `OUT_OF_MEMORY`, and `OP_FAILED` if the library
cannot start. *Handle* stands for the [four rules of handles](rules.md#handle): a handle that is
NULL, freed, of another kind, or not from this library.

"""

SECTIONS = {
    "Model": "Models",
    "Compilation": "Compilations",
    "Execution": "Executions",
    "Event": "Events and fences",
    "Burst": "Bursts",
    "Memory": "Memories",
    "MemoryDesc": "Memory descriptors",
    "Device": "Devices",
    "": "The library",
    "nnapi_shim": "nnapi_shim.h",
}
"""Object in the name of a function -> the heading of its section, in the order of the page."""

GUIDES = {
    "Event": ("fences", "Fences"),
    "Burst": ("bursts", "Bursts"),
    "Execution": ("dynamic-shapes", "Dynamic shapes"),
    "MemoryDesc": ("memory-domains", "Memory domains"),
    "Compilation": ("caching", "Caching"),
    "Model": ("control-flow", "Control flow"),
}
"""Object -> page and title of a guide."""

GROUPS = {
    OPERATIONS: "the rules of the [operations](operations.md)",
    DRIVERS: "[driver](rules.md#driver) rules and those of the [operations](operations.md)",
}
TAGS = ("State", "Lifetime", "Threads")
_COMMENTED = re.compile(r"/\*\*((?:(?!\*/).)*?)\*/\n([^/]*?);", re.S)


class Comment(NamedTuple):
    """A comment of a header: its text, and its parts by tag."""

    text: str
    parameters: dict[str, str]
    tags: dict[str, str]
    level: str
    returns: str


def main() -> None:
    """Write c_reference.md."""
    Path(__file__).with_name("c_reference.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    yield from _codes()
    graph = CallGraph()
    described = dict(objects())
    declared = [item for header in HEADERS for item in functions(header)]
    for kind, title in SECTIONS.items():
        yield f"\n## {title}\n\n"
        if kind in described:
            comment = described[kind]
            yield f"`ANeuralNetworks{kind}`: {comment.text}\n\n"
            yield from (f"- *{tag}:* {_sentence(comment.tags[tag])}\n" for tag in TAGS)
            yield f"- *Feature level:* {comment.level}\n"
        if kind in GUIDES:
            page, guide = GUIDES[kind]
            yield f"\nGuide: [{guide}](c/{page}.md).\n"
        example = EXAMPLES / f"{kind.lower() or 'library'}.c"
        yield f"\nExample:\n\n```c\n{_code(example)}```\n"
        for prototype, name, comment in sorted(declared, key=lambda it: _turn(it[1])):
            if object_of(name) == kind:
                yield from _function(prototype, name, comment, graph)


def object_of(name: str) -> str:
    """The object in the name of a function: Model of ANeuralNetworksModel_create."""
    return name.partition("_")[0].removeprefix("ANeuralNetworks") if name[0] == "A" else name[:10]


def _turn(name: str) -> int:
    """What makes an object comes first, what frees it last."""
    verb = name.partition("_")[2]
    return 0 if verb.startswith("create") else 2 if verb == "free" else 1


def _function(prototype: str, name: str, comment: Comment, graph: CallGraph) -> Iterator[str]:
    yield f"\n### {name}\n\n```c\n{prototype};\n```\n\n{comment.text}\n"
    if comment.parameters:
        yield "\n| parameter | meaning |\n|---|---|\n"
        yield from (f"| `{key}` | {_cell(text)} |\n" for key, text in comment.parameters.items())
    yield "\n"
    if "State" in comment.tags:
        yield f"- *State:* {_sentence(comment.tags['State'])}\n"
    if comment.returns:
        yield f"- *Returns:* {_sentence(comment.returns)}\n"
    if prototype.startswith(("int ANeural", "void", "int nnapi")):
        yield from _rules(name, graph)
    yield from (
        f"- *{tag}:* {_sentence(comment.tags[tag])}\n" for tag in TAGS[1:] if tag in comment.tags
    )
    yield f"- *Feature level:* {comment.level}\n"


def _rules(name: str, graph: CallGraph) -> Iterator[str]:
    found, groups = graph.rules(name)
    by_code: dict[str, set[str]] = {}
    for refusal in found:
        code = {"any": "other codes"}.get(refusal.code, f"`{refusal.code}`")
        family = refusal.rule.partition(".")[0]
        text = f"[`{refusal.rule}`](rules.md#{family})"
        if family == "handle":
            code, text = "", "[handle](rules.md#handle)"
        by_code.setdefault(code, set()).add(text)
    lines = [
        f"{code}: {', '.join(sorted(texts))}" if code else ", ".join(texts)
        for code, texts in sorted(by_code.items(), reverse=True)
    ]
    if groups:
        lines.append(f"also {GROUPS[DRIVERS if DRIVERS in groups else OPERATIONS]}")
    if lines:
        yield f"- *Rules:* {'; '.join(lines)}.\n"


def _codes() -> Iterator[str]:
    """The table of result codes."""
    text = (INCLUDE / TYPES).read_text()
    body = text[: text.index("} ResultCode;")].rpartition("typedef enum {")[2]
    yield "| result code | value | meaning |\n|---|---|---|\n"
    for words, name, value in re.findall(r"/\*\*(.*?)\*/\s*ANEURALNETWORKS_(\w+) = (\d+)", body):
        yield f"| `ANEURALNETWORKS_{name}` | {value} | {words.strip()} |\n"


def objects() -> Iterator[tuple[str, Comment]]:
    """Name and comment of each opaque type."""
    for words, declaration in _COMMENTED.findall((INCLUDE / TYPES).read_text()):
        named = re.fullmatch(r"typedef struct ANeuralNetworks(\w+) ANeuralNetworks\1", declaration)
        if named:
            yield named[1], parsed(words)


def functions(header: str) -> Iterator[tuple[str, str, Comment]]:
    """Prototype, name and comment of each function of a header."""
    for words, declaration in _COMMENTED.findall((INCLUDE / header).read_text()):
        named = re.match(r"[\w *]*?\b(\w+)\(", declaration)
        if named:
            yield declaration, named[1], parsed(words)


def parsed(words: str) -> Comment:
    """A comment of a header, read."""
    lines = [line.strip().removeprefix("*").strip() for line in words.strip().splitlines()]
    parts: list[list[str]] = [["", ""]]
    for line in lines:
        tag = re.match(r"@param (\w+) |@return |(State|Lifetime|Threads|Level)(?::| ) *", line)
        if tag:
            parts.append([tag[0].strip(" :"), line[tag.end() :]])
        elif not line:
            parts[-1][1] += "\n\n"
        else:
            joint = "" if parts[-1][1].endswith("\n") or not parts[-1][1] else " "
            parts[-1][1] += joint + line
    found = {key: _marked(text.strip()) for key, text in parts}
    return Comment(
        found[""],
        {key[7:]: text for key, text in found.items() if key.startswith("@param ")},
        {tag: found[tag] for tag in TAGS if tag in found},
        found.get("Level", "1").rstrip("."),
        found.get("@return", ""),
    )


def _marked(text: str) -> str:
    """Names of C as code, and functions as links to their descriptions."""
    text = re.sub(
        r"\b((?:ANeuralNetworks|nnapi_shim)\w*_\w+)\(\)",
        lambda m: f"[`{m[1]}`](#{m[1].lower()})",
        text,
    )
    return re.sub(r"(?<![\w`])([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|NULL|UINT64_MAX)(?!\w)", r"`\1`", text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(path: Path) -> str:
    """A program of an example, without its licence line."""
    return "".join(path.read_text().splitlines(keepends=True)[1:]).lstrip("\n")


if __name__ == "__main__":
    main()
