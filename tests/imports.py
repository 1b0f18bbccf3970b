"""The modules of the package and what they import: statements, and modules that strings name.

A string names a module where `import_module`, `__import__` or a table of names could import it:
`"nnapi_shim.formats.save"`, `"tflite.exporting"` in a module of formats/, and the literal start of
an f-string, such as `f"nnapi_shim.formats.{name}"`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nnapi_shim"

DOTTED = re.compile(r"\w+(\.\w+)+\.?")
BY_NAME = ("import_module", "__import__")


class Module(NamedTuple):
    """A module: its path within the package, its syntax tree."""

    path: str
    tree: ast.Module

    def at(self, node: ast.AST, message: str) -> str:
        """A line of the report."""
        return f"nnapi_shim/{self.path}:{getattr(node, 'lineno', 1)}: {message}"

    def within(self, places: tuple[str, ...]) -> bool:
        """Whether it is one of these files, or in one of these folders."""
        return any(self.path == p or (p.endswith("/") and self.path.startswith(p)) for p in places)

    @property
    def name(self) -> str:
        """Its dotted name."""
        path = self.path.removesuffix(".py").replace("/", ".").removesuffix("__init__")
        return f"nnapi_shim.{path}".rstrip(".")

    @property
    def package(self) -> str:
        """The dotted name of the package that it is in, or that it is."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]

    @property
    def layer(self) -> str:
        """The first part of its name: a folder, or a module beside the folders."""
        return self.path.partition("/")[0].removesuffix(".py")


class Import(NamedTuple):
    """An import of a module, by its full name."""

    name: str
    node: ast.AST
    at_start: bool
    """Whether importing the importing module runs it."""
    by_name: bool = False
    """Whether a string names it; the name is a package where the string says no more."""


def parsed(path: Path, base: Path = PACKAGE) -> Module:
    """A file as a module; its path is relative to `base`."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return Module(path.relative_to(base).as_posix(), tree)


@cache
def modules() -> list[Module]:
    """All modules of the package."""
    return [parsed(path) for path in sorted(PACKAGE.rglob("*.py"))]


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


@cache
def exists(name: str) -> bool:
    """Whether a dotted name is a module of the package."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def statements(module: Module) -> Iterator[Import]:
    """The import statements; `from a import b` is one of a.b where that is a module."""

    def walk(node: ast.AST, at_start: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child, at_start) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                for alias in child.names:
                    inner = f"{base}.{alias.name}"
                    yield Import(inner if exists(inner) else base, child, at_start)
            else:
                is_later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(
                    child, at_start and not is_later and not is_for_type_checkers(child)
                )

    return walk(module.tree, True)


def literal(module: Module, node: ast.AST) -> str | None:
    """A string, or the start of an f-string up to the first value that is not known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    known = {"__name__": module.name, "__package__": module.package}
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += part.value
        elif isinstance(part, ast.FormattedValue) and ast.unparse(part.value) in known:
            text += known[ast.unparse(part.value)]
        else:
            break
    return text


def named(module: Module, text: str) -> str | None:
    """The module of the package that a string names, as it is or relative to a package around.

    The start of an f-string names the package in front of its last dot, which must be in full.
    """
    if not DOTTED.fullmatch(text):
        return None
    if text.partition(".")[0] == "nnapi_shim":
        text = text.rstrip(".")
        return text if exists(text) else None
    base = module.package
    while base and not text.endswith("."):
        if exists(f"{base}.{text}"):
            return f"{base}.{text}"
        base = base.rpartition(".")[0]
    return None


def strings(module: Module) -> Iterator[Import]:
    """The modules of the package that strings name; docstrings name none."""
    prose: set[int] = set()  # docstrings, and the parts of f-strings
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr):
            prose.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            prose |= {id(part) for part in node.values}
    for node in ast.walk(module.tree):
        text = None if id(node) in prose else literal(module, node)
        name = named(module, text) if text else None
        if name:
            yield Import(name, node, at_start=False, by_name=True)


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """All imports of a module."""
    return (*statements(module), *strings(module))


def unknown(module: Module) -> Iterator[ast.Call]:
    """The calls that import a module whose name only a run knows."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(BY_NAME):
            name = node.args[0]
            text = literal(module, name) or "."
            is_whole = isinstance(name, ast.Constant) and not text.startswith(".")
            if not is_whole and named(module, text) is None:
                yield node
