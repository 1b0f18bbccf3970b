"""`make install` and `make uninstall`: all or nothing, and nothing of anybody else's."""

import os
import subprocess

import pytest

from tests.install.trees import ROOT, finished

pytestmark = pytest.mark.installed


def make(*words):
    return subprocess.run(["make", "--silent", *words], cwd=ROOT, capture_output=True, text=True)


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


def test_for_packagers_and_back(tmp_path):
    (tmp_path / "opt" / "nn" / "lib").mkdir(parents=True)
    (tmp_path / "opt" / "nn" / "lib" / "theirs.so").write_text("theirs")
    finished("make", "install", "PREFIX=/opt/nn", f"DESTDIR={tmp_path}", cwd=ROOT)
    installed = files_in(tmp_path)
    assert "opt/nn/lib/pkgconfig/neuralnetworks.pc" in installed
    assert "opt/nn/include/android/NeuralNetworks.h" in installed
    # A second time, over the first.
    finished("make", "install", "PREFIX=/opt/nn", f"DESTDIR={tmp_path}", cwd=ROOT)
    assert files_in(tmp_path) == installed
    finished("make", "uninstall", "PREFIX=/opt/nn", f"DESTDIR={tmp_path}", cwd=ROOT)
    assert files_in(tmp_path) == ["opt/nn/lib/theirs.so"]
    again = make("uninstall", "PREFIX=/opt/nn", f"DESTDIR={tmp_path}")
    assert again.returncode != 0
    assert "nnapi_shim is not installed in" in again.stderr


def test_a_file_of_another_program_stays(tmp_path):
    theirs = tmp_path / "lib" / "liblog.so"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    result = make("install", f"PREFIX={tmp_path}")
    assert result.returncode != 0
    assert f"{theirs} is there and not of nnapi_shim; nothing was installed" in result.stderr
    assert files_in(tmp_path) == ["lib/liblog.so"]


def test_a_folder_that_cannot_be_written(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    target = "/proc" if os.geteuid() == 0 else closed  # where not even root writes
    result = make("install", f"PREFIX={target}/nn")
    assert result.returncode != 0
    assert f"make install: {target}" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk])
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        result = make("install", f"PREFIX={disk}/nn")
        assert result.returncode != 0
        assert "No space left on device; what was installed is removed again" in result.stderr
        assert files_in(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)
