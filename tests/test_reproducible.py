"""The same sources make the same bits: in any folder, for any user, on any day."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = ("joining", "bind")
SOURCES = ("Makefile", "build_ffi.py", "include", "nnapi_shim", "c_examples", "install")
KERNELS = """
import os, sys
from nnapi_shim.drivers.cpu.toolchain import build
jobs, first, *rest = sys.argv[1:]
build.FAMILIES, build.SECONDS = sorted([first, *rest]), {first: 9.0}
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(jobs)])
build.build("build/lib", ["best"])
"""


class Way(NamedTuple):
    """What may differ between two builds; families: which is compiled first."""

    folder: str
    umask: int
    jobs: int
    families: tuple[str, ...]
    environment: dict[str, str]


WAYS = (
    Way(
        *("a", 0o022, 1, FAMILIES),
        {"PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": "1000000000", "LC_ALL": "C", "TZ": "UTC"},
    ),
    Way(
        *("another-place/of-a-longer-name", 0o077, 2, FAMILIES[::-1]),
        {"PYTHONHASHSEED": "2", "SOURCE_DATE_EPOCH": "1700000000", "LC_ALL": "C.UTF-8"}
        | {"TZ": "Asia/Kathmandu", "HOME": "/nowhere", "USER": "somebody"},
    ),
)


def built(location: Path, way: Way) -> dict[str, bytes]:
    """Builds the libraries, the companions and some kernels: name -> content."""
    checkout = location / way.folder
    unwanted = shutil.ignore_patterns("__pycache__", "lib")
    for name in SOURCES:
        checkout.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, checkout)
    environment = {**os.environ, **way.environment, "PYTHONPATH": str(checkout)}
    make = ["make", f"--jobs={way.jobs}", "--file=nnapi_shim/native/companion/companion.mk"]
    for command in (
        [sys.executable, "build_ffi.py"],
        [*make, "companion"],
        [sys.executable, "-c", KERNELS, str(way.jobs), *way.families],
    ):
        done = subprocess.run(
            command,
            cwd=checkout,
            env=environment,
            umask=way.umask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    folders = [checkout / "build" / "lib", *(checkout / "build" / "kernels").iterdir()]
    files = [path for folder in folders for path in folder.iterdir()]
    return {path.name: path.read_bytes() for path in files if path.suffix in (".so", ".o")}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return [built(tmp_path_factory.mktemp("reproducible"), way) for way in WAYS]


def test_all_is_built(both):
    assert both[0].keys() == both[1].keys()
    assert len([name for name in both[0] if name.endswith(".so")]) == 6
    assert {f"{family}.o" for family in FAMILIES} <= both[0].keys()


def test_the_bits_are_the_same(both):
    different = [name for name in both[0] if both[0][name] != both[1][name]]
    assert different == []


def test_no_folder_of_the_build_is_in_them(both):
    for way, files in zip(WAYS, both, strict=True):
        names = [str(ROOT).encode(), f"reproducible0/{way.folder}".encode()]
        names.append(f"reproducible1/{way.folder}".encode())
        assert [name for name in files if any(folder in files[name] for folder in names)] == []
