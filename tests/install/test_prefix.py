"""`make install` and `make uninstall`: all or nothing, and nothing of anybody else's."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.install.trees import ROOT, finished
from tests.waiting import HANGS_S

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
    repeated = make("uninstall", "PREFIX=/opt/nn", f"DESTDIR={tmp_path}")
    assert repeated.returncode != 0
    assert "nnapi_shim is not installed in" in repeated.stderr


def test_the_command(prefix, tmp_path):
    """It runs with the packages of the prefix, from any folder and with an empty environment."""
    command = prefix.prefix / "bin" / "nnapi-shim"
    for words in (["--version"], ["config", "--cflags"], ["explain", "CONV_2D"], ["info"]):
        done = subprocess.run([command, *words], cwd=tmp_path, env={}, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b""), words
        assert done.stdout


def test_the_examples(prefix):
    """The trained model, with the command of the prefix."""
    shapes = prefix.prefix / "share" / "doc" / "nnapi-shim" / "examples" / "shapes"
    command = [prefix.prefix / "bin" / "nnapi-shim", "run", "int8.tflite", "--resize"]
    command += ["--input", "star.png", "--labels", "labels.txt"]
    done = subprocess.run(command, cwd=shapes, env={}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "star" in done.stdout


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


@pytest.mark.slow
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
        assert "No space left on device; nothing was installed" in result.stderr
        assert files_in(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def started_then_stopped(target, number):
    """Starts an installation, and sends it a signal as soon as files are copied."""
    process = subprocess.Popen(
        [sys.executable, "-m", "install", "prefix", target],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and len([*target.rglob(".*.new")]) < 20:
        time.sleep(0.001)
    process.send_signal(number)
    return process.communicate(timeout=HANGS_S)[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted(number, tmp_path):
    target = tmp_path / "nn"
    target.mkdir()
    messages = started_then_stopped(target, number)
    if number != signal.SIGKILL:
        assert "make install: interrupted; nothing was installed" in messages
        assert files_in(target) == []
    finished("make", "install", f"PREFIX={target}", cwd=ROOT)
    whole = files_in(target)
    assert "lib/pkgconfig/neuralnetworks.pc" in whole
    messages = started_then_stopped(target, number)  # now over what is there
    if number != signal.SIGKILL:
        assert "what was installed before is as it was" in messages
        assert files_in(target) == whole
    finished("make", "uninstall", f"PREFIX={target}", cwd=ROOT)
    assert files_in(target) == []


def test_a_manifest_that_names_other_files(tmp_path):
    manifest = tmp_path / "nn" / "lib" / "nnapi-shim" / "installed.txt"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("../precious\n")
    (tmp_path / "precious").write_text("mine")
    result = make("uninstall", f"PREFIX={tmp_path / 'nn'}")
    assert result.returncode != 0
    assert "which is not below" in result.stderr
    assert (tmp_path / "precious").exists()


@pytest.mark.slow
def test_a_prefix_with_odd_characters(tmp_path):
    target = tmp_path / "it's a $prefix é"
    finished("make", "install", f"PREFIX={str(target).replace('$', '$$')}", cwd=ROOT)
    assert (target / "lib" / "libneuralnetworks.so").exists()
    result = make("install", "PREFIX=")
    assert result.returncode != 0
    assert "PREFIX is empty" in result.stderr
