"""Writes rules.md, the rules that refusals name, from where they are written."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "nnapi_shim"

HEAD = """# Rules

Written by `make docs` from the refusals in `nnapi_shim/`; do not edit.

Every refusal names its rule: at the end of its line on stderr, as `rule` in the lines of
`NNAPI_SHIM_LOG=error,json`, and as `NnapiError.rule` in Python. An id is the module and the
function that the rule is written in, with a name where a function has several; it stays what it is
as long as there is the rule. Messages say what was given, then behind a semicolon what is allowed;
what stands in braces is filled in. Where a rule was broken comes in front of the message, or behind
an operand's name: `CONV_2D (operation 4): filter (input 1, operand 7) has rank 3; it must be 4`.

Two kinds stand in no table: `native.boot`, a start that failed, and `drivers.cpu.kernels.` with the
name of a kernel, for values that it met in a computation.

| Rule | Result | Message |
|---|---|---|
"""

CODES = {"bad_data": "BAD_DATA", "bad_state": "BAD_STATE", "op_failed": "OP_FAILED"}
REFUSALS = {*CODES, "refuse", "NnapiError"}


class Refusal(NamedTuple):
    """A refusal in the sources."""

    rule: str
    code: str
    message: str
    where: str


def main() -> None:
    """Write the file beside this one."""
    Path(__file__).with_name("rules.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    for found in sorted(refusals()):
        message = found.message.replace("|", "\\|")
        yield f"| `{found.rule}` | {found.code} | {message} |\n"


def refusals() -> Iterator[Refusal]:
    """All refusals that have a rule of their own."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path == PACKAGE / "errors.py":
            continue
        name = path.relative_to(PACKAGE).with_suffix("")
        module = ".".join(name.parts).removesuffix(".__init__")
        for function, call in _calls(ast.parse(path.read_text()), None):
            given = [word.arg for word in call.keywords]
            if "rule" not in given:
                rule = f"{module}.{function.name.strip('_')}" if function else module
                yield _refusal(call, function, rule, f"{name}:{call.lineno}")


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
        called = child.func if isinstance(child, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in REFUSALS:
            assert isinstance(child, ast.Call)
            yield function, child
        yield from _calls(child, inside)


def _refusal(call: ast.Call, function: ast.FunctionDef | None, rule: str, where: str) -> Refusal:
    kind, given = ast.unparse(call.func), list(call.args)
    code = CODES.get(kind, "")
    if kind == "NnapiError":
        code = ast.unparse(given.pop(0)).removeprefix("ResultCode.")
        code = code if code.isupper() else "any"
    elif kind == "refuse":
        code = "BAD_DATA or OP_FAILED"
    if len(given) > 1:
        name = given[1]
        assert isinstance(name, ast.Constant), f"{where}: the name of a rule is not a word"
        rule = f"{rule}.{name.value}"
    return Refusal(rule, code, _template(given[0], function), where)


def _template(message: ast.expr, function: ast.FunctionDef | None) -> str:
    """Text with what is filled in between braces, such as `rank is {rank}; it must be 4`."""
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
    """The word that says what is filled in."""
    if isinstance(value, ast.Call) and value.args:  # such as list(x) and ", ".join(x)
        return _short(value.args[0])
    if isinstance(value, ast.Attribute):
        return _short(value.value) if value.attr in ("name", "__name__") else value.attr
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Call | ast.Subscript):
        return _short(value.func if isinstance(value, ast.Call) else value.value)
    text = ast.unparse(value)
    return text if len(text) <= 20 else "..."


if __name__ == "__main__":
    main()
