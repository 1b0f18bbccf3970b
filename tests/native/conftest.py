"""Compiles C programs of this folder with the companion libraries, and runs them."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"
HERE = Path(__file__).resolve().parent

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Program]:
    """Compiles a program of this folder and gives a function that runs it."""
    names = ("libandroid.so", "libnativewindow.so", "liblog.so")
    missing = [name for name in names if not (LIBRARIES / name).exists()]
    if missing:
        pytest.skip(f"not built: {', '.join(missing)} (make companion)")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("programs")

    def build_program(name: str, *libraries: str, first: Sequence[Path] = ()) -> Program:
        """first: folders of headers that come before the library's."""
        program = Path(tempfile.mkdtemp(dir=folder)) / "-".join([name, *libraries])
        command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]
        command += [f"-I{include}" for include in first]
        command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'companion'}"]
        command += ["-o", str(program), str(HERE / f"{name}.c"), f"-L{LIBRARIES}"]
        command += [f"-l{library}" for library in libraries] + ["-lpthread", "-ldl"]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stderr

        def run(
            *arguments: str, under: Sequence[str] = (), **environment: str
        ) -> subprocess.CompletedProcess[str]:
            clean = {k: v for k, v in os.environ.items() if not k.startswith("NNAPI_SHIM_")}
            clean |= {"LD_LIBRARY_PATH": str(LIBRARIES)} | environment
            return subprocess.run(
                [*under, program, *arguments],
                capture_output=True,
                text=True,
                env=clean,
                timeout=HANGS_S,
                check=False,
            )

        return run

    return build_program
