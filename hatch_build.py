"""Adds compiled files, the typed methods of Model, headers and their location files to the wheel.

The wheel works on every CPython from 3.10 on and any Linux with at least the glibc of
install/zig_cc.py: zig compiles it and links against that version on any machine, for this
architecture or that in ARCH. With another compiler in CC, the wheel is for systems like the build
machine. Everything else is in pyproject.toml.
"""

import fcntl
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
PYTHON_TAG = "cp310-abi3"

# Relative to the library, its package is two folders up in every installed wheel.
WHEEL_LOCATION = "path=../..\n"


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """hatchling's hook, which runs before the files of a wheel are collected."""

    def dependencies(self) -> list[str]:
        """The requirements of the build environment."""
        extras = self.metadata.config["project"]["optional-dependencies"]
        return [*extras["build"], "ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; `version` is "editable" if the package stays in the checkout."""
        sys.path.insert(0, str(ROOT))
        if version == "editable":
            importlib.import_module("build_methods").write()
            return
        if shutil.which("make") is None:
            self.app.abort("nnapi_shim: make is needed to build; Debian, Ubuntu: apt install make")
        machine = os.environ.get("ARCH") or os.uname().machine
        has_zig = "CC" not in os.environ and importlib.util.find_spec("ziglang") is not None
        if machine != os.uname().machine and "CC" not in os.environ and not has_zig:
            self.app.abort(
                f"nnapi_shim: a wheel for {machine} needs ziglang: pip install ziglang, or leave "
                "--no-build-isolation out; or name a compiler with CC"
            )
        tree = ROOT / "build" / "wheel"
        self._lock = waited_for(tree)
        shutil.rmtree(tree, ignore_errors=True)
        if has_zig:
            zig = importlib.import_module("install.zig_cc")
            os.environ["CC"] = zig.compiler(machine)
            # Debug information of the C library's parts contains paths of this machine.
            os.environ["LDFLAGS"] = f"{os.environ.get('LDFLAGS', '')} -Wl,--strip-debug"
            platform = f"manylinux_{zig.GLIBC.replace('.', '_')}_{machine}"
        else:
            platform = f"linux_{machine}"
        kernels = importlib.import_module("nnapi_shim.drivers.cpu.toolchain.build")
        objects = ROOT / "build" / "kernels"
        if machine != os.uname().machine:
            objects = ROOT / "build" / machine / "kernels"
        announce(kernels.estimate(objects, machine))
        compile_into(tree, objects, machine)
        install = importlib.import_module("install.tree")
        install.write_package_files(tree / "lib", include="../include")
        # Beside the wheel's metadata (PEP 770); SBOMs of other trees are derived from it.
        sbom = importlib.import_module("install.sbom")
        layout = importlib.import_module("install.layout")
        document = tree / sbom.FILE
        document.write_text(sbom.wheel_bom(tree / "lib", layout.source_date()))
        build_data.setdefault("sbom_files", []).append(str(document.relative_to(ROOT)))
        build_data["tag"] = f"{PYTHON_TAG}-{platform}"
        build_data["pure_python"] = False
        build_data["force_include"] |= {
            str(tree / "lib"): "nnapi_shim/lib",
            str(tree / "methods"): "nnapi_shim/api/methods",
            str(ROOT / "include"): "nnapi_shim/include",
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is complete: release the build folder for other builds."""
        if version != "editable":
            self._lock.close()


def waited_for(tree: Path) -> TextIO:
    """A lock on a folder, held until it is closed; waits for other builds."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    lock = tree.with_suffix(".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def announce(seconds: float) -> None:
    """Write a line to the terminal of pip, which hides what a build prints unless it has -v."""
    minutes = f"{1 + seconds / 60:.0f} min"
    line = f"nnapi_shim: compiling takes about {minutes}; with -v, pip shows the progress"
    for stream in (1, 2):
        with suppress(OSError):
            terminal = os.open(f"/proc/{os.getppid()}/fd/{stream}", os.O_WRONLY | os.O_NOCTTY)
            try:
                if os.isatty(terminal):
                    os.write(terminal, f"\n  {line}\n".encode())
                    return
            finally:
                os.close(terminal)


def compile_into(tree: Path, objects: Path, machine: str) -> None:
    """Fill `tree`: the library, its companions and the kernels of all tiers in lib/, the methods of
    Model in methods/. objects: folder of the kernels' object files.
    """
    importlib.import_module("build_methods").write(tree / "methods")
    libraries = tree / "lib"
    importlib.import_module("build_ffi").build(libraries, location=WHEEL_LOCATION)
    # Relative paths, because make does not support spaces in names.
    inside = tree.relative_to(ROOT)
    command = ["make", "--silent", "--file", "nnapi_shim/native/companion/companion.mk"]
    variables = [f"LIB_DIR={inside}/lib", f"COMPANION_OBJECT_DIR={inside}/companion"]
    compiler = os.environ.get("CC", "cc").replace("$", "$$")
    subprocess.run([*command, *variables, f"CC={compiler}"], cwd=ROOT, check=True)
    kernels = importlib.import_module("nnapi_shim.drivers.cpu.toolchain.build")
    kernels.build(libraries, objects=objects, machine=machine)
