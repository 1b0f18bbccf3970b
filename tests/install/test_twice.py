"""Wheel, tarball and Debian packages are made twice, in two folders, and are the same bits.

What they depend on is the state of the sources, the versions that requirements/ pins, the Python
that builds, and SOURCE_DATE_EPOCH. With FROM_NOTHING=1 (`make reproducible`) kernels are compiled
twice as well; else both builds take the objects of this checkout. ARCH=aarch64 makes the packages
of another architecture.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.trees import ROOT, finished, needs

pytestmark = [pytest.mark.installed, pytest.mark.slow]

WAYS = (
    ("a", 0o022, {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"}),
    (
        "another-place/of-a-longer-name",
        0o077,
        {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "USER": "somebody"},
    ),
)


def other_architecture() -> str:
    """That in ARCH, if it is not this machine's; its objects have a folder of their own."""
    machine = os.environ.get("ARCH", "")
    return "" if machine == os.uname().machine else machine


def made(checkout: Path, umask: int, environment: dict[str, str]) -> Path:
    """Copies what git knows of this checkout, makes all packages there; gives their folder."""
    names = finished("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    if not os.environ.get("FROM_NOTHING"):
        objects = Path("build", other_architecture(), "kernels")
        shutil.copytree(ROOT / objects, checkout / objects)
    environment = {**os.environ, **environment, "PYTHONPATH": str(checkout)}
    environment.pop("SOURCE_DATE_EPOCH", None)
    for command in ("dist", "deb"):
        subprocess.run(
            [sys.executable, "-m", "install", command, "--out", "dist"],
            cwd=checkout,
            env=environment,
            umask=umask,
            check=True,
        )
    (wheel,) = (checkout / "build" / "wheels").glob("*.whl")
    shutil.copy(wheel, checkout / "dist")
    return checkout / "dist"


def test_the_bits_are_the_same(tmp_path):
    needs("git", "dpkg-deb")
    first, second = (made(tmp_path / folder, umask, env) for folder, umask, env in WAYS)
    names = {path.name for path in first.iterdir()}
    assert names == {path.name for path in second.iterdir()}
    assert {name.rpartition(".")[2] for name in names} >= {"whl", "xz", "deb", "json"}
    same = {name for name in names if (first / name).read_bytes() == (second / name).read_bytes()}
    assert names - same == set()
