"""Tarball and Debian package in a root with a C library, a shell and a program, without Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.install.trees import PROJECTS, TRIPLET, finished, needs
from tests.waiting import HANGS_S

pytestmark = [
    pytest.mark.installed,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root"),
]
C_LIBRARY = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
LOADERS = {"x86_64": ["/lib64/ld-linux-x86-64.so.2"], "aarch64": ["/lib/ld-linux-aarch64.so.1"]}
SHELL = "/bin/dash"


@pytest.fixture
def root(tmp_path):
    """An almost empty root."""
    needs("chroot", "dash")
    root = tmp_path / "root"
    files = [f"/lib/{TRIPLET}/{name}" for name in C_LIBRARY] + LOADERS[os.uname().machine]
    for file in files:
        if not Path(file).exists():
            pytest.skip(f"{file} is not there")
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    for folder in ("bin", "tmp", "opt", "dev", "proc"):
        (root / folder).mkdir()
    shutil.copy(SHELL, root / "bin" / "sh")
    return root


def in_root(root, script, **env):
    """What a script prints in the root, on stdout and stderr."""
    command = [shutil.which("chroot"), root, "/bin/sh", "-ec", script]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANGS_S)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def compile_programs(root, tree):
    """A program and the larger example, linked with the tree's library."""
    source = Path(__file__).parents[2] / "c_examples" / "mobilenet_block.c"
    include = tree.prefix / "include"
    link = ("-L", tree.libraries, "-lneuralnetworks", "-lm")
    for name, file in (("add", PROJECTS / "add.c"), ("mobilenet_block", source)):
        finished("cc", file, "-I", include, *link, "-o", root / "tmp" / name)


def check(root, **env):
    """Both devices compute in the root."""
    for only_reference in ("0", "1"):
        settings = {**env, "DEBUG_NN_CPUONLY": only_reference}
        assert in_root(root, "/tmp/add", **settings) == "3.75\n"
        assert in_root(root, "/tmp/mobilenet_block", **settings).count(": ok\n") == 5
    assert not list(root.glob("**/bin/python*"))


def test_tarball(root, tarball):
    shutil.copytree(tarball.prefix, root / "opt" / "nn", symlinks=True)
    compile_programs(root, tarball)
    check(root, LD_LIBRARY_PATH="/opt/nn/lib")


def test_debian_package(root, debian):
    """Installed by dpkg, whose data base says that there is a C library."""
    needs("dpkg")
    data = root / "var" / "lib" / "dpkg"
    for folder in ("info", "updates", "triggers"):
        (data / folder).mkdir(parents=True)
    version = finished("dpkg-query", "-W", "-f", "${Version}", "libc6")
    architecture = finished("dpkg", "--print-architecture").strip()
    (data / "status").write_text(
        "Package: libc6\nStatus: install ok installed\nMaintainer: nobody <n@example.org>\n"
        f"Architecture: {architecture}\nMulti-Arch: same\nVersion: {version}\n"
        "Description: C library\n\n"
    )
    packages = sorted(debian.prefix.parents[1].glob("*.deb"))
    options = (f"--root={root}", "--force-script-chrootless", "--force-not-root", "--no-triggers")
    finished("dpkg", *options, "--force-bad-path", "--install", *packages)
    compile_programs(root, debian)
    check(root, LD_LIBRARY_PATH=f"/usr/lib/{TRIPLET}")
    finished("dpkg", *options, "--force-bad-path", "--purge", "libneuralnetworks-dev")
    finished("dpkg", *options, "--force-bad-path", "--purge", "libneuralnetworks")
    assert not list((root / "usr").rglob("*neuralnetworks*"))


@pytest.mark.slow
def test_lintian(debian):
    needs("lintian")
    packages = sorted(debian.prefix.parents[1].glob("*.deb"))
    messages = subprocess.run(["lintian", *packages], capture_output=True, text=True).stdout
    assert [line for line in messages.splitlines() if line.startswith("E:")] == []


def test_sizes(tarball, debian):
    for archive in (
        *tarball.prefix.parent.glob("*.tar.xz"),
        *debian.prefix.parents[1].glob("*.deb"),
    ):
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
        assert archive.stat().st_size < 40e6
