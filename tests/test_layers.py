"""The layers keep to themselves: imports point one way, and heavy packages stay in their places.

Every rule looks at all modules of the package and gives a list of `file:line: what is wrong`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nnapi_shim"
OPEN = {
    "errors",
    "settings",
    "log",
    "vlog",
    "address",
    "folders",
    "pages",
    "process",
    "signals",
    "hints",
    "limits",
}

RIGHT_OF = {
    "hal": set(),
    "operations": {"hal"},
    "drivers": {"operations", "hal"},
    "runtime": {"drivers", "operations", "hal", "recording"},
    "abi": {"runtime", "drivers", "operations", "hal", "handles", "recording"},
    "api": {"runtime", "drivers", "operations", "hal", "handles"},
    "formats": {"api", "runtime", "drivers", "operations", "hal", "recording"},
    "tools": {"formats", "api", "runtime", "drivers", "operations", "hal", "recording", "capi"},
    "pictures": {"tools", "formats", "api", "runtime", "drivers", "operations", "hal"},
    "cli": {"pictures", "tools", "formats", "api", "runtime", "drivers", "operations", "hal"},
    "recording": {"hal"},
    # The modules that are open to all, and those beside the layers.
    "errors": {"hal"},
    "settings": set(),
    "log": set(),
    "vlog": set(),
    "address": set(),
    "folders": set(),
    "pages": set(),
    "process": set(),
    "signals": set(),
    "hints": set(),
    "limits": {"hal"},
    "handles": {"hal"},
    "capi": {"api"},
    "__main__": {"cli"},
}
"""Layer -> what it may import beside itself and the modules that are open to all."""

NUMBA = tuple(f"drivers/cpu/{room}/" for room in ("kernels", "codegen", "toolchain"))
"""The rooms that import numba."""
TOOLCHAIN = "drivers/cpu/toolchain/"
HOMES = {
    "numba": NUMBA,
    "llvmlite": NUMBA,
    "_cffi_backend": ("address.py", "drivers/cpu/program/library.py", "recording/at_exit.py"),
    "cffi": ("capi.py",),
    "pycparser": (),
}
"""Package -> the only modules that may import it."""

STARTS_WITHOUT_NUMPY = ("abi/", "runtime/", "operations/", "hal/", "drivers/cpu/", "__init__.py")
PRINTS = ("cli/", TOOLCHAIN + "build.py")
# The build hands its processes the tier that they compile for.
READS_THE_ENVIRONMENT = ("settings.py", TOOLCHAIN + "build.py", TOOLCHAIN + "target.py")


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
    def layer(self) -> str:
        """The first part of its name: a folder, or a module beside the folders."""
        return self.path.partition("/")[0].removesuffix(".py")


class Import(NamedTuple):
    """An import of a module, by its full name."""

    name: str
    node: ast.stmt
    at_start: bool
    """Whether importing the importing module runs it."""


def parsed(path: Path, base: Path = PACKAGE) -> Module:
    """A file as a module; its path is relative to `base`."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return Module(path.relative_to(base).as_posix(), tree)


MODULES = [parsed(path) for path in sorted(PACKAGE.rglob("*.py"))]


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def exists(name: str) -> bool:
    """Whether a dotted name is a module of the package."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports(module: Module) -> Iterator[Import]:
    """All imports of a module; `from a import b` is one of a.b where that is a module."""

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


def import_directions() -> Iterator[str]:
    """A layer imports what stands to its right, and no relative names."""
    for module in MODULES:
        if module.path == "__init__.py":  # its names are imported on first use
            continue
        if module.layer not in RIGHT_OF:
            yield module.at(module.tree, f"no layer is called {module.layer}")
            continue
        allowed = (
            {module.layer} | RIGHT_OF[module.layer] | (OPEN if module.layer != "hal" else {"hints"})
        )
        for item in imports(module):
            if isinstance(item.node, ast.ImportFrom) and item.node.level:
                yield module.at(item.node, "a relative import")
            parts = item.name.split(".")
            if parts[0] == "nnapi_shim" and len(parts) > 1 and parts[1] not in allowed:
                yield module.at(item.node, f"{module.layer} imports {item.name}")


REGISTRIES = ("drivers/observing", "drivers/steppable")
"""Modules that devices may import, and that know none of them."""


COMPILED_BY = ("kernels", "codegen", "toolchain")
"""Rooms of nnapi-cpu for kernels, which import each other."""
CPU_ROOMS = (
    ("device",),
    ("prepared_model",),
    ("run",),
    ("cache",),
    ("compile",),
    ("passes",),
    COMPILED_BY,
    ("lowering",),
    ("program",),
)
"""Rooms of drivers/cpu, and the files above them: each imports itself and what comes later."""


def rooms_of_the_cpu_device() -> Iterator[str]:
    """The rooms of drivers/cpu import one way, and kernels are compiled by the device alone."""
    rank = {room: at for at, rooms in enumerate(CPU_ROOMS) for room in rooms}
    prefix = "nnapi_shim.drivers.cpu."
    for module in MODULES:
        own = module.name.removeprefix(prefix).partition(".")[0]
        if not module.name.startswith(prefix):
            continue
        if own not in rank:
            yield module.at(module.tree, f"no room of drivers/cpu is called {own}")
            continue
        for item in imports(module):
            target = item.name.removeprefix(prefix).partition(".")[0]
            if not item.name.startswith(prefix) or target not in rank or target == own:
                continue
            is_kernel = target in COMPILED_BY
            if rank[target] < rank[own] or (
                is_kernel and own not in COMPILED_BY and own != "device"
            ):
                yield module.at(item.node, f"{own} imports {item.name}")


def devices_are_separate() -> Iterator[str]:
    """A device knows of no other, and its kernels are imported late: numba comes with them."""
    for module in MODULES:
        own = "/".join(module.path.split("/")[:2])
        for item in imports(module):
            target = item.name.removeprefix("nnapi_shim.").replace(".", "/")
            if not target.startswith("drivers/") or target in REGISTRIES:
                continue
            device = "/".join(target.split("/")[:2])
            if module.layer == "drivers" and module.path.count("/") > 1 and device != own:
                yield module.at(item.node, f"{own} imports {item.name}")
            if f"{target}/".startswith(NUMBA) and item.at_start and not module.within(NUMBA):
                yield module.at(item.node, f"imports {item.name} at start: it brings numba")


def packages_at_home() -> Iterator[str]:
    """Numba is for kernels, cffi for the edges."""
    for module in MODULES:
        for item in imports(module):
            package = item.name.partition(".")[0]
            if package in HOMES and not module.within(HOMES[package]):
                homes = ", ".join(HOMES[package]) or "the build"
                yield module.at(item.node, f"imports {package}, which is for {homes}")


def numpy_is_not_needed_to_start() -> Iterator[str]:
    """Nothing that a C program imports on the way to the CPU device imports numpy."""
    for module in MODULES:
        starts = module.within(STARTS_WITHOUT_NUMPY) or module.layer in {*OPEN, "handles"}
        if not starts or module.within(NUMBA):
            continue
        for item in imports(module):
            if item.name.partition(".")[0] == "numpy" and item.at_start:
                yield module.at(item.node, "imports numpy at start")


def broad_handlers() -> Iterator[str]:
    """Only the boundary turns any exception into something else, what calls the drivers, the
    Python files and the runtimes of other people, and what records calls; clean-up raises it again.
    """
    broad = ("Exception", "BaseException")
    callers = (
        "abi/boundary.py",
        "abi/capture.py",
        "drivers/versioned/answer.py",
        "tools/model_source.py",
        "tools/peers.py",
    )
    for module in MODULES:
        if module.path in callers:
            continue
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ExceptHandler):
                continue
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if not any(kind is None or ast.unparse(kind) in broad for kind in kinds):
                continue
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):
                yield module.at(node, "catches every exception and does not raise it again")


def printing() -> Iterator[str]:
    """Stdout belongs to the program; only commands print."""
    for module in MODULES:
        if module.within(PRINTS):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                yield module.at(node, "prints")


def docstrings() -> Iterator[str]:
    """Every module and every public class, function and method says what it is."""

    def missing(node: ast.AST, name: str) -> Iterator[tuple[ast.AST, str]]:
        if not ast.get_docstring(node):
            yield node, name
        if isinstance(node, ast.Module | ast.ClassDef):
            for child in node.body:
                is_documented = isinstance(child, ast.ClassDef | ast.FunctionDef) and not any(
                    ast.unparse(decorator) == "overload" for decorator in child.decorator_list
                )
                if is_documented and not child.name.startswith("_"):
                    yield from missing(child, child.name)

    for module in MODULES:
        for node, name in missing(module.tree, "the module"):
            yield module.at(node, f"{name} has no docstring")


def settings() -> Iterator[str]:
    """The table has every variable that is read, and none that is not."""
    table = next(module for module in MODULES if module.path == "settings.py")
    names = {}
    for node in table.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names[ast.unparse(node.targets[0])] = (node, ast.literal_eval(node.value.args[0]))
    listed = next(
        ast.unparse(node.value)
        for node in table.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SETTINGS"
    )
    imported = {
        alias.name
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "nnapi_shim.settings"
        for alias in node.names
    }
    native = "".join(path.read_text() for path in sorted(PACKAGE.glob("native/**/*.[ch]")))
    read_in_c = set(re.findall(r'getenv\("((?:NNAPI_SHIM|DEBUG_NN)_\w+)"\)', native))
    for name, (node, variable) in names.items():
        if name not in imported and f'"{variable}"' not in native:
            yield table.at(node, f"nothing reads {variable}")
        if not re.search(rf"\b{name}\b", listed):
            yield table.at(node, f"{name} is not in SETTINGS")
    for variable in sorted(read_in_c - {variable for _, variable in names.values()}):
        yield table.at(table.tree, f"{variable} is read in nnapi_shim/native and not in the table")


def environment() -> Iterator[str]:
    """The environment is read through the table of settings."""
    for module in MODULES:
        if module.within(READS_THE_ENVIRONMENT):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv"):
                yield module.at(node, "reads the environment past settings.py")


def circles() -> Iterator[str]:
    """No module imports one that leads back to it, be it inside a function or for types alone."""
    by_name = {module.name: module for module in MODULES}
    targets = {
        module.name: {
            item.name: item.node
            for item in imports(module)
            if item.name in by_name and item.name != module.name
        }
        for module in MODULES
    }
    done: set[str] = set()
    for start in targets:
        path: list[str] = [start]
        ahead = [iter(targets[start])]
        while start not in done and ahead:
            following = next(ahead[-1], None)
            if following is None:
                done.add(path.pop())
                ahead.pop()
            elif following in path:
                circle = [*path[path.index(following) :], following]
                node = targets[path[-1]][following]
                yield by_name[path[-1]].at(node, f"a circle: {' -> '.join(circle)}")
            elif following not in done:
                path.append(following)
                ahead.append(iter(targets[following]))


RULES = [
    import_directions,
    circles,
    devices_are_separate,
    rooms_of_the_cpu_device,
    packages_at_home,
    numpy_is_not_needed_to_start,
    broad_handlers,
    printing,
    docstrings,
    settings,
    environment,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule: Callable[[], Iterator[str]]) -> None:
    """Reports all violations of a rule at once."""
    violations = list(rule())
    assert not violations, "\n".join([f"{rule.__doc__}", *violations])


def test_build_ffi_stands_alone() -> None:
    """The build of the library imports nothing of the package, which may not be there yet."""
    names = [item.name for item in imports(parsed(ROOT / "build_ffi.py", ROOT))]
    assert not [name for name in names if name.startswith("nnapi_shim")]
