"""Object files of kernels, one per family and tier, and the sources that each depends on."""

import ast
import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from nnapi_shim.drivers.cpu import kernels

PACKAGE = Path(__file__).parents[3]
COMPILERS = ("numba", "llvmlite")


def sources(family: str) -> list[Path]:
    """The files of this device that a family of kernels imports, itself included."""
    paths: dict[str, Path] = {}
    todo = [f"{kernels.__name__}.{family}"]
    todo += [f"{__package__}.{file}" for file in ("kernel", "workers", "compiling")]
    while todo:
        name = todo.pop()
        if name in paths or not name.startswith("nnapi_shim.drivers.cpu."):
            continue
        folder = PACKAGE.parent.joinpath(*name.split("."))
        path = next(filter(Path.exists, (folder.with_suffix(".py"), folder / "__init__.py")), None)
        if path is None or name == kernels.__name__:  # a name in a module; the list of families
            continue
        paths[name] = path
        todo += imported(path.read_text())
    return sorted(paths.values())


@cache
def imported(text: str) -> list[str]:
    """What a source imports by name: modules, and names that may be modules."""
    statements = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    names = [f"{node.module}.{item.name}" for node in statements for item in node.names]
    return [*dict.fromkeys([*(str(node.module) for node in statements), *names])]


def digest_of(family: str) -> str:
    """A digest of the sources of a family and of the compiler's version."""
    digest = hashlib.sha256()
    for compiler in COMPILERS:
        digest.update(version(compiler).encode())
    for path in sources(family):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_current(family: str, digest: str, folder: Path) -> bool:
    """Whether the folder has an object file that was compiled from sources of this digest."""
    code, stamp = folder / f"{family}.o", folder / f"{family}.stamp"
    if not code.exists() or not stamp.exists():
        return False
    return stamp.read_text() == f"{digest} {code.stat().st_size}"


def write_object(family: str, digest: str, code: bytes, folder: Path) -> None:
    """Write an object file, then its stamp: an object file without a stamp is not used."""
    write_atomically(folder / f"{family}.o", code)
    write_atomically(folder / f"{family}.stamp", f"{digest} {len(code)}".encode())


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file such that readers see the old content or all of the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
