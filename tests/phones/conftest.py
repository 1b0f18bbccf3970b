"""What tests of phone profiles share: C programs, and how they run on a phone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
LIBRARIES = ROOT / "build" / "lib"

Outcome = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a program of this folder once."""
    folder = tmp_path_factory.mktemp("phones")

    def compile_program(name: str, *options: str) -> Path:
        program = folder / name.partition(".")[0]
        if not program.exists():
            compiler = ["c++", "-std=c++17"] if name.endswith(".cpp") else ["cc", "-std=gnu11"]
            includes = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'companion'}"]
            command = [*compiler, "-Wall", "-Wextra", *includes, HERE / name, "-o", program]
            subprocess.run([*command, f"-L{LIBRARIES}", *options, "-ldl"], check=True)
        return program

    return compile_program


def on_phone(profile: str, *command: object, **environment: str) -> Outcome:
    """Run a program on the phone of a profile."""
    from nnapi_shim import settings

    return subprocess.run(
        [sys.executable, "-m", "nnapi_shim", "exec", "--profile", profile, "--"]
        + [str(word) for word in command],
        cwd=ROOT,
        env=settings.environment() | environment,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
