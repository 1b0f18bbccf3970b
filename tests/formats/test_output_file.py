"""Files are written as a whole or not at all."""

import stat
from pathlib import Path

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats import output_file


def names(folder: Path) -> list[str]:
    """Names of all that is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written(tmp_path: Path) -> None:
    """With its content, modes as new files have, and nothing beside."""
    output_file.write(tmp_path / "a.bin", b"content")
    assert (tmp_path / "a.bin").read_bytes() == b"content"
    assert names(tmp_path) == ["a.bin"]
    (tmp_path / "other").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.bin", "other")]
    assert modes[0] == modes[1]


def test_nothing_is_replaced_unless_asked_for(tmp_path: Path) -> None:
    """A file that is there stays as it is, and is replaced on demand."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(NnapiError, match="is there already"):
        output_file.write(path, b"new")
    assert path.read_bytes() == b"old"
    output_file.write(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


def test_files_that_belong_together(tmp_path: Path) -> None:
    """None of them appears where one cannot."""
    (tmp_path / "b.npz").write_bytes(b"old")
    with pytest.raises(NnapiError, match=r"b\.npz is there already"):
        output_file.write_all({tmp_path / "a.py": b"1", tmp_path / "b.npz": b"2"})
    assert names(tmp_path) == ["b.npz"]


def test_folders(tmp_path: Path) -> None:
    """A folder that is not there, and one in the place of the file."""
    with pytest.raises(NnapiError, match="there is no folder"):
        output_file.write(tmp_path / "none" / "a", b"")
    with pytest.raises(NnapiError, match="is a folder"):
        output_file.write(tmp_path, b"", overwrite=True)


def test_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no links gets its file by renaming."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    output_file.write(tmp_path / "a", b"1")
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun is removed, and one line says why."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "chmod", fail)
    with pytest.raises(NnapiError, match="cannot be written: No space left"):
        output_file.write(tmp_path / "a", b"1")
    assert names(tmp_path) == []
