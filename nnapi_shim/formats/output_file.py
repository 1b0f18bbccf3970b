"""Atomic writing of files."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nnapi_shim.errors import NnapiError, bad_data

Target = str | os.PathLike[str]


def write(path: Target, content: bytes, overwrite: bool = False) -> None:
    """Write a temporary file in the same folder, then rename it, so that readers never see a part.

    overwrite: whether an existing file is replaced.
    Raises BAD_DATA if the file exists and `overwrite` is False, and if it cannot be written.
    """
    write_all({path: content}, overwrite)


def write_all(files: Mapping[Target, bytes], overwrite: bool = False) -> None:
    """Write a set of files; all are written before the first is renamed.

    Raises as `write`; the last file of the mapping is renamed last.
    """
    paths = {Path(path): content for path, content in files.items()}
    for path in paths:
        require_free(path, overwrite)
    written: list[tuple[Path, Path]] = []
    try:
        for path, content in paths.items():
            written.append((_temporary_file(path, content), path))
        for temporary, path in written:
            _put(temporary, path, overwrite)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise bad_data(
            f"{path} cannot be written: {error.strerror or error}", "file.not-writable"
        ) from None
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


def _put(temporary: Path, path: Path, overwrite: bool) -> None:
    """Move a temporary file to its name. Without `overwrite` by a hard link, which never
    replaces.
    """
    if not overwrite:
        try:
            path.hardlink_to(temporary)
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            require_free(path)
    temporary.replace(path)


def require_free(path: Target, overwrite: bool = False) -> None:
    """Raise BAD_DATA if `path` must not or cannot be written; call it before the work."""
    path = Path(path)
    if path.is_dir():
        raise bad_data(f"{path} is a folder; a file is to be written there", "file.is-a-folder")
    if not path.parent.is_dir():
        raise bad_data(
            f"{path} cannot be written: there is no folder {path.parent}", "file.no-folder"
        )
    if path.exists() and not overwrite:
        raise _exists(path)


def _exists(path: Path) -> NnapiError:
    return bad_data(f"{path} is there already; overwrite=True replaces it", "file.exists")


def _temporary_file(path: Path, content: bytes) -> Path:
    """A new temporary file in the same folder, with the default mode of new files."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
    except BaseException:
        temporary.unlink()
        raise
    return temporary
