"""Lays out an installed tree: below a prefix, in a tarball, in a Debian package.

lib/                    libneuralnetworks.so and its companions (links), pkgconfig/, cmake/
lib/nnapi-shim/         runtime files: the package, the callback module, kernels, numpy
lib/nnapi-shim/python/  the tree's own Python, if it has one
bin/nnapi-shim          the command, in a tree without a Python of its own
include/                the C headers; those of the companions in include/nnapi-shim/companion
share/doc/nnapi-shim/   README, licence, pages, examples and their models, SBOM (sbom.py)
"""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

from build_ffi import ROOT
from install import sbom
from install.installed import copy_installed
from install.private_python import install_python
from install.target import Target
from install.tree import LIBRARIES, TEMPLATES, write_package_files

PRIVATE = "nnapi-shim"
COMMAND = "nnapi-shim"
DOCUMENTS = ("README.md", "LICENSE", "SECURITY.md", "docs", "c_examples", "examples")
NOT_FOR_USERS = {"docs": ("*.py",), "c_examples": ("*.mk",), "examples": ()}
"""Folder -> files in it that only a checkout needs."""
REQUIREMENTS = ROOT / "requirements"


def source_date() -> int:
    """Time stamp of files in packages; by default that of wheels."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "1580601600"))


def build_wheel(folder: Path, portable: bool) -> Path:
    """Build the package's wheel into an empty folder with this environment.

    portable: compile with zig, for any Linux with at least the C library zig_cc.GLIBC.
    """
    shutil.rmtree(folder, ignore_errors=True)
    environment = dict(os.environ)
    if not portable:
        environment.setdefault("CC", "cc")
    command = [
        *(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel"),
        *("--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)),
    ]
    subprocess.run(command, check=True, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def lay_out(
    stage: Path,
    wheel: Path,
    target: Target,
    library_folder: str = "lib",
    python: Path | None = None,
) -> None:
    """Fill the empty folder `stage` for an architecture.

    library_folder: such as lib, or Debian's lib/x86_64-linux-gnu. python: the shared libpython for
    C programs; by default the tree gets its own.
    """
    libraries = stage / library_folder
    private = libraries / PRIVATE
    requirements = "runtime.txt" if python is None else "command.txt"
    install_packages(private, wheel, requirements, target)
    if python is not None:
        write_command(stage / "bin" / COMMAND, library_folder)
    location = private / "nnapi_shim" / "lib" / "libneuralnetworks.location"
    chosen = str(python) if python else f"../../{install_python(private, target)}"
    location.write_text(f"{location.read_text()}python={chosen}\n")
    compile_python(private)

    for name in LIBRARIES:
        link = libraries / f"lib{name}.so"
        link.symlink_to(Path(PRIVATE, "nnapi_shim", "lib", link.name))
    up = "/".join([".."] * len(Path(library_folder).parts))
    write_package_files(libraries, f"{up}/include", f"{up}/include/{PRIVATE}/companion")
    headers = stage / "include"
    shutil.copytree(ROOT / "include", headers, ignore=shutil.ignore_patterns("companion"))
    shutil.copytree(ROOT / "include" / "companion", headers / PRIVATE / "companion")
    documents = stage / "share" / "doc" / PRIVATE
    documents.mkdir(parents=True)
    (documents / sbom.FILE).write_text(sbom.tree_bom(private, source_date(), target))
    copy_documents(documents)


def copy_documents(folder: Path) -> None:
    """Copy the pages and the examples."""
    for name in DOCUMENTS:
        path = ROOT / name
        if path.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", *NOT_FOR_USERS[name])
            shutil.copytree(path, folder / name, ignore=unwanted)
        else:
            shutil.copy(path, folder)


def write_command(path: Path, library_folder: str) -> None:
    """Write the command `nnapi-shim`, which the Python of this environment runs."""
    path.parent.mkdir()
    text = (TEMPLATES / "command.py").read_text()
    interpreter = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    for name, value in (
        ("PYTHON", str(interpreter)),
        ("LIBRARIES", library_folder),
        ("PRIVATE", PRIVATE),
    ):
        text = text.replace(f"@{name}@", value)
    path.write_text(text)
    path.chmod(0o755)


def install_packages(folder: Path, wheel: Path, requirements: str, target: Target) -> None:
    """Install the package and its dependencies, at their pinned versions, into a folder.

    Dependencies that this environment has at those versions are copied, which needs no network.
    """
    command = [
        *(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"),
        *("--target", str(folder), "--no-compile", "--only-binary", ":all:"),
        *target.pip_options(),
    ]
    pinned = REQUIREMENTS / requirements
    if target.root is not None or not copy_installed(pinned, folder):
        subprocess.run([*command, "--require-hashes", "--requirement", str(pinned)], check=True)
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for path in folder.glob("*.dist-info/direct_url.json"):  # specific to this machine
        path.unlink()
        record = path.with_name("RECORD")
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(line for line in lines if f"/{path.name}," not in line))
    # Tests and tools of numpy, which are not used.
    for unwanted in ("numpy/**/tests", "numpy/f2py", "numpy/_pyinstaller", "numpy/**/*.pyi"):
        for path in folder.glob(unwanted):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for unwanted in ("numpy/**/*.a", "numpy/_core/include", "numpy/random/_examples"):
        for path in folder.glob(unwanted):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def compile_python(folder: Path) -> None:
    """Compile to bytecode that is independent of the files' time stamps."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(
        folder, quiet=2, invalidation_mode=mode, stripdir=str(folder), prependdir=PRIVATE
    ):
        raise SystemExit(f"Python files in {folder} could not be compiled")
