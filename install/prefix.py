"""`make install` and `make uninstall`: a tree below PREFIX, with a list of its files."""

import os
import shlex
import shutil
import signal
from pathlib import Path

from build_ffi import ROOT, libpython, package_version
from install.layout import PRIVATE, build_wheel, lay_out
from install.target import target as packaged_for

MANIFEST = Path("lib", PRIVATE, "installed.txt")
"""List of installed files, a path per line; it is written before the first file."""

SIGNALS = {signal.SIGINT, signal.SIGTERM}


def install(prefix: Path, destdir: str = "") -> None:
    """Install below `prefix`; with `destdir`, below that folder, for packagers.

    Files of other programs are not overwritten. Existing files are unchanged until all new files
    are copied; a failed installation is rolled back.
    """
    target = Path(f"{destdir}{prefix}") if destdir else prefix
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _check_writable(target)
    print("install: the package, then the packages that it needs: about a minute", flush=True)
    stage = ROOT / "build" / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    wheel = build_wheel(ROOT / "build" / "wheels", portable=False)
    lay_out(stage, wheel, packaged_for(), python=libpython())
    files = sorted(path.relative_to(stage) for path in stage.rglob("*") if not _is_folder(path))
    files.append(MANIFEST)
    known = set(_installed(target))
    for path in files:
        if os.path.lexists(target / path) and path not in known:
            raise SystemExit(
                f"make install: {target / path} is there and not of nnapi_shim; nothing was "
                "installed. Move it away, or choose another PREFIX"
            )
    (stage / MANIFEST).write_text("".join(f"{path}\n" for path in files))
    fresh = not (target / MANIFEST).exists()
    try:
        (target / MANIFEST).parent.mkdir(parents=True, exist_ok=True)
        _write_manifest(target, known | set(files))
        for path in files:
            _copy_beside(stage / path, target / path)
    except (OSError, KeyboardInterrupt) as error:
        _remove(target, [_beside(path) for path in files])
        if fresh:
            _remove(target, [MANIFEST])
        else:
            _write_manifest(target, known)
        left = "nothing was installed" if fresh else "what was installed before is as it was"
        reason = "interrupted"
        if isinstance(error, OSError):
            reason = f"{error.filename2 or error.filename}: {error.strerror}"
        raise SystemExit(f"make install: {reason}; {left}") from None
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # the rest takes little time
    for path in files:
        (target / _beside(path)).replace(target / path)
    _remove(target, known - set(files))
    size = sum((stage / path).lstat().st_size for path in files)
    shutil.rmtree(stage)
    words = ["make", "uninstall", f"PREFIX={prefix}", *([f"DESTDIR={destdir}"] if destdir else [])]
    print(
        f"installed nnapi_shim {package_version()} in {target}: {len(files)} files, "
        f"{size / 1e6:.0f} MB; `{shlex.join(words)}` removes them"
    )


def uninstall(prefix: Path, destdir: str = "") -> None:
    """Remove the files of install() and no others."""
    target = Path(f"{destdir}{prefix}") if destdir else prefix
    files = _installed(target)
    if not files:
        raise SystemExit(f"make uninstall: nnapi_shim is not installed in {target}")
    _remove(target, [*map(_beside, files), *files])
    print(f"removed nnapi_shim from {target}")


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _installed(target: Path) -> list[Path]:
    manifest = target / MANIFEST
    lines = manifest.read_text().splitlines() if manifest.exists() else []
    paths = [Path(line) for line in lines]
    for path in paths:
        if path.is_absolute() or ".." in path.parts:
            raise SystemExit(f"make install: {manifest} names {path}, which is not below {target}")
    return paths


def _write_manifest(target: Path, files: set[Path]) -> None:
    new = target / _beside(MANIFEST)
    new.write_text("".join(f"{path}\n" for path in sorted(files)))
    new.replace(target / MANIFEST)


def _check_writable(target: Path) -> None:
    """Check before the long part."""
    folder = target
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SystemExit(
            f"make install: {folder} cannot be written to; choose another folder, such as "
            "`make install PREFIX=$HOME/.local`, or become the user who may"
        )


def _beside(path: Path) -> Path:
    """Temporary path of a new file; running programs keep the old file open."""
    return path.with_name(f".{path.name}.new")


def _copy_beside(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    new = _beside(target)
    new.unlink(missing_ok=True)
    shutil.copy2(source, new, follow_symlinks=False)


def _remove(target: Path, files) -> None:
    """Remove files and the folders that become empty."""
    for path in files:
        (target / path).unlink(missing_ok=True)
    for folder in sorted({parent for path in files for parent in path.parents}, reverse=True):
        inside = target / folder
        if folder != Path() and _is_folder(inside) and not any(inside.iterdir()):
            inside.rmdir()
