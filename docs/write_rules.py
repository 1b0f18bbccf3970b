"""Writes rules.md, the list of all rules, from the refusals in the sources."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nnapi_shim"
LIST = ROOT / "tests" / "rule_ids.txt"

HEAD = """# Rules

Every refusal names the rule that the call broke. The id of the rule is at the end of the line
on stderr, in the field `rule` of `NNAPI_SHIM_LOG=error,json`, and in `NnapiError.rule` in Python.
`make docs` writes this page from the refusals in `nnapi_shim/`; do not edit it.

```text
CONV_2D (operation 4): filter (input 1, operand 7) has rank 3; it must be 4 [operation.rank.exact]
```

This page explains the ids. [Messages](messages.md) shows how to find the cause of a refusal.

An id begins with the object of the API, such as `model`, or with an operation or a family of
operations; rules that many operations share begin with `operation`. Programs may compare ids: they
stay the same when the checks move to other code, and the [changelog](../CHANGELOG.md) lists each
id that changes.

A message names the operation and the operand, such as
`CONV_2D (operation 4): filter (input 1, operand 7)`, then the value that the call passed, then,
after a semicolon, what is allowed. Braces are placeholders for values. The column "Result" is the
code that a C program gets; a rule that several calls check can have several codes.

Two ids are not in the tables: `library.start`, when the library cannot start, and
`driver.refused`, when a driver refuses a call without an id of its own.
"""

FORM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")
FILLED = re.compile(r"{[^}]*}")
CODES = {
    "bad_data": "BAD_DATA",
    "bad_state": "BAD_STATE",
    "op_failed": "OP_FAILED",
    "reason": "BAD_DATA",  # of what cannot be imported
    "refuse": "BAD_DATA or OP_FAILED",
    "refused_input": "BAD_DATA or OP_FAILED",
    "unexpected_null": "UNEXPECTED_NULL",
    "unmappable": "UNMAPPABLE",
}
REFUSALS = {*CODES, "NnapiError"}
CALLED = re.compile(rf"\b({'|'.join(sorted(REFUSALS))})\(")


class Refusal(NamedTuple):
    """A refusal in the sources."""

    rule: str
    code: str
    message: str
    where: str


def main() -> None:
    """Write rules.md and print problems of the ids."""
    Path(__file__).with_name("rules.md").write_text("".join(document()))
    wrong = problems()
    sys.exit("\n".join(wrong) or None)


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    rows = sorted({refusal[:3] for refusal in refusals()})
    for of, group in groupby(rows, lambda row: row[0].partition(".")[0]):
        yield f"\n## {of}\n\n| Rule | Result | Message |\n|---|---|---|\n"
        for rule, code, message in group:
            escaped = message.replace("|", "\\|")
            yield f"| `{rule}` | {code} | {escaped} |\n"


def problems() -> list[str]:
    """Problems of the ids, one line each: their form, and differences from the list."""
    by_rule = defaultdict(list)
    for refusal in refusals():
        by_rule[refusal.rule].append(refusal)
    wrong = [
        f"{each[0].where}: {rule!r} is no id; one is words with hyphens, between dots"
        for rule, each in by_rule.items()
        if not FORM.fullmatch(rule)
    ]
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    listed = {line.removesuffix(" *"): line.endswith(" *") for line in lines}
    if lines != sorted(set(lines)):
        wrong.append(f"{LIST.name} is not sorted, or has a line twice")
    for rule in sorted(by_rule.keys() | listed.keys()):
        locations = ", ".join(refusal.where for refusal in by_rule[rule])
        differ = len({(it.code, FILLED.sub("{}", it.message)) for it in by_rule[rule]}) > 1
        if rule not in listed:
            wrong.append(
                f"{locations}: {rule} is new; add it to tests/{LIST.name} if it is meant to be"
            )
        elif not locations:
            wrong.append(f"{rule} is gone; take it from tests/{LIST.name} if it is meant to be")
        elif differ and not listed[rule]:
            wrong.append(
                f"{locations}: {rule} has several messages or result codes; two rules have two "
                f"ids, and one rule that is worded in several ways has ` *` in tests/{LIST.name}"
            )
        elif listed[rule] and not differ:
            wrong.append(f"{locations}: {rule} is worded in one way; tests/{LIST.name} has ` *`")
    return wrong


@cache
def refusals() -> tuple[Refusal, ...]:
    """All refusals with a literal rule id."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return tuple(it for path in paths if path != PACKAGE / "errors.py" for it in _in_file(path))


def _in_file(path: Path) -> Iterator[Refusal]:
    text = path.read_text()
    if CALLED.search(text) is None:  # which is known long before it is parsed
        return
    for function, call in _calls(ast.parse(text), None):
        if "rule" not in [word.arg for word in call.keywords]:  # else it is handed on
            where = f"{path.relative_to(ROOT)}:{call.lineno}"
            yield from _refusals(call, function, where)


def _calls(
    node: ast.AST, function: ast.FunctionDef | None
) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
    """Refusals below a node, with the outermost function around each."""
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.ClassDef):
            inside = None
        elif isinstance(child, ast.FunctionDef) and function is None:
            inside = child
        if isinstance(child, ast.Call) and _kind(child) in REFUSALS:
            yield function, child
        yield from _calls(child, inside)


def _kind(call: ast.Call) -> str:
    """The function that makes the refusal; `refused_input` is of an operation."""
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr == "refused_input":
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _refusals(call: ast.Call, function: ast.FunctionDef | None, where: str) -> Iterator[Refusal]:
    """The refusals of a call: two for a conditional id, `"while.timeout" if is_loop else ...`."""
    kind, arguments = _kind(call), list(call.args)
    code = CODES.get(kind, "")
    if kind == "NnapiError":
        code = ast.unparse(arguments.pop(0)).removeprefix("ResultCode.")
        code = code if code.isupper() else "any"
    assert len(arguments) == 2, f"{where}: a refusal has a message and the id of its rule"
    message, rule = arguments
    for chosen in (rule.body, rule.orelse) if isinstance(rule, ast.IfExp) else (rule,):
        literal = isinstance(chosen, ast.Constant)
        assert literal, f"{where}: the id of a rule is written out, and not computed"
        yield Refusal(chosen.value, code, _template(message, function), where)


def _template(message: ast.expr, function: ast.FunctionDef | None) -> str:
    """The message with placeholders in braces, such as `rank is {rank}; it must be 4`."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    if isinstance(message, ast.JoinedStr):
        return "".join([_template(part, function) for part in message.values])
    if isinstance(message, ast.FormattedValue):
        return f"{{{_short(message.value)}}}"
    if isinstance(message, ast.BinOp):
        return _template(message.left, function) + _template(message.right, function)
    if isinstance(message, ast.Name) and function is not None:
        assigned = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == message.id
            and node.lineno < message.lineno
        ]
        if assigned:  # the last one before it is used
            return _template(max(assigned, key=lambda node: node.lineno).value, None)
    return f"{{{_short(message)}}}"


def _short(value: ast.expr) -> str:
    """The name of a placeholder, in words: `most elements` for _MOST_ELEMENTS."""
    if isinstance(value, ast.Call) and value.args:  # such as list(x) and ", ".join(x)
        return _short(value.args[0])
    if isinstance(value, ast.Attribute):
        return _short(value.value) if value.attr in ("name", "__name__") else _words(value.attr)
    if isinstance(value, ast.Name):
        return _words(value.id)
    if isinstance(value, ast.Call | ast.Subscript):
        return _short(value.func if isinstance(value, ast.Call) else value.value)
    text = ast.unparse(value)
    return text if len(text) <= 20 else "..."


def _words(name: str) -> str:
    return name.strip("_").replace("_", " ").lower()


if __name__ == "__main__":
    main()
