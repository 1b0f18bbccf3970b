"""Packages for another architecture: what they take from where."""

import gzip
import sysconfig
from pathlib import Path

import pytest

from install import target as targets
from install.private_python import C_LIBRARY
from install.target import Target, target

VERSION = sysconfig.get_python_version()


@pytest.fixture
def arm(tmp_path):
    """A root with a Python and one library."""
    folder = tmp_path / "usr/lib/aarch64-linux-gnu"
    folder.mkdir(parents=True)
    python = folder / f"libpython{VERSION}.so.1.0"
    python.write_bytes(b"\x7fELF and more\0" + f"{VERSION}.2".encode() + b"\0")
    (folder / "libz.so.1").write_bytes(b"")
    for package, first in (
        ("zlib1g", "zlib (1:1.2.13-1) unstable"),
        ("libexpat1", "expat (2.5) x"),
    ):
        changelog = tmp_path / "usr/share/doc" / package / "changelog.Debian.gz"
        changelog.parent.mkdir(parents=True)
        changelog.write_bytes(gzip.compress(f"{first}; urgency=low\n\n  * It.\n".encode()))
    standard = tmp_path / f"usr/lib/python{VERSION}"
    return Target("aarch64", python, standard, standard / "lib-dynload", tmp_path)


def test_names(arm):
    assert (arm.debian, arm.triplet) == ("arm64", "aarch64-linux-gnu")
    assert arm.strip == "aarch64-linux-gnu-strip"
    power = arm._replace(machine="ppc64le")
    assert (power.debian, power.triplet) == ("ppc64el", "powerpc64le-linux-gnu")


def test_its_python_and_libraries_come_from_the_root(arm):
    assert arm.python_version == f"{VERSION}.2"
    assert arm.library("libz.so.1") == arm.root / "usr/lib/aarch64-linux-gnu/libz.so.1"
    assert arm.library("libnothing.so.1") is None
    origin = arm.origin("libz.so.1")
    assert (origin.name, origin.version, origin.licence) == ("zlib1g", "1:1.2.13-1", "Zlib")
    assert arm.origin("libexpat.so.1").purl == "pkg:deb/debian/libexpat1@2.5?arch=arm64"


def test_wheels_of_others_are_those_of_the_architecture(arm):
    options = arm.pip_options()
    assert "manylinux_2_28_aarch64" in options
    assert {"abi3", f"cp{VERSION.replace('.', '')}"} <= set(options)


def test_this_machine_needs_none_of_it(monkeypatch):
    monkeypatch.delenv("ARCH", raising=False)
    own = target()
    assert own.root is None
    assert own.pip_options() == []
    assert own.strip == "strip"
    assert own.python_version.startswith(VERSION)
    assert own.standard == Path(sysconfig.get_path("stdlib"))


def test_a_python_that_debian_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_python_version", lambda: "3.12")
    with pytest.raises(SystemExit, match=r"a Python of Debian, 3\.11 or 3\.13, .* this is 3\.12"):
        target("riscv64" if targets.os.uname().machine != "riscv64" else "aarch64")


def test_libraries_of_the_c_library_are_not_copied():
    assert all(map(C_LIBRARY.match, ("libc.so.6", "ld-linux-aarch64.so.1", "libm.so.6")))
    assert not C_LIBRARY.match("libexpat.so.1")
