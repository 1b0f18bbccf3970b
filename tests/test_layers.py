"""The layers keep to themselves: imports point one way, and heavy packages stay in their places.

Every rule looks at all modules of the package and gives a list of `file:line: what is wrong`.
"""

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from nnapi_shim.drivers.cpu.isa.every import TIERS
from tests.imports import PACKAGE, ROOT, Module, exists, imports, modules, parsed, unknown

OPEN = {
    "errors",
    "extras",
    "settings",
    "settings_file",
    "log",
    "vlog",
    "address",
    "folders",
    "pages",
    "process",
    "processors",
    "signals",
    "hints",
    "limits",
    "modules",
    "units",
    "version",
}

RIGHT_OF = {
    "hal": set(),
    "operations": {"hal"},
    "drivers": {"operations", "hal", "savers"},
    "phones": {"drivers", "operations", "hal"},
    "runtime": {"phones", "drivers", "operations", "hal", "recording"},
    "abi": {"runtime", "phones", "drivers", "operations", "hal", "handles", "recording"},
    "api": {"runtime", "drivers", "operations", "hal", "handles", "savers"},
    "formats": {"api", "runtime", "drivers", "operations", "hal", "recording", "savers"},
    "tools": {
        "formats",
        "api",
        "runtime",
        "phones",
        "drivers",
        "operations",
        "hal",
        "recording",
        "capi",
    },
    "pictures": {"tools", "formats", "api", "runtime", "drivers", "operations", "hal"},
    "cli": {"pictures", "tools", "formats", "api", "runtime", "drivers", "operations", "hal"},
    "testing": {"tools", "phones"},
    "recording": {"hal"},
    # The modules that are open to all, and those beside the layers.
    "errors": {"hal"},
    "extras": set(),
    "settings": set(),
    "settings_file": set(),
    "log": set(),
    "vlog": set(),
    "address": set(),
    "folders": set(),
    "pages": set(),
    "process": {"hal"},
    "processors": set(),
    "signals": set(),
    "hints": set(),
    "limits": {"hal"},
    "modules": set(),
    "units": set(),
    "version": set(),
    "handles": {"hal"},
    "capi": {"api"},
    "savers": set(),
    "__main__": {"cli"},
}
"""Layer -> what it may import beside itself and the modules that are open to all."""

NUMBA = tuple(f"drivers/cpu/{room}/" for room in ("kernels", "codegen", "toolchain"))
"""The rooms that import numba."""
CPU = "nnapi_shim.drivers.cpu"
INSTRUCTION_SETS = ("drivers/cpu/isa/", "drivers/cpu/codegen/isa/")
"""The folders in which instruction sets have names."""
TOOLCHAIN = "drivers/cpu/toolchain/"
HOMES = {
    "numba": NUMBA,
    "llvmlite": NUMBA,
    "_cffi_backend": ("address.py", "drivers/cpu/program/library.py", "recording/at_exit.py"),
    "cffi": ("capi.py",),
    "pycparser": (),
}
"""Package -> the only modules that may import it."""

IMPORT_BY_NAME = {
    "abi/__init__.py": "the exported functions, a module for each noun",
    "api/drawing.py": "the drawer that the top of the package names",
    "drivers/__init__.py": "a table of devices: what is not asked for is not imported",
    "drivers/cpu/kernels/__init__.py": "families of kernels: they bring numba",
    "drivers/cpu/lowering/__init__.py": "families of lowerings, when an operation needs one",
    "drivers/cpu/passes/__init__.py": "passes, where a graph may have something for them",
    TOOLCHAIN + "objects.py": "the sources of a family",
    TOOLCHAIN + "workers.py": "the module that a worker runs",
    "drivers/engine_devices.py": "engines, whose packages may be missing",
    "drivers/entry_point.py": "devices of installed packages; the group of entry points",
    "drivers/isolated/boot.py": "what answers in the process",
    "drivers/isolated/start.py": "what answers in the process of a device",
    "drivers/manifest.py": "devices of other people, whose manifests name them",
    "drivers/reference/prepared_model.py": "families of formulas, when an operation needs one",
    "formats/save.py": "a table of formats: each needs packages of its own",
    "formats/tflite/exporting/writing.py": "tables of the package tflite",
    "formats/tflite/importing/table.py": "families of operators, when a file has one",
    "modules.py": "the function that all others call",
    "operations/__init__.py": "families of operations, when a model has one",
    "savers.py": "the module whose name the package sets",
    "pictures/explorer/server.py": "Model Explorer imports its extensions by name",
    "runtime/everything.py": "all modules of some packages, before a program gives up rights",
    "tools/model_source.py": "a module of the user's",
    "tools/peers.py": "a table of other runtimes, which may be missing",
}
"""Module -> why it imports modules by names in strings; no other does."""

SLOW = {"collections", "functools", "importlib", "typing"}
STARTS_SLOWLY = {
    "abi/capture.py": "for a setting",
    "abi/checks.py": "for a setting",
    "abi/faults.py": "for a setting",
    "abi/traced.py": "for a setting",
    "drivers/cpu/compile/blocks.py": "for large models",
    "hints.py": "for newer Pythons",
    "operations/lstm_cell.py": "for few models",
    "processors.py": "for calibrations",
    "runtime/traced.py": "for a setting",
    "runtime/vlog_wrapper.py": "for a setting",
}
"""Module -> what it is imported for, and may import a slow module of Python for."""
STARTS_WITHOUT_NUMPY = ("abi/", "runtime/", "operations/", "hal/", "drivers/cpu/", "__init__.py")
PRINTS = ("cli/", TOOLCHAIN + "build.py", TOOLCHAIN + "workers.py")
# The build hands its processes the tier that they compile for.
READS_THE_ENVIRONMENT = (
    "settings.py",
    *(TOOLCHAIN + file for file in ("linking.py", "target.py", "workers.py")),
)


def import_directions() -> Iterator[str]:
    """A layer imports what stands to its right, and no relative names."""
    for module in modules():
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


def imports_by_name() -> Iterator[str]:
    """No string names a module of the package but in the listed files, where there is a reason."""
    listed = set(IMPORT_BY_NAME)
    for module in modules():
        if module.path == "__init__.py":
            continue
        items = [(item.node, item.name) for item in imports(module) if item.by_name]
        items += [(call, ast.unparse(call.args[0])) for call in unknown(module)]
        if items and module.path in IMPORT_BY_NAME:
            listed.discard(module.path)
            continue
        for node, name in items:
            yield module.at(node, f"a string names the module {name}")
    for path in sorted(listed):
        yield f"nnapi_shim/{path}: is listed in IMPORT_BY_NAME, and imports nothing by name"


def names_of_the_package() -> Iterator[str]:
    """The package's own names are for programs: modules import what they need where it is."""
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module == "nnapi_shim":
                for alias in node.names:
                    if not exists(f"nnapi_shim.{alias.name}"):
                        yield module.at(node, f"imports {alias.name} of the package")


REGISTRIES = (
    "drivers/cpu/cache/folder",
    "drivers/isolated/messages",
    "drivers/isolated/start",
    "drivers/observing",
    "drivers/steppable",
    "drivers/time_limit",
)
"""Modules that devices may import, and that know none of them."""


ANY_DEVICE = "drivers/isolated"
"""The folder that loads devices of others, whatever they are, in processes of their own."""

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
    ("isa",),
)
"""Rooms of drivers/cpu, and the files above them: each imports itself and what comes later."""


def rooms_of_the_cpu_device() -> Iterator[str]:
    """The rooms of drivers/cpu import one way, and kernels are compiled by the device alone."""
    rank = {room: at for at, rooms in enumerate(CPU_ROOMS) for room in rooms}
    prefix = "nnapi_shim.drivers.cpu."
    for module in modules():
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
    for module in modules():
        own = "/".join(module.path.split("/")[:2])
        for item in imports(module):
            target = item.name.removeprefix("nnapi_shim.").replace(".", "/")
            if not target.startswith("drivers/") or target in REGISTRIES:
                continue
            device = "/".join(target.split("/")[:2])
            if own == ANY_DEVICE:
                continue
            if module.layer == "drivers" and module.path.count("/") > 1 and device != own:
                yield module.at(item.node, f"{own} imports {item.name}")
            if f"{target}/".startswith(NUMBA) and item.at_start and not module.within(NUMBA):
                yield module.at(item.node, f"imports {item.name} at start: it brings numba")


def packages_at_home() -> Iterator[str]:
    """Numba is for kernels, cffi for the edges."""
    for module in modules():
        for item in imports(module):
            package = item.name.partition(".")[0]
            if package in HOMES and not module.within(HOMES[package]):
                homes = ", ".join(HOMES[package]) or "the build"
                yield module.at(item.node, f"imports {package}, which is for {homes}")


def slow_modules_are_not_needed_to_start() -> Iterator[str]:
    """Nothing that a C program imports on the way to the CPU device imports numpy, or a module of
    Python that takes long.
    """
    for module in modules():
        starts = module.within(STARTS_WITHOUT_NUMPY) or module.layer in {*OPEN, "handles"}
        if not starts or module.within(NUMBA):
            continue
        for item in imports(module):
            name = item.name.partition(".")[0]
            is_slow = name in SLOW and module.path not in STARTS_SLOWLY
            if item.at_start and (name == "numpy" or is_slow):
                yield module.at(item.node, f"imports {item.name} at start")


def broad_handlers() -> Iterator[str]:
    """Only the boundary turns any exception into something else, what calls the drivers, the
    Python files and the runtimes of other people, and what records calls; clean-up raises it again.
    """
    broad = ("Exception", "BaseException")
    callers = (
        "abi/boundary.py",
        "abi/capture.py",
        "drivers/engines/limited.py",
        "drivers/isolated/server.py",
        "drivers/versioned/answer.py",
        "tools/model_source.py",
        "tools/peers.py",
    )
    for module in modules():
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
    for module in modules():
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

    for module in modules():
        for node, name in missing(module.tree, "the module"):
            yield module.at(node, f"{name} has no docstring")


def settings() -> Iterator[str]:
    """The table has every variable that is read, and none that is not."""
    table = next(module for module in modules() if module.path == "settings.py")
    names = {}
    for node in table.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Setting("):
            names[ast.unparse(node.targets[0])] = (node, ast.literal_eval(node.value.args[0]))
    imported = {
        alias.name
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "nnapi_shim.settings"
        for alias in node.names
    }
    native = "".join(path.read_text() for path in sorted(PACKAGE.glob("native/**/*.[ch]")))
    read_in_c = set(re.findall(r'getenv\("((?:NNAPI_SHIM|DEBUG_NN)_\w+)"\)', native))
    for name, (node, variable) in names.items():
        is_used_here = f"os.environ.get({name}.name)" in ast.unparse(table.tree)
        if name not in imported and not is_used_here and f'"{variable}"' not in native:
            yield table.at(node, f"nothing reads {variable}")
    for variable in sorted(read_in_c - {variable for _, variable in names.values()}):
        yield table.at(table.tree, f"{variable} is read in nnapi_shim/native and not in the table")


def environment() -> Iterator[str]:
    """The environment is read through the table of settings."""
    for module in modules():
        if module.within(READS_THE_ENVIRONMENT):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv"):
                yield module.at(node, "reads the environment past settings.py")


def instruction_sets() -> Iterator[str]:
    """Only the folders of instruction sets name tiers and the intrinsics of processors, or take a
    number of lanes for an instruction set.
    """
    intrinsic = re.compile(r"llvm\.(x86|aarch64|arm|ppc|riscv|loongarch|wasm)\.")
    for module in modules():
        if module.within(INSTRUCTION_SETS):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if intrinsic.search(node.value):
                    yield module.at(node, f"names an intrinsic: {node.value}")
                if module.layer == "drivers" and node.value in TIERS:
                    yield module.at(node, f"names the tier {node.value}")
            if module.within(NUMBA) and isinstance(node, ast.Compare) and counts_lanes(node):
                yield module.at(node, f"takes lanes for an instruction set: {ast.unparse(node)}")


def counts_lanes(node: ast.Compare) -> bool:
    """Whether a number of lanes is compared with that of some vector registers."""
    sides = [node.left, *node.comparators]
    numbers = [n.value for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant)]
    lanes = re.compile(r"(^|\.)lanes$|\b(type|kind)\.count$|'count'")
    is_of_lanes = any(lanes.search(ast.unparse(side)) for side in sides)
    return is_of_lanes and any(isinstance(n, int) and n > 1 for n in numbers)


def rooms_of_kernels() -> Iterator[str]:
    """Code generation knows no family of kernels, the toolchain none by name, and the plain data of
    instruction sets nothing of either.
    """
    families = f"{CPU}.kernels"
    for module in modules():
        for item in imports(module):
            is_family = item.name.startswith(f"{families}.")
            if module.within(("drivers/cpu/codegen/",)) and (is_family or item.name == families):
                yield module.at(item.node, f"code generation imports {item.name}")
            if module.within((TOOLCHAIN,)) and is_family:
                yield module.at(item.node, f"the toolchain imports {item.name}")
            is_data = module.within(("drivers/cpu/isa/",))
            if is_data and not item.name.startswith((f"{CPU}.isa", "nnapi_shim.hints", "os")):
                yield module.at(item.node, f"an instruction set's data imports {item.name}")


def circles() -> Iterator[str]:
    """No module imports one that leads back to it, be it inside a function or for types alone.

    The package itself names its modules for programs, and a table the modules that need its own
    package: those are no ways back.
    """
    by_name = {module.name: module for module in modules() if module.path != "__init__.py"}
    targets = {
        module.name: {
            item.name: item.node
            for item in imports(module)
            if item.name in by_name
            and item.name != module.name
            and not (item.by_name and module.path in IMPORT_BY_NAME)
        }
        for module in by_name.values()
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
    imports_by_name,
    names_of_the_package,
    circles,
    instruction_sets,
    rooms_of_kernels,
    devices_are_separate,
    rooms_of_the_cpu_device,
    packages_at_home,
    slow_modules_are_not_needed_to_start,
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


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("kernels/made_up.py", 'name = "llvm.x86.sse2.psad.bw"'),
        ("codegen/made_up.py", 'name = f"llvm.aarch64.neon.{operation}"'),
        ("kernels/made_up.py", 'if tier == "v4": pass'),
        ("lowering/made_up.py", 'WITH_FLOAT16 = ("v3",)'),
        ("kernels/made_up.py", "if TILING.lanes == 16: pass"),
        ("codegen/made_up.py", "if rows[0].type.count == 64: pass"),
        ("codegen/made_up.py", 'if getattr(value.type, "count", 1) == 16: pass'),
        ("codegen/made_up.py", "registers = 32 if self.lanes == 16 else 16"),
        ("codegen/made_up.py", f"from {CPU}.kernels.gemm import gemm"),
        ("codegen/made_up.py", f"from {CPU}.kernels import FAMILIES"),
        ("toolchain/made_up.py", f"from {CPU}.kernels import gemm"),
        ("isa/made_up.py", f"from {CPU}.program import library"),
    ],
)
def test_rules_of_instruction_sets(monkeypatch, path: str, code: str) -> None:
    """Each of these lines breaks one of the two rules."""
    monkeypatch.setitem(
        globals(), "modules", lambda: [Module(f"drivers/cpu/{path}", ast.parse(code))]
    )
    assert len([*instruction_sets(), *rooms_of_kernels()]) == 1


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('import_module("nnapi_shim.formats.save").save()', "nnapi_shim.formats.save"),
        ('importlib.import_module("nnapi_shim.formats")', "nnapi_shim.formats"),
        ('__import__("nnapi_shim.formats.save")', "nnapi_shim.formats.save"),
        ('NAMES = {"a": ("formats.save", "save")}', "nnapi_shim.formats.save"),
        ('sys.modules["nnapi_shim.formats.save"]', "nnapi_shim.formats.save"),
        ('import_module(f"nnapi_shim.formats.{name}")', "nnapi_shim.formats"),
        ('import_module(f"{__package__}.devices.{name}")', "nnapi_shim.api.devices"),
        ('import_module("..formats", __package__)', None),
        ("import_module(name)", None),
        ('import_module("nnapi_shim" + ".formats")', None),
    ],
)
def test_strings_that_name_modules(code: str, name: str | None) -> None:
    """Each way is seen; None: the call is, as one whose module nobody knows."""
    module = Module("api/model.py", ast.parse(code))
    if name is None:
        assert len(list(unknown(module))) == 1
    else:
        assert [item.name for item in imports(module)] == [name]


@pytest.mark.parametrize(
    "code", ['"""nnapi_shim.formats.save"""', 'x = "nnapi_shim.h"', 'import_module("numpy")']
)
def test_strings_that_name_none(code: str) -> None:
    module = Module("api/model.py", ast.parse(code))
    assert not list(imports(module)) and not list(unknown(module))


def test_build_ffi_stands_alone() -> None:
    """The build of the library imports nothing of the package, which may not be there yet."""
    names = [item.name for item in imports(parsed(ROOT / "build_ffi.py", ROOT))]
    assert not [name for name in names if name.startswith("nnapi_shim")]
