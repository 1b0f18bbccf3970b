"""This checkout in the emulated root, with libraries that are built there: its tests run as here.

The package, the tests and the headers are those of this machine, mounted at /project. The library
is compiled in the root, by an emulated Python and a compiler that is not emulated; the kernels are
those of the installed wheel.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.arm.emulated_root import (
    BUILD,
    COMPILER_FOLDERS,
    CONFORMANCE,
    PYTHON,
    ROOT,
    SITE,
    VECTORS,
    enter,
    pinned,
    pip_install,
    run,
)
from tests.arm.parts import Outcome, Setting, shown
from tests.emulation import SETTING

PROJECT = "/project"
MADE = BUILD / "checkout"
"""What is build/ in the root."""
VENV = "venv"
PACKAGES = ("pytest", "pytest-xdist", "numpy", "cffi", "pycparser", "typer")
START_UP = (
    "test_startup.py test_threads.py test_mixed.py test_every_function.py "
    "test_constants_in_place.py test_hardware_buffer.py hostile"
)
OF_TIERS = ["tests/drivers/cpu/test_passes.py", "tests/drivers/cpu/test_library.py"]
"""What depends on the tiers of the processor, and where kernels are."""
TESTS = [*(f"tests/abi/{name}" for name in START_UP.split()), "tests/native/test_pool.py"]
TESTS += OF_TIERS
PYTEST = ("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")
QUICK = ["tests/abi/test_threads.py", "tests/abi/test_startup.py::test_fork"]


def ready_checkout(root: Path, tier: str) -> None:
    """The environment and the libraries of the checkout, once for each wheel."""
    site = root / VENV / "lib" / f"python{PYTHON}" / "site-packages"
    wanted = " ".join(pinned(*PACKAGES))
    stamp = root / VENV / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        run(enter(root, ["python3", "-m", "venv", "--without-pip", f"/{VENV}"], tier))
        pip_install(site, wanted.split())
        stamp.write_text(wanted)
    libraries = MADE / "lib"
    shutil.rmtree(libraries, ignore_errors=True)
    libraries.mkdir(parents=True)
    for path in (root / SITE / "nnapi_shim/lib").glob("libnnapi_kernels_*.so"):
        shutil.copy2(path, libraries)
    run(inside(root, tier, ["build_ffi.py", "--out", "build/lib"]))
    companion = "nnapi_shim/native/companion/companion.mk"
    run(in_project(root, tier, ["make", "--silent", "--file", companion, "CC=cc", "companion"]))


def in_project(
    root: Path, tier: str, command: Sequence[str], made: Path = MADE, **environment: str
) -> list[str | Path]:
    """The command line that runs a command in the checkout. made: its folder build/."""
    mounts = {PROJECT: ROOT, f"{PROJECT}/build": made}
    mounts |= {folder: Path(folder) for folder in COMPILER_FOLDERS}
    if CONFORMANCE.is_dir():
        mounts[VECTORS] = CONFORMANCE
    words = ["/usr/bin/env", f"--chdir={PROJECT}", *command]
    settings = {"LD_LIBRARY_PATH": "", "NNAPI_SHIM_TIER": tier, SETTING: "QEMU", **environment}
    return enter(root, words, tier, mounts, **settings)


def inside(
    root: Path, tier: str, arguments: Sequence[str], made: Path = MADE, **environment: str
) -> list[str | Path]:
    """The command line that runs the checkout's Python."""
    return in_project(root, tier, [f"/{VENV}/bin/python", *arguments], made, **environment)


def tests_with(
    setting: Setting, tests: Sequence[str], made: Path = MADE, **environment: str
) -> Outcome:
    """What pytest says of tests; it prints what is left out, and why."""
    processes = ["--numprocesses", str(setting.jobs)] if setting.jobs > 1 else ["-p", "no:xdist"]
    words = [*PYTEST, *processes, *tests]
    return shown(inside(setting.root, setting.tier, words, made, **environment))


def check_models(setting: Setting) -> Outcome:
    """Whether random models give the results of nnapi-reference."""
    seeds = "0:40" if setting.is_quick else "0:600"
    words = ["-m", "tests.random_models", "--seeds", seeds, "--jobs", str(setting.jobs)]
    return shown(inside(setting.root, setting.tier, words))


def check_sanitizers(setting: Setting) -> Outcome:
    """Whether AddressSanitizer finds nothing in the C programs of `make check-native`."""
    rounds = "1" if setting.is_quick else "5"
    words = ["tests/memory/run_sanitized.py", rounds]
    return shown(inside(setting.root, setting.tier, words))


def check_native(setting: Setting) -> Outcome:
    """Whether the tests of start-up, forks, threads and hostile programs pass."""
    return tests_with(setting, QUICK if setting.is_quick else TESTS)
