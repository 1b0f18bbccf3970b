"""The Debian packages and the tarball for arm64: made on this machine, installed and used there."""

import os
import shutil
import sys
from pathlib import Path

from tests.arm.emulated_root import BUILD, ROOT, SUITE, TRIPLET, enter, output, run
from tests.arm.parts import Outcome, Setting

DIST = BUILD / "dist"
BARE = BUILD / "bare"
"""A root without Python, with the packages and the tarball."""
EXAMPLE = "simple_add"
PRIVATE = "nnapi-shim"
PYTHON_EXAMPLE = """
import numpy as np
from nnapi_shim import Model
with Model() as model:
    a = model.input("TENSOR_FLOAT32", [2])
    model.outputs(model.add(a, a))
print(model.compile("nnapi-cpu").run(np.array([1, 2], np.float32)).tolist())
"""
PRINTED = "[2.0, 4.0]\n"


def make_packages(command: str) -> None:
    """`make deb` or `make dist` for aarch64, into DIST."""
    words = [sys.executable, "-m", "install", command, "--out", DIST]
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    run(words, cwd=ROOT, env=environment | {"ARCH": "aarch64"})


def make_bare_root() -> None:
    """A Debian for arm64 with no more than dpkg needs, made once; /opt is emptied."""
    stamp = BARE / "etc/test-arm-packages"
    if not stamp.exists():
        run(["rm", "-rf", "--one-file-system", BARE])  # what an interrupted run has left
        run(["mmdebstrap", "--quiet", "--arch=arm64", "--variant=essential", SUITE, BARE])
        stamp.touch()
    shutil.rmtree(BARE / "opt", ignore_errors=True)
    (BARE / "opt").mkdir()


def compile_example(include: Path, libraries: Path, program: Path) -> None:
    """The C example, for headers and libraries of the root."""
    source = ROOT / "c_examples" / f"{EXAMPLE}.c"
    words = [f"{TRIPLET}-gcc", "-O2", f"-I{include}", source, "-o", program, f"-L{libraries}"]
    run([*words, "-lneuralnetworks", "-lm"])


def check(setting: Setting) -> Outcome:
    """Whether C and Python examples print what they should, of the packages and of the tarball."""
    shutil.rmtree(DIST, ignore_errors=True)
    for command in ("deb", "dist"):
        make_packages(command)
    make_bare_root()
    return check_installed(setting.root, setting.tier)


def check_installed(root: Path, tier: str) -> Outcome:
    """Installs what is in DIST; whether the examples print what they should."""
    (archive,) = DIST.glob("*.tar.xz")
    packages = sorted(DIST.glob("*.deb"))
    run(["tar", "--extract", "--file", archive, "--directory", BARE / "opt", "--no-same-owner"])
    for path in packages:
        shutil.copy(path, BARE / "opt")
    inside = [f"/opt/{path.name}" for path in packages]
    run(
        enter(
            BARE,
            ["/usr/bin/dpkg", "--install", *inside],
            tier,
            LD_LIBRARY_PATH="",
            PATH="/usr/sbin:/usr/bin:/sbin:/bin",
        )
    )
    (unpacked,) = (BARE / "opt").glob("*/")
    wrong = []
    places = {
        "package": (Path("usr/include"), Path("usr/lib") / TRIPLET, ""),
        "tarball": (
            unpacked.relative_to(BARE) / "include",
            unpacked.relative_to(BARE) / "lib",
            f"/{unpacked.relative_to(BARE)}/lib",
        ),
    }
    for title, (include, libraries, path) in places.items():
        compile_example(BARE / include, BARE / libraries, BARE / "opt" / title)
        found = output(enter(BARE, [f"/opt/{title}"], tier, LD_LIBRARY_PATH=path))
        print(f"{title}, {EXAMPLE}.c: {found[1]}", end="", flush=True)
        if found != (0, (ROOT / "c_examples" / f"{EXAMPLE}.expected").read_text()):
            wrong.append(f"{title}, C: {found}")
        # The root that has a Python, of the version that the packages bring.
        mounts = {"/packaged": BARE / libraries / PRIVATE}
        words = ["python3", "-c", PYTHON_EXAMPLE]
        found = output(enter(root, words, tier, mounts, PYTHONPATH="/packaged", LD_LIBRARY_PATH=""))
        print(f"{title}, Python: {found[1]}", end="", flush=True)
        if found != (0, PRINTED):
            wrong.append(f"{title}, Python: {found}")
    names = ", ".join(path.name for path in [*packages, archive])
    return Outcome(not wrong, "; ".join(wrong) or f"{names}: C and Python examples")
