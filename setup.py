"""Adds to the wheel what is compiled: `pip install .` gives nnapi_shim/lib/libneuralnetworks.so.

All else is in pyproject.toml. A checkout does not need this file: make builds into build/lib.
"""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # pip runs this file without it

# The library lies in site-packages/nnapi_shim/lib: what it needs is two folders up, wherever the
# wheel is installed.
WHEEL_LOCATION = "path=../..\n"


class BuildPyWithLibraries(build_py):
    """Copies the Python files, then builds the shared libraries beside them."""

    def run(self) -> None:
        """Fills the package's folder in the build tree."""
        super().run()
        if self.editable_mode:  # the package stays in the checkout, and make builds there
            return
        package = Path(self.build_lib) / "nnapi_shim"
        libraries = (package / "lib").resolve()
        importlib.import_module("build_ffi").build(libraries, location=WHEEL_LOCATION)
        companion = ROOT / "nnapi_shim" / "native" / "companion" / "companion.mk"
        subprocess.run(
            ["make", "--directory", ROOT, "--file", companion, f"LIB_DIR={libraries}"], check=True
        )
        kernels = importlib.import_module("nnapi_shim.drivers.cpu.kernels.build")
        kernels.build(libraries, objects=ROOT / "build" / "kernels")
        shutil.copytree(ROOT / "include", package / "include", dirs_exist_ok=True)


class PlatformDistribution(Distribution):
    """A wheel for one Python and one platform, which setuptools infers from extension modules."""

    def has_ext_modules(self) -> bool:
        """Says so although it is not setuptools that compiles."""
        return True


setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildPyWithLibraries},
    # Not build/ itself, where make puts its libraries.
    options={"build": {"build_base": "build/wheel"}},
)
