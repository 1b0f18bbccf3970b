"""`make install` and `make uninstall`: a tree below PREFIX, and what is in it."""

import os
import shutil
from pathlib import Path

from build_ffi import ROOT, libpython, package_version
from install.layout import PRIVATE, build_wheel, lay_out

MANIFEST = Path("lib", PRIVATE, "installed.txt")


def install(prefix: Path, destdir: str = "") -> None:
    """Installs below `prefix`; with `destdir`, below that folder, for packagers.

    What another program has put there is not overwritten, and what cannot be finished is undone.
    """
    target = Path(f"{destdir}{prefix}") if destdir else prefix
    _check_writable(target)
    stage = ROOT / "build" / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    lay_out(stage, build_wheel(ROOT / "build" / "wheels", portable=False), python=libpython())
    files = sorted(path.relative_to(stage) for path in stage.rglob("*") if not _is_folder(path))
    known = set(_installed(target))
    for path in files:
        if os.path.lexists(target / path) and path not in known:
            raise SystemExit(
                f"make install: {target / path} is there and not of nnapi_shim; nothing was "
                "installed. Move it away, or choose another PREFIX"
            )
    _remove(target, [path for path in known if path not in set(files)])
    (stage / MANIFEST).write_text("".join(f"{path}\n" for path in (*files, MANIFEST)))
    done: list[Path] = []
    try:
        for path in (*files, MANIFEST):
            done.append(path)
            _copy(stage / path, target / path)
    except OSError as error:
        _remove(target, done)
        raise SystemExit(
            f"make install: {error.filename2 or error.filename}: {error.strerror}; "
            "what was installed is removed again"
        ) from None
    size = sum((stage / path).lstat().st_size for path in files)
    shutil.rmtree(stage)
    print(
        f"installed nnapi_shim {package_version()} in {target}: {len(files)} files, "
        f"{size / 1e6:.0f} MB; `make uninstall PREFIX={prefix}` removes them"
    )


def uninstall(prefix: Path, destdir: str = "") -> None:
    """Removes what install() has put there, and no more."""
    target = Path(f"{destdir}{prefix}") if destdir else prefix
    files = _installed(target)
    if not files:
        raise SystemExit(f"make uninstall: nnapi_shim is not installed in {target}")
    _remove(target, files)
    print(f"removed nnapi_shim from {target}")


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _installed(target: Path) -> list[Path]:
    manifest = target / MANIFEST
    return [Path(line) for line in manifest.read_text().splitlines()] if manifest.exists() else []


def _check_writable(target: Path) -> None:
    """Before the long part."""
    folder = target
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise SystemExit(
            f"make install: {folder} cannot be written to; choose another folder, such as "
            f"`make install PREFIX=$HOME/.local`, or become the user who may"
        )


def _copy(source: Path, target: Path) -> None:
    """So that a program that runs keeps the file that it has open."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.new")
    new.unlink(missing_ok=True)
    try:
        shutil.copy2(source, new, follow_symlinks=False)
        new.replace(target)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _remove(target: Path, files: list[Path]) -> None:
    """Removes files, and the folders that they leave empty."""
    for path in files:
        (target / path).unlink(missing_ok=True)
    for folder in sorted({parent for path in files for parent in path.parents}, reverse=True):
        if folder != Path() and (target / folder).is_dir() and not any((target / folder).iterdir()):
            (target / folder).rmdir()
