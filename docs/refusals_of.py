"""The rules that can refuse each C function: the refusals that its calls can reach in the sources.

A static call graph of abi/ and runtime/. Methods are resolved by the type hints of the sources, and
by the classes that are made; a method of a base class stands for those of its subclasses, too.
Operations and devices are not followed: their rules are named as a group.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from write_rules import PACKAGE, ROOT, Refusal, refusals

FOLLOWED = ("abi", "runtime")
FILES = ("handles.py", "pages.py", "address.py")
NOT_FOLLOWED = {"lint", "traced", "vlog_wrapper", "wrapped", "instrumentation", "capture"}
"""Modules that settings put around the calls; they refuse by the same rules."""

OPERATIONS, DRIVERS = "operations", "drivers"

NO_HANDLE = "nnapi_shim.handles.HandleTable._diagnosis"
LISTS = {"uint32s", "pointers"}
"""What reads a list of the program (abi/cdata.py), and can find it too short."""

DEFERRED = {
    "ANeuralNetworksEvent_wait": "nnapi_shim.runtime.execution.Execution._run",
    "ANeuralNetworksCompilation_finish": "nnapi_shim.runtime.memory.FdMemory.map",
}
"""Function -> a method whose errors it reports, which something else calls."""

ELSEWHERE = {
    "ANeuralNetworksExecution_setInput": "memory.",
    "ANeuralNetworksExecution_setOutput": ("memory.", "execution.set-input."),
    "ANeuralNetworksExecution_setOutputFromMemory": "execution.set-input.",
}
"""Function -> rules of the code that it shares with others, which are not for it."""


class Function(NamedTuple):
    """A function or method of the sources; methods have the name of their class in front."""

    module: str
    name: str
    node: ast.FunctionDef
    path: Path

    @property
    def owner(self) -> str:
        """The class of a method, or ""."""
        return self.name.partition(".")[0] if "." in self.name else ""


class Module(NamedTuple):
    """Names that a module imports -> (module, name), and its classes."""

    imports: dict[str, tuple[str, str]]
    classes: dict[str, ast.ClassDef]


class CallGraph:
    """The functions of the sources, and which of them a function calls."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.modules: dict[str, Module] = {}
        self.tables: dict[str, str] = {}
        for path in self._paths():
            self._read(path)
        self.homes = {name: module for module, it in self.modules.items() for name in it.classes}
        """Class -> its module; the names of classes are unique here."""
        self._refusals: dict[Path, list[Refusal]] = {}
        for refusal in refusals():
            path = ROOT / refusal.where.partition(":")[0]
            self._refusals.setdefault(path, []).append(refusal)

    def _paths(self) -> Iterator[Path]:
        for folder in FOLLOWED:
            for path in sorted((PACKAGE / folder).glob("*.py")):
                if path.stem not in NOT_FOLLOWED:
                    yield path
        yield from (PACKAGE / name for name in FILES)

    def _read(self, path: Path) -> None:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text())
        found = self.modules[module] = Module({}, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    found.imports[name.asname or name.name] = node.module, name.name
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self._add(Function(module, node.name, node, path))
            elif isinstance(node, ast.ClassDef):
                found.classes[node.name] = node
                for item in node.body:
                    if isinstance(item, ast.FunctionDef):
                        self._add(Function(module, f"{node.name}.{item.name}", item, path))
            elif isinstance(node, ast.AnnAssign) and "HandleTable[" in ast.unparse(node):
                kind = re.search(r"\[(\w+)\]", ast.unparse(node.annotation))
                assert kind is not None
                self.tables[ast.unparse(node.target)] = kind[1]

    def _add(self, function: Function) -> None:
        self.functions[f"{function.module}.{function.name}"] = function

    def rules(self, name: str) -> tuple[set[Refusal], set[str]]:
        """The refusals that a C function can reach, and the groups that it reaches."""
        start = next(key for key in self.functions if key.endswith(f".{name}"))
        seen, waiting = set(), [start, DEFERRED.get(name, "")]
        groups: set[str] = set()
        while waiting:
            key = waiting.pop()
            if not key or key in seen:
                continue
            seen.add(key)
            if key in (OPERATIONS, DRIVERS):
                groups.add(key)
            else:
                waiting += self.calls(key)
        found = {
            refusal
            for key in seen - groups
            for refusal in self._inside(self.functions[key])
            if not refusal.rule.startswith(ELSEWHERE.get(name, "-"))
        }
        return found, groups

    def _inside(self, function: Function) -> Iterator[Refusal]:
        last = function.node.end_lineno or 0
        for refusal in self._refusals.get(function.path, ()):
            if function.node.lineno <= int(refusal.where.rpartition(":")[2]) <= last:
                yield refusal

    @cache  # noqa: B019 - one graph is made
    def calls(self, key: str) -> tuple[str, ...]:
        """What a function calls: functions of the sources, and groups."""
        function = self.functions[key]
        found: list[str] = []
        for node in ast.walk(function.node):
            if isinstance(node, ast.Call):
                found += self._called(node.func, function)
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in self.tables:
                found.append(NO_HANDLE)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found += self._named(node.id, function.module, with_classes=False)
            elif isinstance(node, ast.Attribute):
                owner = self.type_of(node.value, function)
                found += [
                    name
                    for name in self._methods(owner, node.attr)
                    if _is_property(self.functions[name])
                ]
        return tuple(found)

    def _called(self, node: ast.expr, function: Function) -> list[str]:
        if isinstance(node, ast.Name):
            if node.id in LISTS:
                return ["nnapi_shim.abi.cdata.Array.__iter__"]
            return self._named(node.id, function.module)
        if not isinstance(node, ast.Attribute):
            return []
        if ast.unparse(node.value) == "super()":
            bases = [*self._bases(function.owner)][1:]
            return [key for each in bases if (key := self._own(each, node.attr))][:1]
        if isinstance(node.value, ast.Name):
            if node.value.id in self.tables and node.attr == "remove":
                return [NO_HANDLE]
            imported = self.modules[function.module].imports.get(node.value.id)
            if imported and ".".join(imported) in self.modules:
                return self._named(node.attr, ".".join(imported))
        if node.attr == "check_operation":
            return [OPERATIONS]
        owner = self.type_of(node.value, function)
        if owner in ("IDevice", "IPreparedModel", "IExecution", "IBuffer"):
            return [DRIVERS]
        if not owner and node.attr in ("map", "map_for_output"):
            owner = "Memory"
        return self._methods(owner, node.attr)

    def _named(self, name: str, module: str, with_classes: bool = True) -> list[str]:
        """A function, or what makes a class, by its name in a module."""
        if f"{module}.{name}" in self.functions:
            return [f"{module}.{name}"]
        if name in self.modules[module].classes:
            return self._methods(name, "__init__") if with_classes else []
        home, original = self.modules[module].imports.get(name, ("", ""))
        return self._named(original, home, with_classes) if home in self.modules else []

    def _methods(self, owner: str, name: str) -> list[str]:
        """The methods that a call can reach: of the class or its bases, and of subclasses."""
        found = [key for each in self._bases(owner) if (key := self._own(each, name))][:1]
        if name != "__init__":
            found += [key for each in self._subclasses(owner) if (key := self._own(each, name))]
        return found

    def _own(self, owner: str, name: str) -> str:
        key = f"{self.homes.get(owner, '')}.{owner}.{name}"
        return key if key in self.functions else ""

    def _bases(self, owner: str) -> Iterator[str]:
        if owner in self.homes:
            yield owner
            for base in self.modules[self.homes[owner]].classes[owner].bases:
                yield from self._bases(ast.unparse(base))

    @cache  # noqa: B019 - one graph is made
    def _subclasses(self, owner: str) -> tuple[str, ...]:
        if not owner:
            return ()
        return tuple(name for name in self.homes if name != owner and owner in self._bases(name))

    def type_of(self, node: ast.expr, function: Function, depth: int = 0) -> str:
        """The class of a value, or "" if it is not known."""
        if depth > 8:
            return ""
        if isinstance(node, ast.Name):
            return self._type_of_name(node.id, function, depth)
        if isinstance(node, ast.Subscript):
            return self.tables.get(ast.unparse(node.value), "")
        if isinstance(node, ast.Attribute):
            return self._type_of_attribute(
                self.type_of(node.value, function, depth + 1), node.attr, depth
            )
        if isinstance(node, ast.Call):
            for key in self._called(node.func, function):
                if key in self.functions:
                    called = self.functions[key]
                    return called.owner if key.endswith("__init__") else _class(called.node.returns)
        return ""

    def _type_of_name(self, name: str, function: Function, depth: int) -> str:
        if name == "self":
            return function.owner
        arguments = function.node.args
        for argument in (*arguments.args, *arguments.kwonlyargs):
            if argument.arg == name and argument.annotation is not None:
                return _class(argument.annotation)
        for node in ast.walk(function.node):
            if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
                return self.type_of(node.value, function, depth + 1)
            if isinstance(node, ast.For) and ast.unparse(node.target) == name:
                return _class(self._annotation_of(node.iter, function))
        return ""

    def _annotation_of(self, node: ast.expr, function: Function) -> ast.expr | None:
        arguments = function.node.args
        for argument in (*arguments.args, *arguments.kwonlyargs):
            if argument.arg == ast.unparse(node):
                return argument.annotation
        return None

    def _type_of_attribute(self, owner: str, name: str, depth: int) -> str:
        for each in self._bases(owner):
            key = self._own(each, name)
            if key:
                return _class(self.functions[key].node.returns)
            for item in ast.walk(self.modules[self.homes[each]].classes[each]):
                target = f"self.{name}"
                if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) in (target, name):
                    return _class(item.annotation)
                if isinstance(item, ast.Assign) and target in map(ast.unparse, item.targets):
                    maker = self.functions[self._own(each, "__init__") or self._own(each, "open")]
                    found = self.type_of(item.value, maker, depth + 1)
                    if found:
                        return found
        return ""


def _class(annotation: ast.expr | None) -> str:
    """The first class of a type hint, such as Model of `Sequence[Model] | None`."""
    if annotation is None:
        return ""
    text = ast.unparse(annotation)
    names = [name for name in re.findall(r"\w+", text) if name[0].isupper()]
    return next((n for n in names if n not in ("Sequence", "Any", "None", "Callable")), "")


def _is_property(function: Function) -> bool:
    return any(ast.unparse(it) == "property" for it in function.node.decorator_list)
